"""The finished arms of a paper in MLflow, their scores recomputed from the logged verdicts, and their tables.

Measurements at the paper's own scale go beside the published cells (`published`); those at other scales have tables of
their own (`scale_grids`).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.files import read_json
from evals.stats.counted import CountedTable, SeedCounts, counted_file
from evals.stats.intervals import ROUGH
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import NONE, score_text
from evals.stats.verdict_table import VerdictTable
from harness.backends import backend
from harness.command.resolve import BACKENDS
from harness.runs.source import RunSource
from harness.spec import catalogue
from harness.spec.scales import SCALES
from harness.tables.grid import Grid

Points = Sequence[tuple[int, float]]  # (optimiser step, value)
METRICS = ("avg", "pass", "maj", "unsolvable", "fmt", "mean_tokens")


@dataclass(frozen=True)
class Measured:
    """One arm in MLflow: all seeds with equal values."""

    model: str
    arm: str
    title: str
    scale: str
    backend: str
    overrides: str  # of the command line, key=value
    digest: str
    seeds: tuple[int, ...]
    commits: tuple[str, ...]
    commands: tuple[str, ...]  # that made the runs
    origins: dict[str, int]  # how many values come from where
    n: dict[str, int]  # samples a problem, by benchmark
    verdicts: dict[str, CountedTable]  # benchmark -> counts of all seeds
    scores: dict[str, dict[str, Any]]  # benchmark -> score key -> Score
    run_ids: dict[int, str] = field(default_factory=dict)  # seed -> MLflow run
    records: dict[int, dict[str, Any]] = field(default_factory=dict)  # seed -> its record.json
    trained: bool = True  # False: the untrained base model, which has no training seeds
    diverged: dict[int, dict[str, Any]] = field(default_factory=dict)  # seed -> {step, quantity, value}
    curves: dict[int, dict[str, Points]] = field(default_factory=dict)  # seed -> MLflow metric -> (step, value)
    last: dict[int, dict[str, float]] = field(default_factory=dict)  # seed -> MLflow metric -> its last value

    def label(self, name: str, common: Collection[str] = ()) -> str:
        """`name` with what distinguishes this arm from others of that name: backend and overrides, without common
        ones."""
        own = [o for o in self.replaced if o not in common]
        parts = [
            name,
            backend(self.backend).label if self.backend in BACKENDS else f"({self.backend})",
            f"[{' '.join(own)}]" if own else "",
        ]
        return " ".join(p for p in parts if p)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The overrides of the command line, each as key=value."""
        return tuple(o for o in re.split(r" (?=[\w.]+=)", self.overrides) if o)  # values may hold spaces

    @property
    def all_seeds(self) -> int:
        """Training seeds that finished, those that diverged included."""
        return len(self.seeds) + len(self.diverged)

    def divergence(self) -> str:
        """ "diverged (step 7, seed 2) in 1 of 3 seeds"; "" if none did."""
        if not self.diverged:
            return ""
        where = "; ".join(f"step {d['step']}, seed {seed}" for seed, d in sorted(self.diverged.items()))
        return f"diverged ({where}) in {len(self.diverged)} of {self.all_seeds} seeds"

    def held(self, benchmark: str) -> VerdictTable:
        """The verdicts of one benchmark, checked and counted once."""
        return self.run().held(benchmark)

    def run(self) -> MeasuredRun:
        """As `compare_runs` takes it; the same object each time, which has counted its verdicts."""
        if "_run" not in self.__dict__:
            label, conditions = self.label(self.arm), dict.fromkeys(self.verdicts)
            self.__dict__["_run"] = MeasuredRun(label, self.verdicts, conditions, trained=self.trained)
        run: MeasuredRun = self.__dict__["_run"]
        return run


