"""For all tests: no hub, no deadlines, no garbage collection while tests are imported, and the slow files first."""

from __future__ import annotations

import gc
import os
import signal
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.pop("MLFLOW_TRACKING_URI", None)  # nor a store of the user's
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # under nohup, or in the background of a script:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # commands that tests start and interrupt inherit it

from pathlib import Path

import pytest
from hypothesis import settings

from tests.forked import fork_from_here

# no deadlines: time on a busy machine says nothing about the code. Every run has the same examples, so that only a
# change can make a test fail. `--hypothesis-profile=random` draws new ones
settings.register_profile("random", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("same")
gc.disable()  # until all tests are collected: what they import stays (`evals.imports`)


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model (not to be written to)."""
    from tests.experiments import save_random_model

    return save_random_model(tmp_path_factory.mktemp("random_model"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: processes that share the files then end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)  # stable: the others stay as they were collected


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    if "trl.trainer.grpo_trainer" in sys.modules and hasattr(os, "fork"):
        fork_from_here()
