"""Unsolvable problems: sets of the first k samples, regions that hold every problem once, and their figures."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproductions.trial_and_error.figures.unsolvable import Region, plot_unsolvable, regions, unsolvable_sets
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table


def test_sets_by_hand() -> None:
    a, b = table({"p": "wwc", "q": "www", "r": "ntw"}), table({"p": "cww", "q": "wuwc", "r": "www"})
    sets, same = unsolvable_sets({"a": a, "b": b})
    # q has 3 scored samples in b, the third of them right: k = 3
    assert sets == {"a": frozenset("qr"), "b": frozenset("r")} and same.k == 3
    # cut to two scored samples of r: in a p is not solved before its third; in b q's second scored sample is its third
    sets, same = unsolvable_sets({"a": a, "b": table({"p": "cww", "q": "wuwc", "r": "wwu"})})
    assert sets == {"a": frozenset("pqr"), "b": frozenset("qr")} and same.k == 2


def test_the_first_k_samples_of_the_first_seed_count() -> None:
    shuffled = table({"p": "cww"}).iloc[::-1]
    assert unsolvable_sets({"a": shuffled, "b": table({"p": "w"})})[0] == {"a": frozenset(), "b": frozenset("p")}
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


def test_regions_are_ordered_by_how_many_models_share_them() -> None:
    sets = {"b": frozenset("pq"), "a": frozenset("qr")}
    assert regions(sets, "pqrs") == [
        Region(("b", "a"), ("q",)), Region(("b",), ("p",)), Region(("a",), ("r",)), Region((), ("s",))
    ]  # fmt: skip


RUNS = [
    {"p": "w", "q": "c", "r": "w"},
    {"p": "w", "q": "w", "r": "c"},
    {"p": "w", "q": "c", "r": "c"},
    {"p": "c", "q": "c", "r": "c"},
]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_regions_are_counted(count: int) -> None:
    plot = plot_unsolvable({f"m{i}": table(problems) for i, problems in enumerate(RUNS[:count])})
    counts = dict(zip(plot.numbers["unsolved by exactly"], plot.numbers["problem_ids"], strict=True))
    assert (
        counts
        == [
            {"m0": "p r", "": "q"},
            {"m0 & m1": "p", "m0": "r", "m1": "q"},
            {"m0 & m1 & m2": "p", "m0": "r", "m1": "q"},
            {"m0 & m1 & m2": "p", "m0": "r", "m1": "q"},
        ][count - 1]
    )
    assert "3 problems" in plot.caption and "first 1 scored samples" in plot.caption
    check_renders(plot)


@pytest.mark.parametrize("count", [2, 4])
def test_an_empty_set_of_unsolved_problems_is_plotted(count: int) -> None:
    plot = plot_unsolvable({f"m{i}": table({"p": "c"}) for i in range(count)})
    assert plot.numbers["problems"].tolist() == [1]
    check_renders(plot)
