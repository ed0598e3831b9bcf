"""The study's results as flat tables in one folder: written from finished runs, and the only data behind the page.

verdicts.parquet   a row a sample of every run that counts, with the columns of a verdict table but the response, the
                   problem, the reason and the sampling seed
curves.parquet     family, paper, arm, seed, metric, step, value: the training curves that the page and the claims read
runs.csv           a row a run: its settings' digest, commit, command, environment. The step at which it diverged
trials.csv         the finished search for settings: a row a trial, with its mean accuracy on the validation set
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evals.stats.verdict_table import VerdictTable
from harness.data.tiny import family
from harness.record.archive import newest
from harness.record.run import Points, Run
from harness.spec import catalogue
from harness.spec.scales import SCALES
from harness.tables.measured import Measured
from studies.tiny.design import Design
from studies.tiny.jobs import Settings, base_jobs, resolved, study_jobs

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[str, str, str]  # scale, paper, arm
Arms = Mapping[Key, Measured]
CURVES = ("train/accuracy", "train/entropy", "train/response_length")
RUN = ("family", "paper", "arm", "seed")
VERDICT = ("benchmark", "problem_id", "sample", "verdict", "answer", "answer_class", "gold", "boxed", "tokens")


def write_tables(design: Design, settings: Settings, candidates: Sequence[Run], folder: Path) -> None:
    """The tables of runs, verdicts and curves, from the runs of the design among those found and, of runs that are not
    among them, from the tables that are there: a study can be run on several machines, one after the other.

    Raises:
        ValueError: no run that counts is finished.
    """
    import pandas as pd

    finished = {(run.paper, run.record["digest"], run.seed): run for run in newest(candidates)}
    before = _tables_by_run(folder) if (folder / "runs.csv").is_file() else [{}]
    tables: tuple[list[pd.DataFrame], ...] = ([], [], [])
    runs, verdicts, curves = tables
    for job in [*base_jobs(design), *study_jobs(design, settings)]:
        at: dict[str, str | int] = {"family": job.scale, "paper": job.paper, "arm": job.arm, "seed": job.seed}
        key = tuple(at.values())
        if run := finished.get((job.paper, job.digest, job.seed)):
            runs.append(pd.DataFrame([{**at, **_provenance(run.record)}]))
            verdicts += [run.verdicts(name, [*VERDICT, "finish_reason"]).assign(**at) for name in run.benchmarks]
            points = [(metric, step, value) for metric in _curves_of(job.paper) for step, value in run.metrics(metric)]
            curves.append(pd.DataFrame(points, columns=["metric", "step", "value"]).assign(**at))
        elif key in before[0] and before[0][key]["digest"].iloc[0] == job.digest:
            for table, by_run in zip(tables, before, strict=True):
                table += [by_run[key]] if key in by_run else []
    if not any((run["arm"] != "base").all() for run in runs):
        raise ValueError("no finished run of the study: python -m studies.tiny run")
    save_tables(folder, *(pd.concat(table, ignore_index=True) for table in tables))


def _tables_by_run(folder: Path) -> list[dict[object, pd.DataFrame]]:
    """The tables of runs.csv, the verdicts and the curves: (family, paper, arm, seed) -> the run's rows."""
    import pandas as pd

    tables = [pd.read_csv(folder / "runs.csv", keep_default_na=False)]
    tables += [pd.read_parquet(folder / f"{name}.parquet") for name in ("verdicts", "curves")]
    return [dict(list(table.groupby(list(RUN)))) for table in tables]


def save_tables(folder: Path, runs: pd.DataFrame, verdicts: pd.DataFrame, curves: pd.DataFrame) -> None:
    """Write the three tables. Equal runs give equal files."""
    small = {"seed": "int16", "sample": "int16", "tokens": "int32", "answer_class": "Int16"}
    order = ["family", "benchmark", "problem_id", "paper", "arm", "seed", "sample"]  # compresses best
    rows = verdicts.astype(small).sort_values(order, kind="stable", ignore_index=True)
    folder.mkdir(parents=True, exist_ok=True)
    columns = {"verdicts": rows[[*RUN, *VERDICT, "finish_reason"]], "curves": curves[[*RUN, "metric", "step", "value"]]}
    for name, table in columns.items():
        table.to_parquet(folder / f"{name}.parquet", index=False, compression="zstd", compression_level=19)
    runs.to_csv(folder / "runs.csv", index=False)


