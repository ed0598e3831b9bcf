from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments import save_random_model


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model (not to be written to)."""
    return save_random_model(tmp_path_factory.mktemp("random_model"))
