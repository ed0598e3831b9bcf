"""The finished runs of a paper as arms, their scores computed from the verdicts, and their tables.

Measurements at the paper's own scale go beside the published cells (`published`). Those at other scales have tables of
their own (`scale_grids`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evals.provenance import differing_fields
from evals.stats.intervals import ROUGH
from evals.stats.measured_run import MeasuredRun
from evals.stats.score import NONE, score_text
from evals.stats.verdict_table import VerdictTable
from harness.backends import backend
from harness.command.resolve import BACKENDS, resolve
from harness.errors import UsageError
from harness.record.cautions import cautions
from harness.record.names import readable, without_folders
from harness.record.run import Points, Run, counted
from harness.spec import Experiment, catalogue
from harness.spec.declarations import BEFORE
from harness.spec.own_code import own_code

if TYPE_CHECKING:
    from evals.stats.score import Score

ALIKE = "the same samples in every training seed"
Seeds = dict[int, list[Run]]
"""Seed -> its runs, the newest first."""
TABULATED = ("avg", "pass", "maj", "unsolvable", "fmt", "mean_tokens")


@dataclass(frozen=True)
class Measured:
    """One arm: the runs of all seeds with equal values."""

    model: str
    arm: str
    title: str
    scale: str
    backend: str
    overrides: str  # from the command line, key=value
    digest: str
    seeds: tuple[int, ...]
    commits: tuple[str, ...]
    commands: tuple[str, ...]  # that made the runs
    origins: dict[str, int]  # how many values come from where
    n: dict[str, int]  # samples a problem, by benchmark
    verdicts: dict[str, VerdictTable]  # benchmark -> counts of all seeds
    scores: dict[str, dict[str, Score]]  # benchmark -> score key -> Score
    runs: Mapping[int, Run] = field(default_factory=dict)  # seed -> its run
    trained: bool = True  # False: the untrained base model, which has no training seeds
    diverged: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # seed -> {step, quantity, value}
    nothing: tuple[int, ...] = ()  # seeds whose weights did not move. They are not in the scores
    curves: Mapping[int, Mapping[str, Points]] = field(default_factory=dict)  # seed -> metric -> (step, value)
    twice: tuple[int, ...] = ()  # seeds of which an older run is there too, which is not in it
    left_out: int = 0  # runs of other versions of this arm, which are not in it
    differing_values: tuple[str, ...] = ()  # the values in which they do, or which one side has no record of

    @property
    def base(self) -> str:
        """The base model that was trained, for people: `model` unless the scale or the user replaced the paper's."""
        return next(iter(self.runs.values())).base if self.runs else self.model

    def label(self, name: str, common: Collection[str] = ()) -> str:
        """`name` with what distinguishes this arm from others of that name: backend and overrides, without common
        ones."""
        distinguishing = [o for o in self.replaced if o not in common]
        parts = [
            name,
            backend(self.backend).label if self.backend in BACKENDS else f"({self.backend})",
            f"[{' '.join(distinguishing)}]" if distinguishing else "",
        ]
        return " ".join(p for p in parts if p)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The overrides of the command line, each as key=value."""
        return tuple(o for o in re.split(r" (?=[\w.]+=)", self.overrides) if o)  # values may hold spaces

    def has(self, override: str) -> bool:
        """Whether the value of an override, key=value, is one of this arm's."""
        if not self.runs:  # made from tables
            return self.trained or override.startswith(("protocol.", "base_model="))
        return override.partition("=")[0] in next(iter(self.runs.values())).settings

    @property
    def own_code(self) -> dict[str, str]:
        """Equation of the user -> SHA-256 of its code (`harness.spec.own_code`)."""
        files = next(iter(self.runs.values())).record.get("own_files", {}) if self.runs else {}
        return {name: sha256 for name, sha256 in files.items() if name.startswith("equation ")}

    @property
    def all_seeds(self) -> int:
        """Training seeds that finished, those that diverged or trained nothing included."""
        return len(self.seeds) + len(self.diverged) + len(self.nothing)

    @property
    def lost(self) -> bool:
        """Whether seeds are not in the scores, because they diverged or trained nothing."""
        return bool(self.diverged or self.nothing)

    def divergence(self) -> str:
        """ "diverged (step 7, seed 2) in 1 of 3 seeds, trained nothing in 1 of 3 seeds", or "" if none did."""
        unmoved = f"trained nothing in {len(self.nothing)} of {self.all_seeds} seeds" if self.nothing else ""
        if not self.diverged:
            return unmoved
        where = "; ".join(f"step {d['step']}, seed {seed}" for seed, d in sorted(self.diverged.items()))
        return f"diverged ({where}) in {len(self.diverged)} of {self.all_seeds} seeds" + (unmoved and f", {unmoved}")

    def warnings(self) -> list[str]:
        """A sentence for each reason why its scores mislead (`harness.record.cautions`)."""
        name = readable(f"{self.base}/{self.label(self.arm)}")
        return [f"Warning, {name} at {self.scale} scale: {line}." for line in cautions(list(self.runs.values()))]

    @cached_property
    def run(self) -> MeasuredRun:
        """As `compare_runs` takes it."""
        return MeasuredRun(self.label(self.arm), self.verdicts, dict.fromkeys(self.verdicts), trained=self.trained)


