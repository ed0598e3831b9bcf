"""The docket: every row computed again, its page and feed as they lie there, and what a row may not have."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml
from scipy.stats import fisher_exact

from evals.stats.agree import DIFFERENCE, NOISE, UNDECIDED
from evals.stats.printed_counts import counts_of
from studies.docket.__main__ import OUT, SCHEMA, entry, feed, main, page
from studies.docket.cases import CASES, Case, Reply, Ruled, read

ROWS = read()
NUMBERED = [row for row in ROWS if row.agreement is not None and row.agreement.cases]
EQUAL = [row for row in NUMBERED if row.case.n[0] == row.case.n[1] != "?" and not row.case.seeds]
THREADS = (  # those of the issue that asked for the docket
    "modelscope/evalscope/issues/1094", "modelscope/evalscope/issues/1302", "allenai/open-instruct/issues/751",
    "rllm-org/rllm/issues/12", "sail-sg/understand-r1-zero/issues/35", "mlfoundations/evalchemy/pull/52",
    "TIGER-AI-Lab/CritiqueFineTuning/issues/5", "Qihoo360/Light-R1/issues/53",
    "EleutherAI/lm-evaluation-harness/issues/3003", "LeapLabTHU/limit-of-RLVR/issues/10",
    "thinking-machines-lab/tinker-cookbook/issues/180", "thinking-machines-lab/tinker-cookbook/issues/263",
)  # fmt: skip


def test_the_page_and_the_feed_are_those_of_the_cases(tmp_path: Path) -> None:
    main(tmp_path)
    for name in ("index.md", "feed.json", "feed.schema.json"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (OUT / name).read_text(encoding="utf-8"), name


def test_there_are_rows_enough_and_the_threads_that_were_asked_for() -> None:
    assert len(NUMBERED) >= 40 and len(EQUAL) >= 30
    assert {f"https://github.com/{name}" for name in THREADS} <= {row.case.link for row in ROWS}
    assert {row.answer for row in ROWS} == {DIFFERENCE, NOISE, UNDECIDED}


@pytest.mark.parametrize("row", EQUAL, ids=[row.case.id for row in EQUAL])
def test_a_row_with_equal_numbers_of_samples_is_fishers_exact_test(row: Ruled) -> None:
    # scipy's test on the counts, the largest over those that print so, times the number of evaluations chosen among
    case, agreement = row.case, row.agreement
    assert agreement is not None and case.sizes is not None
    tries = case.sizes[0] * int(case.n[0])
    a, b = counts_of(case.printed, tries), counts_of(case.measured, tries)
    assert a is not None and b is not None
    pairs = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    largest = max(fisher_exact([[x, tries - x], [y, tries - y]]).pvalue for x, y in pairs)
    expected = min(1.0, largest * case.best_of[0] * case.best_of[1])
    assert agreement.worst.chance.largest == pytest.approx(expected, rel=1e-6)
    if row.answer == DIFFERENCE:
        assert expected <= 0.05


def test_every_row_says_what_would_overturn_it_and_names_nobody() -> None:
    for row in ROWS:
        assert row.overturn and row.badge.endswith(row.answer)
        assert not re.search(r"(?<!\w)@\w", json.dumps(entry(row)))


def test_fewer_samples_overturn_a_ruling_only_where_a_side_has_more_than_one() -> None:
    fewer = [row.case for row in ROWS if "fewer samples" in row.overturn]
    assert fewer
    for case in fewer:
        assert {*case.n} - {"1", "?"} or max(case.seeds or (1,)) > 1


def test_the_answers_of_people_are_printed() -> None:
    reply = Reply(date="2026-11-28", link="https://github.com/a/b/issues/1", text="The card averages 32 samples.")
    row = Ruled(ROWS[0].case.model_copy(update={"answers": (reply,)}))
    assert "**Answer of 2026-11-28:** [The card averages 32 samples.](https://github.com/a/b/issues/1)" in page([row])
    jsonschema.validate(feed([row]), json.loads(SCHEMA.read_text()))


def test_the_schema_refuses_what_is_no_docket() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    broken = feed(ROWS[:1])
    broken["cases"][0]["answer"] = "probably"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"link": "https://example.org"}, "link"), ({"cause": "a bug"}, "a cause has a kind"),
     ({"assumed": ""}, "or undecided"), ({"extra": 1}, "extra")],
)  # fmt: skip
def test_a_row_that_lacks_something_is_refused(change: dict[str, object], message: str) -> None:
    first = tomllib.loads(CASES.read_text(encoding="utf-8"))["case"][0]
    with pytest.raises(ValueError, match=message):
        Case(**{**first, **change})


def test_the_form_asks_for_what_a_row_prints() -> None:
    form = yaml.safe_load((OUT.parents[1] / ".github" / "ISSUE_TEMPLATE" / "docket.yml").read_text(encoding="utf-8"))
    assert {part["id"] for part in form["body"]} == {"row", "kind", "answer", "source", "consent"}
    assert form["name"] == "Docket: an answer" and f"*{form['name']}*" in page(ROWS)
