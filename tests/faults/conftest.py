"""Runs that nothing disturbed. Every test here is slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.commands import RUN, SAVE_OFTEN, ending, run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(3600))


class Undisturbed(NamedTuple):
    home: Path
    ending: dict[str, Any]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    home = tmp_path_factory.mktemp("undisturbed")
    ended = run(RUN, home)
    assert ended.code == 0, ended.err
    return Undisturbed(home, ending(home))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run that saved every step."""
    home = tmp_path_factory.mktemp("finished")
    ended = run(SAVE_OFTEN, home)
    assert ended.code == 0, ended.err
    return home
