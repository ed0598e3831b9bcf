"""Whether a published value comes back: by hand, and its error rates by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evals.stats.prediction import Repeat, come_back, repeat, sampling_noise


def test_a_trained_arm_by_hand() -> None:
    # seeds at 0.5, 0.6, 0.7: variance 0.01. Ours 0.01 / 3, one run of the paper's 0.01. Two degrees of freedom, where
    # t = 0.95 / sqrt(2 * 0.975 * 0.025)
    table = [[0.4, 0.6], [0.5, 0.7], [0.6, 0.8]]
    prediction = repeat(table, trained=True, samples=4, paper_samples=4, paper_seeds=1)
    assert (prediction.mean, prediction.own_variance, prediction.paper_variance) == pytest.approx((0.6, 0.01 / 3, 0.01))
    assert prediction.df == 2
    assert prediction.half() == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025) * math.sqrt(0.04 / 3))
    # half as many samples of theirs: at most twice the variance. Three runs of theirs: a third
    fewer = repeat(table, trained=True, samples=4, paper_samples=2, paper_seeds=3)
    assert fewer.paper_variance == pytest.approx(2 * 0.01 / 3)


def test_an_untrained_model_has_the_noise_of_samples_alone() -> None:
    # shares 1/2 and 1 of two samples: variances (1/4) / (2 - 1) and 0. The mean's is their mean over two problems
    noise = sampling_noise(np.array([[1, 2]]), np.array([[2, 2]]))
    assert noise == pytest.approx(0.25 / 2 / 2)
    prediction = repeat([[0.5, 1.0]], trained=False, samples=2, paper_samples=1, paper_seeds=1, noise=noise)
    assert (prediction.own_variance, prediction.paper_variance, prediction.df) == (
        noise,
        pytest.approx(2 * 0.0625),
        math.inf,
    )
    assert sampling_noise(np.array([[1]]), np.array([[1]])) is None
    # one sample: at most m (1 - m) / P of one more correct and one more incorrect answer: m = (0 + 1) / 12
    capped = repeat([[0.0] * 10], trained=False, samples=1, paper_samples=1, paper_seeds=1)
    assert capped.own_variance == pytest.approx((1 / 12) * (11 / 12) / 10)


def test_a_published_value_comes_back_or_does_not_or_cannot_be_told() -> None:
    prediction = Repeat(0.50, 0.0001, 0.0001, math.inf)  # half-widths 2.77 points at 95 %, 2.33 at 90 %
    assert come_back(0.51, prediction, 0.04).answer == "comes back"  # 1 + 2.33 < 4
    assert come_back(0.53, prediction, 0.04).answer == "does not come back"  # 3 > 2.77, and 3 + 2.33 > 4
    assert come_back(0.52, prediction, 0.04).answer == "cannot tell"  # 2 < 2.77, and 2 + 2.33 > 4
    unknown = come_back(0.51, prediction, None)
    assert (unknown.answer, bool(unknown.why)) == ("cannot tell", True)
    two = repeat([[0.5, 0.6]] * 2, trained=True, samples=4, paper_samples=4, paper_seeds=1)
    assert (come_back(0.5, two, 0.1).answer, come_back(0.5, two, 0.1).low) == ("cannot tell", None)


@pytest.mark.parametrize("seeds", [3, 10])
def test_a_wrong_answer_is_rare(seeds: int) -> None:
    # 100 problems, 8 samples, seeds that differ by 1.5 points, margin 5 points. 1,000 pairs: deviation 0.007
    rng, rates, wrong = np.random.default_rng(seeds), np.linspace(0.2, 0.8, 100), [0, 0]

    def shares(count: int, gap: float) -> np.ndarray:
        return rng.binomial(8, rates + gap + 0.015 * rng.standard_normal((count, 1)), (count, 100)) / 8

    for _ in range(1_000):
        prediction = repeat(shares(seeds, 0.0), trained=True, samples=8, paper_samples=8, paper_seeds=1)
        wrong[0] += come_back(float(shares(1, 0.0).mean()), prediction, 0.05).answer == "does not come back"
        wrong[1] += come_back(float(shares(1, 0.05).mean()), prediction, 0.05).answer == "comes back"
    assert max(wrong) / 1_000 <= 0.05 + 2.5 * 0.007
