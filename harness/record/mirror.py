"""MLflow as a mirror of runs' folders: params, metrics, and the files as artifacts under their names in the folder.

    <run>/mlflow.json   the MLflow run, and what it has: bytes of metrics.jsonl, tags, hashes of files, status

The training only writes its folder, so a slow, failing or unreachable server does not delay it. A `Mirror` compares the
folder with mlflow.json and sends the difference; again after any failure, but nothing twice: the run is found by its
id (tag `rlvr.token`), and after an uncertain call MLflow is asked which points it has. The folder can fill a new or
another store at any time, and a store can be read back (`mirrored_runs`), because the artifacts are the folder.
"""

from __future__ import annotations

import calendar
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import BusyError, DamagedFileError, locked, read_jsonl_from, read_object, text_sha256, write_json
from evals.redaction import redact, redact_all
from harness.errors import UsageError
from harness.record.run import (
    FINAL,
    IDENTITY,
    METRICS,
    RECORD,
    Run,
    content_sha256,
    folder_name,
    read_record,
)
from harness.runs.track import METRICS_AT_ONCE, Tracker, cache_dir, home, shown_uri, tracking_uri
from harness.spec.scales import SCALES

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

LINK = "mlflow.json"
POLL_S = 0.5
PATIENCE_S = 15.0  # at the end of a command, without any progress
STATUS = {"running": "RUNNING", "stopped": "KILLED", "failed": "FAILED", "finished": "FINISHED"}  # by a run's state
_PERMANENT = {"INVALID_PARAMETER_VALUE", "BAD_REQUEST", "PERMISSION_DENIED"}


@dataclass
class Delivered:
    """What MLflow has of a run (mlflow.json).

    `metrics`: bytes of metrics.jsonl. `scores`: whether it has those of the evaluation. `files`: name -> SHA-256.
    """

    experiment: str | None = None
    run_id: str | None = None
    params: bool = False
    metrics: int = 0
    scores: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    status: str = ""

    @classmethod
    def read(cls, folder: Path) -> Delivered:
        return cls(**(read_object(folder / LINK) or {}))

    def write(self, folder: Path) -> None:
        write_json(folder / LINK, asdict(self))


