"""One card: each paper's arms at the small scale fit 24 GB under TRL."""

from __future__ import annotations

import pytest

from harness.backends import refusals
from harness.command.resolve import resolve
from harness.plan.profiles import PROFILES, choose, judge
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
