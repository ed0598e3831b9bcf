"""Imports what a forked command needs. `tests.forked` names this module to the process that it forks from."""

from __future__ import annotations

from evals.imports import uncollected

with uncollected():
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
    import trl.trainer.grpo_trainer  # noqa: F401

    import harness.backends.trl.train
    import harness.jobs.run  # noqa: F401
