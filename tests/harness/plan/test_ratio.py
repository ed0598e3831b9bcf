"""A sampler that leaves out tokens, and a ratio that compares with it: the plan says that the ratio is off."""

from __future__ import annotations

from typing import Any

import pytest

import rlvr

DOUBT = "its importance ratios are off, because rollout_top_p=0.9 leaves out tokens"
CORRECTED = ("grpo_tis", "grpo_icepop", "grpo_geometric", "grpo_bypass")


def doubts(arm: str, **values: Any) -> list[str]:
    planned = rlvr.plan("baselines", scale="paper", arm=arm, seeds=1, **values)
    about_ratios = [doubt for doubt in planned["doubts"] if "importance ratios" in doubt]
    brief = rlvr.plan("baselines", scale="paper", arm=arm, seeds=1, brief=True, **values)
    assert all(doubt in str(text) for doubt in about_ratios for text in (planned, brief))
    assert ("doubts:" in str(brief)) == bool(about_ratios)
    return about_ratios


@pytest.mark.parametrize("arm", CORRECTED)
def test_a_correction_beside_top_p_is_doubted_once(arm: str) -> None:
    [doubt] = doubts(arm, rollout_top_p=0.9)
    assert DOUBT in doubt and arm in doubt and "Type rollout_top_p=1" in doubt


@pytest.mark.parametrize("arm", CORRECTED)
def test_without_top_p_nothing_is_doubted(arm: str) -> None:
    assert doubts(arm) == doubts(arm, rollout_top_p=1.0) == []


def test_without_a_ratio_to_the_sampler_top_p_is_no_matter() -> None:
    assert doubts("grpo", rollout_top_p=0.9) == []