class Mirror:
    """Brings MLflow up to date with runs' folders. Not thread-safe."""

    def __init__(
        self, tracker: Tracker, warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True)
    ) -> None:
        self.tracker, self._warn = tracker, warn
        self._unchanged: dict[Path, Any] = {}  # the state of a folder when MLflow had all of it
        self._points: dict[Path, set[tuple[str, int]] | None] = {}  # that MLflow has; None: must be asked

    def deliver(self, folder: Path) -> int:
        """Send what MLflow does not have; returns how many calls that took. A failure raises; the next call goes on.

        Raises:
            DamagedFileError: a file of the run is.
        """
        state = _state(folder)
        if self._unchanged.get(folder) == state or not started(folder):
            return 0
        try:
            with locked(folder, name=".mlflow.lock"):
                sent = self._deliver(Run(folder))
        except BusyError:  # another process is delivering it
            return 0
        self._unchanged[folder] = state
        return sent

    def _deliver(self, run: Run) -> int:
        have = Delivered.read(run.folder)
        if run.folder not in self._points:  # the first time in this process
            self._points[run.folder] = None
            if have.run_id is not None and not self.tracker.has_run(have.run_id):
                have = Delivered()  # another store
        sent = 0
        for send in list(self._missing(run, have)):
            try:
                send()
            except Exception as error:  # retried, unless MLflow will never take it
                self._points[run.folder] = None  # it may still have arrived
                if getattr(error, "error_code", None) not in _PERMANENT:
                    raise
                self._warn(f"MLflow refuses a part of {run.folder}: {redact(str(error))}")
            sent += 1
            have.write(run.folder)
        return sent

    def _missing(self, run: Run, have: Delivered) -> Iterator[Callable[[], None]]:
        """The calls that bring MLflow up to date, in order; each notes in `have` what it has brought."""
        record = run.record
        if have.run_id is None:
            yield partial(self._create, run, have)
        if not have.params:
            yield partial(self._params, run, have)
        for end, points in _batches(run.folder / METRICS, have.metrics):
            yield partial(self._metrics, run, have, end, points)
        if record.get("scores") and not have.scores:
            yield partial(self._scores, run, have)
        tags = _tags(record)
        if tags != have.tags:
            yield partial(self._tags, have, tags)
        if run.is_finished:
            for name, sha256 in mirrored_files(run).items():
                if have.files.get(name) != sha256:
                    yield partial(self._file, run, have, name, sha256)
        status = STATUS[record["state"]]
        if status != have.status:
            yield partial(self._status, have, status)

    def _create(self, run: Run, have: Delivered) -> None:
        record = run.record
        at = calendar.timegm(time.strptime(record["started"], "%Y-%m-%dT%H:%M:%SZ")) * 1000
        have.experiment = self.tracker.experiment(record["paper"])
        have.run_id = self.tracker.run_of(record["paper"], run_name(record), _tags(record), record["id"], at)

    def _params(self, run: Run, have: Delivered) -> None:
        self.tracker.params(str(have.run_id), params_of(run.settings))
        have.params = True

    def _metrics(self, run: Run, have: Delivered, end: int, points: list[tuple[str, int, int, float]]) -> None:
        there = self._points[run.folder]
        if there is None:
            there = self._points[run.folder] = self.tracker.points(str(have.run_id), {name for name, *_ in points})
        if new := [point for point in points if point[:2] not in there]:
            self.tracker.log_points(str(have.run_id), new)
        have.metrics = end

    def _scores(self, run: Run, have: Delivered) -> None:
        step, values = final_scores(run.record)
        now = int(time.time() * 1000)
        there = self.tracker.points(str(have.run_id), values)
        if new := [(name, step, now, value) for name, value in values.items() if (name, step) not in there]:
            self.tracker.log_points(str(have.run_id), new)
        have.scores = True

    def _tags(self, have: Delivered, tags: dict[str, str]) -> None:
        self.tracker.tags(str(have.run_id), {key: value for key, value in tags.items() if have.tags.get(key) != value})
        have.tags = tags

    def _file(self, run: Run, have: Delivered, name: str, sha256: str) -> None:
        folder, _, _ = name.rpartition("/")
        path = run.folder / name if name == RECORD else run.file(name)
        self.tracker.artifact(str(have.run_id), path, folder or None)
        have.files[name] = sha256

    def _status(self, have: Delivered, status: str) -> None:
        self.tracker.status(str(have.run_id), status, int(time.time() * 1000))
        have.status = status


def final_scores(record: Mapping[str, Any]) -> tuple[int, dict[str, float]]:
    """(the last step, `eval/<benchmark>/<key>` -> value) of the scores that have a value."""
    values = {
        f"eval/{benchmark}/{key}": score["value"]
        for benchmark, scores in record["scores"].items()
        for key, score in scores.items()
        if score["value"] is not None
    }
    return (record.get("training") or {}).get("steps") or 0, values


def started(folder: Path) -> bool:
    """Whether there is something to mirror: a step or a result. A run that could not start leaves nothing in MLflow."""
    metrics = folder / METRICS
    if (folder / LINK).is_file() or (metrics.is_file() and metrics.stat().st_size > 0):
        return (folder / RECORD).is_file()
    return (folder / RECORD).is_file() and Run(folder).is_finished


def pending(folder: Path) -> bool:
    """Whether MLflow lacks something of a run."""
    if not started(folder):
        return False
    run, have = Run(folder), Delivered.read(folder)
    return next(iter(Mirror(_NO_TRACKER)._missing(run, have)), None) is not None


_NO_TRACKER: Any = None  # `_missing` only compares


def mirrored_files(run: Run) -> dict[str, str]:
    """Name -> SHA-256 of the files of a finished run that MLflow gets: all but the model; run.json, which lists them,
    last."""
    files = {name: sha256 for name, sha256 in run.record["files"].items() if not name.startswith(f"{FINAL}/")}
    return {**files, RECORD: run.record["sha256"]}


def run_name(record: Mapping[str, Any]) -> str:
    """The run's name in MLflow: model, arm and seed, and the overrides that distinguish it."""
    overrides = " ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items()))
    name = f"{record['model']}/{record['arm']}/seed{record['seed']}"
    return redact(f"{name} [{overrides}]" if overrides else name)[:250]


def _state(folder: Path) -> Any:
    """What changes with every change of a run. A study checks hundreds of finished runs at every poll."""
    stats = [path.stat() for path in (folder / RECORD, folder / METRICS) if path.is_file()]
    return [(at.st_size, at.st_mtime_ns) for at in stats], (folder / LINK).is_file()


