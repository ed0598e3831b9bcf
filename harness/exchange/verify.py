"""Check an archive of runs: the hash of every file, and every recorded score against the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.record.archive import read_archive
from harness.record.run import Run

if TYPE_CHECKING:
    from evals.stats.score import Score

METRICS = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")
DIGITS = 10  # decimals to compare: beyond them, the order of a sum may differ between processors


def verify(path: Path) -> list[str]:
    """The faults of an archive; none if it is complete and every score follows from its verdicts.

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


def scores_of(run: Run, benchmark: str) -> list[Score]:
    """Every score, computed from the verdicts, for the k that the protocol asks for (where there are as many
    samples)."""
    from evals.stats.score import score

    table = run.counts(benchmark)
    value: Any = (protocol_of(run).get("ks") or {}).get("value") or [1]
    value = value.get(benchmark, value.get("default", [1])) if isinstance(value, dict) else value
    return score(table, ks=[int(k) for k in value if k <= table.generated.min()], metrics=METRICS)


def protocol_of(run: Run) -> Mapping[str, Any]:
    """The protocol's values with their sources, as a manifest has them."""
    manifests = [manifest for b in run.benchmarks if (manifest := run.manifest(b)) is not None]
    return next((m["record"].get("protocol") or {} for m in manifests), {})
