"""Leak probes: what is asked, what counts, and the verdict, on engines whose memory is known."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.analysis import leaks
from evals.analysis.leaks import (
    COPIES,
    Probe,
    Rate,
    completions_of,
    judge,
    preferred,
    probe,
    renumbered,
    text_logps,
    without_question,
)
from evals.data.benchmarks import Problem
from evals.sampling.engines import Completion, Decoding, Request


class Memory:
    """Continues the texts that it knows, word for word, and generates nothing else."""

    tokenizer = None
    chunk_rows = 7
    context = None

    def __init__(self, known: Sequence[str]) -> None:
        self.known = known

    def describe(self) -> dict[str, Any]:
        return {"name": "memory"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        assert decoding.temperature == 0
        for request in requests:
            remembered = next((text for text in self.known if text.startswith(request.prompt_text)), None)
            rest = "" if remembered is None else remembered[len(request.prompt_text) :]
            yield [Completion(request.key, rest, 1, "stop")]


def problems(start: int, count: int) -> list[Problem]:
    return [
        Problem(
            f"p{i}",
            f"A farm has {i} cows. Each cow eats {i + 7} kilos of\n hay. How many kilos are eaten?",
            str(i * (i + 7)),
        )
        for i in range(start, start + count)
    ]


def text_of(problem: Problem) -> str:
    return f"{problem.problem} The answer is {problem.answer}"


def test_the_parts_of_a_problem() -> None:
    (one,) = problems(3, 1)
    (question,) = completions_of([one], 0.4)
    # 16 words, of which ceil(6.4) = 7 are given; white space does not count
    assert question.prompt == "A farm has 3 cows. Each cow"
    assert " ".join(question.rest.split()) == "eats 10 kilos of hay. How many kilos are eaten?"  # type: ignore[union-attr]
    (hidden,) = without_question([one])
    assert hidden.prompt.endswith("hay.") and "How many" not in hidden.prompt
    assert completions_of([Problem("a", "word", "1")], 0.5) == []
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        completions_of([one], 1)
    (choice,) = without_question([Problem("q", "Secret?", "B", ("x", "y", "z", "w"))])
    assert "Secret" not in choice.prompt and "B) y" in choice.prompt and choice.prompt.endswith("Answer:")


def test_a_planted_benchmark_is_a_leak_and_another_is_not() -> None:
    ours, theirs, other = problems(1, 40), problems(100, 40), problems(200, 40)
    report = probe("m", Memory([text_of(p) for p in ours]), ("ours", ours), ("theirs", theirs), workers=1)
    assert report.verdict == "leak"
    rates = {p.name: (p.benchmark.hits, p.control.hits) for p in report.probes}
    # every text is known: completed and answered from each share, and without its question
    assert rates == {
        name: (40, 0)
        for share in ("0.4", "0.6", "0.8")
        for name in (f"completion@{share}", f"answer@{share}")
    } | {"no_question": (40, 0)}  # fmt: skip
    clean = probe("m", Memory([text_of(p) for p in other]), ("ours", ours), ("theirs", theirs), workers=1)
    # no hit among 40 and 40: the upper end of the difference is Wilson's for 0 of 40, 8.8 %
    assert clean.verdict == "no sign"
    few = probe("m", Memory([]), ("ours", ours[:20]), ("theirs", theirs[:20]), workers=1)
    assert few.verdict == "cannot tell" and "too few problems" in few.why  # 0 of 20: 16 %
    assert json.loads(json.dumps(report.as_dict()))["probes"][0]["benchmark"]["value"] == 1.0


class OneOrder(Memory):
    """Answers a multiple-choice question correctly in its published order, else with the first letter."""

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        for request in requests:
            known = request.prompt_text in self.known
            yield [Completion(request.key, " C" if known else " A", 1, "stop")]


def test_an_order_of_choices_that_is_known_is_a_leak() -> None:
    given = [Problem(f"p{i}", f"Which of {i}?", "C", ("w", "x", "y", "z")) for i in range(60)]
    other = [Problem(p.id, p.problem, "B", ("w", "y", "x", "z")) for p in given]
    control = [Problem(f"q{i}", f"Which one of {i}?", "C", ("w", "x", "y", "z")) for i in range(60)]
    shuffled = {"ours": other, "theirs": [Problem(p.id, p.problem, "B", ("w", "y", "x", "z")) for p in control]}
    engine = OneOrder([leaks._choice_prompt(p) for p in given])
    report = probe("m", engine, ("ours", given), ("theirs", control), shuffled=shuffled, workers=1)
    (order,) = [p for p in report.probes if p.name == "choice_order"]
    assert (order.benchmark.hits, order.control.hits, report.verdict) == (60, 0, "leak")
    assert "choice_order" in report.why


def test_knowing_the_control_as_well_is_no_sign_of_a_leak() -> None:
    ours, theirs = problems(1, 40), problems(100, 40)
    known = [text_of(p) for p in (*ours, *theirs)]
    report = probe("m", Memory(known), ("ours", ours), ("theirs", theirs), workers=1)
    assert report.verdict != "leak"


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.integers(1, 25), st.data())
def test_the_p_value_is_that_of_the_hypergeometric_tail(n: int, m: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    compared = leaks._compared(
        "x", dict(enumerate([True] * a + [False] * (n - a))), dict(enumerate([True] * b + [False] * (m - b)))
    )  # type: ignore[arg-type]
    # given a + b hits in all, at least a of them in the first set: counted
    hits = a + b
    tail = sum(comb(n, x) * comb(m, hits - x) for x in range(a, min(n, hits) + 1)) / comb(n + m, hits)
    assert compared.p_value == pytest.approx(tail, abs=1e-9)
    assert compared.low is not None and compared.high is not None and compared.difference is not None
    assert compared.low <= compared.difference + 1e-12 and compared.difference <= compared.high + 1e-12


def test_the_verdict_needs_the_corrected_p_value() -> None:
    def one(name: str, p_holm: float, high: float) -> Probe:
        return Probe(name, Rate(1, 50), Rate(0, 50), 0.02, -0.05, high, p_holm / 7, p_holm)

    assert judge([one("completion@0.6", 0.2, 0.09), one("no_question", 0.04, 0.5)])[0] == "leak"
    assert judge([one("completion@0.6", 0.2, 0.09), one("no_question", 0.06, 0.5)])[0] == "no sign"
    assert judge([one("completion@0.6", 0.2, 0.10), one("no_question", 0.06, 0.5)])[0] == "cannot tell"


def test_the_command_probes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from harness.cli.main import main
    from harness.data.tiny import write_benchmarks
    from tests.experiments import save_random_model

    write_benchmarks(tmp_path)
    model = save_random_model(tmp_path / "model")
    command = ["probe", f"model={model}", "benchmark=tiny_short", "control=tiny_long", f"data_dir={tmp_path}"]
    assert main([*command, "rows=12", "max_tokens=8", "shares=0.6", "engine.device=cpu"]) == 0
    text = capsys.readouterr().out
    assert "verdict: cannot tell" in text and "never published" in text
    assert all(len(line) <= 80 for line in text.splitlines() if str(tmp_path) not in line)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("model=m benchmark=aime24", ["control", "missing"]),
        ("model=m benchmark=aime24 control=aime24", ["control=aime24", "another benchmark"]),
        ("model=m benchmark=aime24 control=aime26", ["control=aime26", "no such control"]),
        ("model=m benchmark=humaneval control=aime_2026", ["benchmark=humaneval", "programs"]),
        ("model=m benchmark=aime24 control=aime_2026 shares=40", ["shares", "between 0 and 1", "40"]),
        ("model=m benchmark=aime24 control=aime_2026 share=0.4", ["share=0.4", "'shares'"]),
    ],
)
def test_a_wrong_command_exits_2_and_says_why(
    options: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.cli.main import main

    assert main(["probe", *options.split()]) == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words), error


torch = pytest.importorskip("torch")


@given(st.lists(st.integers(1, 9999), min_size=2, max_size=5), st.text(alphabet="xyz ", max_size=8))
def test_copies_differ_in_their_numbers_alone_and_keep_the_digits(numbers: list[int], words: str) -> None:
    text = f"{words} and ".join(map(str, numbers))
    copies = renumbered(text, seed="a")
    assert copies == renumbered(text, seed="a")
    assert len(set(copies)) == len(copies) in (0, COPIES) and text not in copies
    shape = re.sub(r"\d", "0", text)
    for copy in copies:
        assert re.sub(r"\d", "0", copy) == shape
        assert not re.search(r"(?<!\d)0\d", copy)  # no number begins with 0


def test_a_text_with_too_few_numbers_has_no_copies() -> None:
    assert renumbered("how many?", seed="a") == []
    assert renumbered("5 apples", seed="a") == []  # eight other digits, and nine copies are asked for
    assert len(renumbered("15 apples", seed="a")) == COPIES


class Digits:
    """One token a character, independent; the digit 7 has the probability 1/2, each of the 128 others 1/256."""

    def tokenizer(self, text: str, add_special_tokens: bool) -> Any:
        from types import SimpleNamespace

        return SimpleNamespace(input_ids=[ord(c) for c in text])

    class model:
        device = "cpu"

        def __new__(cls, input_ids: Any, attention_mask: Any) -> Any:
            from types import SimpleNamespace

            logits = torch.full((*input_ids.shape, 129), math.log(0.5 / 128))
            logits[..., ord("7")] = math.log(0.5)
            return SimpleNamespace(logits=logits)


def test_the_log_probability_of_a_text_is_that_of_its_tokens_after_the_first() -> None:
    seven, other = math.log(0.5), math.log(0.5 / 128)
    assert text_logps(Digits(), ["a77", "a1", "x712y"]) == pytest.approx(
        [2 * seven, other, seven + 3 * other], abs=1e-5
    )


def test_a_preferred_text_beats_every_copy() -> None:
    problems = [Problem("most", "n = 777.", "1"), Problem("least", "n = 123.", "1"), Problem("none", "n?", "1")]
    # 123 against nine random numbers of three digits: at least one of the first problem's kind has a 7
    assert preferred(Digits(), problems) == {"most": True, "least": False}
