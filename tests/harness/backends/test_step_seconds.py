"""The plan beside published runs on several GPUs: each is inside, and the rules were fitted as they say."""

from __future__ import annotations

import pytest

from benchmarks.step_seconds import PAGE, Run, page, runs, typical
from harness.backends.seconds import FAST, MIDDLE, SLOW, StepSeconds, typical_length, whole_rollout

# Mean tokens of responses in public logs, of a limit. open-r1 issue 251. Verl issue 7412. SimpleRL-reason issue 69
# (Qwen2.5-32B and Mistral-24B)
LENGTHS = [(639, 1024), (1267, 3072), (800, 8192), (6000, 8192)]


@pytest.mark.parametrize("run", runs(), ids=lambda run: run.name)
def test_a_published_run_is_inside_the_range(run: Run) -> None:
    assert run.planned(FAST) <= run.seconds <= run.planned(SLOW)


def test_the_runs_are_many_and_of_both_trainers() -> None:
    anchors = runs()
    assert (
        len(anchors) >= 8
        and {run.trainer for run in anchors} == {"trl", "verl"}
        and all(run.gpus > 1 for run in anchors)
    )
    assert len({run.name for run in anchors}) == len(anchors) and all(run.url.startswith("https://") for run in anchors)


def test_the_middle_s_slack_is_the_geometric_mean_of_the_runs() -> None:
    assert round(typical([run.slack for run in runs()]), 1) == MIDDLE.slack


def test_the_page_has_the_numbers_of_today() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_typical_lengths_hold_public_logs() -> None:
    # 20 x sqrt(1024) = 640. At most 0.9 of the limit: 60 x sqrt(100) = 600 becomes 90
    assert typical_length(1024, MIDDLE) == 640 and typical_length(100, SLOW) == 90
    for mean, limit in LENGTHS:
        assert typical_length(limit, FAST) < mean < 1.2 * typical_length(limit, SLOW)


def test_a_whole_rollout_by_hand() -> None:
    run = runs()[0]
    # 512 x 16 responses of 2 ms: 16.4 s. 2 bytes of 7.6e9 parameters at 5e9 bytes/s: 3.0 s
    beside = 8192 * 2e-3 + 2 * run.shape.parameters / 5e9
    parts = StepSeconds(1.0, 2.0, 3.0)
    whole = whole_rollout(run.shape, run.experiment, run.hardware, MIDDLE, parts, colocated=True)
    assert whole == pytest.approx(MIDDLE.slack * 6 + beside)
    alone = type(run.hardware)(device="gpu")
    assert whole_rollout(run.shape, run.experiment, alone, MIDDLE, parts, colocated=False) == pytest.approx(6 + 16.384)
