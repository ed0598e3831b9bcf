"""Texts of strangers stay texts in every file that is written: Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import rlvr
from evals.csv_text import csv_text
from evals.markdown import code, markdown_text
from evals.notebook import Tabular
from harness.tables.grid import Grid
from rlvr.cli import main

HOSTILE = [
    "`<script>alert(1)</script>`",
    "<script>alert(1)</script>",
    "a`b`c<img src=x onerror=alert(1)>",
    "``` \n# heading\n<b>x</b>",
    "``x`<i>y</i>",
    "x | y | <u>z</u>",
    r"\|x\| `<script>`",
    "[click](javascript:alert(1))",
    "![x](http://tracker.example/x.png)",
    "</code></pre><script>alert(1)</script>",
    "`",
    "\\`<script>x</script>",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "\t=1+1",
    "007",
    "1e5",
    r"\input{/etc/passwd} \write18{id}",
    "a\n\nb & c % d \\\\ e",
    "&lt;script&gt; &#60;b&#62;",
    "\x1b[31mred\u202e",
]
PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


def alive(document: str) -> list[str]:
    """The parts of a page that are no text for an independent parser: tags, links, pictures."""
    content_found = []
    for block in PARSER.parse(document):
        for token in (block, *(block.children or ())):
            if token.type in ("html_inline", "html_block", "link_open", "image"):
                content = token.content if token.type.startswith("html") else str(token.attrs)
                if content not in ("<code>", "</code>"):
                    content_found.append(content)
    return content_found


def codes(document: str) -> int:
    return sum(1 for block in PARSER.parse(document) for token in (block.children or ()) if token.type == "code_inline")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_code_span_shows_the_text_and_nothing_else(text: str) -> None:
    page = f"| a | b |\n| --- | --- |\n| {code(text)} | end |\n"
    assert alive(page) == []
    rows = [t for t in PARSER.parse(page) if t.type == "td_open"]
    assert len(rows) == 2
    assert alive(f"before {code(text)} after") == []


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_in_markdown_is_no_tag_link_or_picture(text: str) -> None:
    page = f"| a | b |\n| --- | --- |\n| {markdown_text(text)} | `end` |\n"
    assert alive(page) == [] and codes(page) == 1, "no backtick of the text pairs with one of the page"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_of_a_grade(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an id, in a gold, in their answer, in ours, and in the file's name."""
    monkeypatch.chdir(tmp_path)
    name = "`<script>x<!--.jsonl" if "script" in text else "rows.jsonl"
    rows = [
        {"problem_id": text, "gold": "3", "response": "so \\boxed{4}", "expected": True},
        {"problem_id": "b", "gold": text, "response": "so \\boxed{4}", "expected": True},
        {"problem_id": "c", "gold": "3", "response": f"so \\boxed{{{text}}}", "expected": True},
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        rlvr.grade(name, page="P.md", policy="boxed_last")
    except rlvr.UsageError:
        pytest.skip("a gold or an id that is refused")
    page = Path("P.md").read_text()
    assert alive(page) == []
    assert "\x1b" not in page and "\u202e" not in page


class Table(Tabular):
    def rows(self) -> list[dict[str, str]]:
        return [{"id": text, "n": "x"} for text in HOSTILE]


def test_every_form_of_a_saved_table(tmp_path: Path) -> None:
    table = Table()
    assert alive(table.save(tmp_path / "t.md").read_text()) == []
    latex = table.save(tmp_path / "t.tex").read_text()
    for line in latex.splitlines():
        for command in ("\\input", "\\write18"):
            assert command not in line
    assert latex.count(r"\\") == len(HOSTILE) + 1, "one end of a row per row and one of the header"
    written = list(csv.DictReader(io.StringIO(table.save(tmp_path / "t.csv").read_text())))
    assert [row["id"].lstrip("'") for row in written] == [text.lstrip("'") for text in HOSTILE]
    assert not [row["id"] for row in written if row["id"].startswith(("=", "@", "\t", "+", "-"))]
    for text in ("007", "1e5"):  # an id is no number
        assert f" {text} " in table.to_markdown() and f" {text} " in latex


def test_a_papers_table_keeps_texts_of_contributors(tmp_path: Path) -> None:
    rows = tuple((text, "1.0") for text in HOSTILE)
    assert alive(Grid("c", ("a", "b"), rows).markdown()) == []


@pytest.mark.parametrize("text", ["`<script>x</script>`", "<img src=x onerror=alert(1)>", "[a](javascript:b)"])
def test_the_index_of_an_analysis(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("c1.csv").write_text("step,critic/score/mean\n1,0.1\n2,0.3\n")
    assert main(["curves", "c1.csv", "name=A"]) == 0
    rlvr.analyze(["A"], names=[text], only=["training"], out="o")
    live = [
        content_found for content_found in alive(Path("o/README.md").read_text()) if "training/" not in content_found
    ]
    assert live == []


def test_a_formula_in_a_header_and_in_a_cell() -> None:
    import pandas as pd

    text = csv_text(pd.DataFrame({"=a": ["=b", "-1", "+x", "@y", "\r=z", "ok"]}))
    assert not [line for line in csv.reader(io.StringIO(text)) if line[0].startswith(("=", "@", "+", "\r"))]
