"""Figures of interventions hold the numbers that were measured, and are plotted for one and for several runs."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from evals.analysis.interventions.effects import contrasts, effects
from evals.analysis.interventions.fork_temperature import plot_fork_temperatures
from evals.analysis.interventions.perturbation import Perturbation, plot_perturbation
from evals.analysis.interventions.replacement import plot_replacement
from evals.analysis.interventions.tool_use import plot_tools
from evals.plots.plot import Plot, save
from evals.stats.differences import holm

LONG = "GRPO + EGSW with a name that is longer than a line of a legend can be, three training seeds averaged"
WORDS = {"c": "correct", "w": "wrong", "u": "unscored"}


def interventions(**groups: str) -> pd.DataFrame:
    """Group -> its problems, "original altered" each: frame(top="cc cw, cc ww")."""
    rows = [
        (group, f"p{i}", *pair.split()) for group, text in groups.items() for i, pair in enumerate(text.split(", "))
    ]
    verdicts = [
        {"problem_id": f"{i}{end}", "verdict": WORDS[letter]}
        for i, row in enumerate(rows)
        for end, letters in zip("oa", row[2:], strict=True)
        for letter in letters
    ]
    frame = pd.DataFrame([row[:2] for row in rows], columns=["group", "problem_id"])
    return frame.assign(**effects([(f"{i}o", f"{i}a") for i in range(len(rows))], pd.DataFrame(verdicts)))


def samples(**problems: str) -> pd.DataFrame:
    """Problem -> letters of its samples, as a verdict table."""
    return pd.DataFrame(
        [
            {
                "benchmark": "b", "problem_id": problem, "sample": i, "verdict": WORDS[letter], "boxed": True,
                "answer_class": None if letter == "u" else "cw".index(letter), "tokens": 3, "response": "x",
            }
            for problem, letters in problems.items()
            for i, letter in enumerate(letters)
        ]
    )  # fmt: skip


def rendered(plot: Plot, folder: Path) -> dict[str, Path]:
    paths = save(plot, folder)
    assert paths["png"].stat().st_size > 5000
    return paths


FRAME = interventions(top="cc ww, cc cw, cc ww", bottom="cc cc, cc cw, cw cc")
UNKNOWN = interventions(top="uu cc, cc ww, cc cc", bottom="uu cc, uu cc, uu cc")


def test_the_figure_of_replacement_shows_the_accuracy_lost(tmp_path: Path) -> None:
    (one,) = plot_replacement({"base": FRAME}, benchmark="b")
    assert one.source == "arXiv 2508.07534, Eq. 6"
    # top: (1 + 1/2 + 1) / 3 of accuracy 1; bottom: (0 + 1/2 - 1/2) / 3
    assert one.numbers["drop"].tolist() == pytest.approx([250 / 3, 0])
    assert "3 problems, 3 interventions a group, 2 graded continuations" in one.caption
    assert "base: top 100.0 to 16.7 %, bottom 83.3 to 83.3 %" in one.caption
    rendered(one, tmp_path)
    (two,) = plot_replacement({"base": FRAME, LONG: UNKNOWN}, benchmark="b", by="position")
    assert two.source == "arXiv 2508.07534, Fig. 6b"
    assert "4 interventions whose continuations could not be scored are excluded" in two.caption
    assert "bottom not known" in two.caption and "nan" not in two.caption
    rendered(two, tmp_path)


def test_the_figure_of_perturbation_shows_the_accuracy_lost(tmp_path: Path) -> None:
    (one,) = plot_perturbation({"base": FRAME, LONG: FRAME}, benchmark="b", perturbation=Perturbation(keep=0.25))
    assert one.source == "arXiv 2603.28204, Fig. 1b"
    assert one.caption.startswith(
        "The first 25 % of a response are kept; in them the 5 % of tokens of highest (lowest)"
    )
    # differences by problem 1, 0, 3/2: mean 5/6; the p-value is corrected over the three tests that are shown
    table = contrasts(FRAME, [("top", "bottom"), ("top", None), ("bottom", None)])
    assert table["difference"][0] == pytest.approx(5 / 6)
    assert table["p_holm"][0] == pytest.approx(holm(list(table["p_value"]))[0]) and 0.05 < table["p_value"][0] < 0.5
    assert f"base: top less bottom +83.3 points, p = {table['p_holm'][0]:.3f}" in one.caption
    rendered(one, tmp_path)
    (other,) = plot_perturbation(
        {"base": FRAME}, benchmark="b", perturbation=Perturbation(scope="one", token="alternative")
    )
    assert "replaced by the most probable other token, and all after it" in other.caption


def forks(*pairs: tuple[float, float]) -> pd.DataFrame:
    tables = []
    for index, (fork, other) in enumerate(pairs):
        table = samples(p0="cc" if index else "cw", p1="ww", p2="cu")
        tables.append(table.assign(fork_temperature=fork, other_temperature=other, threshold=0.672))
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize("runs", [1, 3, 4])
def test_the_figure_of_fork_temperatures_shows_accuracy(runs: int, tmp_path: Path) -> None:
    frame = forks((1.0, 1.0), (0.5, 1.0), (1.0, 2.0), (0.5, 2.0))
    (one,) = plot_fork_temperatures({f"{i} {LONG}": frame for i in range(runs)}, benchmark="b")
    assert one.numbers["varied"].tolist() == ["neither", "forks", "elsewhere", "both"] * runs
    # (1/2, 0, 1) at the reference and (1, 0, 1) elsewhere
    assert one.numbers["score"].tolist() == pytest.approx([50, 200 / 3, 200 / 3, 200 / 3] * runs)
    assert one.numbers["difference"].tolist() == pytest.approx([0, 50 / 3, 50 / 3, 50 / 3] * runs)
    assert f"{runs} pairs in which both vary are only in the numbers. {4 * runs} responses" in one.caption
    assert "3 problems, 2 samples a problem" in one.caption and "0.672 nats" in one.caption
    rendered(one, tmp_path)


@pytest.mark.parametrize("runs", [1, 3])
def test_the_figure_of_tools_shows_pass_at_k_and_how_many_responses_ran_code(runs: int, tmp_path: Path) -> None:
    ran = "```python\nprint(1)\n```\n```output\n1\n```\n"
    without, with_tools = samples(p0="cw", p1="ww"), samples(p0="cc", p1="cw").assign(response=[ran, "x", "x", "x"])
    (one,) = plot_tools({f"{i} {LONG}": (without, with_tools) for i in range(runs)}, benchmark="b", turns=4)
    assert one.source == "arXiv 2508.07534, Fig. 2"
    # pass@1: (1/2 + 0) / 2 and (1 + 1/2) / 2; pass@2: (1 + 0) / 2 and 1
    assert one.numbers["pass@k (%)"].tolist() == pytest.approx([25, 50, 75, 100] * runs)
    assert "25 % of the responses ran code, 0.25 blocks a response, 0 % of them ended with an error" in one.caption
    rendered(one, tmp_path)


def test_invalid_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="one run or more"):
        plot_replacement({}, benchmark="b")
    with pytest.raises(ValueError, match="by='length', expected one of: entropy, perplexity, position"):
        plot_replacement({"a": FRAME}, benchmark="b", by="length")
    with pytest.raises(ValueError, match="expected the same"):
        plot_replacement({"a": FRAME, "b": FRAME[FRAME["group"] == "top"]}, benchmark="b")
    frame = forks(*product((1.0, 2.0), repeat=2))
    with pytest.raises(ValueError, match="one to four runs in this figure, got 5"):
        plot_fork_temperatures({str(i): frame for i in range(5)}, benchmark="b")
    with pytest.raises(ValueError, match="reference="):
        plot_fork_temperatures({"a": frame}, benchmark="b", reference=(3.0, 3.0))
