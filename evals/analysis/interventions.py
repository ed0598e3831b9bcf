"""Prefixes of responses -> continuations under an intervention -> graded outcomes.

    sampling = Sampling(Decoding(1.0, 1.0, 8192), n=8, folder=Path("out"))
    frame = measure_drops(subject, "aime24", plan, sampling, name="replacement")

`measure` samples and grades continuations of prefixes as an evaluation does. `measure_drops` compares pairs of
prefixes, without and with a change.

A `Selection` takes the most uncertain tokens of a response, the most certain, or random ones. A prefix consists of
token ids, never of text that would need tokenising again. `evals.sampling.evaluate` samples and grades: the same call
resumes, and a folder refuses samples of other settings.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from evals.analysis.effects import effects
from evals.analysis.subjects import Subject
from evals.analysis.token_table import need_columns, perplexities, whole_responses
from evals.data.benchmarks import Benchmark, Problem, content_hash
from evals.data.prompts import Prompt
from evals.sampling.engines.base import Completion, Decoding, Engine, OnStep, Request, sample_seed
from evals.sampling.engines.encode import model_stop_tokens, response_text
from evals.sampling.evaluate import sample_problems

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedTokenizerBase

CONTINUATIONS = 8  # per changed response. The papers leave their number open.


@dataclass(frozen=True)
class Selection:
    """Tokens of each response.

    Args:
        kind: "top" takes those of highest entropy, "bottom" those of lowest (ties: the earlier token first), "random"
            any, chosen by the seed.
        share: of the eligible tokens, rounded up, so at least one.
        count: the maximum number, where there is no `share`.
        within: the part of the response to choose from: relative positions position / length in [first, last).
        perplexity: the responses to choose from, by the quantile of their perplexity in the table: (0.8, 1) is the
            highest fifth.
    """

    kind: Literal["top", "bottom", "random"]
    share: float | None = None
    count: int | None = None
    within: tuple[float, float] = (0.0, 1.0)
    perplexity: tuple[float, float] = (0.0, 1.0)


def select(table: pd.DataFrame, selection: Selection, *, seed: int = 0) -> pd.DataFrame:
    """The rows of a token table that a selection takes, response by response, in order of position.

    Args:
        table: needs problem_id, sample, position, length, token, entropy, and logp for a range of perplexity.
        seed: of "random". Only seed, problem and sample decide which tokens.
    Raises:
        ValueError: a column is missing, an entropy is not finite, a response is incomplete, the table has several
            training seeds (each is a separate model), or no token is left to choose.
    """
    import pandas as pd

    need_columns(table, ("problem_id", "sample", "position", "length", "token", "entropy"))
    if "train_seed" in table:
        raise ValueError("token table: expected that of one model, got one with a train_seed column")
    if not np.isfinite(table["entropy"]).all():
        raise ValueError("token table: expected a finite entropy for every token")
    parts = [_of_response(rows, selection, seed) for rows in whole_responses(_by_perplexity(table, selection))]
    if not any(len(part) for part in parts):
        raise ValueError(f"{selection}: no response has a token there")
    return pd.concat(parts, ignore_index=True)


def _by_perplexity(table: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    if selection.perplexity == (0.0, 1.0):
        return table
    values = perplexities(table)
    low, high = np.quantile(values, selection.perplexity)
    kept = values.index[(values >= low) & (values <= high)]
    return table[table.set_index(["problem_id", "sample"]).index.isin(kept)]


def _of_response(rows: pd.DataFrame, selection: Selection, seed: int) -> pd.DataFrame:
    first, last = selection.within
    relative = rows["position"] / rows["length"]
    rows = rows[(relative >= first) & (relative < last)]
    count = math.ceil(selection.share * len(rows)) if selection.share is not None else selection.count
    if selection.kind == "random":
        key = (str(rows["problem_id"].iloc[0]), int(rows["sample"].iloc[0])) if len(rows) else ("", 0)
        generator = np.random.default_rng(sample_seed(seed, "selection", key))
        order = generator.permutation(len(rows))
    else:
        entropy = rows["entropy"].to_numpy()
        order = np.argsort(-entropy if selection.kind == "top" else entropy, kind="stable")
    return rows.iloc[np.sort(order[:count])]


@dataclass(frozen=True)
class Sampling:
    """How continuations are sampled and graded. Passed on by every intervention.

    Args:
        decoding: its max_tokens counts the whole response. n: continuations of each prefix.
        folder: for samples and verdicts: the same call resumes, and samples of other settings are refused.
        seed: of the sampling, and of what an intervention chooses at random.
        policy: how answers are extracted (`evals.grading.extraction`): that of the run's verdicts.
        reasoning: the part of a response that is graded (`evals.grading.reasoning`): that of the run's verdicts.
        engine: one that takes token ids (not a server). None: transformers with the subject's model.
    """

    decoding: Decoding
    n: int
    folder: Path
    seed: int = 0
    policy: str = "boxed_last"
    reasoning: str = "after"
    engine: Engine | None = None

    def with_engine(self, model_path: str) -> Engine:
        """The engine, or transformers with this model."""
        if self.engine is not None:
            return self.engine
        from evals.sampling.engines.transformers import TransformersEngine

        return TransformersEngine(model_path)


@dataclass(frozen=True)
class Prefix:
    """The beginning of a response to a problem: its token ids. none: the whole response is new."""

    id: str
    problem_id: str
    forced: tuple[int, ...] = ()


def measure(
    subject: Subject, benchmark: str, prefixes: Sequence[Prefix], sampling: Sampling, *, name: str
) -> pd.DataFrame:
    """n continuations of each prefix, graded.

    Args:
        subject: with model_path, its prompts, and its verdict table (for the golds).
        name: what is measured, part of every sample's seed.
    Returns:
        a verdict table (`evals.grading.verdicts.schema`): problem_id is the prefix's id, response the whole response.
    Raises:
        ValueError: no prefix, a duplicate id, the subject lacks one of them, or `folder` has other samples.
    """
    import pandas as pd

    model_path = need_model(subject)
    if not prefixes or len({prefix.id for prefix in prefixes}) != len(prefixes):
        raise ValueError(f"{name}: expected one prefix or more, with different ids, got {len(prefixes)}")
    table, prompts = subject.tables[benchmark], subject.prompts.get(benchmark, {})
    golds = dict(zip(table["problem_id"].astype(str), table["gold"].astype(str), strict=True))
    if unknown := [p.problem_id for p in prefixes if p.problem_id not in prompts or p.problem_id not in golds]:
        raise ValueError(f"{subject.name}, problem {unknown[0]!r}: expected its prompt and its gold, found none")
    problems = tuple(Problem(p.id, prompts[p.problem_id], golds[p.problem_id]) for p in prefixes)
    path = sample_problems(
        Benchmark(name, problems, content_hash(problems), "continuations"),
        PrefixedEngine(sampling.with_engine(model_path), prefixes, model_path),
        prompt=Prompt("as_seen", "{problem}", sampling.policy, "the prompt as the model sees it", chat=False),
        decoding=sampling.decoding,
        n=sampling.n,
        seed=sampling.seed,
        model_path=model_path,
        folder=sampling.folder,
        reasoning=sampling.reasoning,
    )
    return pd.read_parquet(path)


@dataclass(frozen=True)
class Plan:
    """Pairs of prefixes. `rows`: one row per intervention, with at least `group`, `problem_id`, and the ids of its
    prefixes without and with the change, `original` and `altered`."""

    rows: pd.DataFrame
    prefixes: Sequence[Prefix]


def measure_drops(subject: Subject, benchmark: str, plan: Plan, sampling: Sampling, *, name: str) -> pd.DataFrame:
    """The plan's rows, with the columns of `evals.analysis.effects.effects` in place of the ids of the prefixes."""
    verdicts = measure(subject, benchmark, plan.prefixes, sampling, name=f"{name}-{benchmark}")
    pairs = list(zip(plan.rows["original"], plan.rows["altered"], strict=True))
    rows = plan.rows.drop(columns=["original", "altered"]).reset_index(drop=True)
    return rows.join(effects(pairs, verdicts))


