"""The page of all methods with the study's recipe: ours, and those that others contributed. From archives alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evals.stats.score import score, score_text
from harness.record.archive import read_archive
from harness.record.find import together
from harness.record.run import Run
from studies.one_gpu.design import BENCHMARK, COMMON, MEASURED, STUDY

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "results" / "one_gpu" / "README.md"
ARCHIVES = "results/one_gpu/*.tar.xz", "results/contributed/*.tar.xz"


def archived() -> list[Run]:
    """The finished runs of every archive."""
    return [run for glob in ARCHIVES for path in sorted(ROOT.glob(glob)) for run in read_archive(path)]


def has_the_recipe(run: Run) -> bool:
    """Whether each value of the recipe that the run has is the study's, in training and in measurement."""
    settings: Mapping[str, Mapping[str, object]] = run.record.get("settings", {})
    values = {**COMMON, **MEASURED, "max_steps": STUDY.rollouts}
    trained = "max_steps" in settings
    return trained and all(settings[key]["value"] == value for key, value in values.items() if key in settings)


def page(runs: Iterable[Run]) -> str:
    """results/one_gpu/README.md"""
    arms: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.is_finished and has_the_recipe(run):
            arms.setdefault((run.paper, run.arm, run.by or "this project"), []).append(run)
    rows = [(f"{paper}/{arm}", by, *_measured(seeds)) for (paper, arm, by), seeds in arms.items()]
    header = ("arm", "measured by", "weights", "seeds", "GSM8K, greedy, % [95 %]", "source of the equation")
    table = "No run is archived yet." if not rows else _markdown(header, rows)
    return f"""# Methods with one recipe on one GPU

`python -m studies.one_gpu page` writes this page from the archives of runs.

**Small scale, real weights: no number is a paper's own.** All rows share [one recipe](preregistration.md). With
fewer than three seeds, a row says nothing about a method. You can compare two rows if their weights are equal.

{table}

[The study's page](../../studies/one_gpu/README.md) says how to add a row.
"""


def _measured(seeds: list[Run]) -> tuple[str, str, str, str]:
    """The weights, the seeds, the accuracy, and where the equation's source is."""
    ordered = sorted(seeds, key=lambda run: run.seed)
    run = ordered[0]
    (accuracy,) = score(together(ordered, run.name).tables[BENCHMARK], ks=(), metrics=("avg",))
    weights = f"{run.base}, SHA-256 {run.record['base_model']['sha256'][:12]}"
    equations = {name: sha for name, sha in (run.record.get("own_files") or {}).items() if name.startswith("equation ")}
    source = f"reproductions/{run.paper}, " + ", ".join(f"SHA-256 {sha[:12]}" for sha in equations.values())
    commit = str(run.record.get("environment", {}).get("commit") or "an unknown commit")[:10]
    numbers = ", ".join(str(each.seed) for each in ordered)
    return weights, numbers, score_text(accuracy), source if equations else f"commit {commit}"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write() -> Path:
    """Write the page, and return its path."""
    PAGE.write_text(page(archived()), encoding="utf-8")
    return PAGE
