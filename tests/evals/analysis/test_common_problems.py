"""Models are compared on the same problems: what is kept, what is excluded, and how many samples that allows."""

from __future__ import annotations

import pandas as pd
import pytest

from evals.analysis.common_problems import check_ks, keep_common_problems, powers_of_two_to
from tests.evals.analysis.verdict_tables import table


def test_problems_without_a_scored_sample_in_some_model_are_excluded() -> None:
    a = table({"p": "ccw", "q": "wwu", "r": "uuu", "s": "c"})
    b = table({"p": "cc", "q": "wwww", "r": "ccc"})
    same = keep_common_problems({"a": a, "b": b})
    # p has 3 and 2 scored samples, q 2 and 4; r has none in a; s was not asked of b
    assert (same.problems, same.left_out, same.k, same.unscored) == (("p", "q"), 2, 2, 4)
    assert len(same.tables["a"]) == 5 and len(same.tables["b"]) == 6
    assert "2 problems" in same.note() and "4 responses" in same.note()
    assert keep_common_problems({"b": b}).note() == ""


def test_least_asks_for_more_samples_and_not_for_fewer_problems_than_needed() -> None:
    a, b = table({"p": "ccw", "q": "wwu"}), table({"p": "ccw", "q": "www"})
    same = keep_common_problems({"a": a, "b": b}, least=3)
    assert (same.problems, same.left_out, same.k) == (("p",), 1, 3)
    with pytest.raises(ValueError, match="no problem has 4 scored samples in each of: a, b"):
        keep_common_problems({"a": a, "b": b}, least=4)


def test_every_training_seed_counts() -> None:
    two = pd.concat([table({"p": "cc", "q": "cc"}, train_seed=0), table({"p": "c", "q": "uu"}, train_seed=1)])
    same = keep_common_problems({"a": two})
    assert (same.problems, same.left_out, same.k, same.unscored) == (("p",), 1, 1, 2)
    # a seed of which nothing could be scored leaves nothing to compare
    with pytest.raises(ValueError, match="no problem has 1 scored samples"):
        keep_common_problems({"a": pd.concat([table({"p": "cc"}, train_seed=0), table({"p": "uu"}, train_seed=1)])})
    with pytest.raises(ValueError, match="at least one model"):
        keep_common_problems({})


def test_ks() -> None:
    assert [powers_of_two_to(most) for most in (1, 2, 3, 8, 640)] == [
        [1], [1, 2], [1, 2, 3], [1, 2, 4, 8], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 640]
    ]  # fmt: skip
    for wrong in ([], [0, 2]):
        with pytest.raises(ValueError, match="ks: expected numbers of at least 1"):
            check_ks(wrong)
