"""Choose tokens of responses, then sample and grade continuations from there, as an evaluation does.

A selection takes the most uncertain tokens, the most certain, or random ones. A prefix consists of token ids, never of
text that would need tokenising again. `evals.sampling.evaluate` samples and grades: the same call resumes, and a folder
refuses samples of other settings.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.subjects import Subject
from evals.analysis.tokens.token_table import need_columns, perplexities, whole_responses
from evals.data.benchmarks import Benchmark, Problem, content_hash
from evals.data.prompts import Prompt
from evals.sampling.engines.base import Completion, Decoding, Engine, Request, sample_seed
from evals.sampling.engines.encode import model_stop_tokens, response_text
from evals.sampling.evaluate import sample_problems
from evals.suggest import expected

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("top", "bottom", "random")


@dataclass(frozen=True)
class Selection:
    """Tokens of each response.

    Args:
        kind: "top" takes those of highest entropy, "bottom" those of lowest (ties: the earlier token first), "random"
            any, chosen by the seed.
        share: of the eligible tokens, rounded up, so at least one.
        count: the maximum number, instead of `share`.
        within: the part of the response to choose from: relative positions position / length in [first, last).
        perplexity: the responses to choose from, by the quantile of their perplexity in the table: (0.8, 1) is the
            highest fifth.
    Raises:
        ValueError: an unknown kind; not exactly one of share in (0, 1] and count >= 1; or an invalid range.
    """

    kind: str
    share: float | None = None
    count: int | None = None
    within: tuple[float, float] = (0.0, 1.0)
    perplexity: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: got {self.kind!r}, {expected(self.kind, KINDS)}")
        if (self.share is None) == (self.count is None):
            raise ValueError(f"expected either share or count, got share={self.share} and count={self.count}")
        if self.share is not None and not 0 < self.share <= 1:
            raise ValueError(f"share={self.share}, expected a number in (0, 1]")
        if self.count is not None and self.count < 1:
            raise ValueError(f"count={self.count}, expected >= 1")
        for name in ("within", "perplexity"):
            low, high = getattr(self, name)
            if not 0 <= low < high <= 1:
                raise ValueError(f"{name}={(low, high)}, expected 0 <= first < last <= 1")


def select(table: pd.DataFrame, selection: Selection, *, seed: int = 0) -> pd.DataFrame:
    """The rows of a token table that a selection takes, response by response, in order of position.

    Args:
        table: needs problem_id, sample, position, length, token, entropy; and logp for a range of perplexity.
        seed: of "random"; only seed, problem and sample decide which tokens.
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
    wanted = math.ceil(selection.share * len(rows)) if selection.share is not None else selection.count
    if selection.kind == "random":
        key = (str(rows["problem_id"].iloc[0]), int(rows["sample"].iloc[0])) if len(rows) else ("", 0)
        generator = np.random.default_rng(sample_seed(seed, "selection", key))
        order = generator.permutation(len(rows))
    else:
        entropy = rows["entropy"].to_numpy()
        order = np.argsort(-entropy if selection.kind == "top" else entropy, kind="stable")
    return rows.iloc[np.sort(order[:wanted])]


@dataclass(frozen=True)
class Branch:
    """A prefix of a response: its `id`, the `prompt` as the model sees it, and `forced`, the prefix's token ids."""

    id: str
    prompt: str
    forced: tuple[int, ...]
    gold: str


def sample_continuations(
    branches: Sequence[Branch],
    *,
    name: str,
    engine: Engine,
    model_path: str,
    decoding: Decoding,
    k: int,
    seed: int,
    folder: Path,
    policy: str = "boxed_last",
    workers: int = 2,
) -> pd.DataFrame:
    """k continuations of each branch, graded.

    Args:
        name: what is measured; part of every sample's seed.
        engine: one that takes token ids (not a server). decoding: its max_tokens counts the whole response.
        policy: how answers are extracted (`evals.grading.extraction`): that of the prompt.
        folder: for samples and verdicts.
    Returns:
        a verdict table (`evals.grading.verdicts.schema`): problem_id is the branch's id, response the whole response.
    Raises:
        ValueError: no branch, a duplicate id, or `folder` has other samples.
    """
    import pandas as pd

    if not branches:
        raise ValueError(f"{name}: expected one branch or more, got none")
    if len({branch.id for branch in branches}) != len(branches):
        raise ValueError(f"{name}: expected branches with different ids")
    problems = tuple(Problem(branch.id, branch.prompt, branch.gold) for branch in branches)
    path = sample_problems(
        Benchmark(name, problems, content_hash(problems), "continuations"),
        PrefixedEngine(engine, branches, model_path),
        prompt=Prompt("as_seen", "{problem}", policy, "the prompt that the responses were sampled with", chat=False),
        decoding=decoding,
        n=k,
        seed=seed,
        model_path=model_path,
        folder=folder,
        workers=workers,
    )
    return pd.read_parquet(path)


class PrefixedEngine:
    """An engine whose responses to a branch begin with its tokens."""

    def __init__(self, inner: Engine, branches: Sequence[Branch], model_path: str) -> None:
        self._inner, self._model_path = inner, model_path
        self._forced = {branch.id: branch.forced for branch in branches}

    @property
    def chunk_rows(self) -> int:
        return self._inner.chunk_rows

    @property
    def tokenizer(self) -> Any:
        return self._inner.tokenizer

    @property
    def context(self) -> int | None:
        return self._inner.context

    def describe(self) -> dict[str, Any]:
        whole = json.dumps(sorted(self._forced.items())).encode()
        return {**self._inner.describe(), "forced": hashlib.sha256(whole).hexdigest()}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """A branch that has already ended, by an end token or by its length, is its own only continuation."""
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
        done = {r.key for r in over}
        yield from self._inner.generate([r for r in prefixed if r.key not in done], decoding)


def ready(
    subject: Subject, benchmark: str, engine: Engine | None
) -> tuple[Engine, str, Mapping[str, str], dict[str, str]]:
    """The engine (None: transformers), the model's path, and prompts and golds by problem.

    Raises:
        ValueError: the subject lacks one of them.
    """
    if subject.model_path is None:
        raise ValueError(f"{subject.name}: expected a subject with model_path, got None")
    for what, held in (("verdicts", subject.tables), ("prompts", subject.prompts)):
        if benchmark not in held:
            known = ", ".join(held) or "none"
            raise ValueError(f"{subject.name}: no {what} of {benchmark!r}; expected one of: {known}")
    if engine is None:
        from evals.sampling.engines.transformers import TransformersEngine

        engine = TransformersEngine(subject.model_path)
    table = subject.tables[benchmark]
    golds = {str(problem): str(gold) for problem, gold in zip(table["problem_id"], table["gold"], strict=True)}
    return engine, subject.model_path, subject.prompts[benchmark], golds


def branch_id(*parts: object) -> str:
    """The id of a branch, from the parts that name it."""
    return "|".join(str(part) for part in parts)


def look_up(values: Mapping[str, str], what: str, problem: str) -> str:
    """
    Raises:
        ValueError: the problem has none.
    """
    if problem not in values:
        raise ValueError(f"problem {problem!r} of the token table: expected its {what}, found none")
    return values[problem]
