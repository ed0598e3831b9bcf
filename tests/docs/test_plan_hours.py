"""The hours on pages are those of the plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.command.options import RunOptions
from harness.launch.prepare import planned
from harness.plan.plan import Total

ROOT = Path(__file__).parents[2]
TRAIN = (ROOT / "docs/how-to/train-at-size.md").read_text(encoding="utf-8")
CARDS = ("rtx4090", "a100_80g", "h100")


def total(paper: str, values: Mapping[str, Any]) -> Total:
    return planned(paper, RunOptions.of({"seeds": 1, **values}), check=False).total


def rows(pattern: str) -> list[tuple[str, ...]]:
    return [tuple(cell.strip() for cell in row.strip("| ").split("|")) for row in re.findall(pattern, TRAIN, re.M)]


@pytest.mark.parametrize("row", rows(r"^\| \w+(?: \(.*?\))? \| \d+ \| .*\|$"), ids=lambda row: row[0].split()[0])
def test_the_hours_of_a_paper_at_small_scale(row: tuple[str, ...]) -> None:
    paper, arms = row[0].split()[0], int(row[1])
    backend = {"backend": "trl"} if "TRL" in row[0] else {}
    for card, cell in zip(("rtx4090", "h100"), row[2:], strict=True):
        found = total(paper, {"scale": "small", "hardware": card, **backend})
        assert found.hours is not None and len(found.runs) == arms
        hours = found.hours
        assert cell == f"{hours.middle:.1f} ({hours.low:.1f} to {hours.high:.1f}), {found.price:.2f}"


@pytest.mark.parametrize("row", rows(r"^\| Qwen/.*\|$"), ids=lambda row: row[0].split(",")[0])
def test_the_hours_of_a_base_model_at_small_scale(row: tuple[str, ...]) -> None:
    for card, cell in zip(CARDS, row[1:], strict=True):
        adapters = {"lora_rank": 32} if "lora_rank" in cell else {}
        base = {"scale": "small", "arm": "grpo", "base_model": row[0].split(",")[0]}
        found = total("egsw", {**base, "hardware": card, **adapters})
        assert found.hours is not None
        assert cell.partition(" with ")[0] == f"{found.hours.middle:.1f}, {found.price:.2f}"


def test_the_hours_of_erpo_at_paper_scale() -> None:
    page = " ".join((ROOT / "reproductions/erpo/README.md").read_text(encoding="utf-8").split())
    sizes = {"scale": "paper", "model": ["qwen2.5-1.5b", "qwen2.5-3b", "qwen2.5-7b"]}
    for hardware, place in (("h100", "one H100"), ("h100x8", "eight")):
        found = total("erpo", {**sizes, "hardware": hardware})
        assert found.hours is not None
        hours = f"{found.hours.middle:.0f} hours ({found.hours.low:.0f} to {found.hours.high:.0f})"
        assert f"{hours} and {found.price:,.0f} USD on {place}" in page
