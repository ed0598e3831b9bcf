"""One card: each paper's arms at the small scale fit 24 GB under TRL."""

from __future__ import annotations

import pytest

from harness.backends import refusals
from harness.command.resolve import resolve
from harness.plan.profiles import PROFILES, Profile, choose, judge, profile_of
from harness.spec import catalogue


@pytest.mark.parametrize("card", ["rtx4090", "h100"])
@pytest.mark.parametrize("paper", catalogue.papers())
def test_the_small_scale_fits_one_card(paper: str, card: str) -> None:
    base = PROFILES[card].base("trl")
    jobs = resolve(paper, scale="small", backend="trl", seeds=[0])
    refused = refusals(jobs, base)
    trained = [job for job in jobs if job.experiment is not None and (job.model, job.arm) not in refused]
    assert trained
    for job in trained:
        assert job.experiment is not None
        verdict = judge(job.experiment, "trl", choose(job.experiment, "trl", base, frozenset()))
        assert verdict.fits and verdict.need is not None, job.name


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
