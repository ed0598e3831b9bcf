"""Length and form of responses by hand; what is unknown is excluded."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evals.analysis.forms import MEASURES, lengths, mean_over_problems, plot_verdicts, response_table, shares
from evals.stats.intervals import Interval, estimate, over_problems
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table


def test_the_table_describes_each_response() -> None:
    texts = [r"a b c a b c \boxed{1}", "所以", r"\boxed{1} \boxed{2}"]
    given = table(
        {"p": "ct", "q": "u"}, response=texts, finish_reason=["stop", "length", None], boxed=[True, False, True]
    )
    made = response_table(given)
    assert made[["truncated", "boxed"]].to_numpy().tolist()[:2] == [[0, True], [1, False]]
    assert math.isnan(made["truncated"][2])
    # 7 words: 5 3-grams, abc twice
    assert made["redundancy"].tolist() == pytest.approx([1 / 5, 0, 0])
    assert made["format_violation"].tolist() == [False, True, True]
    assert made["language_mixing"].tolist() == [False, True, False]
    with pytest.raises(ValueError, match="lacks the column response"):
        response_table(given.drop(columns="response"))


def test_a_withheld_response_has_no_form() -> None:
    """Two came, and one of them is boxed, once. The third has no text."""
    texts, ends = [r"\boxed{1}", "so 2", ""], ["stop", "stop", "content_filter"]
    given = table({"p": "cwu"}, response=texts, finish_reason=ends, boxed=[True, False, False])
    shown = shares({"a": response_table(given)}).set_index("measure")
    assert shown.loc[["boxed", "format_violation"], "mean"].tolist() == [50, 50]
    assert shown.loc["boxed", "samples"] == 2


def test_shares_are_means_over_problems() -> None:
    # boxed: p 2 of 4, q 0 of 1, an unscored response counts. Truncated is known of p alone: 1 of 4
    given = table({"p": "cctu", "q": "w"}, finish_reason=["stop", "stop", "length", "stop", None])
    shown = shares({"a": response_table(given)}).set_index("measure")
    assert list(shown.index) == list(MEASURES)
    assert shown.loc["boxed", "mean"] == pytest.approx(25) and shown.loc["boxed", "samples"] == 5
    assert shown.loc["boxed", "low"] < 25 < shown.loc["boxed", "high"]
    assert shown.loc["truncated", "mean"] == pytest.approx(25) and shown.loc["truncated", "problems"] == 1
    unknown = given.assign(finish_reason=None)
    assert "truncated" not in set(shares({"a": response_table(unknown)})["measure"])


def test_lengths_by_hand() -> None:
    # tokens are 10, 20, 30, 40 of p and 10 of q. p: c, w, u, unknown length
    given = table({"p": "cwuw", "q": "c"}, tokens=[10, 20, 30, None, 10])
    rows = lengths({"a": response_table(given)}).set_index("outcome")
    assert rows["samples"].to_dict() == {"all": 4, "correct": 2, "incorrect": 1}
    assert rows.loc["all", "mean"] == pytest.approx((20 + 10) / 2)  # over problems
    assert rows.loc["all", "median"] == 15  # over responses: 10, 10, 20, 30
    assert rows.loc["correct", ["mean", "median"]].tolist() == [10, 10]
    assert lengths({"a": response_table(given.assign(tokens=None))}).empty


def ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def frame(*rows: tuple[int, str, float | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["train_seed", "problem_id", "x"])


def test_a_problem_counts_once_however_many_samples_it_has() -> None:
    mean = mean_over_problems(frame((0, "p", 1), (0, "p", 1), (0, "p", 0), (0, "q", 0)), "x", bounds=(0.0, 1.0))
    assert mean is not None and mean["mean"] == pytest.approx((2 / 3 + 0) / 2)
    assert (mean["low"], mean["high"]) == ends(over_problems([2 / 3, 0]))
    assert (mean["problems"], mean["excluded"], mean["samples"]) == (2, 0, 4)


def test_seeds_are_crossed_with_problems() -> None:
    rows = [(s, p, v) for s, values in enumerate([(1, 0), (0.5, 0.5)]) for p, v in zip("pq", values, strict=True)]
    mean = mean_over_problems(frame(*rows), "x", bounds=(0.0, 1.0))
    assert mean is not None and mean["mean"] == 0.5
    assert (mean["low"], mean["high"]) == ends(estimate([[[1, 0], [0.5, 0.5]]]).interval())


def test_missing_values_are_excluded_and_counted() -> None:
    # q has no value in seed 1, so it is out in both; of p one value is missing
    rows = frame((0, "p", 1), (0, "p", None), (0, "q", 1), (1, "p", 0), (1, "q", None))
    mean = mean_over_problems(rows, "x", bounds=(0.0, 1.0))
    assert mean is not None and mean["mean"] == 0.5 and math.isnan(mean["low"])
    assert (mean["problems"], mean["excluded"], mean["samples"]) == (1, 1, 2)
    assert mean_over_problems(frame((0, "p", None)), "x", bounds=None) is None
    # a whole seed without values leaves no problem that all seeds have
    assert mean_over_problems(frame((0, "p", 1), (1, "p", None)), "x", bounds=None) is None


def test_numbers_and_captions() -> None:
    runs = {
        "base": table({"p": "cwwn", "q": "wwtu"}),
        "a run of a long name " * 5: table({"p": "ccww", "q": "cwww"}),
    }
    plots = {plot.name: plot for plot in plot_verdicts(runs)}
    assert list(plots) == ["pass_at_k", "answer_diversity", "response_length", "response_form"]
    curves = plots["pass_at_k"].numbers
    # base: p 1 of 4, q 0 of 3. The other: 2 and 1 of 4. All problems have three scored samples.
    assert curves["k"].tolist() == [1, 2, 3] * 2
    assert curves.loc[curves["k"] == 1, "mean"].tolist() == pytest.approx([12.5, 37.5])
    caption = plots["pass_at_k"].caption
    assert "2 problems, n = 4 samples" in caption and "could not be scored: 1" in caption
    form = plots["response_form"].numbers.set_index(["model", "measure"])
    assert form.loc[("base", "truncated"), "mean"] == pytest.approx(100 / 8)
    for plot in plots.values():
        check_renders(plot)
