"""Which responses the page holds, and how."""

from __future__ import annotations

from dataclasses import replace
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
    packed = pack([first, second], {"a": 0.126}, of=9)
    assert (packed["kept"], packed["of"], packed["strings"]) == (2, 9, ["x", " y", "z"])
    assert packed["runs"] == [{"name": "a", "fork": 0.126}, {"name": "b", "fork": None}]
    assert packed["problems"] == [{"benchmark": "b", "id": "p", "gold": "4", "prompt": "What is p?", "question": None}]
    of_a, of_b = packed["responses"]
    # forks are told before rounding; b has no threshold
    assert (of_a["tokens"], of_a["entropies"], of_a["forks"]) == ([0, 1, 0], [0.13, 2.0, 0.0], [0, 1])
    assert (of_b["run"], of_b["problem"], of_b["tokens"], of_b["forks"]) == (1, 0, [2], [])
    assert packed["full_tint"] == 1.0  # of 0, 0.126, 1, 2: place int(0.99 * 3)


def test_a_response_that_was_not_read_keeps_its_text() -> None:
    packed = pack(responses(), {"base": 1.0}, of=16)
    assert not any("reason" in r for r in packed["responses"])
    unscored = replace(responses()[0], verdict="unscored", reason="server: no text")
    assert pack([unscored], {}, of=1)["responses"][0]["reason"] == "server: no text"
    (unread, _) = [r for r in packed["responses"] if r["verdict"] == "no_answer"]
    assert "tokens" not in unread and "</script>" in unread["text"]
    assert [run["fork"] for run in packed["runs"]] == [1.0, None]


def test_responses_beyond_the_budget_are_sampled_evenly_from_correct_and_incorrect_ones() -> None:
    shown = [response(run, p, s, "wrong" if s == 3 else "correct") for run in "ab" for p in "xy" for s in range(4)]
    cost = shown[0].cost
    kept = keep(shown, budget=8 * cost)  # of 4 pairs of run and problem with 4 samples each, 2 each
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

    def pack(kept: Any, forks: dict[str, float], of: int, differing: bool) -> dict[str, Any]:
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
