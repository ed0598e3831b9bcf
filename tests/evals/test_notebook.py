"""Blocks for a terminal and a notebook: what is a table is never guessed from signs in a text."""

from __future__ import annotations

import rlvr
from evals.notebook import Heading, Table, as_html, as_text


def test_each_writer_has_every_block() -> None:
    table = Table(("metric", "B"), [("a|b", "<1"), ("c", "22")], caption="22: a note")
    blocks = [Heading("notes:"), "one & two", "", table, table, "", "end"]
    grid = "metric      B\n--------  ---\na|b        <1\nc          22\n22: a note"
    assert as_text(blocks) == f"notes:\none & two\n\n{grid}\n{grid}\n\nend"
    cells = "<tr><td>a|b</td><td>&lt;1</td></tr><tr><td>c</td><td>22</td></tr>"
    html = (
        f"<table><thead><tr><th>metric</th><th>B</th></tr></thead><tbody>{cells}</tbody></table>"
        "<p><small>22: a note</small></p>"
    )
    assert as_html(blocks) == f"<pre><b>notes:</b>\none &amp; two</pre>{html}{html}<pre>end</pre>"
    assert as_html([]) == as_html(["", ""]) == as_text([]) == ""


def test_lines_that_look_like_a_table_stay_text() -> None:
    """A gold is what somebody wrote. Its second line was the rule of a table."""
    html = rlvr.explain("a  b\n---  ---\n1  2", "5")._repr_html_()
    assert "<table" not in html and "---  ---\n1  2" in html


def test_a_cell_may_hold_what_separates_columns() -> None:
    """Two spaces and dashes in a name moved the columns of the HTML."""
    assert "<td>a  --  b</td><td>1</td>" in as_html([Table(("name", "n"), [("a  --  b", "1")])])
