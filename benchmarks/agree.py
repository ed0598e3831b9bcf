"""False "a difference" of `rlvr agree`, and its power, by simulation: `python -m benchmarks.agree [--write]`.

Writes results/agree.md, in a few minutes. One model is sampled twice, so each "a difference" is false.
"""

from __future__ import annotations

import csv
import io
import math
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evals.stats.acceptance import accept, crossing
from evals.stats.agree import (
    DIFFERENCE,
    LEVEL,
    RHO,
    TYPICAL_LEVEL,
    Score,
    _Tails,
    answer,
    chance,
    measured_spread,
    typical_probability,
)

Vector = NDArray[np.float64]
Whole = NDArray[np.int64]
ROOT = Path(__file__).parents[1]
RATES = ROOT / "results" / "ledger" / "rates.csv"
ARCHIVE = ROOT / "results" / "real" / "runs.tar.xz"
PAGE = ROOT / "results" / "agree.md"
RUNS = 2000
SUBSETS = 20  # drawn from the problems of a model
PROBLEMS = (15, 30, 83, 198, 500, 1319)
SAMPLES = ((1, 1), (1, 4), (4, 4), (1, 64), (16, 16), (16, 64), (64, 64))
HEADER = " | ".join(f"{a} and {b}" for a, b in SAMPLES)
GAPS = (0.05, 0.1, 0.2)


def alike(mean: float) -> Callable[[int, np.random.Generator], Vector]:
    """Every problem has the same rate: the most noise that a mean allows."""
    return lambda problems, rng: np.full(problems, mean)


def halves(low: float, high: float) -> Callable[[int, np.random.Generator], Vector]:
    """Half of the problems at each of two rates."""
    return lambda problems, rng: np.where(np.arange(problems) % 2 == 0, low, high)


def beta(mean: float, rho: float) -> Callable[[int, np.random.Generator], Vector]:
    """Beta rates with that mean and spread: Var(p) = rho m (1 - m)."""
    size = 1 / rho - 1
    return lambda problems, rng: rng.beta(mean * size, (1 - mean) * size, problems)


def typical(mean: float, rho: float) -> Callable[[int, np.random.Generator], Vector]:
    """The quantiles of Beta rates, whose own spread over the problems at hand is `rho`."""
    from scipy.special import betaincinv

    def spread_of(size: float, problems: int) -> tuple[float, Vector]:
        rates = betaincinv(mean * size, (1 - mean) * size, (np.arange(problems) + 0.5) / problems)
        return float(rates.var() / (rates.mean() * (1 - rates.mean()))), rates

    def rates(problems: int, rng: np.random.Generator) -> Vector:
        low, high = 0.02, 50.0  # a larger size has a smaller spread
        for _ in range(60):
            size = (low * high) ** 0.5
            low, high = (size, high) if spread_of(size, problems)[0] > rho else (low, size)
        return spread_of(size, problems)[1]

    return rates


