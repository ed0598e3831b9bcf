"""Unsolvable problems: sets of the first k samples, and regions that hold every problem once."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.responses.unsolvable import Region, regions, unsolvable_sets
from tests.evals.analysis.verdict_tables import table


def test_sets_by_hand() -> None:
    a, b = table({"p": "wwc", "q": "www", "r": "ntw"}), table({"p": "cww", "q": "wuwc", "r": "www"})
    sets, same = unsolvable_sets({"a": a, "b": b})
    # q has 3 scored samples in b, the third of them right: k = 3
    assert sets == {"a": frozenset("qr"), "b": frozenset("r")} and same.k == 3
    # two samples each: in a p is not solved before its third; in b q's second scored sample is its third
    sets, _ = unsolvable_sets({"a": a, "b": b}, k=2)
    assert sets == {"a": frozenset("pqr"), "b": frozenset("qr")}
    with pytest.raises(ValueError, match="k: expected at least 1"):
        unsolvable_sets({"a": a}, k=0)


def test_samples_count_in_their_order_and_of_the_first_seed() -> None:
    shuffled = table({"p": "cww"}).iloc[::-1]
    assert unsolvable_sets({"a": shuffled}, k=1)[0] == {"a": frozenset()}
    seeds = pd.concat([table({"p": "ccc"}, train_seed=7), table({"p": "www"}, train_seed=3)])
    assert unsolvable_sets({"a": seeds})[0] == {"a": frozenset("p")}


@given(st.lists(st.sets(st.sampled_from("pqrst")), min_size=1, max_size=4))
def test_every_problem_is_in_the_one_region_of_the_models_that_fail_it(failed: list[set[str]]) -> None:
    sets = {f"m{i}": frozenset(s) for i, s in enumerate(failed)}
    parts = regions(sets, "pqrst")
    assert sorted(p for region in parts for p in region.problems) == list("pqrst")
    for region in parts:
        for problem in region.problems:
            assert region.models == tuple(name for name, s in sets.items() if problem in s)


def test_order() -> None:
    sets = {"b": frozenset("pq"), "a": frozenset("qr")}
    assert regions(sets, "pqrs") == [
        Region(("b", "a"), ("q",)), Region(("b",), ("p",)), Region(("a",), ("r",)), Region((), ("s",))
    ]  # fmt: skip