def _provenance(record: Mapping[str, Any]) -> dict[str, object]:
    """The provenance of a run in runs.csv."""
    environment = record["environment"]
    versions = " ".join(f"{name}={version}" for name, version in environment["packages"].items())
    diverged = record.get("diverged") or {}
    return {
        "digest": record["digest"],
        "commit": environment["commit"],
        "command": environment.get("command", ""),
        "cpu": f"{environment['cpu']} {environment['instruction_set']}",
        "packages": f"python={environment['python']} {versions}",
        "diverged": json.dumps(diverged, sort_keys=True) if diverged else "",
    }


def _curves_of(paper: str) -> tuple[str, ...]:
    """The curves of the page, and those of the paper's claims."""
    claimed = [name for c in catalogue.load(paper).claims if c.curve is not None for name in c.curve.metrics]
    return tuple(dict.fromkeys([*CURVES, *claimed]))


def read_arms(design: Design, folder: Path) -> dict[Key, Measured]:
    """The arms of the design that have finished runs, the base models included (arm "base")."""
    import pandas as pd

    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    curves = {key: rows for key, rows in pd.read_parquet(folder / "curves.parquet").groupby(list(RUN[:3]))}
    verdicts = pd.read_parquet(folder / "verdicts.parquet").rename(columns={"seed": "train_seed"})
    by_arm = {key: rows for key, rows in verdicts.groupby(list(RUN[:3]))}
    arms = {}
    for key, group in runs.groupby(list(RUN[:3])):
        scale, paper, arm = cast(Key, key)
        diverged = {seed: json.loads(why) for seed, why in zip(group["seed"], group["diverged"], strict=True) if why}
        finished = tuple(sorted(set(group["seed"]) - diverged.keys()))
        rows = by_arm[key]
        tables = dict(list(rows[rows["train_seed"].isin(finished)].groupby("benchmark")))
        job = resolved(paper, arm, scale)
        arms[scale, paper, arm] = Measured(
            model=job.model,
            arm=arm,
            title=job.title,
            scale=scale,
            backend=job.backend,
            overrides="",  # each method has settings of its own from the search, which are not part of its name
            digest=group["digest"].iloc[0],
            seeds=finished,
            commits=tuple(dict.fromkeys(group["commit"])),
            commands=tuple(dict.fromkeys(group["command"])),
            origins={},
            n={},
            verdicts={name: VerdictTable.of_rows(tables[name]) for name in _benchmarks(scale) if name in tables},
            scores={},
            trained=arm != "base",
            diverged=diverged,
            curves=_curves_by_seed(curves[key]) if key in curves else {},
        )
    return {key: arms[key] for key in _order(design) if key in arms}


def _curves_by_seed(rows: pd.DataFrame) -> dict[int, dict[str, Points]]:
    """Seed -> metric -> (step, value), by step."""
    curves: dict[int, dict[str, Points]] = {}
    for key, points in rows.sort_values("step", kind="stable").groupby(["seed", "metric"], sort=False):
        seed, metric = cast(tuple[int, str], key)
        steps = zip(points["step"].tolist(), points["value"].tolist(), strict=True)
        curves.setdefault(int(seed), {})[metric] = list(steps)
    return curves


def _benchmarks(scale: str) -> list[str]:
    """The family's benchmarks, in its own order."""
    return list(family(SCALES[scale].family or "").EVAL_SHAPES)


def _order(design: Design) -> list[Key]:
    names = [*((paper, "base") for paper in design.papers()), *((arm.paper, arm.arm) for arm in design.arms)]
    return [(scale, paper, arm) for scale in design.families for paper, arm in names]
