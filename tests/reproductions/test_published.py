"""Every `published.csv` against the excerpts of its paper, cell by cell, and the excerpts against the paper's text.

A new paper adds one `Layout` for each of its tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from harness.spec import catalogue
from harness.spec.catalogue import Published
from tests.shared import excerpt, paper_text, shared_file


@dataclass(frozen=True)
class Layout:
    """The layout of a table in the text of its paper.

    Args:
        number: of the paper's text. paper, table: as in published.csv.
        starts: how the line above the table starts (its caption, say). The table ends at the first blank line after
            its first row.
        columns: the printed columns in order, by their names in the CSV, or None for one that the CSV leaves out.
        labels: the text's label of a row -> its name in the CSV, where these differ.
        omitted: labels of rows that the CSV omits.
    """

    number: int
    paper: str
    table: str
    starts: str
    columns: tuple[str | None, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()


EGSW_COLUMNS = ("Math-500", "AIME24", "AIME25", "GPQA Diamond")
ERPO_BENCHMARKS = ("AMC 23", "Minerva", "AIME 24", "AIME 25")
ENTROPY_ADVANTAGE_COLUMNS = tuple(
    f"{name} {kind}"
    for name, k in (("AIME25", 256), ("AIME24", 256), ("AMC23", 128), ("MATH500", 16))
    for kind in (f"Pass@{k}", "Avg")
)
ERPO_LABELS = {  # the text holds a subscript twice: as it looks, and as it was set
    rf"Qwen2.5-{size}{arm}{{}}_{{\text{{{arm}}}}}": f"Qwen2.5-{size} {arm}"
    for size in ("1.5B", "3B", "7B")
    for arm in ("Base", "SFT", "GRPO", "ERPO")
}
TOKEN_KINDS = ("Formal Reasoning", "Logical Structuring", "Metacognitive Reasoning")
LAYOUTS = (
    Layout(0, "egsw", "Table 1", "Table 1:", EGSW_COLUMNS),
    Layout(0, "egsw", "Table 2", "Table 2:", EGSW_COLUMNS),
    Layout(
        1,
        "erpo",
        "Table 1",
        "Table 1:",
        tuple(f"{name} {kind}" for name in (*ERPO_BENCHMARKS, "Average") for kind in ("Acc", "Fmt")),
        ERPO_LABELS,
    ),
    Layout(
        1,
        "erpo",
        "Table 2",
        "Table 2:",
        tuple(f"{name} @{k}" for name in ERPO_BENCHMARKS for k in (2, 4, 8, 16)),
        ERPO_LABELS,
    ),
    Layout(
        2,
        "trial_and_error",
        "Table 3",
        "Table 3:",
        tuple(f"{name} {metric}" for name in ("AIME24", "AMC23", "MINERVA") for metric in ("Pass@1", "Pass@k")),
    ),
    Layout(
        2,
        "trial_and_error",
        "Table 4",
        "Table 4:",
        tuple(f"{name} {m}@8" for name in ("AIME24", "AIME25", "AMC23", "MATH500", "Avg.") for m in ("avg", "maj")),
    ),
    Layout(2, "trial_and_error", "Table 5", "Table 5:", ("Mean Length", *(f"{kind} Tokens" for kind in TOKEN_KINDS))),
    Layout(
        2,
        "trial_and_error",
        "Table 6",
        "Table 6:",
        ("GPQA", "HumanEval", "AIME24", "AIME25", "AMC23", "MATH500", "Avg."),
    ),
    Layout(3, "entropy_advantage", "Table 2", "On benchmarks such as AIME2024", ENTROPY_ADVANTAGE_COLUMNS),
    Layout(3, "entropy_advantage", "Table 3", "Both the RL baseline and our method", ENTROPY_ADVANTAGE_COLUMNS),
)
# Numbers in sentences of the text, not in a table: the paper's own test checks them.
OWN_TEST = {
    ("forking_tokens", "Abstract"),
    ("forking_tokens", "Table 2"),
    # from public repositories at stated commits, not from a paper (reproductions/anchors/README.md)
    ("anchors", "reasoning-from-scratch"),
    ("anchors", "veRL"),
    ("anchors", "SkyRL"),
    ("anchors", "slime"),
    ("anchors", "Qwen2.5-Coder"),
    ("anchors", "SmolLM2"),
}
CELL = r"[+-]?\d+(?:\.\d+)?(?:\s?%)?|[-–/]"  # a number, or the mark of an empty cell
EMPTY = ("-", "–", "/")


def printed_rows(text: str, layout: Layout) -> list[tuple[str, list[str]]]:
    """(label, cells) of each row of the table, in order. A cell is a number as printed, or a mark of `EMPTY`."""
    lines = text.splitlines()
    (start,) = (i for i, line in enumerate(lines) if line.startswith(layout.starts))
    row = re.compile(rf"(.*?)((?:[\s|]+(?:{CELL})){{{len(layout.columns)}}})[\s|]*")
    rows: list[tuple[str, list[str]]] = []
    for line in lines[start + 1 :]:
        if rows and not line.strip():
            break
        match = row.fullmatch(re.sub(r"</?\w+>", "", line))  # <b>, <u>: bold and underlined
        if match:
            label = match[1].strip(" |\t")
            if label and label not in layout.omitted:
                cells = [cell.rstrip("% ") for cell in re.findall(rf"[\s|]+({CELL})", match[2])]
                rows.append((layout.labels.get(label, label), cells))
    return rows


def csv_rows(layout: Layout) -> list[tuple[str, dict[str, Published]]]:
    """(name, cells by column) of each row of the table in the CSV, in order."""
    rows: dict[tuple[str, str], dict[str, Published]] = {}
    for cell in catalogue.published(layout.paper):
        if cell.table == layout.table:
            row = rows.setdefault((cell.model, cell.row), {})
            assert cell.column not in row, f"{cell.row}, {cell.column}: twice in the CSV"
            row[cell.column] = cell
    return [(name, cells) for (_, name), cells in rows.items()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.paper}-{layout.table}")
def test_every_cell_is_as_printed(layout: Layout) -> None:
    printed, written = printed_rows(excerpt(layout.number), layout), csv_rows(layout)
    assert [label for label, _ in printed] == [name for name, _ in written]
    for (label, cells), (_, row) in zip(printed, written, strict=True):
        wanted = {c: v for c, v in zip(layout.columns, cells, strict=True) if c is not None and v not in EMPTY}
        assert {column: cell.printed for column, cell in row.items()} == wanted, label


@pytest.mark.parametrize("number", range(5))
def test_every_line_of_an_excerpt_stands_in_the_paper(number: int) -> None:
    text = paper_text(number)
    if number == 4:  # our text of this paper lacks Table 2, which the page about the papers has
        text = " ".join(text.split()) + shared_file("papers/README.md").read_text()
    lines = excerpt(number).splitlines()
    assert len(lines) > 5
    assert [line for line in lines if line not in text] == []


def test_every_published_table_has_a_layout() -> None:
    tables = {(key, cell.table) for key in catalogue.papers() for cell in catalogue.published(key)}
    unchecked = tables - {(layout.paper, layout.table) for layout in LAYOUTS} - OWN_TEST
    assert not unchecked, "add a Layout for each of these"


def test_the_reader_reads_what_the_texts_hold() -> None:
    layout = Layout(0, "x", "Table 9", "Table 9:", ("a", None, "b"), {"One": "1"}, omitted=("Two",))
    text = "Table 9: about 1 2 3\n\nMethod\ta\tb\tc\nOne\t<b>1.50%</b>\t<u>2</u>\t3 %\nTwo 1 2 3\n+1 | 2 | 3 |\n"
    text += "w/ 7 | 4 | - | / | |\n\nlater 7 8 9\n"
    assert printed_rows(text, layout) == [("1", ["1.50", "2", "3"]), ("w/ 7", ["4", "-", "/"])]
