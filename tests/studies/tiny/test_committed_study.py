"""The committed page and figures of the study are what the committed tables give."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from evals.plots.plot import Plot
from studies.tiny.design import LATER, STUDY, Design
from studies.tiny.page import FIGURES, write_page

FOLDER = Path(__file__).parents[3] / "results" / "study"
PIXEL = (FOLDER / FIGURES / "placebos.png").read_bytes()  # any picture
NUMBER = re.compile(r"[-+]?\d+\.?\d*")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "committed_in"), [(LATER, FOLDER / "later"), pytest.param(STUDY, FOLDER, marks=pytest.mark.exhaustive)]
)
def test_committed_numbers_come_from_the_committed_tables(
    design: Design, committed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plot, "rendered", lambda *_: PIXEL)  # another test renders every figure. Numbers are compared
    write_page(design, committed_in, tmp_path)
    committed, computed = (_cells(folder / "README.md") for folder in (committed_in, tmp_path))
    # words, outcomes and verdicts are equal. A number may differ in its last printed digit between types of CPU
    assert [NUMBER.sub("#", cell) for cell in committed] == [NUMBER.sub("#", cell) for cell in computed]
    for a, b in zip(_numbers(committed), _numbers(computed), strict=True):
        assert float(a) == pytest.approx(float(b), abs=1.01 * 10.0 ** -len(a.partition(".")[2]))
    names = {path.name for path in (committed_in / FIGURES).glob("*.csv")}
    assert names == {path.name for path in (tmp_path / FIGURES).glob("*.csv")} and names
    for name in names:
        pd.testing.assert_frame_equal(
            *(pd.read_csv(folder / FIGURES / name) for folder in (committed_in, tmp_path)), rtol=1e-6, atol=1e-9
        )


def _cells(page: Path) -> list[str]:
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [cell.strip() for row in rows for cell in row.split("|")]


def _numbers(cells: list[str]) -> list[str]:
    return [number for cell in cells for number in NUMBER.findall(cell)]
