"""The report in a real browser: `nox -s browser`. Needs Chromium (Debian: apt-get install chromium) and Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.report.page import render
from harness.report.viewer import Shown, pack
from tests.harness.report.pages import HOSTILE, document

pytest.importorskip("playwright", reason="Playwright is not installed here: nox -s browser")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no Chromium on this machine (or set CHROMIUM to one)", allow_module_level=True)

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(document()), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    """The report, opened offline. Every message of the console, error and request is kept in `page.events`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    opened = context.new_page()
    opened.events = []
    opened.on("console", lambda message: opened.events.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: opened.events.append(f"error: {error}"))
    opened.on("request", lambda r: r.url.startswith(("file:", "data:")) or opened.events.append(f"request: {r.url}"))
    opened.on("requestfailed", lambda r: opened.events.append(f"failed: {r.failure}"))
    opened.on("dialog", lambda dialog: (opened.events.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    opened.goto(file.as_uri())
    opened.wait_for_selector("#viewer:not([hidden]) article")
    yield opened
    context.close()


def shown(page: Any) -> list[str]:
    """Run and verdict of every response on the page, row by row."""
    return [" ".join(head.inner_text().split()).removesuffix(" link") for head in page.query_selector_all("article h4")]


def count(page: Any) -> str:
    return str(page.inner_text("#v-count"))


def test_it_loads_without_a_message_or_a_request(page: Any) -> None:
    assert page.events == []
    assert page.evaluate("document.querySelector('figure img').naturalWidth") == 400  # 300 pt: the figure is rendered


def test_filters_choose_the_responses_shown(page: Any) -> None:
    # 2 runs x 4 samples of p1. The page opens on the first problem and shows its four pairs
    assert count(page).startswith("8 responses match (16 of 20 kept")
    last = ["base wrong", "grpo wrong"]
    assert shown(page) == [*["base correct", "grpo correct"] * 3, *last] and page.is_disabled("#v-next")
    page.select_option("#f-run", label="grpo")
    assert shown(page) == ["grpo correct"] * 3 + last[1:]
    page.select_option("#f-verdict", label="wrong")
    assert shown(page) == last[1:]
    page.select_option("#f-problem", label="p2")
    assert shown(page) == [] and count(page).startswith("0 responses match")
    page.select_option("#f-verdict", label="truncated")
    assert shown(page) == ["grpo truncated"] * 3
    for name in ("problem", "run", "verdict"):
        page.select_option(f"#f-{name}", value="")
    assert count(page).startswith("16 responses match")


def test_search_finds_text_across_tokens_and_answers(page: Any) -> None:
    page.fill("#f-search", "SO 2+2")  # across two tokens, in any case; of all problems
    assert count(page).startswith("12 responses match") and page.input_value("#f-problem") == ""
    page.fill("#f-search", "no such text")
    assert count(page).startswith("0 responses match")
    page.click("#v-reset")
    assert count(page).startswith("8 responses match") and page.input_value("#f-search") == ""


def test_a_correct_b_incorrect(page: Any) -> None:
    page.select_option("#f-compare", label="base correct, grpo incorrect")
    # p1: base is correct in 3 of 4, grpo wrong in one. p2: nobody is correct
    assert count(page).startswith("4 responses match")
    assert shown(page) == ["base correct", "grpo wrong", "base correct", "base correct"]
    assert page.locator(".pair > p").all_inner_texts() == ["grpo: no further response matches"] * 2


def test_pairs_stand_side_by_side_and_pages_turn_by_keys(page: Any) -> None:
    first = [e.bounding_box() for e in page.query_selector_all(".pair:first-of-type article")]
    assert first[0]["y"] == first[1]["y"] and first[0]["x"] < first[1]["x"]
    page.select_option("#f-problem", value="")
    assert page.inner_text("#v-page") == "1 of 2"
    page.click("h1")
    page.keyboard.press("n")
    assert page.inner_text("#v-page") == "2 of 2" and "truncated" in shown(page)[0]
    page.keyboard.press("p")
    assert page.inner_text("#v-page") == "1 of 2"
    page.select_option("#v-size", label="20")
    assert page.inner_text("#v-page") == "1 of 1" and page.url.endswith("rows=20")
    page.select_option("#v-size", label="4")
    page.click("h1")
    page.keyboard.press("g")
    page.keyboard.type("p2")
    page.keyboard.press("Enter")
    assert page.inner_text("#v-page") == "2 of 2"
    page.fill("#v-go", "none")
    page.keyboard.press("Enter")
    assert count(page) == "No response that matches is of problem none."


def test_an_address_leads_back_to_what_was_shown(page: Any, browser: Any) -> None:
    page.select_option("#f-run", label="grpo")
    page.select_option("#f-verdict", label="truncated")
    page.select_option("#f-problem", value="")
    address = page.url
    assert address.endswith("#responses?run=grpo&verdict=truncated")
    again = browser.new_page()
    again.goto(address)
    again.wait_for_selector("article")
    assert shown(again) == shown(page) == ["grpo truncated"] * 3
    again.click(".pair:nth-of-type(2) .deep")
    assert shown(again) == ["grpo truncated"] and "One response" in count(again)
    assert again.url.endswith("#responses?problem=b%2Fp2&run=grpo&sample=1")
    again.goto(f"{address.partition('#')[0]}#responses?problem=b/none&run=nobody&verdict=odd&page=x")
    again.reload()
    again.wait_for_selector("article")  # what an address does not name right is shown unfiltered
    assert count(again).startswith("16 responses match")
    again.close()


def test_tokens_are_tinted_and_forks_marked(page: Any) -> None:
    tokens = page.query_selector_all(".pair:first-of-type article:first-of-type .text span")
    assert [t.inner_text() for t in tokens] == ["first", " so", " 2+2", " 4"]
    # entropies 0.1, 1.5, 0, 0.4. A fork from 1.0 on
    assert ["fork" in t.get_attribute("class") for t in tokens] == [False, True, False, False]
    tints = [int(t.get_attribute("class").split()[1][1:]) for t in tokens]
    assert tints[1] == 8 and tints[2] == 0 and 0 < tints[0] < tints[3] < 8
    colours = [t.evaluate("e => getComputedStyle(e).backgroundColor") for t in tokens]
    assert len(set(colours)) == 4


def test_text_from_a_model_cannot_run(page: Any) -> None:
    for problem in ("p1", "p2"):
        page.select_option("#f-problem", label=problem)
        assert page.evaluate("window.hit") is None
    texts = [e.evaluate("e => e.textContent") for e in page.query_selector_all("article .text")]
    assert HOSTILE in texts  # shown, as text
    assert page.query_selector_all("main img:not(figure img), main script, article b") == []
    assert page.evaluate("document.title").startswith("made_up")
    assert page.events == []


def test_an_injected_script_is_refused(page: Any) -> None:
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.hit = 3";
      document.body.append(script);
      const image = "<img src='https://example.org/x.png' onerror='window.hit = 4'>";
      document.querySelector("main").insertAdjacentHTML("beforeend", image);
    }""")
    page.wait_for_timeout(300)
    assert page.evaluate("window.hit") is None
    assert any("Content Security Policy" in line for line in page.events)
    assert "failed: csp" in page.events  # the picture from elsewhere, before the network was asked


def test_the_keyboard_reaches_everything(page: Any) -> None:
    wanted = page.evaluate("""() => [...document.querySelectorAll(
      "a[href], button:not(:disabled), select, input, summary, [tabindex='0']")]
      .filter((e) => e.checkVisibility()).length""")
    reached = set()
    for _ in range(wanted):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("""() => {
          const e = document.activeElement;
          const all = [...document.querySelectorAll("*")];
          const ring = getComputedStyle(e).outlineStyle !== "none";
          return `${all.indexOf(e)} ${ring}`;
        }""")
        )
    assert len(reached) == wanted
    assert all(line.endswith("true") for line in reached)  # and each shows where the focus is
    page.focus("summary")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('details').open")


def test_a_response_can_be_walked_by_keyboard(page: Any) -> None:
    page.focus("article .text")
    labels = []
    for key in ("ArrowRight", "f", "End", "b", "Home", "ArrowLeft"):
        page.keyboard.press(key)
        labels.append(page.inner_text("#v-token"))
    places = [line.split(" · ")[1] for line in labels]
    assert places == [f"token {i} of 4" for i in (1, 2, 4, 2, 1, 1)]
    assert "entropy 1.50 nats · fork" in labels[1]
    page.select_option("#f-verdict", label="wrong")
    page.focus("#f-problem")
    page.keyboard.press("ArrowDown")  # a select needs no mouse
    assert page.input_value("#f-problem") == "1"


def shown_response(run: str, problem: str, verdict: str, question: str) -> Shown:
    return Shown(run, "b", problem, 0, None, verdict, "\\frac{1}{2}", "3", None, "It is \\(x^2\\).", question)


def test_mathematics_is_rendered_and_the_page_opens_where_runs_differ(browser: Any, tmp_path: Path) -> None:
    odd = "Evaluate $\\nosuchcommand{3}$ and $\\sqrt{16}$."
    money = "Apples cost $5 and pears $7; with $3-$4 off?"
    unsafe = f"$\\text{{{HOSTILE}}}$ and $\\href{{javascript:window.hit=1}}{{x}}$ and \\boxed{{unclosed"
    rows = [shown_response(run, p, v, q) for p, q, verdicts in (
        ("p1", money, ("correct", "correct")), ("p2", odd, ("wrong", "correct")), ("p3", unsafe, ("correct", "wrong")),
    ) for run, v in zip(("a", "b"), verdicts, strict=True)]  # fmt: skip
    path = tmp_path / "page.html"
    path.write_text(render(document(viewer=pack(rows, {}, total=6, differing=True))), encoding="utf-8")
    page = browser.new_page()
    console: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("article")
    assert shown(page) == ["a wrong", "b correct", "a correct", "b wrong"] and page.is_checked("#v-rendered")
    questions = [q.inner_text() for q in page.query_selector_all(".question")]
    assert "$\\nosuchcommand{3}$" in questions[0] and "sqrt" not in questions[0]  # the first is not LaTeX
    assert page.locator(".question msqrt").count() == 1 and page.locator("article .text msup").count() == 4
    assert page.locator(".facts mfrac").count() == 4  # the answers
    assert page.evaluate("window.hit") is None and page.locator(".question a, .question img").count() == 0
    page.uncheck("#v-rendered")
    assert page.locator("article .text").first.inner_text() == "It is \\(x^2\\)."
    page.select_option("#f-compare", value="")
    page.select_option("#f-problem", label="p1")
    assert money in page.inner_text("#v-problem") and page.locator("#v-problem math").count() == 0
    assert console == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_scrolls_down_only(browser: Any, file: Path, scheme: str) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    phone = context.new_page()
    phone.goto(file.as_uri())
    phone.wait_for_selector("article")
    phone.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    # the wide table scrolls in a box of its own
    assert phone.evaluate("[...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth)")
    context.close()
