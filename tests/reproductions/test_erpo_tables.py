"""The facts of ERPO's tables by themselves: the numbers behind the doubts of its declaration, recomputed."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict

import pytest

from harness.spec import catalogue
from reproductions.erpo.paper import REPRODUCTION
from tests.shared import excerpt, shared_file

PROBLEMS = {"amc23": 40, "minerva": 40, "aime24": 30, "aime25": 30}
SAMPLES = 16


def cells() -> dict[str, dict[tuple[str, str], float]]:
    """Row -> (benchmark, metric) -> percent."""
    rows: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for cell in catalogue.published("erpo"):
        rows[cell.row][cell.benchmark, cell.metric] = cell.value
    return rows


def doubts() -> str:
    return " ".join(REPRODUCTION.doubts)


@pytest.mark.parametrize("row", cells())
def test_the_averages_are_those_of_the_benchmarks(row: str) -> None:
    values = cells()[row]
    for metric in ("avg@16", "fmt"):
        mean = sum(values[benchmark, metric] for benchmark in PROBLEMS) / len(PROBLEMS)
        assert values["average", metric] == pytest.approx(mean, abs=0.0051)  # printed with two digits


@pytest.mark.parametrize("row", cells())
def test_shares_are_of_sixteen_samples_a_problem(row: str) -> None:
    for (benchmark, metric), value in cells()[row].items():
        if benchmark in PROBLEMS and metric in ("avg@16", "fmt", "pass@16"):
            # pass@16 of 16 samples is the share of problems that any of them solves
            tries = PROBLEMS[benchmark] * (1 if metric == "pass@16" else SAMPLES)
            assert value == pytest.approx(100 * round(value / 100 * tries) / tries, abs=0.0051), (benchmark, metric)


@pytest.mark.parametrize("row", cells())
def test_pass_at_k_comes_from_the_same_samples_as_the_accuracy(row: str) -> None:
    """Some numbers of right answers to each problem give all five printed values of a cell."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    for benchmark, problems in PROBLEMS.items():
        # unknowns: how many problems have 0, 1, ..., 16 right answers
        ks = (1, 2, 4, 8, 16)
        share = [[1 - math.comb(SAMPLES - c, k) / math.comb(SAMPLES, k) for c in range(SAMPLES + 1)] for k in ks]
        printed = [cells()[row][benchmark, "avg@16" if k == 1 else f"pass@{k}"] / 100 for k in ks]
        sums = np.array([[1.0] * (SAMPLES + 1), *share])
        low = np.array([problems, *(problems * (value - 0.000051) for value in printed)])
        high = np.array([problems, *(problems * (value + 0.000051) for value in printed)])
        solution = milp(
            np.zeros(SAMPLES + 1),
            constraints=LinearConstraint(sums, low, high),
            integrality=np.ones(SAMPLES + 1),
            bounds=Bounds(0, problems),
        )
        assert solution.success, benchmark


def test_doubt_deepseek_lacks_boxes() -> None:
    row = cells()["DeepSeek-R1-671B-0528"]
    same = [b for b in PROBLEMS if row[b, "avg@16"] == row[b, "fmt"]]
    assert same == ["amc23", "aime24", "aime25"]
    assert "equals its accuracy on AMC 23, AIME 24 and AIME 25" in doubts()


def test_doubt_the_boxes_do_not_grow_on_all_benchmarks() -> None:
    equal, below = [], []
    for size in ("1.5B", "3B", "7B"):
        for benchmark in PROBLEMS:
            erpo, grpo = (cells()[f"Qwen2.5-{size} {arm}"][benchmark, "fmt"] for arm in ("ERPO", "GRPO"))
            if erpo == grpo:
                equal.append((size, benchmark))
            elif erpo < grpo:
                below.append((size, benchmark))
    assert (equal, below) == ([("1.5B", "amc23"), ("1.5B", "aime25")], [("3B", "amc23"), ("7B", "minerva")])
    assert "(1.5B AMC 23, AIME 25), and is below it in two (3B AMC 23, 7B Minerva)" in doubts()
    accuracy = {
        size: [cells()[f"Qwen2.5-{size} {arm}"]["aime25", "avg@16"] for arm in ("ERPO", "GRPO")]
        for size in ("1.5B", "3B")
    }
    assert accuracy["1.5B"][0] == accuracy["1.5B"][1] and accuracy["3B"][0] < accuracy["3B"][1]
    assert PROBLEMS["amc23"] == 40 and "of AMC23, which has 40" in doubts()


