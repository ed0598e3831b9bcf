"""EGSW's weights: derived values, properties, and a slow version in loops over the equation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.provenance import Origin
from harness.spec import catalogue
from harness.step.batch import TokenBatch
from reproductions.egsw.doubts import doubts, fits
from reproductions.egsw.method import egsw
from tests.batches import VOCAB, one_group, token_batches

DEFAULTS: dict[str, Any] = {
    "alpha": 0.3,
    "temperature": 1.5,
    "level": "step",
    "entropy": "raw",
    "over": "batch",
    "rescale": "none",
}
GRID = [
    dict(zip(("level", "entropy", "over", "rescale"), values, strict=True))
    for values in itertools.product(
        ("step", "trajectory"), ("raw", "log_vocab", "min_max", "z_score"), ("batch", "group"), ("none", "mean_one")
    )
]


def slow_egsw(
    batch: TokenBatch,
    *,
    alpha: float,
    temperature: float,
    level: str,
    entropy: str,
    over: str,
    rescale: str,
    micro_batch: int | None = None,
) -> torch.Tensor:
    """Eq. 6, 8 and 9 with explicit sums, in Python floats."""
    assert batch.advantages is not None and batch.entropies is not None
    rows, tokens = batch.mask.shape
    groups = batch.groups.tolist()
    sharing = {"batch": [0] * rows, "group": groups, "micro_batch": [i // (micro_batch or rows) for i in range(rows)]}[
        over
    ]
    # cells that compete: (sequence, position), or (sequence, 0) for whole trajectories
    score_a: dict[tuple[int, int], float] = {}
    h: dict[tuple[int, int], float] = {}
    for i in range(rows):
        steps = [t for t in range(tokens) if batch.mask[i, t]]
        if level == "step":
            for t in steps:
                score_a[i, t], h[i, t] = float(batch.advantages[i, t]), float(batch.entropies[i, t])
        elif steps:
            score_a[i, 0] = sum(float(batch.advantages[i, t]) for t in steps) / len(steps)
            h[i, 0] = sum(float(batch.entropies[i, t]) for t in steps)
    values = list(h.values())
    if entropy == "log_vocab":
        h = {k: v / math.log(VOCAB) for k, v in h.items()}
    elif entropy in ("min_max", "z_score") and values:
        mean = sum(values) / len(values)
        low, high = min(values), max(values)
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
        if low == high:
            h = dict.fromkeys(h, 0.0)
        elif entropy == "min_max":
            h = {k: (v - low) / (high - low) for k, v in h.items()}
        else:
            h = {k: (v - mean) / deviation for k, v in h.items()}
    weights = torch.zeros(rows, tokens, dtype=torch.float64)
    for i in range(rows):
        for t in range(tokens):
            if not batch.mask[i, t]:
                continue
            column = t if level == "step" else 0
            peers = [j for j in range(rows) if (j, column) in h and sharing[j] == sharing[i]]
            raw = {j: math.exp((score_a[j, column] + alpha * h[j, column]) / temperature) for j in peers}
            weights[i, t] = raw[i] / sum(raw.values())
            if rescale == "mean_one":
                weights[i, t] *= len(peers)
    return weights


def test_two_sequences_by_hand() -> None:
    # A = [1, 0], H = [0, 2], alpha = 1/2, P = 1: both scores are 1 -> weights 1/2, 1/2.
    # At the second position only the first sequence still runs -> its weight is 1, for any score.
    batch = one_group(
        mask=torch.tensor([[True, True], [True, False]]),
        groups=torch.tensor([0, 1]),
        advantages=torch.tensor([[1.0, 1.0], [0.0, 9.0]]),
        entropies=torch.tensor([[0.0, 3.0], [2.0, 9.0]]),
    )
    got = egsw(batch, **{**DEFAULTS, "alpha": 0.5, "temperature": 1.0})
    assert torch.allclose(got, torch.tensor([[0.5, 1.0], [0.5, 0.0]]))
    # As trajectories: H = [3, 2], scores 1 + 1.5 and 0 + 1 -> exp(2.5), exp(1): weights sigmoid(1.5), sigmoid(-1.5)
    got = egsw(batch, **{**DEFAULTS, "alpha": 0.5, "temperature": 1.0, "level": "trajectory"})
    high = 1 / (1 + math.exp(-1.5))
    assert torch.allclose(got, torch.tensor([[high, high], [1 - high, 0.0]]))
    # In different groups each sequence is alone in its softmax: weight 1
    got = egsw(batch, **{**DEFAULTS, "over": "group"})
    assert torch.allclose(got, batch.mask.float())


@settings(max_examples=200)
@given(st.sampled_from(GRID), token_batches())
def test_equals_the_loops(options: dict[str, str], batch: TokenBatch) -> None:
    values = {**DEFAULTS, **options}
    assert torch.allclose(egsw(batch, **values), slow_egsw(batch, **values), atol=1e-10)


@given(token_batches(), st.integers(1, 5), st.sampled_from(["step", "trajectory"]))
def test_micro_batches_are_consecutive_sequences(batch: TokenBatch, size: int, level: str) -> None:
    values = {**DEFAULTS, "over": "micro_batch", "micro_batch": size, "level": level, "rescale": "mean_one"}
    assert torch.allclose(egsw(batch, **values), slow_egsw(batch, **values), atol=1e-10)


@given(token_batches())
def test_weights_sum_to_one_at_each_step(batch: TokenBatch) -> None:
    weights = egsw(batch, **DEFAULTS)
    running = batch.mask.any(dim=0)
    assert torch.allclose(weights.sum(0)[running], torch.ones(int(running.sum()), dtype=torch.float64))
    assert (weights >= 0).all() and (weights[~batch.mask] == 0).all()
    ones = egsw(batch, **{**DEFAULTS, "rescale": "mean_one"})
    assert torch.allclose(ones.sum(0), batch.mask.sum(0).to(torch.float64))  # mean 1 over those still running


@given(token_batches())
def test_alpha_zero_is_the_softmax_of_the_advantages(batch: TokenBatch) -> None:
    readings = [egsw(batch, **{**DEFAULTS, "alpha": 0.0, "entropy": r}) for r in ("raw", "log_vocab", "min_max")]
    assert torch.equal(readings[0], readings[1]) and torch.equal(readings[1], readings[2])


def test_huge_scores_do_not_overflow() -> None:
    batch = one_group(advantages=torch.tensor([[1e4], [-1e4]]), entropies=torch.zeros(2, 1))
    assert torch.equal(egsw(batch, **DEFAULTS), torch.tensor([[1.0], [0.0]]))


@pytest.mark.parametrize("level", ["step", "trajectory"])
@pytest.mark.parametrize("entropy", ["raw", "min_max", "z_score"])
def test_a_token_without_an_entropy_changes_no_other_weight(level: str, entropy: str) -> None:
    # three responses of two tokens. H of the first token of response 0 is NaN: it is as if that token (or, for whole
    # trajectories, that response) were not in the batch
    entropies = torch.tensor([[math.nan, 1.0], [0.5, 2.0], [1.5, 0.1]])
    mask = torch.ones(3, 2, dtype=torch.bool)
    without = mask.clone()
    without[0, 0] = False
    if level == "trajectory":
        without[0] = False
    values: dict[str, Any] = {**DEFAULTS, "level": level, "entropy": entropy}
    weights = []
    for held in (mask, without):
        batch = one_group(
            mask=held, advantages=torch.tensor([[1.0, 1.0], [-1.0, -1.0], [0.5, 0.5]]), entropies=entropies
        )
        weights.append(egsw(batch, **values))
    assert weights[0].isfinite().all()
    assert torch.equal(weights[0], weights[1]) and weights[0][0, 0] == 0 and (weights[0][1:] > 0).all()


def test_the_size_of_a_micro_batch_comes_with_it() -> None:
    for over, size in (("micro_batch", None), ("batch", 16), ("group", 16)):
        with pytest.raises(ValueError, match="micro_batch: expected a number of sequences with over='micro_batch'"):
            egsw(None, **{**DEFAULTS, "over": over, "micro_batch": size})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("printed", "benchmark", "runs", "right"),
    [
        ("25.0", "aime24", 2, [15]),  # 15/60
        ("25.0", "aime24", 3, []),  # 22/90 = 24.44, 23/90 = 25.56
        ("11.65", "aime25", 2, [7]),  # 7/60 = 11.667: the mean of 10.0 and 13.3 as printed
        ("11.65", "aime25", 3, []),  # 10/90 = 11.11, 11/90 = 12.22
        ("34.09", "gpqa_diamond", 2, [135]),  # 135/396 = 34.0909
        ("34.09", "gpqa_diamond", 3, []),  # 202/594 = 34.007, 203/594 = 34.175
        ("17.78", "aime25", 3, [16]),  # 16/90
        ("0.0", "aime25", 1, [0]),
    ],
)
def test_counts_by_hand(printed: str, benchmark: str, runs: int, right: list[int]) -> None:
    assert fits(printed, benchmark, runs) == right


def test_a_reading_is_not_called_the_papers_value() -> None:
    arms = {arm.key: arm.train.settings() for arm in catalogue.load("egsw").arms if arm.train is not None}
    # N_k of Eq. 5 is a number of samples by section 3.1. Section 5 names no P for its first search
    assert arms["grpo"]["aggregation"].origin is Origin.ASSUMED
    for alpha in ("0.15", "0.30", "0.50"):
        assert arms[f"egsw_raw_{alpha}"]["egsw.temperature"].origin is Origin.ASSUMED
    assert arms["egsw_raw_0.30_p2"]["egsw.temperature"].origin is Origin.PAPER


def test_the_doubts_are_about_the_egsw_rows() -> None:
    first, second = doubts()
    assert first.startswith("Table 1, GRPO + EGSW") and "All cells fit 2" in first and "15/60" in first
    assert "AIME25 11.65 is 7/60 (11.67) only if each run was rounded to one decimal before averaging" in first
    # Table 2's 14.3: 12/90 = 13.3, 13/90 = 14.4, 4/30, 5/30, 8/60 = 13.3, 9/60 = 15
    assert second.startswith("Table 2, GRPO + EGSW: AIME24 14.3") and "No number of runs" in second