def need_model(subject: Subject) -> str:
    """
    Raises:
        ValueError: the subject has no model.
    """
    if subject.model_path is None:
        raise ValueError(f"{subject.name}: expected a subject with model_path, got None")
    return subject.model_path


class PrefixedEngine:
    """An engine whose responses to a prefix begin with its tokens."""

    def __init__(self, inner: Engine, prefixes: Sequence[Prefix], model_path: str) -> None:
        self._inner, self._model_path = inner, model_path
        self._forced = {prefix.id: prefix.forced for prefix in prefixes}

    @property
    def chunk_rows(self) -> int:
        return self._inner.chunk_rows

    @property
    def decoding(self) -> frozenset[str]:
        can: frozenset[str] = getattr(self._inner, "decoding", frozenset())
        return can

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self._inner.tokenizer

    @property
    def context(self) -> int | None:
        return self._inner.context

    def describe(self) -> dict[str, object]:
        whole = json.dumps(sorted(self._forced.items())).encode()
        return {**self._inner.describe(), "forced": hashlib.sha256(whole).hexdigest()}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """A prefix that has already ended, by an end token or by its length, is its own only continuation."""
        ends = model_stop_tokens(self._model_path, self.tokenizer)
        prefixed = [replace(request, forced=self._forced[request.key[0]]) for request in requests]
        over = [r for r in prefixed if r.forced and (r.forced[-1] in ends or len(r.forced) >= decoding.max_tokens)]
        if over:
            stopped = [r.forced[-1] in ends for r in over]
            texts = response_text(self.tokenizer, [r.forced for r in over], stopped)
            yield [
                Completion(r.key, text, len(r.forced), "stop" if stop else "length")
                for r, text, stop in zip(over, texts, stopped, strict=True)
            ]
        ended_keys = {r.key for r in over}
        yield from self._inner.generate([r for r in prefixed if r.key not in ended_keys], decoding, on_step)