def common_overrides(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The overrides that all trained arms share (an untrained arm has none), to print once above a table."""
    arms = list(measured)
    trained = [set(m.replaced) for m in arms if m.trained] or [set(m.replaced) for m in arms]
    shared = set.intersection(*trained) if trained else set()
    of_all = {o for o in shared if o.startswith(("protocol.", "base_model="))}
    lacking = {o for o in of_all if not all(o in m.replaced for m in arms)}
    return tuple(sorted(shared - lacking))


def in_all_arms(common: Sequence[str]) -> str:
    """The line above a table with the overrides that its arms share; "" if there are none."""
    return f"In all arms: {' '.join(common)}." if common else ""


def gather(
    paper: str,
    source: RunSource,
    *,
    arms: Collection[str] | None = None,
    digests: Collection[str] | None = None,
    curves: Sequence[str] = (),
) -> list[Measured]:
    """The finished arms of a paper, in the paper's order; the newer of two versions of an arm.

    Args:
        arms: only those; None: all. digests: only arms whose newer version is of one of these jobs.
        curves: metrics to read beside those that the paper's claims are about.
    """
    groups: dict[tuple[str, ...], dict[str, dict[int, Any]]] = {}
    for run in source.arms(paper):  # newest first
        tag = run.data.tags
        if arms is not None and tag["rlvr.arm"] not in arms:
            continue
        key = tuple(tag[f"rlvr.{name}"] for name in ("scale", "backend", "model", "arm", "overrides"))
        versions = groups.setdefault(key, {})
        versions.setdefault(tag["rlvr.digest"], {}).setdefault(int(tag["rlvr.seed"]), run)
    reproduction = catalogue.load(paper)
    claimed = [name for c in reproduction.claims if c.curve is not None for name in c.curve.metrics]
    curves = tuple(dict.fromkeys([*claimed, *curves]))
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for versions in groups.values():
            digest, runs = next(iter(versions.items()))
            if digests is not None and digest.partition("-")[0] not in digests:
                continue
            measured.append(_measured(digest, dict(sorted(runs.items())), source, Path(folder), curves))
    order = [(a.model, a.key) for a in reproduction.arms]
    rank = {key: i for i, key in enumerate(order)}
    return sorted(measured, key=lambda m: (m.scale, rank.get((m.model, m.arm), len(rank)), m.backend, m.overrides))


def _measured(digest: str, runs: dict[int, Any], source: RunSource, folder: Path, curves: Sequence[str]) -> Measured:
    from evals.stats.score import score

    records: dict[int, Any] = {}
    counts: dict[str, dict[int, SeedCounts]] = {}
    for seed, run in runs.items():
        records[seed] = read_json(source.fetch(run, "record.json", folder / run.info.run_id))
        for benchmark in records[seed]["scores"]:
            path = source.fetch(run, f"verdicts/{benchmark}", folder / run.info.run_id)
            counts.setdefault(benchmark, {})[seed] = counted_file(path / "verdicts.parquet")
    record = next(iter(records.values()))
    verdicts = {benchmark: CountedTable(of_seeds) for benchmark, of_seeds in counts.items()}
    ks = {benchmark: _by_benchmark(record["settings"]["protocol.ks"]["value"], benchmark) for benchmark in verdicts}
    origins: dict[str, int] = {}
    for sourced in record["settings"].values():
        origins[sourced["origin"]] = origins.get(sourced["origin"], 0) + 1
    return Measured(
        model=record["model"],
        arm=record["arm"],
        title=record["title"],
        scale=record["scale"],
        backend=record["backend"],
        overrides=" ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items())),
        digest=digest,
        seeds=tuple(seed for seed, r in records.items() if not r.get("diverged")),
        commands=tuple(dict.fromkeys(as_typed(r["environment"].get("command", "")) for r in records.values())),
        commits=tuple(dict.fromkeys(str(r["environment"]["commit"])[:10] for r in records.values())),
        origins=origins,
        n={b: int(_by_benchmark(record["settings"]["protocol.n"]["value"], b)) for b in verdicts},
        verdicts=verdicts,
        scores={b: {s.key: s for s in score(table, ks=ks[b], metrics=METRICS)} for b, table in verdicts.items()},
        run_ids={seed: run.info.run_id for seed, run in runs.items()},
        records=records,
        trained=any(not key.startswith("protocol.") and key != "base_model" for key in record["settings"]),
        diverged={seed: r["diverged"] for seed, r in records.items() if r.get("diverged")},
        curves={
            seed: {name: source.history(run.info.run_id, name) for name in curves if name in run.data.metrics}
            for seed, run in runs.items()
            if curves
        },
        last={seed: dict(run.data.metrics) for seed, run in runs.items()},
    )


def as_typed(command: str) -> str:
    """The command without the folder that its program was in."""
    program, _, rest = command.partition(" ")
    name = Path(program).name
    return f"{'rlvr' if name in ('cli.py', '__main__.py') else name} {rest}".strip()  # nox starts the module


def _by_benchmark(value: Any, benchmark: str) -> Any:
    return value.get(benchmark, value.get("default")) if isinstance(value, dict) else value


HOW = ("n x seeds", "values assumed", "values replaced")


def how(match: Measured | None) -> tuple[str, ...]:
    """The cells of `HOW`: how an arm was measured, and how many of its values the paper does not state."""
    if match is None:
        return (NONE, NONE, NONE)
    n = "/".join(str(v) for v in dict.fromkeys(match.n.values())) or NONE
    seeds = f"{len(match.seeds)} of {match.all_seeds}" if match.diverged else str(len(match.seeds))
    replaced = match.origins.get("scale", 0) + match.origins.get("user", 0)
    return (f"{n} x {seeds}", str(match.origins.get("assumed", 0)), str(replaced))


def show(score: Any, match: Measured | None = None) -> str:
    """A measured cell: percent (or the metric's own unit), interval, unscored samples, and seeds that diverged."""
    if score is None and match is not None and match.diverged and not match.seeds:
        return "diverged"
    text = score_text(score)
    if score is not None and score.value is not None and match is not None and match.diverged:
        text += f" ({len(match.seeds)} of {match.all_seeds} seeds, the others diverged)"
    return text


def score_of(match: Measured, benchmark: str, metric: str) -> Any:
    """The score that a published metric asks for; "avg" is avg@n for the n of the run."""
    scores = match.scores.get(benchmark, {})
    if metric == "avg":
        return next((s for s in scores.values() if s.metric == "avg"), None)
    return scores.get(metric.replace("@", "_at_"))


def rough(rows: Iterable[Iterable[str]]) -> str:
    """The legend of "~", if a cell has one."""
    return f" {ROUGH}." if any("~[" in cell for row in rows for cell in row) else ""


def scale_grids(paper: str, measured: list[Measured]) -> list[Grid]:
    """The measurements at other scales, with each scale's label and benchmarks."""
    from harness.tables.alike import pairs_alike, why_alike  # which reads `Measured`

    grids = []
    for scale in dict.fromkeys(m.scale for m in measured if m.scale != "paper"):
        arms = [m for m in measured if m.scale == scale]
        skipped = _skipped(paper, arms, scale) + [f"{why_alike(a, b)}." for a, b in pairs_alike(arms)]
        common = common_overrides(arms)
        for benchmark in dict.fromkeys(b for m in arms for b in m.scores):
            every = dict.fromkeys(key for m in arms for key in m.scores.get(benchmark, {}))
            keys = [k for k in every if _wanted(k, every)]
            names = {
                k: next(m.scores[benchmark][k].name for m in arms if k in m.scores.get(benchmark, {})) for k in keys
            }
            rows = [
                (_name(m, common), *(show(m.scores.get(benchmark, {}).get(k), m) for k in keys), *how(m)) for m in arms
            ]
            notes = (
                f"{SCALES[scale].label}. Percent, except tokens and unsolvable (a number of problems); mean [95 % "
                f"interval over {_covers(arms, benchmark)}].{rough(rows)}",
                *skipped,
            )
            skipped = []  # once is enough
            grids.append(
                Grid(
                    f"{paper}, {scale} scale: {benchmark}",
                    ("arm", *(names[k] for k in keys), *HOW),
                    tuple(rows),
                    notes,
                    in_all_arms(common),
                )
            )
    return grids


def _name(m: Measured, common: tuple[str, ...]) -> str:
    """The arm, its own overrides, and the seeds that diverged."""
    return ", ".join(part for part in (m.label(m.arm, common), m.divergence()) if part)


def _skipped(paper: str, measured: list[Measured], scale: str) -> list[str]:
    """One note for each arm of the measured models that no backend in the store can train at this scale."""
    from harness.backends import refusals
    from harness.command.resolve import resolve
    from harness.spec import catalogue

    have = {(m.model, m.arm) for m in measured}
    by_name = {(a.model, a.key) for a in catalogue.load(paper).arms if a.sweep}  # no bare run wants these
    models = list(dict.fromkeys(m.model for m in measured))
    refused = [
        refusals(resolve(paper, models=models, sets=["all"], scale=scale, backend=name))
        for name in dict.fromkeys(m.backend for m in measured)
    ]
    return [
        f"Skipped {model}/{arm}: {refused[0][model, arm]}"
        for model, arm in (refused[0] if refused else {})
        if (model, arm) not in have | by_name and all((model, arm) in other for other in refused)
    ]


def _wanted(key: str, keys: Iterable[str]) -> bool:
    """Of pass@k, maj@k and unsolvable@k only the largest k is shown; the CSV has all."""
    metric, _, k = key.partition("_at_")
    if metric not in ("pass", "maj", "unsolvable"):
        return True
    return int(k) == max(int(other.partition("_at_")[2]) for other in keys if other.startswith(f"{metric}_at_"))


def _covers(arms: list[Measured], benchmark: str) -> str:
    covers = {s.interval.covers for m in arms for s in m.scores.get(benchmark, {}).values() if s.interval}
    return " or ".join(sorted(covers)) or "nothing: no interval could be computed"
