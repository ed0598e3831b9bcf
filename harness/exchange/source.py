"""What the formats of others want to know of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.record.run import Run

if TYPE_CHECKING:
    from evals.stats.score import Score

METRICS = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")
Problems = Mapping[str, Mapping[str, str]]
"""benchmark -> problem_id -> the problem's text, where it is at hand."""


def scores_of(run: Run, benchmark: str) -> list[Score]:
    """Every score, computed from the verdicts, for the k that the protocol asks for (where there are as many
    samples)."""
    from evals.stats.score import score
    from evals.stats.verdict_table import VerdictTable

    table = VerdictTable(run.counts(benchmark))
    value: Any = (protocol_of(run).get("ks") or {}).get("value") or [1]
    value = value.get(benchmark, value.get("default", [1])) if isinstance(value, dict) else value
    return score(table, ks=[int(k) for k in value if k <= table.generated.min()], metrics=METRICS)


def identity_of(run: Run, benchmark: str) -> Mapping[str, Any]:
    """What decided the samples, as the manifest has it; {} without one."""
    identity: Mapping[str, Any] = (run.manifest(benchmark) or {}).get("identity", {})
    return identity


def decoding_of(run: Run, benchmark: str) -> dict[str, Any]:
    """temperature, top_p, max_tokens; {} without a manifest."""
    return dict(identity_of(run, benchmark).get("decoding") or {})


def protocol_of(run: Run) -> Mapping[str, Any]:
    """The protocol's values with their sources, as a manifest has them."""
    manifests = [manifest for b in run.benchmarks if (manifest := run.manifest(b)) is not None]
    return next((m["record"].get("protocol") or {} for m in manifests), {})


def question(problems: Problems, benchmark: str, row: Mapping[str, Any]) -> str:
    """The problem's text, or its id if the text is missing."""
    return str(row.get("problem") or problems.get(benchmark, {}).get(row["problem_id"]) or row["problem_id"])


def problems_of(run: Run, data_dir: str | None) -> Problems:
    """The problems of a run's benchmarks.

    Args:
        data_dir: where they are; None: those of the tiny scale are made here, and of others only the ids are known.
    """
    from evals.data import benchmarks
    from harness.analysis.runs import tiny_benchmarks

    problems: dict[str, dict[str, str]] = {}
    for benchmark in run.benchmarks:
        folder = data_dir or tiny_benchmarks([benchmark])
        if folder is not None and benchmark in benchmarks.names():
            changed = bool((identity_of(run, benchmark).get("data") or {}).get("changed"))
            loaded = benchmarks.load(benchmark, data_dir=folder, allow_changed_data=changed)
            problems[benchmark] = {problem.id: problem.problem for problem in loaded.problems}
    return problems


def dataset_of(benchmark: str) -> dict[str, Any]:
    """hub id, revision, split and rows of a benchmark of ours; {} for any other name."""
    from evals.data import benchmarks

    if benchmark not in benchmarks.names():
        return {}
    task = benchmarks.task(benchmark)
    fields = {"hf_repo": task.get("dataset_path"), "revision": (task.get("dataset_kwargs") or {}).get("revision")}
    fields |= {"split": task.get("test_split"), "rows": task["metadata"].get("rows")}
    return {key: value for key, value in fields.items() if value is not None}
