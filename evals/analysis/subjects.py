"""A model under analysis: its graded responses, and the prompts and model to read them again.

subject = Subject("GRPO", {"tiny_short": verdicts})
responses(subject, "tiny_short")[0].text
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evals.data import benchmarks, prompts
from evals.data.benchmarks import Problem
from evals.files import text_sha256
from evals.fingerprint import model_fingerprint
from evals.grading.verdicts import Verdict
from evals.stats.measured_run import Conditions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Subject:
    """The subject of an analysis: one model (or several training seeds of one method) and its responses.

    Args:
        name: for legends.
        tables: benchmark -> verdict table, the columns of `evals.grading.verdicts.schema()` (and `train_seed` if it has
            several training seeds).
        model_path: the model that generated the responses: a folder or a hub id. Needed for teacher-forced passes and
            interventions.
        prompts: benchmark -> problem_id -> the prompt as given to the model.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    model_path: str | None = None
    prompts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    """One graded response. `prompt` is None if the subject does not have it."""

    problem_id: str
    sample: int
    prompt: str | None
    text: str
    verdict: Verdict


def responses(subject: Subject, benchmark: str) -> list[Response]:
    """Every response of a subject to a benchmark, in the table's order (of several training seeds, one after another).

    Raises:
        ValueError: the subject was not measured on it, or its table was read without the responses.
    """
    if benchmark not in subject.tables:
        measured = ", ".join(subject.tables) or "none"
        raise ValueError(f"{subject.name} was not measured on {benchmark!r}. Expected one of: {measured}")
    table = subject.tables[benchmark]
    if "response" not in table:
        raise ValueError(f"{subject.name}, {benchmark}: the verdict table lacks the column response")
    known_prompts = subject.prompts.get(benchmark, {})
    columns = (table[name] for name in ("problem_id", "sample", "response", "verdict"))
    return [
        Response(str(problem), int(sample), known_prompts.get(str(problem)), str(text), Verdict(verdict))
        for problem, sample, text, verdict in zip(*columns, strict=True)
    ]


def read_subject(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    conditions: Mapping[str, Conditions | None],
    *,
    model_path: str,
    data_dir: str | Path | None = None,
) -> Subject:
    """A subject with its model, and its prompts rendered again.

    Args:
        tables: benchmark -> verdicts with the responses, of one training seed (each seed is its own model).
        conditions: how each benchmark was measured (`evals.stats.measured_run`).
        model_path: the model that generated the responses: a folder or a hub id.
        data_dir: where the benchmarks are (`evals.data.benchmarks.load`).
    Raises:
        ValueError: no conditions, another model than the one that generated the samples, other problems, or prompts
            that are not those of the samples.
    """
    from evals.sampling.engines.encode import load_tokenizer

    _check_model(name, conditions, model_path)
    tokenizer = load_tokenizer(model_path)
    prompts_by_benchmark = {}
    for (benchmark, table), conditions_of in zip(tables.items(), (conditions[b] for b in tables), strict=True):
        if conditions_of is not None:
            where = f"{name}, {benchmark}"
            problems, prompt = _problems_and_prompt(where, benchmark, conditions_of, table, tokenizer, data_dir)
            prompts_by_benchmark[benchmark] = {p.id: prompts.render(prompt, p, tokenizer) for p in problems}
    return Subject(name, tables, model_path, prompts_by_benchmark)


def _check_model(name: str, conditions: Mapping[str, Conditions | None], model_path: str) -> None:
    """Check that the model generated the samples, by the hash in the manifest."""
    for benchmark, stated in conditions.items():
        if stated is None:
            raise ValueError(f"{name}, {benchmark}: no manifest.json beside the verdicts says what the prompts were")
        if "sha256" not in stated["model"]:
            raise ValueError(f"{name}, {benchmark}: sampled from a server, whose model and chat template are not known")
    expected = {str(stated["model"]["sha256"]) for stated in conditions.values() if stated}
    if expected and expected != {local_hash := model_fingerprint(model_path)}:
        raise ValueError(
            f"{name}: model_path={model_path!r} is not the model that generated the samples "
            f"(expected sha256 {', '.join(sorted(expected))}, got {local_hash})"
        )


def _problems_and_prompt(
    where: str,
    benchmark: str,
    conditions: Conditions,
    table: pd.DataFrame,
    tokenizer: object,
    data_dir: str | Path | None,
) -> tuple[tuple[Problem, ...], prompts.Prompt]:
    """Every problem of the table, in the benchmark's order, with its prompt."""
    data = conditions["data"]
    dataset = benchmarks.load(
        benchmark, data_dir=data_dir, allow_changed_data=data["changed"], choice_seed=data["choice_seed"] or 0
    )
    if dataset.sha256 != data["sha256"]:
        raise ValueError(f"{where}: the problems hash to {dataset.sha256}, expected {data['sha256']}")
    prompt = prompts.recorded(conditions["prompt"], conditions.get("decoding") or {})
    first = dataset.problems[0]
    if (now := text_sha256(prompts.render(prompt, first, tokenizer))) != (then := conditions["prompt"]["first_sha256"]):
        raise ValueError(
            f"{where}: the prompt {prompt.name!r} of problem {first.id!r} hashes to {now}, expected {then}: its "
            "wording or the chat template has changed since the samples were generated"
        )
    evaluated = set(table["problem_id"])
    if strange := evaluated - {problem.id for problem in dataset.problems}:
        raise ValueError(f"{where}: problem {min(strange)!r} is not in the benchmark")
    return tuple(problem for problem in dataset.problems if problem.id in evaluated), prompt
