"""Unsolvable problems: those of the first k samples, sets that hold every problem once, and their figures."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproductions.trial_and_error.figures.unsolvable import plot_unsolvable, sets_of_models, unsolvable
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table


def unsolved(tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Model -> the problems that it leaves unsolved."""
    frame, _ = unsolvable(tables)
    return {str(name): "".join(frame.index[frame[name]]) for name in frame}


def test_sets_by_hand() -> None:
    a, b = table({"p": "wwc", "q": "www", "r": "ntw"}), table({"p": "cww", "q": "wuwc", "r": "www"})
    # q has 3 scored samples in b, the third of them right: k = 3
    assert unsolved({"a": a, "b": b}) == {"a": "qr", "b": "r"}
    # cut to two scored samples of r: in a p is not solved before its third. In b q's second scored sample is its third
    cut = {"a": a, "b": table({"p": "cww", "q": "wuwc", "r": "wwu"})}
    assert unsolved(cut) == {"a": "pqr", "b": "qr"} and unsolvable(cut)[1].k == 2


def test_the_first_k_samples_of_the_first_seed_count() -> None:
    shuffled = table({"p": "cww"}).iloc[::-1]
    assert unsolved({"a": shuffled, "b": table({"p": "w"})}) == {"a": "", "b": "p"}
    seeds = pd.concat([table({"p": "ccc"}, train_seed=7), table({"p": "www"}, train_seed=3)])
    assert unsolved({"a": seeds}) == {"a": "p"}


@given(st.lists(st.sets(st.sampled_from("pqrst")), min_size=1, max_size=4))
def test_every_problem_is_in_the_one_set_of_the_models_that_fail_it(failed: list[set[str]]) -> None:
    frame = pd.DataFrame({f"m{i}": [p in s for p in "pqrst"] for i, s in enumerate(failed)}, index=list("pqrst"))
    sets = sets_of_models(frame)
    assert sorted(" ".join(sets["problem_ids"]).split()) == list("pqrst") and sets["problems"].sum() == 5
    for models, ids in zip(sets["models"], sets["problem_ids"], strict=True):
        for problem in ids.split():
            assert models == " & ".join(f"m{i}" for i, s in enumerate(failed) if problem in s)


@pytest.mark.parametrize("problems", [{"p": "w", "q": "c"}, {"p": "c", "q": "c"}])
def test_the_figure_shows_one_to_four_models(problems: dict[str, str]) -> None:
    for count in (1, 2, 3, 4):
        plot = plot_unsolvable({f"m{i}": table(problems) for i in range(count)})
        assert plot.numbers["problems"].sum() == 2 and "2 problems" in plot.caption
        check_renders(plot)
