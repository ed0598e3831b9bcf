"""A figure is saved whole, with its numbers and words, and the same twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evals.plots.plot import PALETTE, Plot, look, save, tidy, wrap_name


def line(values: list[float]) -> Plot:
    numbers = pd.DataFrame({"k": range(1, len(values) + 1), "pass (%)": values})

    def render(figure: Any) -> None:
        axis = figure.subplots()
        axis.plot(numbers["k"], numbers["pass (%)"], **look(0))
        axis.set(xlabel="k", ylabel="pass@k (%)")
        tidy(axis)

    return Plot("line", "pass@k", "3 problems", "arXiv 2508.07534, Fig. 1a", numbers, render)


def test_all_files_are_written_and_are_the_same_twice(tmp_path: Path) -> None:
    first, again = (save(line([10.0, 20.0]), tmp_path / name) for name in ("a", "b"))
    assert {ending: path.name for ending, path in first.items()} == {
        "svg": "line.svg", "png": "line.png", "csv": "line.csv"
    }  # fmt: skip
    for ending in first:
        assert first[ending].read_bytes() == again[ending].read_bytes()
    assert pd.read_csv(first["csv"])["pass (%)"].tolist() == [10.0, 20.0]


def test_each_series_has_a_distinct_look_up_to_the_limit() -> None:
    looks = [look(i) for i in range(len(PALETTE))]
    for key in ("color", "marker", "linestyle"):
        assert len({str(entry[key]) for entry in looks}) == len(PALETTE)
    with pytest.raises(ValueError, match="at most 7"):
        look(len(PALETTE))


def test_names_are_broken_at_spaces_and_only_longer_words_inside() -> None:
    assert wrap_name("egsw egsw+shuffled_response", 26) == "egsw\negsw+shuffled_response"
    assert wrap_name("entropy_advantage grpo_entropy_advantage+shuffled", 26) == (
        "entropy_advantage grpo_\nentropy_advantage+shuffled"
    )
    assert wrap_name("GRPO", 2) == "GRPO" and wrap_name("", 5) == ""
