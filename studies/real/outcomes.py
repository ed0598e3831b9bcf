"""From the archive to numbers: scores, differences and training curves of every arm that has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.stats.compare import Line, compare_runs, corrected
from evals.stats.differences import Paired, over_seeds_difference
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import Score, score
from harness.record.find import together
from harness.record.run import Run
from studies.real.design import GREEDY, SAMPLED, Design, Entry

BASE = "egsw/base"
REFERENCE = "egsw/grpo"
LAST_QUARTER = (0.75, 1.0)
SECOND_QUARTER = (0.25, 0.5)


@dataclass(frozen=True)
class CurveClaim:
    """A claim of the papers about the training, as one value per seed.

    Attributes:
        metric: its name in MLflow. window: the mean is over these shares of the rollouts.
        less: a second window, whose mean is subtracted. None: nothing is.
        arms: the methods that the papers say it of.
    """

    name: str
    metric: str
    window: tuple[float, float]
    direction: str
    arms: tuple[str, ...]
    less: tuple[float, float] | None = None


ENTROPY = ("egsw/egsw", "erpo/erpo", "entropy_advantage/grpo_entropy_advantage", "forking_tokens/top20")
CURVE_CLAIMS = (
    CurveClaim("the entropy stays higher than GRPO's", "train/entropy", LAST_QUARTER, "higher", ENTROPY),
    CurveClaim(
        "responses grow longer than GRPO's",
        "train/response_length",
        LAST_QUARTER,
        "higher",
        ("entropy_advantage/grpo_entropy_advantage", "forking_tokens/top20", "erpo/erpo"),
    ),
    CurveClaim(
        "more of the gain comes late than GRPO's",
        "train/reward",
        LAST_QUARTER,
        "higher",
        ("entropy_advantage/grpo_entropy_advantage", "forking_tokens/top20"),
        SECOND_QUARTER,
    ),
    CurveClaim(
        "gradient norms are smaller than GRPO's", "train/grad_norm", (0.0, 1.0), "lower", ("egsw/egsw", "erpo/erpo")
    ),
)


Arms = Mapping[str, Sequence[Run]]  # "paper/arm": its finished seeds, in their order


def arms(runs: Sequence[Run]) -> Arms:
    """The finished runs of every arm, by their seed."""
    runs_by_arm: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        runs_by_arm.setdefault(f"{run.paper}/{run.arm}", []).append(run)
    return runs_by_arm


def missing(design: Design, runs_by_arm: Arms) -> list[str]:
    """The runs of the design that have not ended, as "paper/arm, seed 1"."""
    seeds_by_arm = {key: {run.seed for run in seeds} for key, seeds in runs_by_arm.items()}
    planned = [(entry.key, seed) for seed in range(design.seeds) for entry in design.entries]
    return [f"{key}, seed {seed}" for key, seed in planned if seed not in seeds_by_arm.get(key, set())]


def scores(seeds: Sequence[Run]) -> list[Score]:
    """pass@1 greedy, then avg@8 and pass@8 at temperature 1."""
    run = measured(seeds)
    (greedy,) = score(run.tables[GREEDY], ks=(), metrics=("avg",))
    return [greedy, *score(run.tables[SAMPLED], ks=(8,), metrics=("avg", "pass"))]


def measured(seeds: Sequence[Run]) -> MeasuredRun:
    """The seeds of one arm as one measured run."""
    return together(seeds, f"{seeds[0].paper}/{seeds[0].arm}")


@dataclass(frozen=True)
class Difference:
    """One registered comparison: an entry minus what it is compared with, in one metric."""

    entry: Entry
    than: str
    line: Line


def differences(design: Design, runs_by_arm: Arms) -> list[Difference]:
    """Every comparison of the design whose both arms have a run of one seed.

    Holm's correction covers all comparisons of the design in one metric, those that are missing too.
    """
    pairs = [(entry, than) for entry in design.entries for than in entry.than]
    seeds = {key: {run.seed for run in runs} for key, runs in runs_by_arm.items()}
    present = [(entry, than) for entry, than in pairs if seeds.get(entry.key, set()) & seeds.get(than, set())]
    result: list[Difference] = []
    for benchmark, metric in ((GREEDY, "avg"), (SAMPLED, "avg"), (SAMPLED, "pass")):
        lines: list[Line] = []
        for entry, than in present:
            a, b = _same_seeds(runs_by_arm[entry.key], runs_by_arm[than])
            (line,) = compare_runs(
                measured(a), measured(b), metrics=(metric,), ks=(8,), benchmarks=[benchmark], margin=design.margin
            ).lines
            lines.append(line)
        family = f"{benchmark}, {metric}: all {len(pairs)} comparisons of the design"
        after = corrected(lines, family, len(pairs))
        result += [Difference(entry, than, line) for (entry, than), line in zip(present, after, strict=True)]
    return result


def _same_seeds(a: Sequence[Run], b: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The seeds that both arms have: seed 0 of one is not compared with seeds 0 to 2 of the other."""
    both = {run.seed for run in a} & {run.seed for run in b}
    return [run for run in a if run.seed in both], [run for run in b if run.seed in both]


def window_mean(run: Run, metric: str, window: tuple[float, float]) -> float:
    """The mean of a training curve over a window of its rollouts.

    Raises:
        ValueError: the window has no value.
    """
    points = run.metrics(metric)
    last = max(step for step, _ in points)
    values = [value for step, value in points if window[0] * last < step <= window[1] * last]
    if not values:
        raise ValueError(f"{run.name}: {metric} has no value in the rollouts {window}")
    return sum(values) / len(values)


def curve_value(run: Run, claim: CurveClaim) -> float:
    """The value of one run that a claim is about."""
    value = window_mean(run, claim.metric, claim.window)
    return value if claim.less is None else value - window_mean(run, claim.metric, claim.less)


def curve_difference(claim: CurveClaim, arm: Sequence[Run], reference: Sequence[Run]) -> Paired:
    """An arm minus GRPO in a claim's value, over the training seeds (Welch's t). No verdict below three seeds."""
    a, b = _same_seeds(arm, reference)
    return over_seeds_difference([curve_value(run, claim) for run in a], [curve_value(run, claim) for run in b])