@dataclass(frozen=True)
class Measured:
    """How many of `samples` responses are correct, of each problem.

    Attributes:
        correct: [P]. made_up: the task was made for an experiment, and is no public benchmark.
    """

    source: str
    what: str
    samples: int
    correct: Whole
    made_up: bool

    @property
    def mean(self) -> float:
        return float(self.correct.mean()) / self.samples

    @property
    def spread(self) -> float | None:
        return measured_spread(self.correct, self.samples)

    @property
    def rates(self) -> Vector:
        """The shares, drawn towards their mean until they have the measured spread: shares of few samples spread more
        than the rates behind them, and a larger spread means less noise."""
        share = self.correct / self.samples
        raw = float(share.var()) / (self.mean * (1 - self.mean))
        return self.mean + math.sqrt((self.spread or 0.0) / raw) * (share - self.mean)

    def false(self, problems: int, samples: tuple[int, int], runs: int) -> float:
        """How often this model, sampled twice, is called different from itself: on so many of its problems, which are
        chosen anew for each twentieth of the runs."""
        rng = np.random.default_rng([problems, *samples])
        chosen = [rng.choice(self.rates, problems, replace=False) for _ in range(SUBSETS)]
        return float(np.mean([share((rates, rates), samples, rng, runs // SUBSETS) for rates in chosen]))

    def split(self, samples: tuple[int, int], rng: np.random.Generator, runs: int) -> tuple[Whole, Whole]:
        """Correct ones of both sides [runs], if each side gets so many of the measured samples, none of them twice. No
        rate is assumed: these are samples that one model did give."""
        a, b = samples
        x = rng.hypergeometric(self.correct, self.samples - self.correct, a, (runs, len(self.correct)))
        rest = self.correct - x
        y = rng.hypergeometric(rest, self.samples - a - rest, b)
        return x.sum(axis=1), y.sum(axis=1)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measured() -> list[Measured]:
    """Public models (results/ledger/rates.csv), and the untrained model of the study on real weights."""
    models = []
    for row in read_rows(RATES):
        pairs = [map(int, pair.split(":")) for pair in row["correct"].split()]
        correct = np.repeat(*np.array([*map(list, pairs)]).T)
        what = f"{row['recipe']}, {row['benchmark']}"
        models.append(Measured(row["repository"], what, int(row["samples"]), correct, row["benchmark"] == "Countdown"))
    with tarfile.open(ARCHIVE) as archive:
        (name,) = (n for n in archive.getnames() if "-base-" in n and n.endswith("/two_steps_sampled/verdicts.parquet"))
        table = pd.read_parquet(io.BytesIO(archive.extractfile(name).read()))  # type: ignore[union-attr]
    scored = table.assign(correct=table["verdict"] == "correct").groupby("problem_id")["correct"]
    model = name.split("/")[2].split("-base-")[0]
    what = f"{model} (small scale), a·b ± c"
    return [*models, Measured("results/real", what, int(scored.size().min()), scored.sum().to_numpy(int), True)]


HOSTILE = {
    "all 0.5": alike(0.5),
    "all 0.1": alike(0.1),
    "all 0.02": alike(0.02),
    "all 0.98": alike(0.98),
    "half 0, half 0.5": halves(0.0, 0.5),
    "half 0.3, half 1": halves(0.3, 1.0),
    "one of ten at 0.5, else 0": lambda problems, rng: np.where(np.arange(problems) % 10 == 0, 0.5, 0.0),
}
MEANS, SPREADS = (0.1, 0.3, 0.5, 0.8), (0.36, 0.5, 0.67)  # typical rates: their mean, their spread


@cache
def differs(x: int, n: int, y: int, m: int) -> bool:
    """Whether these counts are called a difference. Fast checks come first: the typical probability, and the one for
    equal rates, which is never above the largest one."""
    a, b = Score(x, n), Score(y, m)
    if typical_probability(a, b) > TYPICAL_LEVEL:
        return False
    tails, gap = _Tails(n, m, x + y), abs(a.share - b.share)
    if tails.above(gap, equal_rates=True) + tails.below(gap, equal_rates=True) > LEVEL:
        return False
    return answer(chance(a, b)) == DIFFERENCE


def share(rates: tuple[Vector, Vector], samples: tuple[int, int], rng: np.random.Generator, runs: int) -> float:
    """How often two scores of models with these rates are called a difference."""
    x, y = (rng.binomial(n, r, (runs, len(r))).sum(axis=1) for n, r in zip(samples, rates, strict=True))
    return called((x, y), samples, len(rates[0]))


def called(counts: tuple[Whole, Whole], samples: tuple[int, int], problems: int) -> float:
    """The share of pairs of counts that are called a difference."""
    tries = [problems * n for n in samples]
    return float(np.mean([differs(int(x), tries[0], int(y), tries[1]) for x, y in zip(*counts, strict=True)]))


def false(
    make: Callable[[int, np.random.Generator], Vector], problems: int, samples: tuple[int, int], runs: int
) -> float:
    """How often one model, sampled twice, is called different from itself."""
    rng = np.random.default_rng([problems, *samples])
    rates = make(problems, rng)
    return share((rates, rates), samples, rng, runs)


def power(gap: float, problems: int, samples: tuple[int, int], runs: int) -> float:
    """How often two models are called different whose means do differ by `gap`: rates of spread 0.5 and mean 0.5, moved
    towards 1 by the gap on one side."""
    rng = np.random.default_rng([problems, *samples, round(1000 * gap)])
    rates = beta(0.5, 0.5)(problems, rng)
    moved = rates + (1 - rates) * gap / float((1 - rates).mean())
    return share((rates, moved), samples, rng, runs)


def false_with_seeds(problems: int, samples: int, seeds: tuple[int, int], spread: float, runs: int) -> float:
    """How often one method, trained and sampled twice, is called different: normal effects of the seeds on all rates of
    Beta rates with mean 0.5, clipped to 0..1."""
    rng = np.random.default_rng([problems, samples, *seeds])
    rates = beta(0.5, RHO)(problems, rng)
    wrong = 0
    for _ in range(runs):
        scores = []
        for count in seeds:
            effects = spread * rng.standard_normal((count, 1))
            correct = int(rng.binomial(samples, np.clip(rates + effects, 0, 1)).sum())
            scores.append(Score(correct, problems * samples * count, count))
        wrong += answer(chance(*scores, seed_sd=spread)) == DIFFERENCE
    return wrong / runs


def spreads() -> Iterator[tuple[str, str, float, float]]:
    """(source, model and benchmark, mean, spread of rates) of public models.

    From several samples of each problem, or from the standard deviation s of a score of one sample per problem over
    seeds: P s^2 = m (1 - m)(1 - rho). Means of 10 to 90 %.
    """
    for model in measured():
        if 0.1 <= model.mean <= 0.9 and model.spread is not None:
            yield model.source, model.what, model.mean, model.spread
    sizes = {"AIME": 30, "AMC": 40, "M": 272}
    seen = set()
    for row in read_rows(ROOT / "results" / "ledger" / "base_rows.csv"):
        if row["by"] != "bethgelab/sober-reasoning":
            continue
        size = next((size for name, size in sizes.items() if row["cell"].upper().startswith(name)), 272)
        if "MATH" in row["cell"].upper().split()[0]:
            size = 500
        mean, deviation = (float(part) / 100 for part in row["others"].split(" ± "))
        key = row["model"], size, mean
        if key in seen or not 0.1 <= mean <= 0.9:
            continue
        seen.add(key)
        yield (
            "arXiv 2504.07086, std over seeds",
            f"{row['model']}, {row['cell']}",
            mean,
            1 - size * deviation**2 / (mean * (1 - mean)),
        )


def refused() -> Iterator[tuple[float, int, int]]:
    """(target, seeds tried, falsely refused): each of the tiny study's ten seeds against the nine others of its arm."""
    curves = pd.read_parquet(ROOT / "results" / "study" / "curves.parquet")
    curves = curves[curves["metric"] == "train/accuracy"]
    table = curves.pivot_table(index=["family", "paper", "arm", "seed"], columns="step", values="value")
    for target in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        tried = wrong = 0
        for _, arm in table.groupby(level=[0, 1, 2]):
            crossings = [crossing(row.dropna().index, row.dropna(), target) for _, row in arm.iterrows()]
            if len(crossings) < 10 or any(np.isinf(run.at) for run in crossings):
                continue
            for place, run in enumerate(crossings):
                reference = crossings[:place] + crossings[place + 1 :]
                wrong += accept(run, reference, target).verdict in ("too early", "too late")
                tried += 1
        yield target, tried, wrong


def typical_rows() -> Iterator[str]:
    """The rows of false differences with typical rates."""
    for rho in SPREADS:
        for problems in PROBLEMS:
            cells = [[false(typical(m, rho), problems, samples, RUNS) for m in MEANS] for samples in SAMPLES]
            shown = " | ".join(f"{100 * float(np.mean(rates_of_cell)):.1f}" for rates_of_cell in cells)
            yield f"| typical, spread {rho:g} | {problems:,} | {shown} |"


def real_rows(models: Sequence[Measured]) -> Iterator[str]:
    """The rows of false differences with measured rates: all problems, then 30 of them. Those of one made-up task are
    one row, with the largest of each cell."""
    for _, group in groupby(models, lambda model: model.source if model.made_up else model.what):
        several = list(group)
        what = f"{several[0].source}: " + (
            several[0].what if len(several) == 1 else f"Countdown, {len(several)} models"
        )
        spreads = [f"{model.spread:.2f}" for model in several]
        spread = "–".join(dict.fromkeys((min(spreads), max(spreads))))
        for problems in dict.fromkeys((len(several[0].correct), 30)):
            worst = [max(model.false(problems, samples, RUNS) for model in several) for samples in SAMPLES]
            yield f"| {what} | {spread} | {problems:,} | {' | '.join(f'{100 * value:.1f}' for value in worst)} |"


def split_rows(models: Sequence[Measured]) -> Iterator[str]:
    """The rows of false differences between two sets of the measured samples."""
    for model in models:
        cells = []
        for samples in SAMPLES:
            rng = np.random.default_rng([len(model.correct), *samples])
            enough = sum(samples) <= model.samples
            problems = len(model.correct)
            cells.append(f"{100 * called(model.split(samples, rng, RUNS), samples, problems):.1f}" if enough else "–")
        yield f"| {model.source}: {model.what} | {model.spread:.2f} | {len(model.correct):,} | {' | '.join(cells)} |"


def document() -> Iterator[str]:
    """The page, line by line."""
    yield "# Do two scores agree? False answers and power"
    yield (
        f"\n`python -m benchmarks.agree --write` writes this page. Each cell has {RUNS:,} simulated pairs with fixed "
        'seeds. Both scores of a pair come from one model, so each answer "a difference" is false. Numbers are percent.'
    )
    yield "\n## False differences\n"
    yield (
        f"The limit is {100 * LEVEL:g} % for any rates, and {100 * TYPICAL_LEVEL:g} % for typical rates. One standard "
        f"deviation of a cell is {100 * (0.05 * 0.95 / RUNS) ** 0.5:.1f} at 5 %, and "
        f"{100 * (0.01 * 0.99 / RUNS / len(MEANS)) ** 0.5:.1f} at 1 %.\n"
    )
    yield f"| rates | problems | {HEADER} |"
    yield "|---|---:|" + "---:|" * len(SAMPLES)
    for problems in PROBLEMS:
        worst = [max(false(make, problems, samples, RUNS) for make in HOSTILE.values()) for samples in SAMPLES]
        yield f"| hostile | {problems:,} | {' | '.join(f'{100 * value:.1f}' for value in worst)} |"
    yield from typical_rows()
    yield f"\n*Hostile* rates are chosen to give large gaps. A cell is the largest value of these {len(HOSTILE)}:\n"
    yield from (f"- {name}" for name in HOSTILE)
    yield (
        "\n*Typical* rates are quantiles of a Beta distribution with the spread of the row. A cell is the mean over "
        f"four mean rates ({', '.join(f'{mean:g}' for mean in MEANS)}), with {len(MEANS) * RUNS:,} pairs together."
    )
    yield (
        f"\nAt the assumed spread of {RHO:g} the rule is built to be wrong in about 1 % of cases. At smaller "
        "spreads, such as Countdown's below, the rule is wrong more often, but never more often than in the hostile "
        "rows."
    )
    yield from measured_rates()
    yield from training_seeds()
    yield from power_of_gaps()
    yield "\n## The spread of public models' rates\n"
    yield (
        f"The typical probability uses {RHO:g}. The table has public models with means from 10 to 90 %. A low spread "
        "means more noise. Countdown is a made-up task with similar problems. The typical probability is too small for "
        "Countdown. Spreads from ten seeds are rough. Their error is about a third of one minus the spread.\n"
    )
    yield "| source | model, benchmark | mean | spread |"
    yield "|---|---|---:|---:|"
    for source, what, mean, rho in sorted(spreads(), key=lambda row: row[3]):
        yield f"| {source} | {what} | {100 * mean:.1f} | {rho:.2f} |"
    yield "\n## A run against the seeds of a reference (tiny scale)\n"
    yield (
        "The arms are those of the tiny-scale study. Each of the ten seeds of an arm is compared with the other nine "
        "seeds, by the number of steps to a target accuracy in training. All seeds belong to one arm, so each "
        "refusal is false. If a seed never reaches the target, the arm is left out.\n"
    )
    yield "| target | seeds | refused, % |"
    yield "|---:|---:|---:|"
    rows = list(refused())
    for target, tried, wrong in rows:
        yield f"| {target:g} | {tried} | {100 * wrong / tried:.1f} |"
    tried, wrong = sum(row[1] for row in rows), sum(row[2] for row in rows)
    yield f"| all | {tried} | {100 * wrong / tried:.1f} |"


def measured_rates() -> Iterator[str]:
    models = [model for model in measured() if 0.1 <= model.mean <= 0.95]
    real, made_up = ([model for model in models if model.made_up == kind] for kind in (False, True))
    yield "\n## False differences with measured rates\n"
    yield (
        f"These models have several samples of each problem ([the counts](ledger/rates.csv), [licences]("
        f"ledger/repositories.csv)). The limit is {100 * TYPICAL_LEVEL:g} % if the rates have the assumed spread "
        f"of {RHO:g} or more, and {100 * LEVEL:g} % otherwise. For AIME, AMC and MATH-500, we found no public file "
        "with several samples per problem. The models have mean rates of 10 to 95 %. One standard deviation of a "
        f"cell is {100 * (0.01 * 0.99 / RUNS) ** 0.5:.1f} at 1 %.\n"
    )
    columns = f"| model, benchmark | spread | problems | {HEADER} |\n|---|---:|---:|{'---:|' * len(SAMPLES)}"
    yield (
        "The first table simulates with rates. The rates are the measured shares, moved towards their mean until "
        "they have the measured spread.\n"
    )
    yield columns
    yield from real_rows(real)
    yield (
        "\nThe second table uses no rates. Both sides get measured samples, and no sample is used twice. A dash "
        "means that there are too few samples.\n"
    )
    yield columns
    yield from split_rows(real)
    yield (
        "\nThe third table has made-up tasks with similar problems. If a row has several models, a cell shows the "
        "largest value.\n"
    )
    yield columns
    yield from real_rows(made_up)


def training_seeds() -> Iterator[str]:
    yield "\n## False differences with training seeds\n"
    yield (
        "Both sides train the same method. The seeds have a normal spread of 1.9 points, and the command knows this "
        f"spread. Rates have a mean of 0.5 and a spread of {RHO:g}. Each cell has {RUNS // 4} pairs.\n"
    )
    pairs = ((1, 1), (1, 3), (3, 3))
    yield f"| problems | samples | {' | '.join(f'{a} and {b} seeds' for a, b in pairs)} |"
    yield "|---:|---:|---:|---:|---:|"
    for problems, samples in ((30, 16), (500, 4)):
        shares = [false_with_seeds(problems, samples, seeds, 0.019, RUNS // 4) for seeds in pairs]
        yield f"| {problems} | {samples} | {' | '.join(f'{100 * value:.1f}' for value in shares)} |"


def power_of_gaps() -> Iterator[str]:
    yield "\n## Power\n"
    yield (
        "Two models differ by the gap in their means. Their rates have a mean of 0.5 and a spread of 0.5. Each "
        f'cell has {RUNS // 10} pairs, and shows how often the answer is "a difference".\n'
    )
    yield f"| problems | gap in points | {HEADER} |"
    yield "|---:|---:|" + "---:|" * len(SAMPLES)
    for problems in PROBLEMS:
        for gap in GAPS:
            shares = [power(gap, problems, samples, RUNS // 10) for samples in SAMPLES]
            yield f"| {problems:,} | {100 * gap:g} | {' | '.join(f'{100 * value:.0f}' for value in shares)} |"


def main() -> None:
    text = "\n".join(document()) + "\n"
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
