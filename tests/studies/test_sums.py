"""The problems and the control of the training on two cores (results/sums.md)."""

from __future__ import annotations

import json
from pathlib import Path

from studies.sums.__main__ import SIZES, write
from studies.sums.rewards import coin


def test_no_sum_is_in_both_files_and_every_answer_is_right(tmp_path: Path) -> None:
    write(tmp_path)
    rows = {name: [json.loads(line) for line in (tmp_path / name).read_text().splitlines()] for name in SIZES}
    assert {name: len(found) for name, found in rows.items()} == SIZES
    asked = [row["problem"] for found in rows.values() for row in found]
    assert len(set(asked)) == len(asked)
    for row in (row for found in rows.values() for row in found):
        a, b = map(int, row["id"].split("+"))
        assert row["problem"] == f"What is {a} + {b}?" and row["answer"] == str(a + b)
    again = tmp_path / "again"
    write(again)
    assert all((again / name).read_bytes() == (tmp_path / name).read_bytes() for name in SIZES)


def test_the_control_pays_half_of_all_responses_whatever_the_answer() -> None:
    """Of 4,000 fair coins, the share of heads is within 0.04 of 1/2 but once in two million times (five deviations)."""
    paid = [coin(f"the answer is {n}", "7") for n in range(4000)]
    assert set(paid) == {0.0, 1.0} and abs(sum(paid) / len(paid) - 0.5) < 0.04
    assert [coin(f"the answer is {n}", "8") for n in range(4000)] == paid
