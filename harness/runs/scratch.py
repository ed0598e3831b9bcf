"""A run folder and MLflow store that last as long as a `with` block."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DECIDE = ("RLVR_HOME", "MLFLOW_TRACKING_URI")  # where runs and their records go


@contextmanager
def scratch_store() -> Iterator[Path]:
    """Runs started in here are made, logged and found in an empty folder of their own, which goes with the block."""
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
