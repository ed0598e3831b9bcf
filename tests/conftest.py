"""Shared strategies and small batches."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
from hypothesis import settings

from tests.shards import files_of

settings.register_profile("shared_machine", deadline=None)  # time on a busy machine says nothing about the code
settings.load_profile("shared_machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", metavar="K/N", help="only the Kth of N parts of the test files (tests/shards.py)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    shard = config.getoption("--shard")
    if shard is None:
        return
    files = files_of([str(item.path) for item in items], shard)
    config.hook.pytest_deselected(items=[item for item in items if str(item.path) not in files])
    items[:] = [item for item in items if str(item.path) in files]
