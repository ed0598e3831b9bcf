"""A temporary run folder and MLflow store for a `with` block."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DECIDE = ("RLVR_HOME", "MLFLOW_TRACKING_URI")  # where runs and their records go


@contextmanager
def scratch_store() -> Iterator[Path]:
    """Inside the block, runs use an empty temporary folder and store, which are deleted at its end."""
    before = {name: os.environ.get(name) for name in _DECIDE}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RLVR_HOME"] = folder
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        try:
            yield Path(folder)
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
