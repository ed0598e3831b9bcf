"""Curves that people print: tables with bars, sections in YAML's form, objects of several lines."""

import json

import pytest

from evals.audit.curves import read_curve
from evals.errors import UsageError

BARS = {
    "ruled": "Step | Training Loss | rewards / format\n-- | -- | --\n1 | 0.5 | -17.25\n2 | 0.25 | 1e-3\n",
    "plain": "Step | Training Loss | rewards / format\n1 | 0.5 | -17.25\n2 | 0.25 | 1e-3\n",
    "markdown": "| Step | Training Loss | rewards / format |\n"
    "|---:|:--|---|\n| 1 | 0.5 | -17.25 |\n| 2 | 0.25 | 1e-3 |\n",
}


@pytest.mark.parametrize("text", BARS.values(), ids=BARS)
def test_a_table_with_bars_is_a_curve(text: str) -> None:
    curve = read_curve(text)
    assert curve.to_dict("list") == {
        "step": [1.0, 2.0], "Training Loss": [0.5, 0.25], "rewards / format": [-17.25, 0.001],
    }  # fmt: skip


@pytest.mark.parametrize("line", ["3 | 0.1", "3 | 0.1 | 2 | 4", "and then it crashed"])
def test_a_line_with_other_cells_is_an_error(line: str) -> None:
    with pytest.raises(UsageError, match="line 5: expected 3 cells between bars"):
        read_curve(BARS["ruled"] + line + "\n")


SECTIONS = {
    "EasyR1": "Config\ntrainer:\n  logger:\n  - console\nStep 1\ncritic:\n  rewards:\n    mean: 0.31\n"
    "length:\n  mean: 411.5\n\nStep 2\ncritic:\n  rewards:\n    mean: .nan\nlength:\n  mean: 412.5\n",
    "a name above": "Step 1\nlr: 1.0e-06\ncritic:\n    rewards:\n        mean: 0.31\nlength:\n    mean: 411.5\n"
    "Step 2\nlr: 1.0e-06\ncritic:\n    rewards:\n        mean: .nan\nlength:\n    mean: 412.5\n",
    "a colon": "step: 1\ncritic:\n  rewards:\n    mean: 0.31\nlength:\n  mean: 411.5\n"
    "step: 2\ncritic:\n  rewards:\n    mean: .nan\nlength:\n  mean: 412.5\n",
}


@pytest.mark.parametrize("text", SECTIONS.values(), ids=SECTIONS)
def test_a_name_has_its_sections_before_it(text: str) -> None:
    curve = read_curve(text)
    assert curve["length/mean"].tolist() == [411.5, 412.5]
    assert curve["critic/rewards/mean"].dropna().tolist() == [0.31]
    assert "mean" not in curve
    assert curve.attrs["nan"] == {"critic/rewards/mean": 2}


def test_objects_of_several_lines_are_a_curve() -> None:
    rows = [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.75}]
    assert read_curve("\n".join(json.dumps(row, indent=2) for row in rows))["reward"].tolist() == [0.5, 0.75]


@pytest.mark.parametrize(
    "whole", [{"resolved": 4, "ids": ["a", "b"]}, {"acc": 0.5}, {"resolved": 4, "groups": {"a": {"n": 1}}}]
)
def test_an_indented_object_is_final_scores_and_not_damaged(whole: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"no column of steps\. Its only row holds final scores"):
        read_curve(json.dumps(whole, indent=2))
