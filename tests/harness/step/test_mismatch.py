"""Mismatch of sampler and trainer: by hand, and planted mismatches."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from harness.step.mismatch import FLAGS, MISMATCH_METRICS, mismatch_flag, mismatch_metrics, mismatch_summary


def test_by_hand() -> None:
    # r = 2 and 1/2 on two tokens, a masked one, and one that the sampler gave no probability
    gap = torch.tensor([[math.log(2), -math.log(2)], [99.0, math.nan]], dtype=torch.float64)
    mask = torch.tensor([[True, True], [False, True]])
    got = mismatch_metrics(gap, torch.zeros(2, 2, dtype=torch.float64), mask)
    assert tuple(got) == MISMATCH_METRICS
    assert got == {
        "train/mismatch_kl": pytest.approx((2 + 0.5) / 2 - 1),  # the logs cancel
        "train/mismatch_chi2": pytest.approx((4 + 0.25) / 2 - 1),
        "train/mismatch_ess": pytest.approx(1.25**2 / 2.125),
        "train/mismatch_max_logp_gap": pytest.approx(math.log(2)),
        "train/mismatch_share_beyond": 0.0,  # 2 is not beyond 2
        "train/mismatch_mean_ratio": pytest.approx(1.25),
    }
    assert mismatch_metrics(gap, gap.new_full((2, 2), math.nan), mask) == {}


def sampled(temperature: float, top_p: float, stale: float, dtype: torch.dtype) -> dict[str, float]:
    """20,000 tokens of a sampler that differs from the trainer in one way."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20_000, 50, generator=generator, dtype=torch.float64) * 2
    trainer = logits.log_softmax(-1)
    sampler_logits = (
        (logits + stale * torch.randn(logits.shape, generator=generator, dtype=torch.float64)).to(dtype).double()
    )
    q = (sampler_logits / temperature).to(dtype).double().softmax(-1)
    if top_p < 1:
        ordered, index = q.sort(descending=True)
        dropped = ordered.cumsum(-1) - ordered >= top_p
        q = q.masked_fill(torch.zeros_like(dropped).scatter(-1, index, dropped), 0.0)
        q = q / q.sum(-1, keepdim=True)
    tokens = torch.multinomial(q, 1, generator=generator)
    mask = torch.ones(1, 20_000, dtype=torch.bool)
    return mismatch_metrics(trainer.gather(-1, tokens).T, q.gather(-1, tokens).log().T, mask)


def test_each_planted_mismatch_is_flagged_as_what_it_is() -> None:
    assert mismatch_flag({}) is None
    assert mismatch_flag(sampled(1.0, 1.0, 0.0, torch.float64)) is None
    assert mismatch_flag(sampled(1.0, 1.0, 0.0, torch.bfloat16)) == "rounding"
    for top_p in (0.7, 0.9, 0.95):  # the sampler keeps that mass, and gives each token so much more probability
        assert mismatch_flag(sampled(1.0, top_p, 0.0, torch.float64)) == "omitted"
        assert mismatch_flag(sampled(1.0, top_p, 0.0, torch.bfloat16)) == "omitted"
    for stale in (0.3, 0.5, 1.0):
        assert mismatch_flag(sampled(1.0, 1.0, stale, torch.float64)) == "other_policy"
    assert mismatch_flag(sampled(0.6, 1.0, 0.0, torch.float64)) in ("other_policy", "omitted")


def test_a_flagged_step_is_warned_of_once_and_is_in_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.backends.common import metrics_reporter
    from harness.record.run import Run
    from harness.record.write import Recorder

    report = metrics_reporter(Recorder(tmp_path))
    stale = sampled(1.0, 1.0, 0.5, torch.float64)
    for step, metrics in enumerate((sampled(1.0, 1.0, 0.0, torch.float64), stale, stale), 1):
        report(step, 3, metrics)
    message = capsys.readouterr().err
    assert message.count("warning") == 1 and f"warning: step 2: {FLAGS['other_policy']}" in message
    kept = mismatch_summary(Run(tmp_path).curve)
    assert kept["other_policy"]["steps"] == 2
    assert list(kept) == ["other_policy"] and kept["other_policy"]["first_step"] == 2
