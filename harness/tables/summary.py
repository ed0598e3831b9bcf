"""A command's runs in a few numbers: each arm's score with its interval, and the most important difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from evals.files import read_json
from evals.stats.compare import Line, compare_runs
from evals.stats.measured_run import MeasuredRun, read_run
from evals.stats.score import Score, score
from harness.spec import Reproduction
from harness.spec.scales import SCALES
from harness.tables.alike import same_samples


@dataclass(frozen=True)
class ArmResult:
    """One arm over its training seeds; `score` is avg on the summary's benchmark, None if all seeds diverged."""

    model: str
    arm: str
    seeds: int
    score: Score | None
    diverged: int
    mismatch: tuple[str, ...] = ()  # how sampler and trainer differed in some seed (`harness.step.mismatch.FLAGS`)


@dataclass(frozen=True)
class Summary:
    """A command's measurements on the first benchmark that its arms share.

    `difference` is the arm of the paper's first claim minus the arm it is compared with; None unless the command
    measured both.
    """

    paper: str
    scale: str
    label: str
    benchmark: str | None
    others: tuple[str, ...]  # benchmarks measured as well
    arms: tuple[ArmResult, ...]
    difference: tuple[str, str, Line] | None
    folders: tuple[Path, ...]
    alike: tuple[tuple[str, str], ...] = ()  # trained arms of one base model that gave the same samples in every seed


def summarise(paper: Reproduction, folders: Sequence[Path]) -> Summary:
    """The summary of finished jobs of one paper and scale.

    Args:
        folders: of the jobs, as `harness.jobs.run.run` returns them; at least one.
    """
    records = [(folder, read_json(folder / "record.json")) for folder in folders]
    groups: dict[tuple[str, str], list[tuple[Path, dict[str, Any]]]] = {}
    for folder, record in records:
        groups.setdefault((record["model"], record["arm"]), []).append((folder, record))
    runs = {key: _run(key, members) for key, members in groups.items()}
    shared = [set(run.tables) for run in runs.values() if run is not None]
    stated = records[0][1]["settings"]["protocol.benchmarks"]["value"]
    measured = next((list(run.tables) for run in runs.values() if run is not None), [])
    names = sorted(measured, key=lambda name: list(stated).index(name))  # the protocol's order
    common = [name for name in names if all(name in own for own in shared)]
    benchmark = common[0] if common else None
    arms = tuple(
        ArmResult(
            model,
            arm,
            len(members),
            _avg(runs[model, arm], benchmark),
            sum(bool(record.get("diverged")) for _, record in members),
            tuple(sorted({flag for _, record in members for flag in record.get("mismatch") or {}})),
        )
        for (model, arm), members in groups.items()
    )
    scale = records[0][1]["scale"]
    return Summary(
        paper.key,
        scale,
        SCALES[scale].label,
        benchmark,
        tuple(common[1:]),
        arms,
        _difference(paper, runs, benchmark),
        tuple(folders),
        tuple(_alike(runs)),
    )


def _alike(runs: dict[tuple[str, str], MeasuredRun | None]) -> Iterator[tuple[str, str]]:
    for ((model_a, arm_a), a), ((model_b, arm_b), b) in combinations(runs.items(), 2):
        if a is None or b is None or model_a != model_b or not (a.trained and b.trained):
            continue
        if same_samples(a, b):
            yield arm_a, arm_b


def _run(key: tuple[str, str], members: list[tuple[Path, dict[str, Any]]]) -> MeasuredRun | None:
    measured = [folder / "eval" for folder, record in members if not record.get("diverged")]
    return read_run(measured, "/".join(key)) if measured else None


def _avg(run: MeasuredRun | None, benchmark: str | None) -> Score | None:
    if run is None or benchmark is None:
        return None
    (average,) = score(run.tables[benchmark], ks=(), metrics=("avg",))
    return average


def _difference(
    paper: Reproduction, runs: dict[tuple[str, str], MeasuredRun | None], benchmark: str | None
) -> tuple[str, str, Line] | None:
    for claim in paper.claims:
        for model in paper.claimed_models(claim) if claim.arm else ():
            a, b = runs.get((model, claim.arm)), runs.get((model, claim.than))
            if a is not None and b is not None and benchmark is not None:
                result = compare_runs(a, b, metrics=("avg",), benchmarks=[benchmark], allow_different=True)
                return claim.arm, claim.than, result.lines[0]
    return None
