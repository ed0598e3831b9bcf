"""Wide printed tables are turned and cut between models; what all arms share stands above a table."""

from __future__ import annotations

import pytest

from harness.spec import catalogue
from harness.tables.grid import Grid
from harness.tables.published import WIDE, _parts, published_grids


@pytest.mark.parametrize("paper", ["erpo", "forking_tokens", "entropy_advantage", "trial_and_error", "egsw"])
def test_no_printed_table_is_wide_and_each_shows_every_published_cell_once(paper: str) -> None:
    grids = published_grids(paper, [])
    assert max(len(grid.header) for grid in grids) <= WIDE
    shown = [cell for grid in grids for row in grid.rows for cell in row[1:] if cell]
    assert sorted(shown) == sorted(cell.printed for cell in catalogue.published(paper))


def test_parts_are_cut_between_models_and_only_a_long_model_is_cut_itself() -> None:
    # WIDE - 1 = 7 rows fit: a and b (6) together, c (4) does not fit beside them, d has 9 rows: 7 and 2
    rows = ["a"] * 2 + ["b"] * 4 + ["c"] * 4 + ["d"] * 9
    assert _parts(rows) == [range(6), range(6, 10), range(10, 17), range(17, 19)]


def test_turning_a_table_exchanges_rows_and_columns() -> None:
    turned = Grid("t", ("method", "x", "y"), (("a", "1", "2"), ("b", "3", "4"))).turned("cell")
    assert (turned.header, turned.rows) == (("cell", "a", "b"), (("x", "1", "3"), ("y", "2", "4")))


def test_the_line_above_a_table_comes_before_its_header() -> None:
    grid = Grid("t", ("a",), (("1",),), ("note",), "In all arms: n=4.")
    assert grid.markdown() == "### t\n\nIn all arms: n=4.\n\n| a |\n| --- |\n| 1 |\n\nnote\n"
    assert r"\caption{t. In all arms: n=4.}" in grid.latex()
