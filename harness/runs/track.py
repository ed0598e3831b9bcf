"""MLflow: one experiment a paper, a parent run a command, a child run an arm and seed. Everything is logged here once.

Without MLFLOW_TRACKING_URI the store is a local SQLite file under the project's home folder.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.provenance import Sourced

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_CHUNK = 100  # MLflow takes at most 100 params or tags, and 1,000 metrics, in one call


def home() -> Path:
    """Where runs, checkpoints and the local store live: RLVR_HOME, or `runs` in the working directory."""
    return Path(os.environ.get("RLVR_HOME", "runs")).resolve()


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, or the local store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"


@dataclass(frozen=True)
class Tracker:
    """A thin layer over `MlflowClient`; runs are named by id, never by a global active run."""

    client: MlflowClient

    @classmethod
    def open(cls) -> Tracker:
        """Connect to the store. A local store is made when there is none."""
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
        for name in ("alembic", "mlflow.store.db.utils"):  # the tables of a new store are no news to the user
            logging.getLogger(name).setLevel(logging.WARNING)
        from mlflow import MlflowClient

        home().mkdir(parents=True, exist_ok=True)
        return cls(MlflowClient(tracking_uri=tracking_uri()))

    def experiment(self, name: str) -> str:
        """The id of the experiment of that name, made when there is none."""
        found = self.client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        local = tracking_uri().startswith("sqlite")
        location = (home() / "artifacts" / name).as_uri() if local else None
        return str(self.client.create_experiment(name, artifact_location=location))

    def run(self, experiment_id: str, known: str | None, name: str, tags: Mapping[str, str]) -> str:
        """Continue the run `known` when the store has it; else start one. Returns its id."""
        from mlflow.exceptions import MlflowException

        if known is not None:
            try:
                self.client.update_run(known, status="RUNNING")
                return known
            except MlflowException as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
        return str(self.client.create_run(experiment_id, run_name=name, tags=dict(tags)).info.run_id)

    def settings(self, run_id: str, settings: Mapping[str, Sourced[Any]]) -> None:
        """Log each value as a param, and its origin and note as `<key>.source`."""
        from mlflow.entities import Param

        params = []
        for key, sourced in settings.items():
            source = f"{sourced.origin}: {sourced.note}"
            if sourced.was is not None:
                source += f" (was {sourced.was.value!r}, {sourced.was.origin}: {sourced.was.note})"
            params += [Param(key, str(sourced.value)), Param(f"{key}.source", source)]
        for start in range(0, len(params), _CHUNK):
            self.client.log_batch(run_id, params=params[start : start + _CHUNK])

    def metrics(self, run_id: str, step: int, values: Mapping[str, float]) -> None:
        """Log metrics of one step."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self.client.log_batch(run_id, metrics=[Metric(key, value, now, step) for key, value in values.items()])

    def tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        for key, value in tags.items():
            self.client.set_tag(run_id, key, value)

    def artifact(self, run_id: str, path: Path, folder: str | None = None) -> None:
        """Copy a file into the run's artifacts."""
        self.client.log_artifact(run_id, str(path), folder)

    def finish(self, run_id: str, status: str) -> None:
        """status: "FINISHED", "FAILED" or "KILLED"."""
        self.client.set_terminated(run_id, status)

    def arms(self, paper: str, *, finished: bool = True) -> list[Run]:
        """The child runs of a paper, newest first: those that are finished, or all."""
        found = self.client.get_experiment_by_name(paper)
        if found is None:
            return []
        done = " and attributes.status = 'FINISHED'" if finished else ""
        runs: list[Run] = []
        token: str | None = None
        while True:
            page = self.client.search_runs(
                [found.experiment_id],
                filter_string=f"tags.`rlvr.kind` = 'arm'{done}",
                order_by=["attributes.start_time DESC"],
                page_token=token,
            )
            runs += page
            token = page.token
            if not token:
                return runs

    def download(self, run_id: str, path: str, folder: Path) -> Path:
        """Fetch one artifact into a folder."""
        return Path(self.client.download_artifacts(run_id, path, str(folder)))
