"""Every placebo of the study is one: shuffling changes what its equation gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.command.resolve import resolve
from harness.spec.declarations import Experiment
from harness.step.batch import TokenBatch
from studies.tiny.design import PLACEBOS, STUDY, StudyArm

ROWS, TOKENS = 16, 40


def batch() -> TokenBatch:
    """Two groups of 8 responses of 40 tokens, half of them correct."""
    generator = torch.Generator().manual_seed(0)

    def field() -> torch.Tensor:
        return torch.rand(ROWS, TOKENS, generator=generator, dtype=torch.float64)

    logp = -field()
    return TokenBatch(
        rewards=torch.tensor([1.0, 0.0] * 8, dtype=torch.float64),
        groups=torch.arange(ROWS) // 8,
        mask=torch.ones(ROWS, TOKENS, dtype=torch.bool),
        vocab_size=200,
        max_tokens=64,
        entropies=field(),
        logp=logp,
        old_logp=logp,
        ref_logp=-field(),
    )


def outputs(arm: StudyArm, name: str) -> list[torch.Tensor]:
    # of so few tokens Clip-Cov would take none with its own values
    many = {"clip_cov.share": 0.3, "clip_cov.low": 0.1, "clip_cov.high": 9.0} if arm.method == "clip_cov" else {}
    (job, *_) = resolve(arm.paper, arms=[name], scale="tiny", seeds=[0], overrides=many)
    assert isinstance(job.experiment, Experiment)
    given: Any = job.experiment.method.apply(batch())
    return [value for value in vars(given).values() if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize("arm", [arm for arm in STUDY.arms if arm.control in PLACEBOS], ids=lambda arm: arm.name)
def test_a_placebo_differs_from_its_method(arm: StudyArm) -> None:
    pairs = zip(outputs(arm, arm.method), outputs(arm, arm.arm), strict=True)
    assert any(not torch.allclose(a.double(), b.double(), rtol=0, atol=1e-9) for a, b in pairs)


def test_the_order_inside_a_response_changes_nothing_for_a_method_that_reads_its_mean() -> None:
    arm = next(arm for arm in STUDY.arms if arm.arm == "grpo_ppl")
    pairs = zip(outputs(arm, "grpo_ppl"), outputs(arm, "grpo_ppl+shuffled_response"), strict=True)
    assert all(torch.allclose(a.double(), b.double(), rtol=0, atol=1e-9) for a, b in pairs)
