"""Check an archive of runs: the hash of every file, every recorded score against the verdicts, and what a contribution
needs (`harness.record.contribution`)."""

from __future__ import annotations

import os
from pathlib import Path

from evals.errors import DamagedFileError
from harness.record.archive import AGAIN, read_archive
from harness.record.contribution import obstacles
from harness.record.run import Run

DIGITS = 10  # decimals to compare: beyond them, the order of a sum may differ between processors


def verify(path: Path, *, contribution: bool = False) -> list[str]:
    """The faults of an archive. Empty if it is complete and every score follows from its verdicts.

    Args:
        contribution: also what keeps its runs from being taken over into this checkout's tables.
    Raises:
        DamagedFileError: it cannot be read, or is no archive.
    """
    from tqdm import tqdm

    wrong = []
    packed = read_archive(path, again=True)
    for run in tqdm(packed, desc=f"checking {path.name}", unit="run", disable=None):  # on a terminal
        try:
            faults = run.damage() or [*_wrong_scores(run), *(obstacles(run) if contribution else ())]
        except DamagedFileError as error:
            faults = [f"{os.path.relpath(error.path, run.folder)} is damaged ({error.why}): {AGAIN}"]
        except (ValueError, KeyError) as error:  # verdicts that contradict themselves
            faults = [str(error)]
        wrong += [f"{run.folder.name}: {fault}" for fault in faults]
    return wrong


def _wrong_scores(run: Run) -> list[str]:
    from evals.stats.score import score
    from evals.stats.verdict_table import REPORTED

    wrong = []
    for benchmark, recorded in run.record.get("scores", {}).items():
        scores = score(run.counts(benchmark), ks=run.ks(benchmark) or [1], metrics=REPORTED)
        now = {measured.key: measured.value for measured in scores}
        for key, was in recorded.items():
            if key not in now:
                given = f"They give {', '.join(now)}"
                wrong.append(f"{benchmark} {key}: run.json says {was['value']}, the verdicts give no such one. {given}")
            elif _rounded(now[key]) != _rounded(was["value"]):
                wrong.append(f"{benchmark} {key}: run.json says {was['value']}, the verdicts give {now[key]}")
    return wrong


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
