"""What fits which profile: the small scale one card, models of up to 8B eight GPUs; and the profile of a machine."""

from __future__ import annotations

import pytest

from harness.backends import refusals
from harness.command.resolve import BACKENDS, resolve
from harness.plan.profiles import PROFILES, Profile, choose, judge, profile_of
from harness.spec import catalogue
from harness.spec.architecture import architecture


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


@pytest.mark.parametrize("trainer", BACKENDS)
def test_arms_of_up_to_8b_fit_eight_gpus_and_one_card_has_a_remedy(trainer: str) -> None:
    jobs = [job for paper in catalogue.papers() for job in resolve(paper, scale="paper", backend=trainer, seeds=[0])]
    shapes = {job.base_model.value: architecture(job.base_model.value) for job in jobs}
    small = {name for name, shape in shapes.items() if shape is not None and shape.parameters < 8.3e9}
    eight = [name for name, of in PROFILES.items() if (of.gpus, of.nodes) == (8, 1)]
    assert len(small) > 5 and len(eight) >= 3
    for profile in (*eight, "rtx3090"):
        base = PROFILES[profile].base(trainer)
        for job in jobs:
            if job.experiment is None or job.base_model.value not in small:
                continue
            chosen = choose(job.experiment, trainer, base, frozenset())
            if refusals([job], chosen):
                continue
            verdict = judge(job.experiment, trainer, chosen)
            assert verdict.fits or (profile not in eight and verdict.remedy), (profile, job.name)


@pytest.mark.parametrize(
    ("paper", "model", "arm", "remedy"),
    [("anchors", "qwen2.5-1.5b", "grpo", "l40s"), ("erpo", "qwen2.5-7b", "erpo", "a100_40g")],
)
def test_a_larger_card_comes_before_eight(paper: str, model: str, arm: str, remedy: str) -> None:
    (job,) = resolve(paper, scale="paper", models=[model], arms=[arm], seeds=[0])
    assert job.experiment is not None
    small = choose(job.experiment, "trl", PROFILES["rtx4090"].base("trl"), frozenset())
    assert judge(job.experiment, "trl", small).remedy == f"hardware={remedy}"


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
