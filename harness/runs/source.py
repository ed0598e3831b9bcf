"""Sources of finished runs: MLflow, or archives of runs without a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.runs.archive import read_archive


class RunSource(Protocol):
    """Finished runs. A run is an MLflow run or has its attributes: `info.run_id`, `data.tags` and `data.metrics` (the
    last value of each)."""

    def arms(self, paper: str) -> Sequence[Any]:
        """The arms of a paper, newest first."""
        ...

    def runs(self, experiment: str, kind: str) -> Sequence[Any]:
        """The runs of one kind (tag rlvr.kind) in an experiment, newest first."""
        ...

    def history(self, run_id: str, metric: str) -> list[tuple[int, float]]:
        """(step, value) of one metric, by step."""
        ...

    def fetch(self, run: Any, path: str, folder: Path) -> Path:
        """The path of a run's artifact, a file or a folder.

        Args:
            folder: for copies; of this run alone.
        """
        ...


@dataclass(frozen=True)
class _Info:
    run_id: str


@dataclass(frozen=True)
class _Data:
    tags: dict[str, str]
    metrics: dict[str, float]


@dataclass(frozen=True)
class ArchivedRun:
    """A run of an archive, with the attributes of an MLflow run that readers use."""

    info: _Info
    data: _Data
    curves: dict[str, list[tuple[int, float]]]
    files: dict[str, bytes]


class ArchivedRuns:
    """The runs of archives (`harness.runs.archive`), in memory: MLflow needs minutes to import a thousand of them.

    Raises:
        DamagedFileError: one is not an archive.
    """

    def __init__(self, archives: Sequence[Path]) -> None:
        runs: dict[tuple[str, str, str], ArchivedRun] = {}
        for archive in archives:
            for run in _runs_of(archive):
                tags = run.data.tags  # if two archives have a run, the first counts, as in an import
                runs.setdefault((tags["rlvr.paper"], tags["rlvr.digest"], tags["rlvr.seed"]), run)
        self._by_id = {run.info.run_id: run for run in runs.values()}

    def arms(self, paper: str) -> list[ArchivedRun]:
        """The arms of a paper, the archive's last first, as after an import."""
        return self.runs(paper, "arm")

    def runs(self, experiment: str, kind: str) -> list[ArchivedRun]:
        """The runs of one kind of a paper; an archive contains only arms."""
        wanted = {"rlvr.paper": experiment, "rlvr.kind": kind}
        return [run for run in reversed(self._by_id.values()) if wanted.items() <= run.data.tags.items()]

    def history(self, run_id: str, metric: str) -> list[tuple[int, float]]:
        """(step, value) of one metric, by step; empty if it was never logged."""
        return self._by_id[run_id].curves.get(metric, [])

    def fetch(self, run: ArchivedRun, path: str, folder: Path) -> Path:
        """Write an artifact of a run into `folder`.

        Raises:
            FileNotFoundError: the run has no such artifact.
        """
        name = path.removeprefix("verdicts/")  # an archive has the benchmarks' folders at its top
        files = {n: data for n, data in run.files.items() if n == name or n.startswith(f"{name}/")}
        if not files:
            raise FileNotFoundError(f"run {run.info.run_id}: no artifact {path} in the archive")
        for n, data in files.items():
            (folder / n).parent.mkdir(parents=True, exist_ok=True)
            (folder / n).write_bytes(data)
        return folder / name


def _runs_of(archive: Path) -> Iterator[ArchivedRun]:
    contents = read_archive(archive)
    for entry in json.loads(contents["index.json"]):
        prefix = f"{entry['folder']}/"
        files = {name.removeprefix(prefix): data for name, data in contents.items() if name.startswith(prefix)}
        curves: dict[str, list[tuple[int, float]]] = {}
        for line in files["metrics.jsonl"].splitlines():  # by step
            point = json.loads(line)
            for metric, value in point["metrics"].items():
                curves.setdefault(metric, []).append((point["step"], float(value)))
        last = {metric: points[-1][1] for metric, points in curves.items()}
        run_id = f"{entry['tags']['rlvr.paper']}-{entry['folder']}"
        yield ArchivedRun(_Info(run_id), _Data(entry["tags"], last), curves, files)
