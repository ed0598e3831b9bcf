"""Every test of the plan runs on two kinds of processor, whichever is under it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.spec.host import Host, given
from tests.hosts import KINDS


@pytest.fixture(autouse=True, params=KINDS.values(), ids=KINDS)
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    with given(request.param):
        yield request.param
