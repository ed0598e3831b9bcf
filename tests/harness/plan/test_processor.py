"""The plan for a machine without a GPU: hours by its processor, its own memory, no price, and a shorter run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rlvr
from harness.backends.seconds import FAST, MIDDLE, SLOW, reached
from harness.command.config import parse_overrides
from harness.plan import profiles
from harness.plan.costs import Span
from harness.plan.text import _span, _time
from harness.spec.architecture import architecture
from harness.spec.hardware import processor
from harness.spec.host import Host, given
from tests.hosts import WITHOUT_BFLOAT16

BASE = "Qwen/Qwen2.5-0.5B"  # at the scale small


def test_a_processor_reaches_twice_a_gpus_share_of_what_was_measured() -> None:
    a = architecture(BASE)
    assert a is not None
    # 2 x 0.30, 0.45 and 0.18 of 1e11. Neither the width of the layers nor the speed of the chip counts once more
    reaches = [reached(a, processor(WITHOUT_BFLOAT16), rules) for rules in (MIDDLE, FAST, SLOW)]
    assert reaches == pytest.approx([6e10, 9e10, 3.6e10])


def test_hours_and_memory_are_the_machines() -> None:
    planned = rlvr.plan("egsw", scale="small", arm="grpo", seeds=1, max_steps=11, **{"hardware.device": "cpu"})
    (arm,) = planned["arms"]
    assert arm["label"] == "Qwen2.5-0.5B/grpo"  # what is trained, not the paper's math-7b
    assert (arm["memory"]["gpu"], arm["memory"]["gpu_bytes"]) == ("cpu", 64e9) and planned["total"]["price"] is None
    hours, first = planned["total"]["hours"], arm["one_step"]
    # a rollout is 256 responses of about 640 (20 x sqrt(1,024)) + 154 tokens, 203,000 tokens: at 6 x 0.49e9 FLOPs each
    # and 6e10 FLOP/s the update alone takes 2.8 hours. Sampling is some 1,024 steps of at least 1.2 s, a third of one
    assert 10 * 3.1 < hours - first < 10 * 7
    each = (hours - first) / 10
    line = f"max_steps=1 takes about {first:.2f} hours with its evaluation, each further step {each:.2f} hours"
    assert line in str(planned)
    assert not any(word in str(planned) for word in ("GPU memory", "GPU-hours", "USD"))
    of_four = {"max_steps": 12, "updates_per_rollout": 4, "hardware.device": "cpu"}
    planned = rlvr.plan("egsw", scale="small", arm="grpo", seeds=1, **of_four)
    first = planned["arms"][0]["one_step"]
    assert f"each further rollout of 4 steps {(planned['total']['hours'] - first) / 2:.1f}"[:-1] in str(planned)
    assert "too large for this machine; it fits with hardware.micro_batch=" in str(planned)


def planned_arm(host: Host, memory: float, **values: Any) -> dict[str, Any]:
    """The plan of one GRPO training of 0.5B on a processor with so many bytes, as its arm, and its text."""
    with given(replace(host, memory=memory)):
        planned = rlvr.plan(
            "egsw", scale="small", arm="grpo", seeds=1, max_steps=2, **{"hardware.device": "cpu"}, **values
        )
    return {**planned["arms"][0], "total": planned["total"], "text": str(planned)}


@pytest.mark.parametrize("settings", [{}, {"hardware.micro_batch": 256}])
@pytest.mark.parametrize("memory", [20e9, 25e9, 40e9])
def test_each_remedy_on_a_processor_fits_when_it_is_followed(
    memory: float, settings: dict[str, Any], host: Host
) -> None:
    """Where the memory does not hold a whole rollout, a smaller micro-batch alone is no remedy, nor are adapters
    without one."""
    # 0.494e9 parameters: weights, reference (4 bytes) and two moments (8): 7.90 GB. 256 responses: 12 bytes for each of
    # 151,936 logits: 0.47 GB, and a float32 cache of 1,536 tokens of 24 x 2 x 128 x 4 bytes, with one layer's 2 x 14 x
    # 64 for all heads of 4 bytes: 12.48 GB. Libraries: 1.5 GB. Autocast casts those heads (2 bytes more: 13.89 GB) and
    # all weights (0.99 GB), and keeps a layer's (0.03 GB).
    rollout = 24.8e9 if host.bfloat16 else 22.3e9
    arm = planned_arm(host, memory, **settings)
    assert not arm["memory"]["fits"]
    remedies = arm["memory"]["remedy"].replace(" (adapters, not all weights)", "").split(", or with ")
    on_processor = [remedy for remedy in remedies if not remedy.startswith("a GPU")]
    assert on_processor and ("prompts_per_rollout=" in on_processor[0]) == (0.94 * memory < rollout)
    for remedy in on_processor:
        followed = parse_overrides(remedy.split())
        assert planned_arm(host, memory, **{**settings, **followed})["memory"]["fits"], remedy


def test_what_takes_most_is_named_where_nothing_helps(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PROFILES", {})
    text = planned_arm(host, 3e9)["text"]
    assert "too large for this machine; no settings known here make it fit; most of it are its activations, " in text


def test_what_does_not_fit_is_shown_with_what_it_exceeds(host: Host) -> None:
    peak = planned_arm(host, 64e9)["memory"]["peak"]
    arm = planned_arm(host, peak)  # 94 % of it are usable
    row = f"no {peak / 1e9:,.1f} GB of {0.94 * peak / 1e9:,.1f} GB"
    assert row in " ".join(arm["text"].split())
    assert "the GPU's context" not in arm["text"]
    assert arm["total"]["host_memory"] == peak and f"{peak / 1e9:,.0f} GB of a machine's memory at most" in arm["text"]


def test_minutes_are_no_zero_hours() -> None:
    assert _span(Span(0.02, 0.04, 0.15), "min") == "2 min (1 to 9)"  # 1.2, 2.4 and 9
    assert _span(Span(0.02, 1.9, 0.15), "") == "1.9 (< 0.1 to 0.1)"
    assert _span(Span(0.0, 0.001, 0.01), "min") == "< 1 min (0 to 1)"  # 0.06 and 0.6 minutes
    assert (_time(0.04), _time(0.1)) == ("2.4 minutes", "0.10 hours")


def test_a_training_of_no_step_is_refused(tmp_path: Path, random_model: Path) -> None:
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(40)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"scale": "small", "arm": "grpo", "data": tmp_path / "sums.jsonl", "base_model": str(random_model)}
    with pytest.raises(rlvr.UsageError, match=r"epochs=0.8: expected .* rollout .*=32, and 40 problems .* give none"):
        rlvr.plan("egsw", **given)
    (arm,) = rlvr.plan("egsw", **given, epochs=1.0)["arms"]
    assert arm["steps"] == 1 and arm["label"] == f"{random_model.name}/grpo"  # 40 // 32
    with pytest.raises(rlvr.UsageError, match=r"got 40 .*\. prompts_per_rollout=40 epochs=1 .* takes them all in each"):
        rlvr.plan("egsw", **given, prompts_per_rollout=64)
