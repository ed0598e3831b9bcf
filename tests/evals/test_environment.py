"""Reading the environment while another thread changes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from evals.environment import variables


class Vanishing(dict[str, str]):
    """Variables of which one is deleted by another thread after its name was listed."""

    def __iter__(self) -> Iterator[str]:
        return iter([*super().__iter__(), "GONE"])

    def keys(self) -> Any:
        return list(self)


def test_a_variable_that_another_thread_deletes_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", Vanishing(HOME="/root"))
    with pytest.raises(KeyError, match="GONE"):  # what quickstart ended in
        _ = {name: os.environ[name] for name in os.environ}
    assert variables() == {"HOME": "/root"}
