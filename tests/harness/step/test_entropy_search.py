"""The search for an entropy target: the controller's steps by hand, and its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.step.entropy_search import adapt


def test_by_hand() -> None:
    # c starts at 0, target 0.5, step 0.1, maximum 0.3. Low entropy: each step uses c, then raises it.
    # High entropy: nothing is used, and c falls, not below 0. On the target c is used and stays.
    used, c = [], 0.0
    for entropy in (0.4, 0.4, 0.4, 0.4, 0.4, 0.5, 0.9, 0.9, 0.4, 0.9, 0.9, 0.9):
        now, c = adapt(c, entropy, target=0.5, step=0.1, maximum=0.3)
        used.append(round(now, 9))
    assert used == [0.0, 0.1, 0.2, 0.3, 0.3, 0.3, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    assert c == 0.0


@given(st.lists(st.floats(0, 3), max_size=30), st.floats(0.1, 2), st.floats(0.001, 0.5))
def test_it_stays_in_its_bounds_and_is_off_above_the_target(entropies: list[float], target: float, step: float) -> None:
    c = 0.0
    for entropy in entropies:
        used, c = adapt(c, entropy, target=target, step=step, maximum=0.4)
        assert 0 <= c <= 0.4 and 0 <= used <= 0.4
        assert used == 0 or entropy <= target