def common_overrides(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The overrides that all trained arms share (an untrained arm has none), to print once above a table."""
    arms = list(measured)
    trained = [set(m.replaced) for m in arms if m.trained] or [set(m.replaced) for m in arms]
    shared = set.intersection(*trained) if trained else set()
    of_all = {o for o in shared if o.startswith(("protocol.", "base_model="))}
    lacking = {o for o in of_all if not all(o in m.replaced for m in arms)}
    return tuple(sorted(shared - lacking))


def comparable(a: Measured, b: Measured) -> bool:
    """Whether both have the same overrides of the values that both have: only a method has its own hyperparameters, and
    an untrained model has no values of a training. Equations of a user that both have are of the same code."""
    code = b.own_code
    if any(code.get(name, sha256) != sha256 for name, sha256 in a.own_code.items()):
        return False
    return {o for o in a.replaced if b.has(o)} == {o for o in b.replaced if a.has(o)}


def same_setting(a: Measured, b: Measured) -> bool:
    """The same scale, base model and, of two trained arms, backend."""
    return (a.scale, a.model) == (b.scale, b.model) and same_backend(a, b)


def same_backend(a: Measured, b: Measured) -> bool:
    """Trained by the same backend. An untrained model was trained by none."""
    return a.backend == b.backend or not (a.trained and b.trained)


def same_samples(a: MeasuredRun, b: MeasuredRun) -> bool:
    """Every verdict, answer and length of every sample is equal, in the same training seeds and benchmarks."""
    if a.tables.keys() != b.tables.keys() or not a.tables:
        return False
    return all(a.tables[name].fingerprints == b.tables[name].fingerprints for name in a.tables)


def alike(a: Measured, b: Measured) -> bool:
    """Both arms are trained, and gave the same samples: comparing them tests nothing."""
    return a.trained and b.trained and same_samples(a.run, b.run)


def differing_conditions(a: Measured, b: Measured) -> list[str]:
    """The conditions that differ between runs of two arms, such as 'engine.dtype is "bfloat16" or "float32" (gsm8k)'.
    Empty where all were measured alike, or nothing says how."""
    values: dict[tuple[str, str], dict[str, None]] = {}  # (field, benchmark) -> its values
    for name in (name for name in a.verdicts if name in b.verdicts):
        runs = [run for m in (a, b) for run in m.runs.values() if name in run.benchmarks]
        first, *later = [dict(known, model=None) for run in runs if (known := run.conditions(name))] or [{}]
        for conditions in later:
            for field_name, x, y in differing_fields(first, conditions):
                values.setdefault((field_name, name), {}).update({json.dumps(x): None, json.dumps(y): None})
    benchmarks: dict[str, list[str]] = {}
    for (field_name, name), texts in values.items():
        benchmarks.setdefault(f"{field_name} is {' or '.join(sorted(texts))}", []).append(name)
    return [f"{text} ({', '.join(names)})" for text, names in benchmarks.items()]


def in_all_arms(common: Sequence[str]) -> str:
    """The line above a table with the overrides that its arms share, or "" if there are none."""
    return f"In all arms: {' '.join(common)}." if common else ""


def gather(paper: str, runs: Iterable[Run]) -> list[Measured]:
    """The finished arms of a paper, in the paper's order. If an arm has two versions (other values or code of its
    declaration), the version of the declaration as it stands counts, else the newest.

    Args:
        runs: of this paper and of others, in any order.
    """
    of_paper = [run for run in runs if run.record.get("kind") == "arm" and run.paper == paper and run.is_finished]
    same: dict[tuple[str, ...], Seeds] = {}  # runs of equal values: on several machines, in other words
    for run in sorted(of_paper, key=lambda run: (run.finished or "", run.digest, run.seed), reverse=True):
        key = (run.scale, run.backend, run.model, run.arm, run.digest)
        same.setdefault(key, {}).setdefault(run.seed, []).append(run)
    groups: dict[tuple[str, ...], dict[str, Seeds]] = {}
    for (*arm, digest), seeds in same.items():
        groups.setdefault((*arm, _first(seeds).overrides), {})[digest] = seeds
    measured = []
    declared = catalogue.load(paper)
    before = {**BEFORE, **declared.before}
    for versions in (_joined(versions, before) for versions in groups.values()):
        digest = _version(versions)
        left_out = sum(len(seeds) for other_digest, seeds in versions.items() if other_digest != digest)
        differ = _differing_values(versions, digest)
        chosen = dict(sorted(versions[digest].items()))
        twice = tuple(
            seed for seed, runs_of_seed in chosen.items() if len({(run.by, run.finished) for run in runs_of_seed}) > 1
        )
        of_version = _measured(digest, {seed: newest for seed, (newest, *_) in chosen.items()})
        measured.append(replace(of_version, twice=twice, left_out=left_out, differing_values=differ))
    order = [(a.model, a.key) for a in declared.arms]
    rank = {key: i for i, key in enumerate(order)}
    return sorted(measured, key=lambda m: (m.scale, rank.get((m.model, m.arm), len(rank)), m.backend, m.overrides))


def _first(seeds: Seeds) -> Run:
    return next(iter(seeds.values()))[0]


def _joined(versions: Mapping[str, Seeds], before: Mapping[str, object]) -> dict[str, Seeds]:
    """Versions without a difference are one, under the digest of the newest: those that differ only in values that one
    records and that the other had without recording them (`before`)."""
    joined: dict[str, tuple[str, Seeds]] = {}
    for digest, seeds in versions.items():
        run = _first(seeds)
        values = {**before, **{key: sourced["value"] for key, sourced in run.settings.items()}}
        of_run = [values, run.record.get("own_files") or {}, digest.partition("-")[2]]
        _, runs_by_seed = joined.setdefault(json.dumps(of_run, sort_keys=True), (digest, {}))
        for seed, runs_of_seed in seeds.items():
            runs_by_seed.setdefault(seed, []).extend(runs_of_seed)
    return dict(joined.values())


def _version(versions: Mapping[str, Seeds]) -> str:
    """The digest of the version of an arm to show.

    Args:
        versions: digest -> its runs, the newest first. The overrides of all are equal.
    """
    newest, *older = versions
    if not older:
        return newest
    run = _first(versions[newest])
    arm, overrides = {"models": [run.model], "arms": [run.arm]}, run.record["overrides"]
    try:
        jobs = resolve(run.paper, **arm, scale=run.scale, backend=run.backend, seeds=[0], overrides=overrides)
    except UsageError:  # the declaration has it no longer
        return newest
    declared = {job.digest for job in jobs}
    of_version = {
        digest: {run.record["digest"] for runs_of_seed in seeds.values() for run in runs_of_seed}
        for digest, seeds in versions.items()
    }
    return next((digest for digest, digests in of_version.items() if digests & declared), newest)


def _differing_values(versions: Mapping[str, Seeds], shown: str) -> tuple[str, ...]:
    """The keys of the values in which other versions differ from the one that is shown."""
    values = {
        digest: {key: sourced["value"] for key, sourced in _first(seeds).settings.items()}
        for digest, seeds in versions.items()
    }
    shown_values, missing = values[shown], object()
    keys = {key for version_values in values.values() for key in shown_values.keys() | version_values.keys()}
    return tuple(
        sorted(
            key
            for key in keys
            if any(
                version_values.get(key, missing) != shown_values.get(key, missing) for version_values in values.values()
            )
        )
    )


def other_versions(measured: Iterable[Measured]) -> list[str]:
    """A sentence for each arm of which seeds or other versions are left out, or that is not of the present code."""
    lines = []
    for m in measured:
        name = readable(f"{m.base}/{m.label(m.arm)}")
        if m.twice:
            seeds = f"seed{'s' * (len(m.twice) > 1)} {', '.join(map(str, m.twice))}"
            lines.append(f"{name}: several runs of {seeds} exist. The newest counts.")
        if m.left_out:
            runs = "one run is" if m.left_out == 1 else f"{m.left_out} runs are"
            differ = f" (changed or new: {', '.join(m.differing_values)})" if m.differing_values else ""
            lines.append(f"{name}: {runs} left out, because values or code of the declaration differ{differ}.")
        if m.own_code.items() - _own_code_now(m).items():
            lines.append(f"{name}: its equation has changed since these runs. rlvr run trains the present one.")
    return lines


def _own_code_now(m: Measured) -> dict[str, str | None]:
    """As `Measured.own_code`, of the declaration as it stands."""
    arms = catalogue.load(next(iter(m.runs.values())).paper).arms if m.own_code else ()
    methods = [arm.train.method for arm in arms if isinstance(arm.train, Experiment)]
    return {f"equation {use.name}": own_code(use.function) for method in methods for use in method.uses()}


def _measured(digest: str, runs: dict[int, Run]) -> Measured:
    from evals.stats.score import score

    measured: dict[str, dict[int, Run]] = {}
    for seed, run in runs.items():
        for benchmark in () if run.trained_nothing else run.benchmarks:
            measured.setdefault(benchmark, {})[seed] = run
    first = next(iter(runs.values()))
    verdicts = {benchmark: counted(of_seeds, benchmark) for benchmark, of_seeds in measured.items()}
    ks = {benchmark: _by_benchmark(first.settings["protocol.ks"]["value"], benchmark) for benchmark in verdicts}
    origins: dict[str, int] = {}
    for sourced in first.settings.values():
        origins[sourced["origin"]] = origins.get(sourced["origin"], 0) + 1
    return Measured(
        model=first.model,
        arm=first.arm,
        title=str(first.record["title"]),
        scale=first.scale,
        backend=first.backend,
        overrides=without_folders(first.overrides),
        digest=digest,
        seeds=tuple(seed for seed, run in runs.items() if not run.diverged and not run.trained_nothing),
        commands=tuple(dict.fromkeys(without_folders(run.command) for run in runs.values())),
        commits=tuple(dict.fromkeys(run.commit for run in runs.values())),
        origins=origins,
        n={b: int(_by_benchmark(first.settings["protocol.n"]["value"], b)) for b in verdicts},
        verdicts=verdicts,
        scores={b: {s.key: s for s in score(table, ks=ks[b], metrics=TABULATED)} for b, table in verdicts.items()},
        runs=runs,
        trained=first.trained,
        diverged={seed: run.diverged for seed, run in runs.items() if run.diverged},
        nothing=tuple(seed for seed, run in runs.items() if run.trained_nothing),
        curves={seed: _curves(run) for seed, run in runs.items()},
    )


def _curves(run: Run) -> dict[str, Points]:
    """Metric -> (step, value)."""
    return {name: run.metrics(name) for name in sorted({name for values in run.curve.values() for name in values})}


def _by_benchmark(value: object, benchmark: str) -> Any:
    return value.get(benchmark, value.get("default")) if isinstance(value, dict) else value


HOW = ("n x seeds", "values assumed", "values replaced")


def how(match: Measured | None) -> tuple[str, ...]:
    """The cells of `HOW`: how an arm was measured, and how many of its values the paper does not state."""
    if match is None:
        return (NONE, NONE, NONE)
    n = "/".join(str(v) for v in dict.fromkeys(match.n.values())) or NONE
    seeds = f"{len(match.seeds)} of {match.all_seeds}" if match.lost else str(len(match.seeds))
    replaced = match.origins.get("scale", 0) + match.origins.get("user", 0)
    return (f"{n} x {seeds}", str(match.origins.get("assumed", 0)), str(replaced))


def show(score: Score | None, match: Measured | None = None, benchmark: str | None = None) -> str:
    """A measured cell: percent (or the metric's own unit), interval, unscored samples, seeds that diverged, and whether
    its benchmark has training problems."""
    if score is None and match is not None and match.lost and not match.seeds:
        return "diverged" if match.diverged else "trained nothing"
    text = score_text(score)
    if score is not None and score.value is not None and match is not None and match.lost:
        why = " or ".join(filter(None, ("diverged" * bool(match.diverged), "trained nothing" * bool(match.nothing))))
        text += f" ({len(match.seeds)} of {match.all_seeds} seeds, the others {why})"
    if score is not None and match is not None and any(benchmark in run.overlap for run in match.runs.values()):
        text += " (trained on its problems)"
    return text


def score_of(match: Measured, benchmark: str, metric: str) -> Score | None:
    """The score that a published metric asks for. "avg" is avg@n for the n of the run."""
    scores = match.scores.get(benchmark, {})
    if metric == "avg":
        return next((s for s in scores.values() if s.metric == "avg"), None)
    return scores.get(metric.replace("@", "_at_"))


def rough(rows: Iterable[Iterable[str]]) -> str:
    """The legend of "~", if a cell has one."""
    return f" {ROUGH}." if any("~[" in cell for row in rows for cell in row) else ""