def test_doubt_two_rows_hold_the_same_five_values() -> None:
    metrics = ("avg@16", "pass@2", "pass@4", "pass@8", "pass@16")
    holders = defaultdict(list)
    for row, values in cells().items():
        for benchmark, problems in PROBLEMS.items():
            holders[problems, tuple(values[benchmark, m] for m in metrics)].append((row, benchmark))
    shared = {values: where for (_, values), where in holders.items() if len(where) > 1}
    # Four right answers to four problems, the second such pair, is what little more than chance would give.
    assert shared == {
        (0.83, 1.67, 3.33, 6.67, 13.33): [("Qwen2.5-1.5B SFT", "aime24"), ("Qwen2.5-3B SFT", "aime25")],
        (3.54, 6.19, 10.06, 15.56, 23.33): [("Qwen2.5-1.5B GRPO", "aime24"), ("Qwen2.5-7B Base", "aime24")],
    }
    assert "23.33) in the rows of Qwen2.5-1.5B GRPO and Qwen2.5-7B Base" in doubts()


def test_doubt_erpo_is_not_above_in_most_cells_at_sixteen() -> None:
    above = equal = below = 0
    for size in ("1.5B", "3B", "7B"):
        for benchmark in PROBLEMS:
            erpo = cells()[f"Qwen2.5-{size} ERPO"][benchmark, "pass@16"]
            grpo = cells()[f"Qwen2.5-{size} GRPO"][benchmark, "pass@16"]
            above, equal, below = above + (erpo > grpo), equal + (erpo == grpo), below + (erpo < grpo)
    assert (
        f"ERPO is above GRPO in {above} of the 12 cells of table 2, equal in {equal} and below in {below}" in doubts()
    )


def test_doubt_the_training_problems_are_too_many_and_too_long() -> None:
    rows = [json.loads(line) for line in shared_file("data/benchmarks/math_test5000.jsonl").read_text().splitlines()]
    hard = [row for row in rows if row["level"] in ("Level 3", "Level 4", "Level 5")]
    # MATH has 12,500 problems, 7,500 of them in its train split, where 564 are of level 1 and 1,348 of level 2
    # (public counts): at most 5,588 of levels 3 to 5, and with those of the test split about 9,255.
    assert (len(rows), len(hard)) == (5000, 3669)
    assert 7500 - 564 - 1348 == 5588 < 8441 < 5588 + len(hard)
    assert "at most 5,588 problems of levels 3 to 5" in doubts()
    # A rough count of Qwen's tokens: a word, a digit, one or two signs.
    rough = [len(re.findall(r"\d|[A-Za-z]+|[^\sA-Za-z\d]{1,2}", row["solution"])) for row in hard]
    assert 0.3 < sum(tokens > 204 for tokens in rough) / len(hard) < 0.5
    assert "This would drop about two fifths of levels 3 to 5 (by a rough count)" in doubts()


def test_settings_are_those_of_table_3() -> None:
    text = excerpt(1)
    printed = {
        name: re.search(rf"^{re.escape(name)} (.+)$", text, re.MULTILINE)
        for name in (
            *("Epochs", "Global Batch Size", "Temperature (Training)", "Weight Decay", "Warmup Ratio"),
            *("Max Training Length", "Generations per Prompt (GG)", "Learning Rate"),
        )
    }
    shown = {name: match[1] for name, match in printed.items() if match}
    kl = re.search(r"^KL Penalty Coefficient .* ([\d.]+)$", text, re.MULTILINE)
    (arm,) = (a for a in REPRODUCTION.arms if (a.model, a.key) == ("qwen2.5-1.5b", "erpo"))
    assert arm.train is not None and kl is not None
    value = {key: sourced.value for key, sourced in arm.train.settings().items()}
    assert float(shown["Epochs"]) == value["epochs"]
    assert int(shown["Global Batch Size"]) == value["prompts_per_rollout"] * value["group_size"]
    assert int(shown["Generations per Prompt (GG)"]) == value["group_size"]
    assert float(shown["Temperature (Training)"]) == value["rollout_temperature"]
    assert float(shown["Weight Decay"]) == value["weight_decay"]
    assert float(shown["Warmup Ratio"]) == value["warmup_ratio"]
    assert int(shown["Max Training Length"].replace(",", "")) == value["max_completion_tokens"]
    assert float(kl[1]) == value["kl_beta"]
    assert shown["Learning Rate"] == r"5×1065\times 10^{-6}" and value["learning_rate"] == 5e-6
    for stated, key in ((r"\eta=0.2", "erpo.eta"), (r"\gamma=5", "erpo.gamma"), (r"progress}}=0.1", "erpo.beta_p")):
        assert stated in text and value[key] == float(stated.rpartition("=")[2])
    assert (r"r=32" in text, r"\alpha_{\text{lora}}=64" in text) == (True, True)
    assert (value["lora_rank"], value["lora_alpha"]) == (32, 64)
