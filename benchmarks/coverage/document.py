"""The document of results/coverage.md: every case, simulated and tabulated."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, product

import numpy as np

from benchmarks.coverage import few_seeds, one_seed
from benchmarks.coverage.intervals import (
    Crossed,
    Held,
    beta_problems,
    both,
    mixed_problems,
    on_fixed_problems,
    one_sample_exactly,
    skewed_seeds,
    two_runs,
    two_runs_with_seeds,
)
from benchmarks.coverage.seeds import SHAPES as SEED_SHAPES
from benchmarks.coverage.verdicts import comebacks, equal_within, false_verdicts, lopsided

PROBLEMS = (30, 40, 83, 272, 500)
SAMPLES = (1, 8, 16, 64)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.95)
# a + b of Beta(a, b): at 0.1 most problems are always or never solved, at 20 all are similar
SHAPES = (0.1, 0.3, 1.0, 5.0, 20.0)
SEEDS = (2, 3, 5, 10)
DEVIATIONS = (0.0, 0.02, 0.06)  # of the seeds' effects


def document(runs: int, only: str = "", page: str = "") -> Iterator[str]:
    """Line by line.

    Args:
        only: a regular expression; sections whose title does not match are copied from `page`.
    Raises:
        ValueError: `page` was not written with that many runs.
    """
    command = f"OMP_NUM_THREADS=1 python -m benchmarks.coverage --runs {runs} --write"
    head, *rest = page.rstrip("\n").split("\n## ")
    if only and f"`{command}`" not in head:
        raise ValueError(f"only: expected a page that `{command}` wrote, with the same runs")
    kept = {text.split("\n")[0]: text.split("\n", 1)[1] for text in rest}
    if only:
        yield head.rstrip("\n")
    else:
        yield "# Coverage of the 95 % intervals"
        yield ""
        yield (
            f"Written by `{command}` on {time.strftime('%Y-%m-%d')}; not edited by hand. Each case is {runs} simulated "
            "evaluations with a known true rate and a fixed seed, so one standard deviation of a share near 0.95 is "
            f"{np.sqrt(0.95 * 0.05 / runs):.4f}, and the extremes of many cases lie up to four of these beyond the "
            "truth. `cases` counts the cases in which fewer than a quarter of the intervals carry the label `rough` "
            "(`evals.stats.intervals.Interval`), `labelled` the others, and `outside` those beyond 93 to 97 %."
        )
    for title, lines in _every(runs):
        yield f"\n## {title}"
        if only and title in kept and not re.search(only, title):
            yield kept[title].rstrip("\n")
        else:
            yield from lines()


def _every(runs: int) -> Iterator[tuple[str, Callable[[], Iterator[str]]]]:
    for title, text, cases in _sections(runs):
        yield title, lambda title=title, text=text, cases=cases: chain([f"\n{text}\n"], _table(title, cases))  # type: ignore[misc]
    yield "False verdicts: a method against itself", lambda: _false_verdicts(runs)
    yield few_seeds.TITLE, few_seeds.section
    yield one_seed.TITLE, lambda: one_seed.section(runs)
    yield "Comes back, equal within", lambda: _comebacks(runs)
    yield "What no method can guarantee", _limits


Cases = dict[str, list[Callable[[], Held]]]


Section = tuple[str, str, Cases]  # title, text, cases


def _sections(runs: int) -> Iterator[Section]:
    crossed = [Crossed(*c) for c in product(SEEDS, (30, 272), (1, 16), (-4.0, -2.0, 0.0), (0.0, 0.3, 0.8))]
    deviations = "problems' logits of deviation 2, seeds' of 0, 0.3, 0.8 (0, 4, 10 points), interactions 0.3"
    yield from _over_problems(runs)
    yield from _with_seeds(runs, crossed, deviations)
    yield from _differences(runs, crossed, deviations)


def _over_problems(runs: int) -> Iterator[Section]:
    beta: Cases = {}
    for p, n, rate, shape in product(PROBLEMS, SAMPLES, RATES, SHAPES):
        if n > 1 or shape == SHAPES[0]:  # with one sample a problem, only the mean rate matters
            beta.setdefault(f"P = {p}, n = {n}", []).append(
                lambda p=p, n=n, rate=rate, shape=shape: beta_problems(p, n, rate, shape, runs)  # type: ignore[misc]
            )
    yield (
        "Over problems (`over_problems`)",
        f"P problems of Beta(rate s, (1 - rate) s) difficulty, n samples each; rates {RATES}, s {SHAPES}.",
        beta,
    )
    mixed: Cases = {}
    for p, n, (hopeless, solved) in product(
        PROBLEMS, (1, 16), ((0.5, 0.0), (0.8, 0.0), (0.3, 0.3), (0.0, 0.6), (0.9, 0.05))
    ):
        mixed.setdefault(f"P = {p}", []).append(
            lambda p=p, n=n, h=hopeless, s=solved: mixed_problems(p, n, h, s, runs)  # type: ignore[misc]
        )
    yield (
        "Over problems, other shapes",
        "Of the problems 50, 80, 30, 0 or 90 % are hopeless, 0, 0, 30, 60 or 5 % always solved, the others uniform; "
        "n in (1, 16).",
        mixed,
    )


def _with_seeds(runs: int, crossed: list[Crossed], deviations: str) -> Iterator[Section]:
    yield (
        "Over problems and training seeds (`estimate`)",
        f"S seeds, P in (30, 272), n in (1, 16); {deviations}; mean rates 0.07, 0.23, 0.5.",
        {f"S = {s}": [lambda c=c: both(c, runs) for c in crossed if c.seeds == s] for s in SEEDS},  # type: ignore[misc]
    )
    yield (
        "Over training seeds, with fixed problems (`over_seeds`)",
        f"Ten sets of problems each; {deviations}. Equal seeds have no interval and are not counted.",
        {
            f"S = {s}": [
                lambda c=c: on_fixed_problems(c, runs)  # type: ignore[misc]
                for c in crossed
                if c.seeds == s and c.centre != -4.0
            ]
            for s in SEEDS
        },
    )
    yield (
        "Over training seeds of other shapes (`over_seeds`)",
        "48 fixed problems, 16 samples; seed effects with a deviation of 2 or 6 points. Student's t assumes normal "
        "seeds: with other shapes the interval of one score covers less, as no second side cancels a skew.",
        {
            f"S = {s}, {shape}": [lambda s=s, shape=shape, d=d: skewed_seeds(s, shape, d, runs) for d in DEVIATIONS[1:]]  # type: ignore[misc]
            for s in SEEDS
            for shape in SEED_SHAPES
        },
    )


def _differences(runs: int, crossed: list[Crossed], deviations: str) -> Iterator[Section]:
    pairs: Cases = {}
    for kind, p, n, rate, shape in product(
        ("same", "other", "lift"), (30, 83, 500), (1, 16), (0.02, 0.1, 0.5, 0.9), (0.3, 3.0)
    ):
        pairs.setdefault(f"{kind}, P = {p}", []).append(
            lambda p=p, n=n, rate=rate, shape=shape, kind=kind: two_runs(p, n, rate, shape, kind, runs)  # type: ignore[misc]
        )
    yield (
        "Paired difference of two runs (`paired`)",
        "same: equal rates on every problem; other: a third of the problems new in the second run; lift: every "
        "logit 0.7 higher there. n in (1, 16), mean rates 0.02, 0.1, 0.5, 0.9, s in (0.3, 3). Two equal runs that "
        "rarely solve anything rarely differ: an interval around zero then nearly always contains zero.",
        pairs,
    )
    yield (
        "Paired difference with training seeds (`paired`)",
        f"Two equal methods, S seeds each; {deviations}. The degrees of freedom are at most those of the side with "
        "fewer seeds, and fewer where one side carries the spread; with equal sides, as here, the interval covers over "
        "95 %. The declared prior of the seeds' spread (below: few seeds) narrows it where seeds differ little.",
        {
            f"S = {s}": [
                lambda c=c: two_runs_with_seeds(c, runs)  # type: ignore[misc]
                for c in crossed
                if c.seeds == s and c.centre != -4.0
            ]
            for s in SEEDS
        },
    )


def _table(title: str, cases: Cases) -> Iterator[str]:
    yield "| case | cases | min | mean | max | outside | labelled | their min | their max |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, simulations in cases.items():
        print(f"{title}: {name}", file=sys.stderr)
        results = [simulate() for simulate in simulations]
        plain, rough = ([f.share for f in results if f.labelled is rough] for rough in (False, True))
        outside = sum(not 0.93 <= share <= 0.97 for share in plain)
        cells = [name, str(len(plain)), *_extremes(plain), str(outside) if plain else "–"]
        low, _, high = _extremes(rough)
        yield "| " + " | ".join([*cells, str(len(rough)), low, high]) + " |"


def _extremes(shares: list[float]) -> tuple[str, str, str]:
    if not shares:
        return "–", "–", "–"
    return f"{100 * min(shares):.1f}", f"{100 * np.mean(shares):.1f}", f"{100 * max(shares):.1f}"


def _false_verdicts(runs: int) -> Iterator[str]:
    yield (
        "\nThree benchmarks of 48 problems, 16 samples, Holm over the "
        "three; seed effects, shared by the benchmarks, with the given deviation in points and shape. Share with "
        "a verdict of higher or lower on some benchmark, percent"
        f"{_error(runs, 0.05)}. With one seed no verdict about a method is possible. "
        "In brackets: against an untrained model with the same mean; its side has no seeds.\n"
    )
    cases = [(shape, d) for shape in SEED_SHAPES for d in DEVIATIONS if d or shape == "normal"]
    yield "| seeds a side | " + " | ".join(f"{shape}, {100 * d:g}" for shape, d in cases) + " |"
    yield "|---|" + "---:|" * len(cases)
    for seeds in SEEDS:
        print(f"false verdicts: {seeds} seeds", file=sys.stderr)
        cells = [
            f"{100 * false_verdicts(seeds, d, shape, runs):.1f} "
            f"({100 * false_verdicts(seeds, d, shape, runs, untrained=True):.1f})"
            for shape, d in cases
        ]
        yield f"| {seeds} | " + " | ".join(cells) + " |"
    yield (
        "\n### One comparison, seeds alone\n\nThe hardest case: no noise of problems that hides the seeds' shape, "
        "and no correction. Equal means; the first side's seeds have the given shape, the second's have the same shape "
        "with the given share of its deviation (0: an untrained model). Share with p <= 0.05, percent"
        f"{_error(runs, 0.05)}. In brackets: Student's t on the smaller number of seeds less one, the former rule.\n"
    )
    yield "| seeds | second side | " + " | ".join(SEED_SHAPES) + " |"
    yield "|---|---|" + "---:|" * len(SEED_SHAPES)
    for pair, ratio in product(((2, 2), (3, 3), (5, 5), (10, 10), (3, 10)), (1.0, 0.2, 0.0)):
        if pair[0] != pair[1] and not ratio:
            continue
        print(f"one comparison: {pair}, {ratio}", file=sys.stderr)
        shares = [lopsided(pair, ratio, shape, runs) for shape in SEED_SHAPES]
        cells = [f"{100 * now:.1f} ({100 * before:.1f})" for now, before in shares]
        seeds_text = f"{pair[0]}" if not ratio else f"{pair[0]} and {pair[1]}"
        yield f"| {seeds_text} | {ratio:g} | " + " | ".join(cells) + " |"
    yield (
        "\n**What no rule can guarantee.** If each seed's effect is up or down with equal probability, all S seeds "
        "agree with probability 2^(1 - S): 50, 25, 12.5, 6.3 % for 2 to 5 seeds. The data then show only one of the "
        "two directions. So no test keeps 5 % against an untrained model for every shape with fewer than 6 seeds, and "
        "none keeps it for every skew with any number (Bahadur and Savage, Ann. Math. Stat. 27, 1956). The verdicts "
        "assume seeds of about the shapes above. The worst of them is collapse, where a fifth of the trainings fail by "
        "two deviations: look at each seed before you believe a verdict from few."
    )


def _comebacks(runs: int) -> Iterator[str]:
    yield (
        "\n100 problems, 8 samples, seed deviations of 1.5 points (comes back) and 1 point (equal "
        'within); margin 5 points. Errors: "does not come back" at a true gap of 0 (in brackets: exponential seeds), '
        f'"comes back" and "equal" at a true gap of 5. Percent{_error(runs, 0.05)}.\n'
    )
    yield (
        "| our seeds | paper's seeds | gap 0: comes back | does not | cannot tell | gap 5: comes back | does not "
        "| equal at gap 0 | equal at gap 5 |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for seeds in SEEDS:
        print(f"comes back: {seeds} seeds", file=sys.stderr)
        equal = [equal_within(seeds, gap, 0.05, runs) for gap in (0.0, 0.05)]
        for theirs in (1, 3):
            same = comebacks(seeds, theirs, gap=0.0, margin=0.05, runs=runs)
            skew = comebacks(seeds, theirs, gap=0.0, margin=0.05, runs=runs, shape="exponential")
            apart = comebacks(seeds, theirs, gap=0.05, margin=0.05, runs=runs)
            cells = [
                f"{100 * same['comes back']:.1f}",
                f"{100 * same['does not come back']:.1f} ({100 * skew['does not come back']:.1f})",
                f"{100 * same['cannot tell']:.1f}",
                *(f"{100 * apart[answer]:.1f}" for answer in ("comes back", "does not come back")),
                *(f"{100 * share:.1f}" for share in equal),
            ]
            yield f"| {seeds} | {theirs} | " + " | ".join(cells) + " |"


def _error(runs: int, share: float) -> str:
    deviation = math.sqrt(share * (1 - share) / runs)
    return f" (one standard deviation of a share near {100 * share:g} is {100 * deviation:.1f})"


def _limits() -> Iterator[str]:
    yield (
        "\n**One sample a problem.** The number of correct problems is then binomial. An interval can take P + 1 "
        "values, and its coverage jumps by the probability of one of them where the rate passes an end. Computed "
        "exactly, without simulation, over 400 rates from 0.01 to 0.5 (by symmetry to 0.99):\n"
    )
    yield "| P | rates with P x rate >= 5: min | mean | max | below 93 | above 97 | P x rate < 5: min | mean | max |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for problems in PROBLEMS:
        rates = np.geomspace(0.01, 0.5, 400)
        share = one_sample_exactly(problems, rates)
        usual, rare = share[problems * rates >= 5], share[problems * rates < 5]
        some = [f"{100 * np.mean(usual < 0.93):.1f} %", f"{100 * np.mean(usual > 0.97):.1f} %"]
        cells = [str(problems), *_extremes(list(usual)), *some, *_extremes(list(rare))]
        yield "| " + " | ".join(cells) + " |"
    yield (
        "\nFor example, at a rate of 0.005 and P = 30, no problem is solved with probability 0.86 and one problem with "
        "0.13: any method's interval contains 0.005 in 86 or in 99 % of the evaluations, with nothing in "
        "between.\n\n**Rare successes, several samples.** The variation between problems decides the width, and a few "
        "solved problems do not show it. With 2 of 30 problems solved once in 8 samples, all problems may be "
        "similar (rate about 0.01), or a few may be solvable but happened to fail; the same data need a "
        "narrow interval in the first case and a wide one in the second. These intervals are wide enough for the "
        "second, so they cover up to 99.5 % in the first, and say `rough`.\n\n**Two training seeds.** Their spread has "
        "one degree of freedom: an interval that covers 95 % for any spread (Student's t, 12.7 standard errors) covers "
        "more when seeds differ about as much as problems do, and is useless. The declared prior narrows it, and "
        "is an assumption: see few seeds, above.\n\n**Uncorrected comparisons of seeds alone.** A single comparison "
        "with an untrained model errs in up to 13 % of cases of skewed seeds; if the second side has a fifth of "
        "the spread, in up to 19 % (one comparison, seeds alone, above). `rlvr compare` says so under a single "
        "comparison."
    )
