"""The arms that fit one card: the small scale, with adapters or a larger card where not, and the profile of a
machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evals.notebook import as_text
from harness.backends import refusals
from harness.backends.trl.hardware import TrlHardware
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.plan.machine import machine_of
from harness.plan.plan import plan
from harness.plan.profiles import PROFILES, Profile, choose, judge, measures, profile_of
from harness.plan.text import blocks
from harness.spec import catalogue

LARGEST = {"base_model": "Qwen/Qwen3-1.7B"}  # the largest at this scale


@pytest.mark.parametrize(
    ("card", "values"), [("rtx4090", {}), ("rtx4090", {**LARGEST, "lora_rank": 32}), ("h100", LARGEST)]
)
@pytest.mark.parametrize("paper", catalogue.papers())
def test_the_small_scale_fits_one_card(paper: str, card: str, values: dict[str, Any]) -> None:
    base = PROFILES[card].base("trl")
    jobs = resolve(paper, scale="small", backend="trl", seeds=[0], overrides=values)
    refused = refusals(jobs, base)
    trained = [job for job in jobs if job.experiment is not None and (job.model, job.arm) not in refused]
    assert trained
    for job in trained:
        assert job.experiment is not None
        verdict = judge(job.experiment, "trl", choose(job.experiment, "trl", base, frozenset()))
        assert verdict.fits and verdict.need is not None, job.name


PASS = "hardware.micro_batch=8 hardware.gradient_checkpointing=true hardware."


@pytest.mark.parametrize(
    ("paper", "model", "arm", "profile", "remedy"),
    [
        (
            *("anchors", "qwen2.5-1.5b", "grpo", True),
            "lora_rank=32 hardware.micro_batch=16 hardware.vllm_gpu_memory=0.3 hardware.vllm_sleep=false "
            "(adapters, not all weights), or with hardware=a100_40g",
        ),
        ("erpo", "qwen2.5-7b", "erpo", True, "hardware=a100_40g"),  # has adapters
        # where nobody chose an engine, vLLM comes first: of 3B it has room in half of the card, if it sleeps
        ("erpo", "qwen2.5-1.5b", "erpo", False, PASS + "engine=vllm hardware.rollouts=vllm_colocate"),
        (
            *("erpo", "qwen2.5-3b", "erpo", False),
            PASS + "engine=vllm hardware.vllm_gpu_memory=0.5 hardware.rollouts=vllm_colocate hardware.vllm_sleep=true",
        ),
    ],
)
def test_the_remedy_is_the_cheapest(paper: str, model: str, arm: str, profile: bool, remedy: str) -> None:
    (job,) = resolve(paper, scale="paper", models=[model], arms=[arm], seeds=[0])
    assert job.experiment is not None
    small = choose(job.experiment, "trl", PROFILES["rtx4090"].base("trl"), frozenset())
    small = small if profile else TrlHardware(device="gpu", gpu="rtx4090")
    assert judge(job.experiment, "trl", small).remedy == remedy


@pytest.mark.parametrize(
    ("model", "fits"),  # by transformers, vLLM and a server
    [
        ("qwen2.5-7b", ["yes", True, True]),  # 15 GB of weights in 25 GB
        ("qwen3-235b-instruct", ["no", False, True]),
        ("deepseek-r1-0528", ["–", None, True]),
    ],
)
def test_an_untrained_model_fits_does_not_or_is_not_known(model: str, fits: list[Any]) -> None:
    jobs = resolve("erpo", scale="paper", models=[model], arms=["base"], seeds=[0])
    alone = TrlHardware(device="gpu", gpu="rtx4090")
    by = [measures(jobs[0], replace(alone, engine=name)) for name in ("vllm", "openai")]  # type: ignore[arg-type]
    text = as_text(blocks(plan(jobs, machines={(model, "base"): alone})))
    (row,) = (line for line in text.splitlines() if "/base  " in line)
    assert [row.split()[2], *by] == fits


@pytest.mark.parametrize(
    ("names", "memory", "expected"),
    [
        (["NVIDIA H100 80GB HBM3"] * 8, 79e9, Profile("h100", gpus=8)),
        (["NVIDIA A100-SXM4-40GB"], 42e9, Profile("a100_40g", gpus=1)),
        (["NVIDIA A100-SXM4-80GB"] * 2, 85e9, Profile("a100_80g", gpus=2)),
        (["NVIDIA GeForce RTX 4090"], 25e9, Profile("rtx4090", gpus=1)),
        (["NVIDIA RTX PRO 6000 Blackwell Workstation Edition"], 101e9, Profile("rtx_pro_6000", gpus=1)),
    ],
)
def test_the_profile_of_a_machine(names: list[str], memory: float, expected: Profile) -> None:
    assert profile_of(names, memory) == expected


@pytest.mark.parametrize("names", [[], ["NVIDIA H100", "NVIDIA H200"], ["Tesla V100"]])
def test_a_machine_without_a_profile_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match=r"GPU|is not among"):
        profile_of(names, 1e9)


def test_one_card_of_a_profile_is_named_and_all_are_listed() -> None:
    with pytest.raises(ValueError, match=r"no such profile. Give hardware=h100, or one of h100x8, .*rtx3090, auto"):
        machine_of(RunOptions.from_keys({"hardware": "h100x1"}))
    for name, card, cards in (("h100x7", "h100", 7), ("4xH100", "h100", 4), ("a100x8", "a100_80g", 8)):
        with pytest.raises(ValueError, match=f"Give hardware={card} hardware.processes={cards}, or one of h100x8"):
            machine_of(RunOptions.from_keys({"hardware": name}))
    with pytest.raises(ValueError, match=r"Did you mean 'a100x8_40g'\? Expected one of"):
        machine_of(RunOptions.from_keys({"hardware": "a100x8_80g"}))
