"""MLflow as a mirror of runs' folders: params, metrics, and the files as artifacts under their names in the folder.

    <run>/mlflow.json   the MLflow run, the bytes of metrics.jsonl (with their hash) and the hash of the record that it
                        has, the run's id

The training only writes its folder, so a slow, failing or unreachable server does not delay it. `sync_run` sends what
changed since mlflow.json was written. After a failure it sends all of that again, which changes nothing: a run is found
by its id (tag `rlvr.token`), MLflow keeps one of two equal points, and everything else is replaced by the same. MLflow
deletes no point, so a training that goes on from an earlier step (`Recorder.rewind`) gets a new MLflow run. The folder
can fill a new or another store at any time, and a store can be read back (`mirrored_runs`), because the artifacts are
the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.csv_text import csv_text
from evals.errors import BusyError, DamagedFileError
from evals.files import last_row, locked, read_jsonl_from, read_object, text_sha256, write_json
from evals.log import logger
from evals.redaction import redact, redact_all, redacted_start
from evals.stats.intervals import Interval
from evals.stats.score import bounds_text
from harness.record.names import JOB_FOLDER, as_typed, base_of, folder_of, readable
from harness.record.record import FINAL, IDENTITY, LINK, RECORD, RESTORE, TRAINING_LOG, ms, read_record
from harness.record.run import Run
from harness.record.verdict_files import columns_of
from harness.runs.track import TOKEN, Tracker, cache_dir, home, local_store, no_store, shown_uri
from harness.spec.scales import SCALES

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

POLL_S = 0.5
PATIENCE_S = 15.0  # at the end of a command, while the store fails
SENT = ("metrics", "metrics_sha256")  # in mlflow.json
SOURCES, TABLE = "values.csv", "samples.json"  # artifacts for people, which no run's folder has
SHOWN = ("benchmark", "problem_id", "problem", "sample", "response", "answer", "gold", "verdict")
PASSING = {"rlvr.stopped", "rlvr.diverged", "rlvr.mismatch"}  # tags that are no longer true when a run goes on
WHOLE = "rlvr.record"  # tag: the hash of the record of a finished run, of which all was sent
SAMPLES = 200  # per benchmark, in the table
METRICS_AT_ONCE, PARAMS_AT_ONCE = 1000, 100  # MLflow's limits for one call
STATUS = {"running": "RUNNING", "stopped": "KILLED", "failed": "FAILED", "finished": "FINISHED"}  # by a run's state


def sync_run(folder: Path, tracker: Tracker, *, ask: bool = False) -> bool:
    """Bring MLflow up to date with a run. Returns whether something was sent. A failure raises. The next call sends it
    again.

    Args:
        ask: whether the store still has the run that mlflow.json names. If not, all is sent.
    Raises:
        DamagedFileError: a file of the run is. MlflowException, OSError: the store's.
    """
    if not started(folder):
        return False
    try:
        with locked(folder, name=".mlflow.lock"):
            run = Run(folder)
            link = _link(run)
            if link and ask and not tracker.has_run(link["run_id"]):
                link = {}
            return _lacks(run, link) and _send(run, link, tracker)
    except BusyError:  # another process is sending it
        return False


def _send(run: Run, link: dict[str, Any], tracker: Tracker) -> bool:
    """Send what is missing. False: nothing was."""
    from mlflow.entities import Metric, Param, RunTag

    record, client = run.record, tracker.client
    if link and _sent(run, link["metrics"]) != {key: link[key] for key in SENT}:  # the training went back
        _ = run.curve  # raises DamagedFileError where the file is damaged instead
        if tracker.has_run(link["run_id"]):
            client.delete_run(link["run_id"])
        link = {}
    if not link:
        run_id = tracker.run_of(record["paper"], run_name(record), record["id"], ms(record["started"]))
        link |= {"run": record["id"], "folder": run.folder.name, "store": shown_uri(), "run_id": run_id}
        link |= {"experiment": tracker.experiment(record["paper"])}
        if client.get_run(run_id).data.tags.get(WHOLE) == record["sha256"]:  # as after a sync into another store
            write_json(run.folder / LINK, {**link, **_sent(run, _size(run)), "record": record["sha256"]})
            return False
        params = [Param(key, value) for key, value in params_of(record).items()]
        for part in _parts(params, PARAMS_AT_ONCE):
            client.log_batch(run_id, params=part)
        link |= {**_sent(run, 0), "record": ""}
        write_json(run.folder / LINK, link)
    run_id, metrics = link["run_id"], run.folder / TRAINING_LOG
    rows = read_jsonl_from(metrics, link["metrics"], "step", "metrics") if metrics.is_file() else []
    points = [
        Metric(name, value, row.get("time", 0), row["step"])
        for row, _ in rows
        for name, value in row["metrics"].items()
    ]
    for part in _parts(points, METRICS_AT_ONCE):
        client.log_batch(run_id, metrics=part)
    if rows:
        link |= _sent(run, rows[-1][1])
    if link["record"] != record["sha256"]:
        tags = _tags(record)
        client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])
        for key in PASSING & client.get_run(run_id).data.tags.keys() - tags.keys():
            client.delete_tag(run_id, key)
        if run.is_finished:
            _send_results(run, run_id, tracker)
        client.update_run(run_id, status="RUNNING")
        if (status := STATUS[record["state"]]) != "RUNNING":
            tracker.end(run_id, status, ms(record["started"]), ms(record["finished"]) if run.is_finished else None)
        if run.is_finished:  # its curve grows no more
            client.set_tag(run_id, WHOLE, record["sha256"])
        link["record"] = record["sha256"]
    write_json(run.folder / LINK, link)
    return True


def _send_results(run: Run, run_id: str, tracker: Tracker) -> None:
    """Send the scores and the files of a finished run."""
    from mlflow.entities import Metric

    record, client = run.record, tracker.client
    step, scores = final_scores(record)
    last = last_row(run.folder / TRAINING_LOG)
    # its time, which no repetition changes: MLflow keeps one of two equal points
    at = ms(record["finished"]) if last is None else last.get("time", 0)
    client.log_batch(run_id, metrics=[Metric(name, value, at, step) for name, value in scores.items()])
    for name in mirrored_files(run):
        client.log_artifact(run_id, str(run.file(name)), str(Path(name).parent) if "/" in name else None)
    client.log_text(run_id, sources_csv(run.settings), SOURCES)
    show_samples(tracker, run_id, run)
    scored = [f"tags.`{key}`" for key in _accuracy(record)]
    tracker.show_columns(record["paper"], ["params.`arm`", "params.`seed`", *scored])
    client.log_artifact(run_id, str(run.folder / RECORD))  # last: it lists the others


def _link(run: Run) -> dict[str, Any]:
    """The content of mlflow.json, or {} without one, or where it is damaged, another run's or of another store: what
    that lacks is sent then."""
    try:
        link = read_object(run.folder / LINK, "experiment", "run_id", *SENT, "record", "run") or {}
    except (DamagedFileError, OSError):
        return {}
    same_store = link.get("store", shown_uri()) == shown_uri()
    return link if same_store and link.get("run") == run.record["id"] and isinstance(link["metrics"], int) else {}


def _lacks(run: Run, link: Mapping[str, Any]) -> bool:
    """Whether MLflow lacks something of the run."""
    return not link or link["record"] != run.record["sha256"] or link["metrics"] != _size(run)


def _sent(run: Run, size: int) -> dict[str, object]:
    """The first bytes of a run's metrics, so many, and their hash."""
    metrics = run.folder / TRAINING_LOG
    data = metrics.read_bytes()[:size] if metrics.is_file() else b""
    return dict(zip(SENT, (size, sha256(data).hexdigest()), strict=True))


