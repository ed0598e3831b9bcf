"""The figures of arXiv 2603.28204, for runs of one's own (`rlvr analyze`): perturbed tokens, accuracy against length.

Do high-entropy tokens matter more? Perturb the most and the least uncertain tokens (Fig. 1b):

    frame = measure_perturbation(subject, "amc23", tokens, Sampling(Decoding(1.0, 0.95, 2048), 1, Path("out")))
    by_group(frame); compare_groups(frame, "top", "bottom")    # evals.analysis.effects

The paper "randomly perturbed" the top 5 % and the bottom 5 % of each response to 50 questions that the model answers
reliably, by "controlled truncation and random replacement". It states no more; `Perturbation` lists our choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import ERPO
from evals.analysis.effects import (
    compare_groups,
    correctness,
    describe_accuracies,
    describe_counts,
    drops_by_run,
    plot_groups,
)
from evals.analysis.evaluation import measured_benchmarks, score_columns, score_kind
from evals.analysis.interventions import Plan, Prefix, Sampling, Selection, measure_drops, need_model, select
from evals.analysis.subjects import Subject
from evals.analysis.token_table import need_columns, whole_responses
from evals.analysis.training_curves import Curves, curve
from evals.grading.verdicts import Verdict
from evals.plots.panels import grid
from evals.plots.parts import legend_below, legend_height
from evals.plots.plot import WIDTH, Plot, look
from evals.sampling.engines.base import sample_seed
from evals.stats.score import p_words
from evals.suggest import expected
from harness.analysis.families import Family
from harness.analysis.material import Material

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("top", "bottom")
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
        for name, value, allowed in (("scope", self.scope, SCOPES), ("token", self.token, TOKENS)):
            if value not in allowed:
                raise ValueError(f"{name}: got {value!r}, {expected(value, allowed)}")
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
    chosen = [(names[i], first[names[i]]) for i in kept]
    return correct[correct.set_index(["problem_id", "sample"]).index.isin(chosen)]


def perturbed(ids: Sequence[int], replacements: Mapping[int, int]) -> tuple[int, ...]:
    """Token ids with those at some positions replaced."""
    return tuple(replacements.get(position, token) for position, token in enumerate(ids))


def random_other(generator: np.random.Generator, vocabulary: Sequence[int], token: int) -> int:
    """A random token of the vocabulary other than this one, uniformly."""
    others = len(vocabulary) - (token in vocabulary)
    chosen = vocabulary[int(generator.integers(others))]
    return vocabulary[-1] if chosen == token else chosen


def perturbations(table: pd.DataFrame, perturbation: Perturbation, vocabulary: Sequence[int], *, seed: int) -> Plan:
    """Both prefixes of each response and group: the original one and the perturbed one.

    Args:
        table: whole responses. vocabulary: token ids that a token may be replaced by at random.
    Returns:
        one row per response and group: group, problem_id, sample, length, kept and replaced (tokens).
    """
    import pandas as pd

    need_columns(table, ("token_id", "alternative_id"))
    rows, prefixes = [], {}
    for group in GROUPS:
        taken = dict(list(select(table, perturbation.selection(group), seed=seed).groupby(["problem_id", "sample"])))
        for response in whole_responses(table):
            problem, sample, length = (response[name].iloc[0] for name in ("problem_id", "sample", "length"))
            generator = np.random.default_rng(sample_seed(seed, f"perturbation|{group}", (str(problem), int(sample))))
            kept, replaced = _replacements(response, taken[problem, sample], perturbation, vocabulary, generator)
            before = response["token_id"].tolist()[:kept]
            names = f"{problem}|{sample}|{kept}|as it was", f"{problem}|{sample}|{group}|perturbed"
            for name, forced in zip(names, (tuple(before), perturbed(before, replaced)), strict=True):
                prefixes[name] = Prefix(name, problem, forced)
            rows.append((group, problem, sample, length, kept, len(replaced), *names))
    columns = ["group", "problem_id", "sample", "length", "kept", "replaced", "original", "altered"]
    return Plan(pd.DataFrame(rows, columns=columns), list(prefixes.values()))


def _replacements(
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
    sampling: Sampling,
    perturbation: Perturbation,
) -> pd.DataFrame:
    """Accuracy with and without the perturbation of the most and of the least uncertain tokens.

    Both continue from the same position, so the drop excludes the cost of decoding again.

    Args:
        subject: as `measure`; its verdict table also says which problems are reliable. tokens: its token table.
    Returns:
        `perturbations`' rows with the columns of `effects`.
    """
    engine = sampling.with_engine(need_model(subject))
    table = chosen_responses(tokens, subject.tables[benchmark], perturbation, seed=sampling.seed)
    plan = perturbations(table, perturbation, plain_tokens(engine.tokenizer), seed=sampling.seed)
    return measure_drops(subject, benchmark, plan, replace(sampling, engine=engine), name="perturbation")


def plain_tokens(tokenizer: object) -> list[int]:
    """Every token id but the special ones."""
    special = set(tokenizer.all_special_ids)  # type: ignore[attr-defined]
    return [i for i in range(len(tokenizer)) if i not in special]  # type: ignore[arg-type]


def plot_perturbation(frames: Mapping[str, pd.DataFrame], *, benchmark: str, perturbation: Perturbation) -> Plot:
    """Accuracy lost by perturbing the tokens of highest and of lowest entropy (arXiv 2603.28204, Fig. 1b).

    Args:
        frames: run -> `measure_perturbation`'s frame. perturbation: as they were measured with.
    """
    numbers = drops_by_run(frames)
    tests = []
    for run, frame in frames.items():
        result = compare_groups(frame, "top", "bottom")
        p = "p not known" if result.p_value is None else p_words(result.p_value)
        tests.append(f"{run}: top less bottom {100 * result.difference:+.1f} points, {p}")
    caption = (
        f"{_meaning(perturbation)} Problems with an accuracy of at least {100 * perturbation.sure:g} %; the first "
        f"correct response to each. {describe_counts(numbers)} Accuracy of what is decoded again without the "
        "perturbation less that with it; mean over problems, 95 % intervals over problems. "
        f"{describe_accuracies(numbers)} {'; '.join(tests)} "
        "(t over problems, paired)."
    )
    share = f"{100 * perturbation.share:g} %"
    title = f"Accuracy lost by perturbing tokens of high and of low entropy, on {benchmark}"
    label = "accuracy lost by the perturbation (percentage points)"
    words = {"top": f"highest {share} entropy", "bottom": f"lowest {share} entropy"}
    source = f"{ERPO}, Fig. 1b"
    return plot_groups(f"perturbation_{benchmark}", title, caption, source, numbers, label, words)


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


def best_steps(order: Sequence[str], curves: Curves) -> pd.DataFrame:
    """The step with the highest avg@n (the first of equal ones): `model`, `benchmark`, `step`, `accuracy (%)`,
    `tokens`."""
    import pandas as pd

    rows = []
    for benchmark in measured_benchmarks(curves):
        for name in (name for name in order if name in curves):
            metric = next(
                (m for m in score_columns(curves, benchmark) if score_kind(m) == "avg" and m in curves[name]), None
            )
            length = f"curve/{benchmark}/mean_tokens"
            if metric is None or length not in curves[name]:
                continue
            steps, accuracy, tokens = curve(curves[name], metric, length)
            if len(steps):
                best = int(np.argmax(accuracy))
                rows.append((name, benchmark, int(steps[best]), 100 * accuracy[best], tokens[best]))
    return pd.DataFrame(rows, columns=["model", "benchmark", "step", "accuracy (%)", "tokens"])


def accuracy_against_length(order: Sequence[str], numbers: pd.DataFrame) -> Plot:
    """Accuracy against length at the best step of each run, a panel a benchmark (arXiv 2603.28204, Fig. 5a)."""
    benchmarks = list(dict.fromkeys(numbers["benchmark"]))
    names = [name for name in order if name in set(numbers["model"])]
    columns = min(3, len(benchmarks))
    rows = -(-len(benchmarks) // columns)

    def render(figure: Any) -> None:
        axes = grid(figure, len(benchmarks), columns)
        for axis, benchmark in zip(axes, benchmarks, strict=True):
            for name in names:
                part = numbers[(numbers["benchmark"] == benchmark) & (numbers["model"] == name)]
                style = look(order.index(name)) | {"linestyle": "none", "markersize": 6}
                axis.plot(part["tokens"], part["accuracy (%)"], label=name, **style)
            axis.set(xlabel="mean length (tokens)", ylabel="accuracy (%)")
            axis.set_title(fill(benchmark, 24), loc="left")
            axis.margins(0.25)
        legend_below(figure, *axes[0].get_legend_handles_labels())

    caption = (
        "Each run at the step where its accuracy (mean over seeds) is highest. The best of several steps is biased "
        "upwards, and has no interval here."
    )
    return Plot("evaluation_length", "Accuracy against length at the best steps", caption, f"{ERPO}, Fig. 5a", numbers,
                render, (WIDTH * (1.0 if columns == 1 else 1.35), 2.4 * rows + legend_height(names)))  # fmt: skip


def accuracy_and_length(m: Material) -> list[Plot]:
    """Fig. 5a."""
    best = best_steps(m.names, m.curves())
    return [accuracy_against_length(m.names, best)] if len(best) else []


def perturbation(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 1b, of correct responses."""
    perturbed_as = Perturbation(sure=m.sure)
    frames = {}
    for subject, table in m.read_tables(benchmark):
        sampling = m.sampling(subject, benchmark, f"perturbation, {m.sure:g} correct", m.continuations)
        frames[subject.name] = measure_perturbation(subject, benchmark, table, sampling, perturbed_as)
    return [plot_perturbation(frames, benchmark=benchmark, perturbation=perturbed_as)]


FAMILIES = {
    "evaluation": Family("Evaluation while training", of_runs=(accuracy_and_length,)),
    "interventions": Family("Interventions", of_benchmark=(perturbation,), by_name=True),
}
