"""Do high-entropy tokens matter more? Perturb the most and the least uncertain tokens (arXiv 2603.28204, Fig. 1b).

    frame = measure_perturbation(subject, "amc23", tokens, decoding=Decoding(1.0, 0.95, 2048), folder=Path("out"))
    by_group(frame); contrasts(frame, CONTRASTS)    # evals.analysis.interventions.effects

The paper "randomly perturbed" the top 5 % and the bottom 5 % of each response to 50 questions that the model answers
reliably, by "controlled truncation and random replacement". It states no more; `Perturbation` lists our choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis import ERPO
from evals.analysis.interventions.continuation import (
    Branch,
    Selection,
    branch_id,
    look_up,
    ready,
    sample_continuations,
    select,
)
from evals.analysis.interventions.effects import (
    contrasts,
    correctness,
    describe_accuracies,
    describe_counts,
    drops_by_run,
    effects,
    p_text,
    plot_groups,
)
from evals.analysis.subjects import Subject
from evals.analysis.tokens.token_table import need_columns, whole_responses
from evals.grading.verdicts import Verdict
from evals.plots.plot import Plot
from evals.sampling.engines.base import Decoding, Engine, sample_seed
from evals.suggest import expected

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("top", "bottom")
CONTRASTS = (("top", None), ("bottom", None), ("top", "bottom"))
SCOPES = ("all", "one")
TOKENS = ("random", "alternative")


@dataclass(frozen=True)
class Perturbation:
    """Our reading of "perturb".

    Args:
        share: of the tokens, those of highest and of lowest entropy (the paper: 0.05), at least one.
        scope: open in the paper. "all": keep the first `keep` of the response, replace all chosen tokens in it at once,
            and decode the rest again. "one": replace one of the response's chosen tokens, selected by the seed, keep
            the response up to it, and decode the rest again (`keep` is not used).
        token: the replacement. "random": uniformly any token of the vocabulary but itself and special tokens (the
            paper's word). "alternative": the most probable other token.
        keep: open. The share of a response to keep, in (0, 1]; only an answer after it is decoded again.
        problems: their number (the paper: 50), chosen by the seed from the reliably answered ones; all if fewer.
        sure: open. The share of a problem's graded samples that must be correct to count as reliable.
    Raises:
        ValueError: a value out of range.
    """

    share: float = 0.05
    scope: str = "all"
    token: str = "random"
    keep: float = 0.5
    problems: int = 50
    sure: float = 1.0

    def __post_init__(self) -> None:
        for name, value, known in (("scope", self.scope, SCOPES), ("token", self.token, TOKENS)):
            if value not in known:
                raise ValueError(f"{name}: got {value!r}, {expected(value, known)}")
        for name in ("share", "keep", "sure"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}, expected a number in (0, 1]")
        if self.problems < 1:
            raise ValueError(f"problems={self.problems}, expected >= 1")

    def selection(self, group: str) -> Selection:
        return Selection(group, share=self.share, within=(0.0, self.keep if self.scope == "all" else 1.0))


def sure_problems(verdicts: pd.DataFrame, sure: float) -> list[str]:
    """The problems with at least this share of correct samples, sorted; ungraded problems do not count."""
    correct = verdicts.assign(correct=correctness(verdicts["verdict"].tolist())).groupby("problem_id")["correct"].mean()
    return sorted(str(problem) for problem in correct.index[correct >= sure])


def chosen_responses(
    tokens: pd.DataFrame, verdicts: pd.DataFrame, perturbation: Perturbation, *, seed: int
) -> pd.DataFrame:
    """The token-table rows of the first correct response to each reliably answered problem.

    Raises:
        ValueError: no such response.
    """
    need_columns(tokens, ("problem_id", "sample", "verdict"))
    sure = sure_problems(verdicts, perturbation.sure)
    correct = tokens[(tokens["verdict"] == Verdict.CORRECT) & tokens["problem_id"].isin(sure)]
    first = correct.groupby("problem_id")["sample"].min()
    if first.empty:
        raise ValueError(f"sure={perturbation.sure}: no problem of the token table has this share of correct samples")
    names = sorted(first.index)
    kept = np.random.default_rng(seed).permutation(len(names))[: perturbation.problems]
    wanted = [(names[i], first[names[i]]) for i in kept]
    return correct[correct.set_index(["problem_id", "sample"]).index.isin(wanted)]


def perturbed(ids: Sequence[int], replacements: Mapping[int, int]) -> tuple[int, ...]:
    """Token ids with those at some positions replaced."""
    return tuple(replacements.get(position, token) for position, token in enumerate(ids))


def random_other(generator: np.random.Generator, vocabulary: Sequence[int], token: int) -> int:
    """A random token of the vocabulary other than this one, uniformly."""
    others = len(vocabulary) - (token in vocabulary)
    chosen = vocabulary[int(generator.integers(others))]
    return vocabulary[-1] if chosen == token else chosen


def perturbation_branches(
    table: pd.DataFrame,
    perturbation: Perturbation,
    vocabulary: Sequence[int],
    prompts: Mapping[str, str],
    golds: Mapping[str, str],
    *,
    seed: int,
) -> tuple[pd.DataFrame, list[Branch]]:
    """Both prefixes of each response and group: the original one and the perturbed one.

    Args:
        table: whole responses. vocabulary: token ids that a token may be replaced by at random.
    Returns:
        one row per response and group (group, problem_id, sample, length, kept and replaced tokens, and the branches
        without and with the perturbation), and the branches.
    """
    import pandas as pd

    need_columns(table, ("token_id", "alternative_id"))
    rows, branches = [], {}
    for group in GROUPS:
        taken = dict(list(select(table, perturbation.selection(group), seed=seed).groupby(["problem_id", "sample"])))
        for response in whole_responses(table):
            problem, sample, length = (response[name].iloc[0] for name in ("problem_id", "sample", "length"))
            generator = np.random.default_rng(sample_seed(seed, f"perturbation|{group}", (str(problem), int(sample))))
            kept, replacements = _plan(response, taken[problem, sample], perturbation, vocabulary, generator)
            before = response["token_id"].tolist()[:kept]
            names = branch_id(problem, sample, kept, "as it was"), branch_id(problem, sample, group, "perturbed")
            prompt, gold = look_up(prompts, "prompt", problem), look_up(golds, "gold", problem)
            for name, forced in zip(names, (tuple(before), perturbed(before, replacements)), strict=True):
                branches[name] = Branch(name, prompt, forced, gold)
            rows.append((group, problem, sample, length, kept, len(replacements), *names))
    columns = ["group", "problem_id", "sample", "length", "kept", "replaced", "branch_original", "branch_altered"]
    return pd.DataFrame(rows, columns=columns), list(branches.values())


def _plan(
    response: pd.DataFrame,
    taken: pd.DataFrame,
    perturbation: Perturbation,
    vocabulary: Sequence[int],
    generator: np.random.Generator,
) -> tuple[int, dict[int, int]]:
    """The number of tokens kept, and the replacements of the selected tokens."""
    if perturbation.scope == "one":
        taken = taken.iloc[[int(generator.integers(len(taken)))]]
        kept = int(taken["position"].iloc[0]) + 1
    else:
        kept = int((response["position"] / response["length"] < perturbation.keep).sum())
    if perturbation.token == "alternative":
        others = taken["alternative_id"].tolist()
    else:
        others = [random_other(generator, vocabulary, token) for token in taken["token_id"].tolist()]
    return kept, dict(zip(taken["position"].tolist(), others, strict=True))


def measure_perturbation(
    subject: Subject,
    benchmark: str,
    tokens: pd.DataFrame,
    perturbation: Perturbation | None = None,
    *,
    decoding: Decoding,
    folder: Path,
    k: int = 1,
    seed: int = 0,
    engine: Engine | None = None,
    policy: str = "boxed_last",
    workers: int = 2,
) -> pd.DataFrame:
    """Accuracy with and without the perturbation of the most and of the least uncertain tokens.

    Both continue from the same position, so the drop excludes the cost of decoding again.

    Args:
        subject: with model_path, the benchmark's prompts, and its verdict table (for golds and reliable problems).
        tokens: the subject's token table.
        decoding, k, folder, engine, policy: see `continuation.sample_continuations`.
    Returns:
        one row for each group and response: group, problem_id, sample, length, kept, replaced (how many tokens), and
        the columns of `effects`.
    """
    perturbation = perturbation or Perturbation()
    engine, model_path, prompts, golds = ready(subject, benchmark, engine)
    table = chosen_responses(tokens, subject.tables[benchmark], perturbation, seed=seed)
    frame, branches = perturbation_branches(
        table, perturbation, plain_tokens(engine.tokenizer), prompts, golds, seed=seed
    )
    verdicts = sample_continuations(
        branches,
        name=f"perturbation-{benchmark}",
        engine=engine,
        model_path=model_path,
        decoding=decoding,
        k=k,
        seed=seed,
        folder=folder,
        policy=policy,
        workers=workers,
    )
    pairs = list(zip(frame.pop("branch_original"), frame.pop("branch_altered"), strict=True))
    return frame.assign(**effects(pairs, verdicts))


def plain_tokens(tokenizer: object) -> list[int]:
    """Every token id but the special ones."""
    special = set(tokenizer.all_special_ids)  # type: ignore[attr-defined]
    return [i for i in range(len(tokenizer)) if i not in special]  # type: ignore[arg-type]


def plot_perturbation(
    frames: Mapping[str, pd.DataFrame], *, benchmark: str, perturbation: Perturbation | None = None
) -> list[Plot]:
    """Accuracy lost by perturbing the tokens of highest and of lowest entropy (arXiv 2603.28204, Fig. 1b).

    Args:
        frames: run -> `measure_perturbation`'s frame. perturbation: as they were measured with.
    """
    perturbation = perturbation or Perturbation()
    numbers = drops_by_run(frames)
    tests = [
        f"{run}: top less bottom {100 * one['difference']:+.1f} points, {p_text(one['p_holm'])}"
        for run, frame in frames.items()
        for one in contrasts(frame, CONTRASTS).to_dict("records")
        if one["b"]
    ]
    caption = (
        f"{_meaning(perturbation)} Problems with an accuracy of at least {100 * perturbation.sure:g} %; the first "
        f"correct response to each. {describe_counts(numbers)} Accuracy of what is decoded again without the "
        "perturbation less that with it; mean over problems, 95 % intervals over problems. "
        f"{describe_accuracies(numbers)} {'; '.join(tests)} "
        f"(t over problems; Holm over three comparisons of a run)."
    )
    share = f"{100 * perturbation.share:g} %"
    plot = plot_groups(
        f"perturbation_{benchmark}",
        f"Accuracy lost by perturbing tokens of high and of low entropy, on {benchmark}",
        caption,
        f"{ERPO}, Fig. 1b",
        numbers,
        "accuracy lost by the perturbation\n(percentage points)",
        {"top": f"highest\n{share} entropy", "bottom": f"lowest\n{share} entropy"},
    )
    return [plot]


def _meaning(perturbation: Perturbation) -> str:
    share = f"{100 * perturbation.share:g} %"
    by = "a random token" if perturbation.token == "random" else "the most probable other token"
    if perturbation.scope == "all":
        return (
            f"The first {100 * perturbation.keep:g} % of a response are kept; in them the {share} of tokens of highest "
            f"(lowest) entropy, at least one, are each replaced by {by}; the rest is decoded again."
        )
    return (
        f"One of the {share} of tokens of highest (lowest) entropy of a response is replaced by {by}, and all after it "
        "is decoded again."
    )