def _size(run: Run) -> int:
    metrics = run.folder / TRAINING_LOG
    return metrics.stat().st_size if metrics.is_file() else 0


def _parts(items: list[object], size: int) -> Iterator[list[object]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def final_scores(record: Mapping[str, Any]) -> tuple[int, dict[str, float]]:
    """(the last step, `verdicts/<benchmark>/<key>` -> value) of the scores that have a value. The name sorts behind
    train/, so that MLflow shows the curves of the training before charts of one point."""
    values = {
        f"verdicts/{benchmark}/{key}": score["value"]
        for benchmark, scores in record.get("scores", {}).items()
        for key, score in scores.items()
        if score["value"] is not None
    }
    return (record.get("training") or {}).get("steps") or 0, values


def started(folder: Path) -> bool:
    """Whether there is something to mirror: a step or a result. A run that could not start leaves nothing in MLflow."""
    metrics = folder / TRAINING_LOG
    if (folder / LINK).is_file() or (metrics.is_file() and metrics.stat().st_size > 0):
        return (folder / RECORD).is_file()
    return (folder / RECORD).is_file() and Run(folder).is_finished


def pending(folder: Path) -> bool:
    """Whether MLflow lacks something of a run, as far as mlflow.json says; of a damaged run it does."""
    try:
        return started(folder) and _lacks(Run(folder), _link(Run(folder)))
    except DamagedFileError:
        return True


def mirrored_files(run: Run) -> list[str]:
    """The files of a finished run that MLflow gets: all but the model."""
    return [name for name in run.record["files"] if not name.startswith(f"{FINAL}/")]


def run_name(record: Mapping[str, Any]) -> str:
    """The run's name in MLflow: model, arm and seed, and the overrides that distinguish it."""
    overrides = " ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items()))
    name = f"{base_of(record)}/{record['arm']}/seed{record['seed']}"
    return readable(redact(f"{name} [{overrides}]" if overrides else name))


def show_samples(tracker: Tracker, run_id: str, run: Run) -> None:
    """The first samples of each benchmark as a table in MLflow's evaluation view. Nothing without responses. A second
    call replaces the table by the same (MLflow's own `log_table` would add the rows once more)."""
    rows = []
    for benchmark in run.benchmarks:
        if "response" in columns_of(run.tables[benchmark]):
            frame = run.verdicts(benchmark).sort_values(["sample", "problem_id"], kind="stable").head(SAMPLES)
            kept = frame.reindex(columns=SHOWN).astype(object)
            rows += kept.where(kept.notna(), None).values.tolist()
    if rows:
        tracker.client.log_dict(run_id, {"columns": list(SHOWN), "data": rows}, TABLE)
        tracker.client.set_tag(run_id, "mlflow.loggedArtifacts", json.dumps([{"path": TABLE, "type": "table"}]))


def scores_table(record: Mapping[str, Any]) -> str:
    """The scores with their intervals, in Markdown, for a run's description in MLflow, or "" before there are some."""
    lines = [
        f"| {benchmark} | {key.replace('_at_', '@')} | {100 * score['value']:.1f} {_interval(score)} |"
        for benchmark, scores in record.get("scores", {}).items()
        for key, score in scores.items()
        if score.get("value") is not None and key.startswith(("avg_at_", "pass_at_", "maj_at_"))
    ]
    return "\n".join(["| benchmark | metric | %, and its interval |", "|---|---|---|", *lines]) if lines else ""


def _accuracy(record: Mapping[str, Any]) -> dict[str, str]:
    """Benchmark -> "92.5 [91.2, 93.7] avg@16". A tag shows an interval in a list of runs, a metric cannot. The
    number is first, because a column shows some ten characters."""
    return {
        benchmark: " ".join(f"{100 * score['value']:.1f} {_interval(score)} {key.replace('_at_', '@')}".split())
        for benchmark, scores in record.get("scores", {}).items()
        for key, score in scores.items()
        if score.get("value") is not None and key.startswith("avg_at_")
    }


def _interval(score: Mapping[str, Any]) -> str:
    interval = score.get("interval")
    return bounds_text(Interval(**interval), 100) if interval else ""


def _tags(record: Mapping[str, Any]) -> dict[str, str]:
    from harness.step.finite import Diverged

    names = {
        "rlvr.kind": record["kind"],
        **{f"rlvr.{key}": record[key] for key in IDENTITY},
        "rlvr.model": base_of(record),
        "rlvr.digest": f"{record['digest']}-{record['base_model']['sha256'][:6]}",
        **_accuracy(record),
    }
    texts = {
        "mlflow.note.content": f"{_title(record)}. {record.get('scale_label', '')}\n\n{scores_table(record)}".rstrip(),
        "rlvr.overrides": " ".join(f"{k}={v}" for k, v in sorted(record["overrides"].items())),
        "rlvr.command": as_typed(record["environment"].get("command") or ""),
    }
    if record.get("diverged"):
        texts["rlvr.diverged"] = str(Diverged(**record["diverged"]))
    if record.get("mismatch"):
        texts["rlvr.mismatch"] = ", ".join(sorted(record["mismatch"]))
    if record.get("stopped"):
        texts["rlvr.stopped"] = record["stopped"]
    return {key: str(value) for key, value in {**names, **redact_all(texts)}.items()}


def _title(record: Mapping[str, Any]) -> str:
    """The arm's title; of an untrained model, whose title is its name in the paper, the name of what was measured."""
    trained = any(not key.startswith("protocol.") and key != "base_model" for key in record["settings"])
    return str(record["title"]) if trained or base_of(record) == record["model"] else f"{base_of(record)}, untrained"


def params_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Each value as a param, and what runs are grouped by: the base model that was trained, arm, scale, backend, seed.
    Where the values come from is in SOURCES."""
    named = {"model": base_of(record), **{key: str(record[key]) for key in ("arm", "scale", "backend", "seed")}}
    if hashes := record.get("own_files"):  # equations and files of the user: other code is another method
        named["own"] = " ".join(f"{Path(name).name} {sha256[:8]}" for name, sha256 in sorted(hashes.items()))
    return named | {key: redact(str(sourced["value"])) for key, sourced in record["settings"].items()}


def sources_csv(settings: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each value: who vouches for it, and where or why."""
    import pandas as pd

    rows = []
    for key, sourced in settings.items():
        note = str(sourced["note"])
        if (was := sourced.get("was")) is not None:
            note += f" (was {was['value']!r}, {was['origin']}: {was['note']})"
        rows.append((key, redact(str(sourced["value"])), sourced["origin"], redact(note)))
    return csv_text(pd.DataFrame(rows, columns=["value", "is", "origin", "source, or why"]))


# -- while runs grow, and afterwards -------------------------------------------------------------------------------


class BackgroundMirror:
    """A thread that mirrors runs as they grow."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._folders: dict[Path, object] = {}  # the state of each when MLflow had all of it
        self._closing = threading.Event()
        self.error: Exception | None = None
        # a daemon: a hung server must not block the process
        self._thread = threading.Thread(target=self._work, name="mlflow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def watch(self, *folders: Path) -> None:
        """Mirror these, from now on."""
        self._folders |= dict.fromkeys(folders)

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Send the rest. A store that fails is tried again for so long. One that hangs fails by MLflow's own limit."""
        self._closing.set()
        until = time.monotonic() + patience_s
        while self._thread.is_alive() and (self.error is None or time.monotonic() < until):
            self._thread.join(0.05)

    def pending(self) -> list[Path]:
        """The runs of which MLflow lacks something."""
        return [folder for folder in self._folders if pending(folder)]

    def _work(self) -> None:
        while True:
            last = self._closing.is_set()
            self.error = self._round()
            if last and (self.error is None or isinstance(self.error, DamagedFileError)):
                return
            if last:
                time.sleep(POLL_S)
            else:
                self._closing.wait(POLL_S if self.error is None else 10 * POLL_S)

    def _round(self) -> Exception | None:
        """Bring each up to date. A damaged run does not stop the others. Returns the last error, for the end."""
        error = None
        for folder, before in list(self._folders.items()):
            try:
                if (state := _state(folder)) != before:  # a study has hundreds of finished runs
                    sync_run(folder, self._tracker, ask=before is None)
                    self._folders[folder] = state
            except Exception as failure:  # any error: it is reported at the end, and the training continues
                error = failure
                if not isinstance(failure, DamagedFileError):
                    return error  # the store: the others would fail too
        return error


def _state(folder: Path) -> object:
    """The part that changes with every change of a run."""
    files = [path for name in (RECORD, TRAINING_LOG) if (path := folder / name).is_file()]
    return [(at.st_size, at.st_mtime_ns) for at in map(Path.stat, files)]


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
            logger.warning(
                f"MLflow at {shown_uri()} lacks a part of {len(left)} runs{why}. It is kept; "
                "`rlvr sync`, or the next run, delivers it"
            )


def run_folders(paper: str | None = None) -> list[Path]:
    """Every run under RLVR_HOME, or of one paper. Also one whose record is lost, so that it is missed."""
    folders = sorted(home().glob(f"{paper or '*'}/*/*"))
    marks = (RECORD, TRAINING_LOG, LINK)
    return [
        folder
        for folder in folders
        if folder.parent.name in SCALES
        and JOB_FOLDER.search(folder.name)
        and any((folder / name).is_file() for name in marks)
    ]


def sync(folders: Iterable[Path] | None = None) -> tuple[int, list[Path], str]:
    """Bring MLflow up to date with all runs of RLVR_HOME, or with these.

    Returns:
        (runs of which something was sent, those that still lack something, why: "" or an error).
    Raises:
        RefusedError: the store cannot be used.
    """
    from mlflow.exceptions import MlflowException
    from tqdm import tqdm

    tracker = Tracker.open()
    folders = run_folders() if folders is None else list(folders)
    sent, why = 0, ""
    for folder in tqdm(folders, desc="to MLflow", unit="run", disable=None):  # on a terminal
        try:
            sent += sync_run(folder, tracker, ask=True)
        except DamagedFileError as error:  # this run is damaged, and the others are whole
            why = str(error)
        except (MlflowException, OSError) as error:  # the store has gone; what was sent is noted
            why = redacted_start(str(error), 300)
            break
    return sent, [folder for folder in folders if pending(folder)], why


# -- reading a store back ------------------------------------------------------------------------------------------


def mirrored_runs(paper: str | None = None) -> list[Run]:
    """The finished runs in MLflow, of one paper or all, newest first.

    Raises:
        RefusedError: the store cannot be used.
    """
    path = local_store()
    if path is not None and not os.path.lexists(path):  # a new one would have no runs
        raise no_store(f"there is no file {path}")
    from mlflow.exceptions import MlflowException

    tracker = Tracker.open()
    try:
        papers = [paper] if paper is not None else [e.name for e in tracker.client.search_experiments()]
        return [_read_back(tracker, run) for name in papers for run in tracker.arms(name)]
    except MlflowException as error:  # the store has gone meanwhile
        raise no_store(error) from error


def _read_back(tracker: Tracker, run: MlflowRun) -> Run:
    """A run from its artifacts: in place if the store keeps them in local files, else downloaded into the cache. Where
    the run's own folder is on this machine, it is read instead: it has the model too."""
    run_id = run.info.run_id
    folder = tracker.local_artifacts(run)
    if folder is None:
        folder = cache_dir() / "mlflow" / text_sha256(f"{shown_uri()} {run_id}")[:32]
        new = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        record = read_record(Path(tracker.client.download_artifacts(run_id, RECORD, str(new))))
        if not (folder / RECORD).is_file() or read_record(folder / RECORD) != record or Run(folder).damage("eval/"):
            tracker.client.download_artifacts(run_id, "", str(new))
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
    elif not (folder / RECORD).is_file():
        raise DamagedFileError(folder / RECORD, "it is missing", RESTORE)
    run_read = Run(folder)
    if run_read.record.get("id") != run.data.tags.get(TOKEN):
        raise DamagedFileError(folder / RECORD, "it is of another run", RESTORE)
    local = folder_of(home() / run_read.paper / run_read.scale, run_read.record)
    if (local / RECORD).is_file() and Run(local).record.get("sha256") == run_read.record.get("sha256"):
        return Run(local)
    return run_read
