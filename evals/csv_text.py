"""CSV that a spreadsheet does not run: a text that looks like a formula has a ' before it."""

from __future__ import annotations

from typing import Any


def csv_text(frame: Any) -> str:
    """A data frame as CSV, in which a text that a spreadsheet would take for a formula has a ' before it."""
    frame = frame.rename(columns=no_formula)
    for column in frame.select_dtypes(exclude="number"):
        frame[column] = frame[column].map(no_formula)
    return str(frame.to_csv(index=False))


def no_formula(cell: object) -> object:
    """A cell of a CSV file. A text that a spreadsheet would take for a formula has a ' before it."""
    if not isinstance(cell, str):
        return cell
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return _plain_lines(cell)
    try:
        float(cell)
    except ValueError:
        return f"'{_plain_lines(cell)}"
    return cell


def _plain_lines(text: str) -> str:
    """A carriage return is no quoted sign for every reader of CSV: lines end in a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
