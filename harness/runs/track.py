"""MLflow: one experiment per paper, one run per arm and seed.

Without MLFLOW_TRACKING_URI the store is a local SQLite file under the project's home folder. Runs are written to disk
first, and mirrored from there (`harness.record.mirror`).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from evals.errors import DamagedFileError, RefusedError
from evals.files import locked
from evals.imports import uncollected
from evals.redaction import redact

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

LOCK_S = 300.0  # wait for another process to create the local store. On a loaded machine that takes a minute
KIND = {"mlflow.experimentKind": "custom_model_development"}  # else MLflow takes it for an application of a model
VIEW = "rlvr"  # the saved view of an experiment, which `rlvr ui` names: mlflow.sharedViewState.VIEW
TOKEN = "rlvr.token"  # tag that identifies a run created by a call whose answer was lost


class StoreError(RefusedError):
    """MLflow's store cannot be used."""


def home() -> Path:
    """Where runs, checkpoints and the local store live: RLVR_HOME, or `runs` in the working directory."""
    return Path(os.environ.get("RLVR_HOME", "runs")).resolve()


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, or the local store. It may hold a password: print `shown_uri()`."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


def local_store() -> Path | None:
    """The file of the store, if it is one."""
    uri = tracking_uri()
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None


def shown_uri() -> str:
    """`tracking_uri()` without credentials."""
    return redact(tracking_uri())


