"""For all tests: no hub, no deadlines, no garbage collection while tests are imported, and the slow files first."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from pathlib import Path

import pytest
from hypothesis import settings

# no deadlines: time on a busy machine says nothing about the code. Every run has the same examples, so that only a
# change can make a test fail; `--hypothesis-profile=random` draws new ones
settings.register_profile("random", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")
gc.disable()  # until all tests are collected: what they import stays (`evals.imports`)

ROOT = Path(__file__).parent


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random model (not to be written to)."""
    from tests.experiments import save_random_model

    return save_random_model(tmp_path_factory.mktemp("random_model"))


SLOW_FIRST = (  # processes that share the files then end at about the same time
    "harness/launch/test_local.py",
    "harness/jobs/test_run.py",
    "harness/cli/test_new.py",
    "harness/backends/test_trl_finetune.py",
    "harness/backends/test_trl_distributed.py",
    "harness/jobs/test_watching.py",
    "studies/tiny/test_committed_study.py",
    "examples/test_examples.py",
    "evals/grading/test_hostile.py",
    "evals/grading/test_hostile_text.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {ROOT / name: number for number, name in enumerate(SLOW_FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))  # stable: the others stay as they were collected


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
