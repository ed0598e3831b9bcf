"""The hours on pages are those of the plan. `docs/reference/costs.md` is written from it (`benchmarks.reference`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.command.options import RunOptions
from harness.launch.prepare import planned
from harness.plan.plan import Total

ROOT = Path(__file__).parents[2]


def total(paper: str, values: Mapping[str, Any]) -> Total:
    return planned(paper, RunOptions.from_keys({"seeds": 1, **values}), check=False).total


def test_the_hours_of_erpo_at_paper_scale() -> None:
    page = " ".join((ROOT / "reproductions/erpo/README.md").read_text(encoding="utf-8").split())
    sizes = {"scale": "paper", "model": ["qwen2.5-1.5b", "qwen2.5-3b", "qwen2.5-7b"]}
    for hardware, place in (("h100", "one H100"), ("h100x8", "eight")):
        plan_total = total("erpo", {**sizes, "hardware": hardware})
        assert plan_total.hours is not None
        hours = f"{plan_total.hours.middle:.0f} hours ({plan_total.hours.low:.0f} to {plan_total.hours.high:.0f})"
        assert f"{hours} and {plan_total.price:,.0f} USD on {place}" in page
