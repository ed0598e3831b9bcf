"""The report's text is escaped everywhere. Only the report's own style and script are allowed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.page import asset, inert, picture, render, table
from harness.report.viewer import pack
from harness.tables.grid import Grid
from tests.harness.report.pages import HOSTILE, SVG, document, responses

TEXT = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("<>&/!-\"'\u2028\u2029\ud800\udfff")))


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of script elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


@given(st.recursive(TEXT | st.none() | st.integers(), lambda v: st.lists(v) | st.dictionaries(TEXT, v), max_leaves=20))
def test_inert_json_holds_no_markup_and_parses_to_the_same_value(value: Any) -> None:
    text = inert(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == value
    text.encode("utf-8")  # lone surrogates are escaped


def test_inert_escapes_exactly_what_html_or_javascript_would_read() -> None:
    # < 0x3c, / stays, > 0x3e, & 0x26, the two line separators of JavaScript by their numbers
    assert inert("</script>&\u2028\u2029é") == '"\\u003c/script\\u003e\\u0026\\u2028\\u2029é"'
    with pytest.raises(ValueError):
        inert(float("nan"))


def test_claims_of_no_paper_are_not_called_a_papers_and_one_is_one() -> None:
    of_paper, without_paper = render(document()), render(document(arxiv=None))
    assert "What the paper says, in our words, and whether it came back" in of_paper
    assert "What is claimed, and whether it came back" in without_paper and "What the paper says" not in without_paper
    assert "1 claim that was not measured" in without_paper


def test_a_claim_says_its_scale_in_the_badge_and_in_the_sentence() -> None:
    # so that a cropped screenshot of one line is still true
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render(document())))
    assert "holds at tiny scale At tiny scale, with a stand-in for the model: New is better." in text
    whole = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render(document(scale="paper"))))
    assert "holds New is better." in whole and "stand-in for the model:" not in whole


def test_a_long_name_of_a_row_is_whole_in_its_title() -> None:
    name = "a-run-whose-name-is-longer-than-its-column"
    page = render(document(results=(Grid("Scores", ("run", "value"), ((name, "1"), ("short", "2"))),)))
    assert f"<th scope='row' title='{name}'>{name}</th>" in page and "<th scope='row'>short</th>" in page


def test_hostile_text_adds_no_element_and_no_attribute() -> None:
    page = render(document())
    elements = Elements(page)
    plain = Elements(page.replace(HOSTILE, "x"))
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in plain.tags]
    assert len(elements.scripts) == 2  # the data and the viewer
    assert not [tag for tag, a in elements.tags if any(name.startswith("on") for name in a)]
    assert not [tag for tag, a in elements.tags if "style" in a]  # the policy would refuse it
    data = json.loads(elements.scripts[0])
    assert HOSTILE in data["strings"] and HOSTILE in [r.get("text") for r in data["responses"]]


@given(st.text())
def test_any_text_in_a_cell_reads_back_as_itself(text: str) -> None:
    texts: list[str] = []

    class Cells(HTMLParser):
        def handle_data(self, data: str) -> None:
            texts.append(data)

    page = table(Grid("t", ("a", "b"), (("row", text),)))
    start = page.index("<th scope='row'>row</th><td>") + len("<th scope='row'>row</th><td>")
    Cells().feed(page[start : page.index("</td>", start)] + "</td>")
    # a parser makes one line break of each kind of it
    assert "".join(texts).replace("\r", "") == text.replace("\r", "")


def test_the_policy_allows_the_pages_own_style_and_script_alone() -> None:
    page = render(document())
    policy = next(a["content"] for tag, a in Elements(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    for rule, tag in (("style-src", "style"), ("script-src", "script")):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert text is not None
        digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    elements = Elements(render(document()))
    assert not [tag for tag, a in elements.tags if tag in ("iframe", "object", "base", "form")]
    links = [a for tag, a in elements.tags if tag == "link"]
    assert [a["rel"] for a in links] == ["icon"] and links[0]["href"].startswith("data:image/svg+xml,")
    assert all((a.get("src") or "data:").startswith("data:") for _, a in elements.tags)
    style = asset("style.css")
    assert "url(" not in style and "@import" not in style


def test_a_picture_reads_back_from_its_address_and_ends_no_attribute() -> None:
    address = picture(SVG)
    assert not set('"<>&#') & set(address)
    assert unquote(address.removeprefix("data:image/svg+xml,")) == SVG


def test_formulas_bring_the_script_that_renders_them_and_its_hash() -> None:
    plain = document()
    assert not plain.viewer["mathematics"] and "var temml" not in render(plain)  # type: ignore[index]
    with_question = [replace(r, question="What is $x^2$?") for r in responses()]
    page = render(replace(plain, viewer=pack(with_question, {}, total=20)))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert [text[:9] for text in scripts] == ["var temml", '"use stri']
    for text in scripts:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in unescape(page).partition("script-src")[2].partition(";")[0]
