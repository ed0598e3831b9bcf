"""A run as one file: `rlvr export format=bundle` writes it, `rlvr import verify=true` checks it.

A bundle is an archive (`harness.record.archive`) of one run, with the responses if they are to go along, and beside it
README.md (what the run is, and its scores), the licence, and the lock of the packages if this checkout has it.
Verifying checks every hash, and computes every score again from the verdicts. It works for any archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.files import file_sha256
from evals.stats.score import score_text
from harness.errors import UsageError
from harness.exchange.source import scores_of
from harness.record.archive import SUFFIX, read_archive, write_archive
from harness.record.run import Run
from harness.runs.record import ROOT
from harness.tables.grid import Grid

DIGITS = 10  # decimals to compare: beyond them, the order of a sum may differ between processors


def write_bundle(run: Run, out: Path, *, responses: bool = True) -> None:
    """Write a bundle.

    Args:
        out: a file NAME.tar.xz. responses: keep the responses' text in the verdicts.
    Raises:
        UsageError: `out` exists already, or has another suffix. DamagedFileError: a file of the run is damaged.
    """
    if out.exists():
        raise UsageError(f"out: {str(out)!r} exists already; remove it, or give another")
    if not out.name.endswith(SUFFIX):
        raise UsageError(f"out: expected a file that ends in {SUFFIX}, got {str(out)!r}")
    beside = {"LICENSE": (ROOT / "LICENSE").read_bytes(), "README.md": page(run, responses).encode()}
    expected = run.record.get("environment", {}).get("lock_sha256")
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        if file_sha256(lock) == expected:
            beside["requirements.lock"] = lock.read_bytes()
    write_archive([run], out, responses=responses, beside=beside)


def verify(path: Path) -> list[str]:
    """The faults of an archive or a bundle; none if it is complete and every score follows from its verdicts.

    Raises:
        DamagedFileError: it cannot be read, or is no archive.
    """
    wrong = []
    for run in read_archive(path):
        try:
            faults = run.damage() or _wrong_scores(run)
        except (ValueError, KeyError) as error:  # damaged; or verdicts that contradict themselves
            faults = [str(error)]
        wrong += [f"{run.folder.name}: {fault}" for fault in faults]
    return wrong


def _wrong_scores(run: Run) -> list[str]:
    wrong = []
    for benchmark, recorded in run.record.get("scores", {}).items():
        now = {score.key: score.value for score in scores_of(run, benchmark)}
        for key, score in recorded.items():
            if key in now and _rounded(now[key]) != _rounded(score["value"]):
                wrong.append(f"{benchmark} {key}: run.json says {score['value']}, the verdicts give {now[key]}")
    return wrong


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def page(run: Run, responses: bool) -> str:
    """What the run is, and its scores, in Markdown."""
    lines = [f"# {_title(run.record) or run.name}", ""]
    if run.label:
        lines += [f"{run.label[0].upper()}{run.label[1:]}.", ""]
    if run.command:
        lines += [f"Made on {run.finished} by `{run.command}` with code at {run.commit}.", ""]
    lines += [
        "Every number below follows from the verdicts in this file: `rlvr import verify=true` computes them again.",
        "",
    ]
    if not responses:
        lines += ["The responses' text is not in it.", ""]
    for benchmark in run.benchmarks:
        rows = tuple((score.name, score_text(score)) for score in scores_of(run, benchmark))
        lines.append(Grid(benchmark, ("metric", "value"), rows, ("Percent, but tokens.",)).markdown())
    return "\n".join(lines)


def _title(record: Mapping[str, Any]) -> str:
    if record.get("kind") != "arm":
        return ""
    return "{paper} {model}/{arm}, seed {seed}, digest {digest}".format(**record)
