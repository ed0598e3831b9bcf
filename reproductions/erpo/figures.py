"""The figures of arXiv 2603.28204, for runs of one's own (`rlvr analyze`): perturbed tokens.

Do high-entropy tokens matter more? Perturb the most and the least uncertain tokens (Fig. 1b):

    frame = measure_perturbation(subject, "amc23", tokens, Sampling(Decoding(1.0, 0.95, 2048), 1, Path("out")))
    by_group(frame). compare_groups(frame, "top", "bottom")    # evals.analysis.effects

The paper "randomly perturbed" the top 5 % and the bottom 5 % of each response to 50 questions that the model answers
reliably, by "controlled truncation and random replacement". It states no more. Our reading: of the first correct
response to a problem that is always solved keep the first half, replace all chosen tokens in it at once by random ones
(of the vocabulary without special tokens), and decode the rest again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from evals.analysis import ERPO
from evals.analysis.effects import compare_groups, correctness, plot_groups
from evals.analysis.interventions import (
    Plan,
    Prefix,
    Sampling,
    Selection,
    measure_drops,
    need_model,
    select,
)
from evals.analysis.subjects import Subject
from evals.analysis.token_table import RESPONSE, need_columns, whole_responses
from evals.grading.verdicts import Verdict
from evals.plots.plot import Plot
from evals.sampling.engines.base import sample_seed
from evals.stats.score import p_words
from harness.analysis.families import Family
from harness.analysis.material import Material

if TYPE_CHECKING:
    import pandas as pd

GROUPS: tuple[Literal["top", "bottom"], ...] = ("top", "bottom")
SHARE = 0.05  # the share of tokens with the highest and with the lowest entropy, at least one token each
KEEP = 0.5  # the share of a response that is kept. The paper leaves it open.
PROBLEMS = 50


def sure_problems(verdicts: pd.DataFrame) -> list[str]:
    """The problems whose graded samples are all correct, sorted. Ungraded problems do not count."""
    correct = verdicts.assign(correct=correctness(verdicts["verdict"])).groupby("problem_id")["correct"].mean()
    return sorted(str(problem) for problem in correct.index[correct == 1])


def chosen_responses(
    tokens: pd.DataFrame, verdicts: pd.DataFrame, *, problems: int = PROBLEMS, seed: int
) -> pd.DataFrame:
    """The token-table rows of the first correct response to that many problems that are always solved (all if fewer).

    Raises:
        ValueError: no such response.
    """
    need_columns(tokens, ("problem_id", "sample", "verdict"))
    correct = tokens[(tokens["verdict"] == Verdict.CORRECT) & tokens["problem_id"].isin(sure_problems(verdicts))]
    first = correct.groupby("problem_id")["sample"].min()
    if first.empty:
        raise ValueError(
            "perturbation: expected a problem of the token table whose samples are all correct, found none"
        )
    names = sorted(first.index)
    kept = np.random.default_rng(seed).permutation(len(names))[:problems]
    chosen = [(names[i], first[names[i]]) for i in kept]
    return correct[correct.set_index(["problem_id", "sample"]).index.isin(chosen)]


def random_other(generator: np.random.Generator, vocabulary: Sequence[int], token: int) -> int:
    """A random token of the vocabulary other than this one, uniformly."""
    choices = len(vocabulary) - (token in vocabulary)
    chosen = vocabulary[int(generator.integers(choices))]
    return vocabulary[-1] if chosen == token else chosen


def perturbations(table: pd.DataFrame, vocabulary: Sequence[int], *, share: float = SHARE, seed: int) -> Plan:
    """Both prefixes of each response and group: the original one and the perturbed one.

    Args:
        table: whole responses. vocabulary: token ids that a token may be replaced by at random.
    Returns:
        one row per response and group: group, problem_id, sample, length, kept and replaced (tokens).
    """
    import pandas as pd

    need_columns(table, ("token_id",))
    rows, prefixes = [], {}
    for group in GROUPS:
        selection = Selection(group, share=share, within=(0.0, KEEP))
        selected = dict(list(select(table, selection, seed=seed).groupby(RESPONSE)))
        for response in whole_responses(table):
            problem, sample, length = (response[name].iloc[0] for name in ("problem_id", "sample", "length"))
            generator = np.random.default_rng(sample_seed(seed, f"perturbation|{group}", (str(problem), int(sample))))
            kept = int((response["position"] / response["length"] < KEEP).sum())
            before = response["token_id"].tolist()[:kept]
            changed = before.copy()
            for position in selected[problem, sample]["position"].tolist():
                changed[position] = random_other(generator, vocabulary, before[position])
            names = f"{problem}|{sample}|{kept}|as it was", f"{problem}|{sample}|{group}|perturbed"
            for name, forced in zip(names, (before, changed), strict=True):
                prefixes[name] = Prefix(name, problem, tuple(forced))
            rows.append((group, problem, sample, length, kept, len(selected[problem, sample]), *names))
    columns = ["group", "problem_id", "sample", "length", "kept", "replaced", "original", "altered"]
    return Plan(pd.DataFrame(rows, columns=columns), list(prefixes.values()))


def measure_perturbation(subject: Subject, benchmark: str, tokens: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """Accuracy with and without the perturbation of the most and of the least uncertain tokens.

    Both continue from the same position, so the drop excludes the cost of decoding again.

    Args:
        subject: as `measure`. Its verdict table also says which problems are reliable. tokens: its token table.
    Returns:
        `perturbations`' rows with the columns of `effects`.
    """
    engine = sampling.with_engine(need_model(subject))
    table = chosen_responses(tokens, subject.tables[benchmark], seed=sampling.seed)
    plan = perturbations(table, plain_tokens(engine.tokenizer), seed=sampling.seed)
    return measure_drops(subject, benchmark, plan, replace(sampling, engine=engine), name="perturbation")


def plain_tokens(tokenizer: object) -> list[int]:
    """Every token id but the special ones."""
    special = set(tokenizer.all_special_ids)  # type: ignore[attr-defined]
    return [i for i in range(len(tokenizer)) if i not in special]  # type: ignore[arg-type]


def plot_perturbation(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Plot:
    """Accuracy lost by perturbing the tokens of highest and of lowest entropy (arXiv 2603.28204, Fig. 1b).

    Args:
        frames: run -> `measure_perturbation`'s frame. names: all runs.
    """
    tests = []
    for run, frame in frames.items():
        result = compare_groups(frame, "top", "bottom")
        p = "p not known" if result.p_value is None else p_words(result.p_value)
        tests.append(f"{run}: top less bottom {100 * result.difference:+.1f} points, {p}")
    share = f"{100 * SHARE:g} %"
    caption = (
        f"The first {100 * KEEP:g} % of a response are kept; in them the {share} of tokens of highest "
        f"(lowest) entropy, at least one, are each replaced by a random token; the rest is decoded again. "
        "Problems with an accuracy of 100 %; the first correct response to each. Accuracy of what is decoded again "
        "without the perturbation less that with it. "
        f"{'; '.join(tests)} (t over problems, paired)."
    )
    words = {"top": f"highest {share} entropy", "bottom": f"lowest {share} entropy"}
    return plot_groups(
        "perturbation",
        "Accuracy lost by perturbing tokens of high and of low entropy",
        caption,
        f"{ERPO}, Fig. 1b",
        frames,
        names,
        words,
        "accuracy lost by the perturbation (percentage points)",
    )


def perturbation(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 1b, of correct responses."""
    frames = {}
    for subject, table in m.read_tables(benchmark):
        sampling = m.sampling(subject, benchmark, "perturbation")
        frames[subject.name] = measure_perturbation(subject, benchmark, table, sampling)
    return [plot_perturbation(frames, m.names)]


FAMILIES = {
    "interventions": Family("Interventions", of_benchmark=(perturbation,), by_name=True),
}
