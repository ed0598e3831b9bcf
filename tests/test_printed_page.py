"""The page that says which published cells can be shares of whole samples."""

from __future__ import annotations

from benchmarks.printed import PAGE, Column, columns, page
from harness.spec.catalogue import Published


def column(
    metric: str, *printed: str, benchmark: str = "aime24", paper: str = "trial_and_error", model: str = "7b"
) -> Column:
    cells = tuple(Published("T", model, "base", "row", benchmark, "c", metric, p, "%") for p in printed)
    return Column(paper, "T", benchmark, metric, cells)


def test_the_page_is_the_one_that_the_code_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_samples_that_fit_a_column() -> None:
    # 30 problems: 3.33 is 1/30 and 6.67 is 2/30, so every n fits. 1.67 is 1/60, so n is even
    assert column("avg", "3.33", "6.67").common[:3] == [1, 2, 3]
    assert column("avg", "3.33", "1.67").common[:3] == [2, 4, 6]
    # one digit: with n = 34 there are 1,020 shares and 1,001 numbers, so that any number may fit
    assert max(column("avg", "3.3").common) == 33


def test_a_stated_n_is_that_of_the_metric_or_of_the_protocol() -> None:
    assert column("avg@8", "3.33").stated == 8
    assert column("avg", "3.33").stated is None
    assert column("pass@128", "3.33", model="32b").stated == 1  # the protocol takes 128 samples on AIME24
    assert column("pass@2", "3.33", paper="erpo").stated is None  # 16 samples: no whole number of problems


def test_a_protocol_with_fewer_problems_decides_the_size() -> None:
    assert column("avg@16", "0.31", benchmark="minerva", paper="erpo").sizes == (40,)  # appendix A.3
    assert column("avg@16", "0.31", benchmark="minerva").sizes == (272,)


def test_every_share_of_a_benchmark_is_in_the_page() -> None:
    assert sum(len(c.cells) for c in columns()) > 600
    assert all(cell.unit == "%" for c in columns() for cell in c.cells)
