"""Which responses the page holds, and how."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.forks import fork_threshold
from harness.report import data
from harness.report.viewer import keep, pack
from tests.harness.report.pages import response, responses


def test_responses_are_packed_by_hand() -> None:
    first = replace(response("a", "p", 0), tokens=("x", " y", "x"), entropies=(0.126, 2.0, 0.0))
    second = replace(response("b", "p", 1), tokens=("z",), entropies=(1.0,))
    packed = pack([first, second], {"a": 0.126}, total=9)
    assert (packed["kept"], packed["of"], packed["strings"]) == (2, 9, ["x", " y", "z"])
    assert packed["runs"] == [{"name": "a", "fork": 0.126}, {"name": "b", "fork": None}]
    assert packed["problems"] == [{"benchmark": "b", "id": "p", "gold": "4", "prompt": "What is p?", "question": None}]
    of_a, of_b = packed["responses"]
    # forks are told before rounding. b has no threshold
    assert (of_a["tokens"], of_a["entropies"], of_a["forks"]) == ([0, 1, 0], [0.13, 2.0, 0.0], [0, 1])
    assert (of_b["run"], of_b["problem"], of_b["tokens"], of_b["forks"]) == (1, 0, [2], [])
    assert packed["full_tint"] == 1.0  # among 0, 0.126, 1, 2: place int(0.99 * 3)


def test_a_response_that_was_not_read_keeps_its_text() -> None:
    packed = pack(responses(), {"base": 1.0}, total=16)
    assert not any("reason" in r for r in packed["responses"])
    unscored = replace(responses()[0], verdict="unscored", reason="server: no text")
    assert pack([unscored], {}, total=1)["responses"][0]["reason"] == "server: no text"
    (unread, _) = [r for r in packed["responses"] if r["verdict"] == "no_answer"]
    assert "tokens" not in unread and "</script>" in unread["text"]
    assert [run["fork"] for run in packed["runs"]] == [1.0, None]


def test_responses_beyond_the_budget_are_sampled_evenly_from_correct_and_incorrect_ones() -> None:
    shown = [response(run, p, s, "wrong" if s == 3 else "correct") for run in "ab" for p in "xy" for s in range(4)]
    cost = shown[0].cost
    kept = keep(shown, budget=8 * cost)  # 2 samples of each of the 4 pairs of run and problem, which have 4 each
    assert [(r.run, r.problem, r.sample) for r in kept] == [(run, p, s) for run in "ab" for p in "xy" for s in (0, 3)]
    assert keep(shown, budget=len(shown) * cost) == shown
    assert keep(shown, budget=cost - 1) == []


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(0, 3000))
def test_kept_responses_fit_the_budget(lengths: list[int], budget: int) -> None:
    shown = [
        replace(response("a", "p", i), tokens=("t",) * n, entropies=(0.0,) * n, verdict=("correct", "wrong")[i % 2])
        for i, n in enumerate(lengths)
    ]
    kept = keep(shown, budget)
    assert sum(r.cost for r in kept) <= budget
    assert [r for r in shown if r in kept] == kept


ENTROPIES = [0.05 * i for i in range(41)]


def test_the_viewers_threshold_is_that_of_the_forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, float] = {}
    subject = SimpleNamespace(tables={"b": pd.DataFrame()}, prompts={})
    model: Any = SimpleNamespace(name="a", readable=subject, unread="", subject=subject, sources=["one"], questions={})

    def pack(kept: Any, forks: dict[str, float], total: int, differing: bool) -> dict[str, Any]:
        given.update(forks)
        return {}

    monkeypatch.setattr(data, "token_table", lambda *_: {"entropy": ENTROPIES})
    monkeypatch.setattr(data, "_shown", lambda *_: ["a response"])
    monkeypatch.setattr(data, "keep", lambda responses: responses)
    monkeypatch.setattr(data, "pack", pack)
    data._viewer([model], tmp_path)
    # the least entropy at or above the 0.8 quantile of 41 equally spaced values is the 33rd, 1.6
    assert given == {"a": pytest.approx(fork_threshold(ENTROPIES))}
    assert given["a"] == pytest.approx(1.6)


NODE = shutil.which("node")


def in_node(expression: str) -> Any:
    """The value of an expression with the viewer's functions, as Node evaluates it."""
    assert NODE is not None
    script = Path(str(resources.files("harness.report").joinpath("viewer.js")))
    code = f"const v = require({json.dumps(str(script))}); console.log(JSON.stringify({expression}))"
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_runs_stand_side_by_side_and_no_pair_is_split() -> None:
    # problem 7: two responses of run 0, one of run 1. Problem 3: one of run 1 alone
    listed = [{"problem": 7, "run": 0, "n": 1}, {"problem": 7, "run": 1, "n": 2}, {"problem": 7, "run": 0, "n": 3},
              {"problem": 3, "run": 1, "n": 4}]  # fmt: skip
    rows = in_node(f"v.paired({json.dumps(listed)}, [0, 1])")
    assert [row["problem"] for row in rows] == [7, 7, 3]
    assert [[cell and cell["n"] for cell in row["cells"]] for row in rows] == [[1, 2], [3, None], [None, 4]]
    assert in_node(f"v.paired({json.dumps(listed[1:2])}, [1])")[0]["cells"][0]["n"] == 2


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_a_problem_is_found_on_its_page() -> None:
    rows = json.dumps([{"problem": p} for p in (0, 0, 1, 2)])
    names = json.dumps(["p1", "p10", "Q"])
    for wanted, size, page in (
        ("p10", 2, 1),
        (" P1 ", 2, 0),
        ("q", 1, 3),
        ("q", 4, 0),
        ("p", 2, 0),
        ("z", 2, -1),
        ("", 2, -1),
    ):
        assert in_node(f"v.pageOf({rows}, {names}, {json.dumps(wanted)}, {size})") == page, wanted