def _tags(record: Mapping[str, Any]) -> dict[str, str]:
    from harness.step.finite import Diverged

    tags = {
        "rlvr.kind": str(record["kind"]),
        "mlflow.note.content": f"{record['title']}. {record.get('scale_label', '')}",
    }
    tags |= {f"rlvr.{key}": str(record[key]) for key in IDENTITY}
    tags["rlvr.digest"] = f"{record['digest']}-{record['base_model']['sha256'][:6]}"
    tags["rlvr.overrides"] = " ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items()))
    tags["rlvr.command"] = str(record["environment"].get("command") or "")
    if record.get("diverged"):
        tags["rlvr.diverged"] = str(Diverged(**record["diverged"]))
    if record.get("mismatch"):
        tags["rlvr.mismatch"] = ", ".join(sorted(record["mismatch"]))
    if record.get("stopped"):
        tags["rlvr.stopped"] = str(record["stopped"])
    return {key: str(value) for key, value in redact_all(tags).items()}


def params_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Each value as a param, and its origin and note as `<key>.source`."""
    params: dict[str, str] = {}
    for key, sourced in settings.items():
        source = f"{sourced['origin']}: {sourced['note']}"
        if (was := sourced.get("was")) is not None:
            source += f" (was {was['value']!r}, {was['origin']}: {was['note']})"
        params |= {key: redact(str(sourced["value"])), f"{key}.source": redact(source)}
    return params


def _batches(file: Path, offset: int) -> Iterator[tuple[int, list[tuple[str, int, int, float]]]]:
    """(offset after them, points) of the steps in metrics.jsonl from that offset on, several steps together."""
    if not file.is_file():
        return
    points: list[tuple[str, int, int, float]] = []
    end = offset if offset <= file.stat().st_size else 0  # else it is a new file
    for row, after in read_jsonl_from(file, end):
        of_row = [(name, row["step"], row.get("time", 0), value) for name, value in row["metrics"].items()]
        if points and len(points) + len(of_row) > METRICS_AT_ONCE:
            yield end, points
            points = []
        points += of_row
        end = after
    if points:
        yield end, points


class BackgroundMirror:
    """A thread that mirrors runs as they grow."""

    def __init__(self, tracker: Tracker) -> None:
        self._mirror = Mirror(tracker)
        self._folders: dict[Path, None] = {}
        self._wake, self._closing = threading.Event(), threading.Event()
        self._last_success = time.monotonic()
        self.error: Exception | None = None
        # a daemon: a hung server must not block the process
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def watch(self, *folders: Path) -> None:
        """Mirror these, from now on."""
        self._folders |= dict.fromkeys(folders)
        self._wake.set()

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Deliver the rest, as long as there is progress."""
        self._closing.set()
        self._wake.set()
        self._last_success = time.monotonic()
        while self._thread.is_alive() and time.monotonic() - self._last_success < patience_s:
            self._thread.join(0.05)

    def pending(self) -> list[Path]:
        """The runs of which MLflow lacks something."""
        return [folder for folder in self._folders if pending(folder)]

    def _work(self) -> None:
        pause = POLL_S
        while True:
            last = self._closing.is_set()
            self.error = self._round(list(self._folders))
            if last and self.error is None:
                return
            pause = POLL_S if self.error is None else min(2 * pause, 30.0)
            self._wake.wait(min(pause, 2.0) if self._closing.is_set() else pause)
            if not self._closing.is_set() or self.error is not None:
                self._wake.clear()

    def _round(self, folders: Iterable[Path]) -> Exception | None:
        """Deliver each; one run's error does not stop the others. Returns the last error, for the end."""
        error = None
        for folder in folders:
            try:
                if self._mirror.deliver(folder):
                    self._last_success = time.monotonic()
            except Exception as failure:  # any error: it is reported at the end, and the training continues
                error = failure
                if not isinstance(failure, DamagedFileError):
                    return error  # the store: the others would fail too
        return error


