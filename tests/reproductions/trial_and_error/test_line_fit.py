"""Lines fitted with serial correlation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evals.stats.intervals import t_quantile
from reproductions.trial_and_error.figures.line_fit import fit_line, serial_correlation, worth


def test_by_hand() -> None:
    # x = 0..4, y = 0 2 1 3 4: means 2 and 2; Sxx = 10, Sxy = (-2)(-2) + 0 + 0 + 1 + 4 = 9; slope 0.9, intercept 0.2.
    # Residuals -0.2 0.9 -1 0.1 0.2: squares 0.04 + 0.81 + 1 + 0.01 + 0.04 = 1.9; they alternate, so r = 0.
    line = fit_line([0, 1, 2, 3, 4], [0, 2, 1, 3, 4])
    assert (line.slope, line.intercept, line.at(10)) == pytest.approx((0.9, 0.2, 9.2))
    assert (line.correlation, line.mean_inflation, line.slope_inflation, line.degrees) == (0, 1, 1, 3)
    s = math.sqrt(1.9 / 3)
    half = t_quantile(0.975, 3) * s / math.sqrt(10)
    assert line.slope_interval() == pytest.approx((0.9 - half, 0.9 + half))
    half = t_quantile(0.975, 3) * s * math.sqrt(1 / 5 + 4 / 10)
    assert line.interval_at(0.0) == pytest.approx((0.2 - half, 0.2 + half))


def test_an_exact_line_has_an_interval_of_no_width() -> None:
    line = fit_line([1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 9.0, 17.0])
    assert (line.slope, line.intercept) == pytest.approx((2, 1))
    assert line.slope_interval() == pytest.approx((2, 2))


def test_correlated_errors_widen_the_interval() -> None:
    x = np.linspace(0, 1, 64)
    blocks = np.repeat(np.random.default_rng(0).normal(size=16), 4)  # four equal errors in a row
    apart = np.random.default_rng(0).permutation(blocks)  # the same errors, shuffled
    together, shuffled = fit_line(x, x + blocks), fit_line(x, x + apart)
    assert together.correlation > 0.5 and shuffled.correlation < 0.3
    assert together.degrees < shuffled.degrees
    widths = [np.ptp(line.slope_interval()) for line in (together, shuffled)]
    assert widths[0] > 1.5 * widths[1]


def test_serial_correlation_by_hand() -> None:
    # 1 1 1 1 -1 -1 -1 -1: seven products of neighbours, 3 - 1 + 3 = 5, over 8 squares; (5 + 2) / (8 - 4) is too much
    assert serial_correlation(np.array([1.0] * 4 + [-1.0] * 4), fitted=2) == 0.99
    # 1 1 -1 -1 1 1 -1 -1 ...: every second product is 1 and every other -1; n = 100: 50 - 49 = 1: (1 + 2)/96
    series = np.tile([1.0, 1.0, -1.0, -1.0], 25)
    assert serial_correlation(series, fitted=2) == pytest.approx(3 / 96)
    assert serial_correlation(np.tile([1.0, -1.0], 10), fitted=2) == 0
    assert worth(90, 0.5) == pytest.approx(30)


def test_coverage_with_correlated_errors() -> None:
    """200 curves of 100 points, errors of lag-1 correlation 0.6: the textbook interval would hold about 70 %."""
    generator = np.random.default_rng(1)
    x, covered = np.linspace(0, 1, 100), 0
    for _ in range(200):
        errors = generator.normal(size=150)
        for t in range(1, 150):
            errors[t] += 0.6 * errors[t - 1]
        low, high = fit_line(x, 2 * x + errors[50:]).slope_interval()
        covered += low <= 2 <= high
    assert 176 <= covered <= 199


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="at least 4 points"):
        fit_line([1, 2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        fit_line([1, 2, 3, 4], [1, 2, 3, float("nan")])
    with pytest.raises(ValueError, match="x must vary, got 2"):
        fit_line([2, 2, 2, 2], [1, 2, 3, 4])
