"""Whether a published value comes back: by hand, and its error rates by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.coverage.verdicts import comebacks
from evals.stats.prediction import Repeat, come_back, repeat, sampling_noise


def test_a_trained_arm_by_hand() -> None:
    # seeds at 0.5, 0.6, 0.7: variance 0.01; ours 0.01 / 3, one run of the paper's 0.01; half of two degrees of freedom,
    # so t = tan(0.475 pi)
    table = [[0.4, 0.6], [0.5, 0.7], [0.6, 0.8]]
    of = repeat(table, trained=True, samples=4, paper_samples=4, paper_seeds=1)
    assert (of.mean, of.ours, of.theirs, of.df) == (pytest.approx(0.6), pytest.approx(0.01 / 3), pytest.approx(0.01), 1)
    own = math.tan(0.475 * math.pi) * math.sqrt(0.04 / 3)
    assert replace(of, moderated=None).half() == pytest.approx(own)
    # the declared prior: (2 (10 points)^2 + 2 * 0.01) / 4 is 0.01 again, on four degrees of freedom: t = 2.776445
    assert of.half() == pytest.approx(2.776445 * math.sqrt(0.04 / 3), rel=1e-6)
    assert repeat(
        table, trained=True, samples=4, paper_samples=4, paper_seeds=1, bounded=False
    ).half() == pytest.approx(own)
    # half as many samples of theirs: at most twice the variance; three runs of theirs: a third
    fewer = repeat(table, trained=True, samples=4, paper_samples=2, paper_seeds=3)
    assert fewer.theirs == pytest.approx(2 * 0.01 / 3)


def test_an_untrained_model_has_the_noise_of_samples_alone() -> None:
    # shares 1/2 and 1 of two samples: variances (1/4) / (2 - 1) and 0; the mean's is their mean over two problems
    noise = sampling_noise(np.array([[1, 2]]), np.array([[2, 2]]))
    assert noise == pytest.approx(0.25 / 2 / 2)
    of = repeat([[0.5, 1.0]], trained=False, samples=2, paper_samples=1, paper_seeds=1, noise=noise)
    assert (of.ours, of.theirs, of.df) == (noise, pytest.approx(2 * 0.0625), math.inf)
    assert sampling_noise(np.array([[1]]), np.array([[1]])) is None
    # one sample: at most m (1 - m) / P of one more correct and one more incorrect answer: m = (0 + 1) / 12
    capped = repeat([[0.0] * 10], trained=False, samples=1, paper_samples=1, paper_seeds=1)
    assert capped.ours == pytest.approx((1 / 12) * (11 / 12) / 10)


def test_a_published_value_comes_back_or_does_not_or_cannot_be_told() -> None:
    of = Repeat(0.50, 0.0001, 0.0001, math.inf)  # half-widths 2.77 points at 95 %, 2.33 at 90 %
    assert come_back(0.51, of, 0.04).answer == "comes back"  # 1 + 2.33 < 4
    assert come_back(0.53, of, 0.04).answer == "does not come back"  # 3 > 2.77, and 3 + 2.33 > 4
    assert come_back(0.52, of, 0.04).answer == "cannot tell"  # 2 < 2.77, and 2 + 2.33 > 4
    assert come_back(0.51, of, None).why == "the paper claims no gain that would say how close is close"


def test_cannot_tell_says_how_many_seeds_would_decide() -> None:
    one = repeat([[0.5, 0.6]], trained=True, samples=4, paper_samples=4, paper_seeds=1)
    assert come_back(0.5, one, 0.1).why == "one training seed of ours: two at least would tell"
    # the paper's own noise, 1.645 * 2 points, is larger than the margin: no number of our runs helps
    noisy = Repeat(0.5, 0.0004, 0.0004, 1.0)
    assert come_back(0.5, noisy, 0.03).why.startswith("no number of our runs would: the paper's own noise is +-3.3")
    # three seeds of ours show the variance 0.0012 of a run; s of them leave t((s - 1) / 2) sqrt(0.0012 / s + 0.0004)
    needed = come_back(0.5, noisy, 0.045).why
    seeds = int(needed.split()[0])
    from scipy.stats import t

    def reach(s: int) -> float:
        return float(t.ppf(0.95, (s - 1) / 2)) * math.sqrt(0.0004 * 3 / s + 0.0004)

    assert reach(seeds) < 0.045 <= reach(seeds - 1)
    # with the declared prior, seeds of variance 0.01 and one run of theirs need so many that both are within 25 points
    few = repeat([[0.5], [0.6], [0.7]], trained=True, samples=4, paper_samples=4, paper_seeds=1)
    needed = come_back(0.6, few, 0.2).why
    seeds = int(needed.split()[0])

    def half(s: int) -> float:  # (0.02 + (s - 1) 0.01) / (s + 1) = 0.01, on s + 1 degrees; or the seeds' own
        return min(float(t.ppf(0.95, s + 1)), float(t.ppf(0.95, (s - 1) / 2))) * math.sqrt(0.01 / s + 0.01)

    assert half(seeds) < 0.2 <= half(seeds - 1)


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_both_answers_err_in_at_most_5_percent(seeds: int) -> None:
    # 1,000 papers: one standard deviation of a share near 0.05 is 0.007
    same = comebacks(seeds, 1, gap=0.0, margin=0.05, runs=1_000)
    assert same["does not come back"] <= 0.05 + 2.5 * 0.007
    apart = comebacks(seeds, 1, gap=0.05, margin=0.05, runs=1_000)
    assert apart["comes back"] <= 0.05 + 2.5 * 0.007