@contextmanager
def mirroring() -> Iterator[BackgroundMirror]:
    """Mirror runs while the block runs: those that it watches, and what earlier commands left.

    Raises:
        RefusedError: the store cannot be used.
    """
    mirror = BackgroundMirror(Tracker.open())
    mirror.watch(*(folder for folder in run_folders() if pending(folder)))
    mirror.start()
    try:
        yield mirror
    finally:
        mirror.close()
        if left := mirror.pending():
            why = f": {redact(str(mirror.error)).splitlines()[0][:200]}" if mirror.error else ""
            print(
                f"MLflow at {shown_uri()} lacks a part of {len(left)} runs{why}. It is kept; "
                "`rlvr export format=mlflow`, or the next run, delivers it",
                file=sys.stderr,
                flush=True,
            )


def run_folders(paper: str | None = None) -> list[Path]:
    """Every run under RLVR_HOME, or of one paper."""
    records = sorted(home().glob(f"{paper or '*'}/*/*/{RECORD}"))
    return [record.parent for record in records if record.parent.parent.name in SCALES]


def sync(folders: Iterable[Path] | None = None) -> tuple[int, list[Path], str]:
    """Bring MLflow up to date with all runs of RLVR_HOME, or with these.

    Returns:
        (runs of which something was sent, those that still lack something, why: "" or an error).
    Raises:
        RefusedError: the store cannot be used.
    """
    from mlflow.exceptions import MlflowException

    mirror = Mirror(Tracker.open())
    folders = run_folders() if folders is None else list(folders)
    sent, why = 0, ""
    for folder in folders:
        try:
            sent += mirror.deliver(folder) > 0
        except DamagedFileError as error:  # of this run; the others are whole
            why = str(error)
        except (MlflowException, OSError) as error:  # the store has gone; what was sent is noted
            why = redact(str(error))[:300]
            break
    return sent, [folder for folder in folders if pending(folder)], why


# -- reading a store back ------------------------------------------------------------------------------------------


def mirrored_runs(paper: str | None = None) -> list[Run]:
    """The finished runs in MLflow, of one paper or all, newest first.

    Raises:
        RefusedError: the store cannot be used.
    """
    tracker = Tracker.open()
    papers = [paper] if paper is not None else [e.name for e in tracker.client.search_experiments()]
    return [_read_back(tracker, run) for name in papers for run in tracker.arms(name)]


def mirrored_run(run_id: str) -> Run:
    """The run of an MLflow run id.

    Raises:
        UsageError: there is no such finished run.
    """
    store = tracking_uri()
    if store.startswith("sqlite:///") and not Path(store.removeprefix("sqlite:///")).is_file():
        raise UsageError(f"{run_id}: no MLflow store at {redact(store)}; set RLVR_HOME or MLFLOW_TRACKING_URI")
    from mlflow.exceptions import MlflowException

    tracker = Tracker.open()
    try:
        return _read_back(tracker, tracker.client.get_run(run_id))
    except (MlflowException, OSError) as error:
        raise UsageError(f"{run_id}: no finished run with {RECORD} in {shown_uri()} ({redact(str(error))})") from error


def _read_back(tracker: Tracker, run: MlflowRun) -> Run:
    """A run from its artifacts: in place if the store keeps them in local files, else downloaded into the cache. Where
    the run's own folder is on this machine, it is read instead: it has the model too."""
    run_id = run.info.run_id
    local = tracker.local_artifacts(run)
    if local is None:
        download = tracker.client.download_artifacts
        folder = cache_dir() / "mlflow" / text_sha256(f"{shown_uri()} {run_id}")[:32]
        (folder / ".new").mkdir(parents=True, exist_ok=True)
        record = read_record(Path(download(run_id, RECORD, str(folder / ".new")))) or {}
        for name, sha256 in record["files"].items():
            path = folder / name
            if not name.startswith(f"{FINAL}/") and not (path.is_file() and content_sha256(path) == sha256):
                path.parent.mkdir(parents=True, exist_ok=True)
                download(run_id, name, str(folder))
        (folder / ".new" / RECORD).replace(folder / RECORD)
        local = folder
    elif not (local / RECORD).is_file():
        raise FileNotFoundError(f"run {run_id}: no {RECORD} in {local}")
    at = str(run.info.experiment_id), run_id
    found = Run(local, mlflow=at)
    here = home() / found.paper / found.scale / folder_name(found.record)
    if (here / RECORD).is_file() and Run(here).record.get("sha256") == found.record.get("sha256"):
        return Run(here, mlflow=at)
    return found