def make_home() -> Path:
    """The home folder, made if needed.

    Raises:
        RefusedError: it cannot be a folder, or cannot be written to.
    """
    folder = home()
    if "?" in str(folder):  # the address of the store would end there
        raise RefusedError(f"RLVR_HOME={folder}: expected a folder without ? in its name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise RefusedError(f"RLVR_HOME={folder}: expected a folder to write to ({error.strerror})") from error
    return folder


@dataclass(frozen=True)
class Tracker:
    """A thin layer over `MlflowClient`. Runs are named by id, never by a global active run."""

    client: MlflowClient

    @classmethod
    def open(cls) -> Tracker:
        """Connect to the store. A missing local store is created.

        Raises:
            StoreError: no answer, or an error. RefusedError: the home folder or the local store cannot be used.
        """
        make_home()
        uri = tracking_uri()
        _prepare_mlflow()
        if (local := local_store()) is not None:
            _check_local(local)
        with uncollected():
            from mlflow import MlflowClient

            tracker = cls(MlflowClient(tracking_uri=uri))  # imports what this kind of store needs
        try:
            tracker.client.search_experiments(max_results=1)
        except Exception as error:  # any error: of the network, the address, the database's driver
            raise no_store(error) from error
        return tracker

    def experiment(self, name: str) -> str:
        """The id of the experiment of that name, created if missing."""
        from mlflow.exceptions import MlflowException

        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            local = tracking_uri().startswith("sqlite")
            location = (home() / "artifacts" / name).as_uri() if local else None
            try:
                return str(self.client.create_experiment(name, artifact_location=location, tags=KIND))
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":  # else another process has just created it
                    raise
                experiment = self.client.get_experiment_by_name(name)
        return str(experiment.experiment_id)

    def show_columns(self, experiment: str, columns: Iterable[str]) -> None:
        """Add columns to the experiment's view, whose runs are in the order of their arms: `params.NAME` and so on."""
        stored = self.client.get_experiment(self.experiment(experiment))
        key = f"mlflow.sharedViewState.{VIEW}"
        view = json.loads(stored.tags.get(key, "{}"))
        shown = list(dict.fromkeys((*view.get("selectedColumns", ()), *columns)))
        if shown != view.get("selectedColumns"):
            order = {"orderByKey": "params.`arm`", "orderByAsc": True}
            value = json.dumps({**view, **order, "selectedColumns": shown})
            self.client.set_experiment_tag(stored.experiment_id, key, value)

    def views(self, address: str) -> dict[str, str]:
        """Experiment -> the address of its view in MLflow's interface at `address`."""
        return {
            experiment.name: f"{address}/#/experiments/{experiment.experiment_id}/runs?viewStateShareKey={VIEW}"
            for experiment in self.client.search_experiments(order_by=["name"])
            if f"mlflow.sharedViewState.{VIEW}" in experiment.tags
        }

    def run_of(self, experiment: str, name: str, token: str, start_time: int) -> str:
        """The run with that token, created if missing. A second call creates no second run."""
        experiment_id = self.experiment(experiment)
        runs = self.client.search_runs([experiment_id], filter_string=f"tags.`{TOKEN}` = '{token}'", max_results=1)
        if runs:
            return str(runs[0].info.run_id)
        run = self.client.create_run(experiment_id, start_time=start_time, run_name=name, tags={TOKEN: token})
        return str(run.info.run_id)

    def end(self, run_id: str, status: str, started: int, ended: int | None) -> None:
        """Set a run's last status, at a time in milliseconds. A run that ended as it started was imported: how long it
        took is unknown, so it gets no end, and MLflow shows no duration."""
        if ended is not None and ended <= started:
            self.client.update_run(run_id, status=status)
        else:
            self.client.set_terminated(run_id, status, ended)

    def has_run(self, run_id: str) -> bool:
        """Whether the store has this run, not deleted."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(self.client.get_run(run_id).info.lifecycle_stage == "active")
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return False

    def arms(self, paper: str, *, finished: bool = True) -> list[Run]:
        """The runs of a paper's arms, newest first, all or those that are finished. Empty without the experiment."""
        experiment = self.client.get_experiment_by_name(paper)
        if experiment is None:
            return []
        status = " and attributes.status = 'FINISHED'" if finished else ""
        runs: list[Run] = []
        token: str | None = None
        while True:
            page = self.client.search_runs(
                [experiment.experiment_id],
                filter_string=f"tags.`rlvr.kind` = 'arm'{status}",
                order_by=["attributes.start_time DESC"],
                page_token=token,
            )
            runs += page
            token = page.token
            if not token:
                return runs

    def local_artifacts(self, run: Run) -> Path | None:
        """The folder of a run's artifacts, if the store keeps them in local files."""
        place = urlparse(run.info.artifact_uri)
        if place.scheme not in ("file", "") or place.netloc not in ("", "localhost"):
            return None
        return Path(unquote(place.path))


def _prepare_mlflow() -> None:
    """Settings that MLflow reads from the environment. The user's own values stay, but for what shows a password and
    for a second try, which would create a second run where only the first answer was lost (`run_of` looks first)."""
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # its thread changes os.environ while requests reads it
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")  # MLflow's own: 120 s
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
    os.environ["_MLFLOW_SERVER_ARTIFACT_ROOT"] = (
        home() / "artifacts"
    ).as_uri()  # where a new store's Default experiment has its files
    if shown_uri() != tracking_uri():  # MLflow prints a run's address with user and password
        os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    logging.getLogger("alembic").setLevel(logging.WARNING)  # hide the messages about the tables of a new store
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # and tracebacks of what is raised, too


def no_store(why: object) -> StoreError:
    """The error of a store that cannot be used, without credentials."""
    text = redact(str(why)).strip().partition("\n")[0][:500]
    return StoreError(f"MLflow's store at {shown_uri()} cannot be used: {text}. Start it, or set MLFLOW_TRACKING_URI")


def _check_local(path: Path) -> None:
    """Create the local store, or check that the existing one can be read."""
    if not os.path.lexists(path):
        with uncollected():
            import mlflow.store.db.utils  # noqa: F401  # seconds, while nobody waits for the lock
        busy = f"another process has been creating {path} for {LOCK_S / 60:.0f} minutes"
        with locked(path.parent, busy, name=".mlflow.lock", wait_s=LOCK_S):
            if not path.exists():
                _make_local(path)
        return
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        raise no_store(f"expected a file to read and write at {path}")
    try:  # rw: rolls back a killed process's unfinished transaction, which a read-only connection may not
        with sqlite3.connect(f"file:{urllib.parse.quote(str(path))}?mode=rw", uri=True) as connection:
            connection.execute("select count(*) from alembic_version").fetchone()
            connection.execute("select count(*) from experiments").fetchone()
        connection.close()
    except sqlite3.DatabaseError as error:
        if "locked" not in str(error):
            refill = "delete it, and `rlvr sync` fills a new one from the runs' folders"
            raise DamagedFileError(path, str(error), refill) from error


def cache_dir() -> Path:
    """The cache folder (files that can be downloaded or built again), made if needed: RLVR_CACHE, or
    ~/.cache/rlvr-harness.

    Raises:
        RefusedError: it cannot be made.
    """
    folder = Path(os.environ.get("RLVR_CACHE") or os.path.expanduser("~/.cache/rlvr-harness"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(
            f"no cache in {folder} ({error.strerror}): set RLVR_CACHE to a folder to write to"
        ) from error
    return folder


def _make_local(path: Path) -> None:
    """Create a store with MLflow's tables, atomically. This takes seconds, so a copy is kept for the next store."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    template = cache_dir() / f"mlflow-{version('mlflow-skinny')}.db"
    try:
        if template.is_file():
            shutil.copyfile(template, part)
        else:
            from mlflow.store.db.utils import _safe_initialize_tables, create_sqlalchemy_engine

            engine = create_sqlalchemy_engine(f"sqlite:///{part}")
            _safe_initialize_tables(engine)
            engine.dispose()
            copy = template.with_name(f".{template.name}.{os.getpid()}.part")
            shutil.copyfile(part, copy)
            copy.replace(template)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
