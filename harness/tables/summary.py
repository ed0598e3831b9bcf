"""A command's runs in a few numbers: each arm's score with its interval, and the most important difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from evals.stats.compare import Line, compare_runs
from evals.stats.measured_run import MeasuredRun
from evals.stats.power import default_spread, measured_spread, seeds_needed
from evals.stats.score import Score, score
from harness.record.find import together
from harness.record.run import Run
from harness.spec import Reproduction
from harness.spec.scales import SCALES
from harness.step.learning import EQUAL, LIMITS, equal_text, warnings
from harness.tables.measured import same_samples


@dataclass(frozen=True)
class ArmResult:
    """One arm over its training seeds. `score` is avg on the summary's benchmark, None if all seeds
    diverged or trained nothing."""

    model: str
    arm: str
    seeds: int
    score: Score | None
    diverged: int
    nothing: int = 0  # seeds whose weights did not move. They are not in the score
    equal: str | None = None  # how many groups taught nothing (`harness.step.learning.equal_text`)
    warnings: tuple[str, ...] = ()  # training problems in a benchmark, and `harness.step.learning.warnings`
    mismatch: tuple[str, ...] = ()  # how sampler and trainer differed in some seed (`harness.step.mismatch.FLAGS`)


@dataclass(frozen=True)
class ArmDifference:
    """A claimed arm minus the arm it is compared with."""

    arm: str
    than: str
    line: Line
    needed: int | None  # seeds of each that would resolve it, if it is the true one
    runs: tuple[str, str]  # patterns of the runs' folders


@dataclass(frozen=True)
class Summary:
    """A command's measurements on the first benchmark that its arms share.

    `differences` are those of the paper's first claim whose arms the command measured, and of its claim on a placebo.
    """

    paper: str
    scale: str
    label: str
    benchmark: str | None
    more_benchmarks: tuple[str, ...]  # measured as well
    arms: tuple[ArmResult, ...]
    differences: tuple[ArmDifference, ...]
    folders: tuple[Path, ...]  # one per run
    alike: tuple[tuple[str, str], ...] = ()  # trained arms of one base model that gave the same samples in every seed


def summarise(paper: Reproduction, runs: Sequence[Run]) -> Summary:
    """The summary of finished runs of one paper and scale. At least one."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.model, run.arm), []).append(run)
    several = Counter(base for base, _ in {(run.base, run.model) for run in runs})  # models of the paper, as one
    methods: dict[tuple[str, str], MeasuredRun | None] = {}  # None: every seed diverged or trained nothing
    for key, members in groups.items():
        kept = [run for run in members if not run.diverged and not run.trained_nothing]
        methods[key] = together(kept, "/".join(key)) if kept else None
    shared = [set(run.tables) for run in methods.values() if run is not None]
    stated = runs[0].settings["protocol.benchmarks"]["value"]
    measured = next((list(run.tables) for run in methods.values() if run is not None), [])
    names = sorted(measured, key=lambda name: list(stated).index(name))  # the protocol's order
    common = [name for name in names if all(name in names_of_run for names_of_run in shared)]
    benchmark = common[0] if common else None
    arms = tuple(
        _result(key, members, several[members[0].base] > 1, methods[key], benchmark) for key, members in groups.items()
    )
    scale = runs[0].scale
    return Summary(
        paper.key,
        scale,
        SCALES[scale].label,
        benchmark,
        tuple(common[1:]),
        arms,
        tuple(_differences(paper, groups, methods, benchmark)),
        tuple(run.folder for run in runs),
        tuple(_alike(methods)),
    )


def _result(
    key: tuple[str, str], members: Sequence[Run], by_model: bool, method: MeasuredRun | None, benchmark: str | None
) -> ArmResult:
    """The result of one (model, arm).

    Args:
        by_model: several models of the paper share the base model, so the model's own name tells them apart.
        method: the seeds together, or None where each diverged or trained nothing.
    """
    model, arm = key
    return ArmResult(
        model if by_model else members[0].base,
        arm,
        len(members),
        score(method.tables[benchmark], ks=(), metrics=("avg",))[0] if method and benchmark else None,
        sum(run.diverged is not None for run in members),
        sum(run.trained_nothing for run in members),
        equal_text([run.metrics(EQUAL) for run in members]),
        (
            *dict.fromkeys(line for run in members for line in run.overlap.values()),
            *warnings([{name: run.metrics(name) for name in LIMITS} for run in members]),
        ),
        tuple(sorted({flag for run in members for flag in run.record.get("mismatch") or {}})),
    )


def _alike(runs: dict[tuple[str, str], MeasuredRun | None]) -> Iterator[tuple[str, str]]:
    for ((model_a, arm_a), a), ((model_b, arm_b), b) in combinations(runs.items(), 2):
        if a is None or b is None or model_a != model_b or not (a.trained and b.trained):
            continue
        if same_samples(a, b):
            yield arm_a, arm_b


def _differences(
    paper: Reproduction,
    groups: dict[tuple[str, str], list[Run]],
    runs: dict[tuple[str, str], MeasuredRun | None],
    benchmark: str | None,
) -> Iterator[ArmDifference]:
    """Those of the first claim that the runs can decide, and of the same arm's claim on a placebo."""
    first = None
    for claim in paper.claims:
        for model in paper.claimed_models(claim) if claim.arm else ():
            a, b = runs.get((model, claim.arm)), runs.get((model, claim.than))
            placebo = claim.than == "placebo" and first == (model, claim.arm)
            if a is None or b is None or benchmark is None or not (first is None or placebo):
                continue
            first = model, claim.arm
            (line,) = compare_runs(a, b, metrics=("avg",), benchmarks=[benchmark], allow_different=True).lines
            folders = [str(groups[model, arm][0].folder).rpartition("seed")[0] for arm in (claim.arm, claim.than)]
            patterns = f"{folders[0]}*", f"{folders[1]}*"
            yield ArmDifference(claim.arm, claim.than, line, _needed(a, b, benchmark, line), patterns)


def _needed(a: MeasuredRun, b: MeasuredRun, benchmark: str, line: Line) -> int | None:
    """The training seeds of each with which a true difference of this size is resolved four times in five, at the
    spreads that were measured, or None where no number does, or the spreads are not known."""
    if not line.difference or min(line.seeds_a, line.seeds_b) < 2:
        return None
    first, second, fallback = a.tables[benchmark], b.tables[benchmark], default_spread(benchmark)
    try:
        spreads = [
            measured_spread(first_arm, a.name, fallback=fallback, second=second_arm)
            for first_arm, second_arm in ((first, second), (second, first))
        ]
        spread = max(spreads, key=lambda s: s.seed_sd.value)
        needed = seeds_needed(
            abs(line.difference), spread, target_power=0.8, problems=line.problems, samples=line.samples_a
        )
    except ValueError:  # too few problems or samples to measure a spread
        return None
    return needed if needed is None or needed > min(line.seeds_a, line.seeds_b) else None
