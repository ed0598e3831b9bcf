"""Bias and variance of each correction for a sampler that is not the trainer, computed exactly on enumerable policies:
`python -m benchmarks.corrections [--write]`.

A policy here is a table: 3 tokens, texts of 5 tokens, a distribution for each prefix. The sampler's logits are the
trainer's plus noise. Every text is enumerated, so expectation and variance of a one-text gradient estimate have no
sampling error. The gates are the declared equations, on a batch that holds all texts.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from baselines.rollout_correction import rollout_correction, rollout_rejection
from benchmarks.pages import ROOT, made_by, write
from evals.notebook import markdown_table
from harness.step.batch import TokenBatch

TOKENS, LENGTH = 3, 5
NOISE = (0.05, 0.1, 0.2, 0.4, 0.8)
POLICIES = 20
PAGE, FIGURE = ROOT / "results" / "corrections.md", ROOT / "results" / "corrections.svg"

Gate = Callable[[TokenBatch], Tensor]
CORRECTIONS: dict[str, Gate] = {
    "none": lambda b: b.mask.double(),
    "token weights": lambda b: rollout_correction(b, level="token", outside="truncate", low=0.0, high=1e9),
    "token weights, at most 2": lambda b: rollout_correction(b, level="token", outside="truncate", low=0.0, high=2.0),
    "IcePop, tokens in [0.5, 5]": lambda b: rollout_correction(b, level="token", outside="mask", low=0.5, high=5.0),
    "sequence weights": lambda b: rollout_correction(b, level="sequence", outside="truncate", low=0.0, high=1e9),
    "sequence weights, at most 2": lambda b: rollout_correction(
        b, level="sequence", outside="truncate", low=0.0, high=2.0
    ),
    "sequence weights, masked above 3": lambda b: rollout_correction(
        b, level="sequence", outside="mask", low=0.0, high=3.0
    ),
    "sequences with geometric mean in [0.99, 1.01]": lambda b: rollout_rejection(
        b, statistic="geometric_mean", low=0.99, high=1.01
    ),
    "sequences with mean k3 at most 0.01": lambda b: rollout_rejection(b, statistic="k3", low=0.0, high=0.01),
    "bypass: the ratio to the sampler, clipped at 0.2": lambda b: clipped_ratio(b, 0.2),
}


def clipped_ratio(batch: TokenBatch, clip: float) -> Tensor:
    """The factor of A d log pi in the gradient of the clipped surrogate whose old policy is the sampler."""
    assert batch.advantages is not None
    ratio = (batch.need("old_logp") - batch.need("rollout_logp")).exp()
    clipped = (batch.advantages > 0) & (ratio > 1 + clip) | (batch.advantages < 0) & (ratio < 1 - clip)
    return ratio * ~clipped


def texts_of(tokens: int, length: int) -> tuple[Tensor, Tensor]:
    """([N, T] token numbers of all texts, [N, T] the row of each prefix in a policy's table)."""
    prefixes: dict[tuple[int, ...], int] = {}
    texts = list(itertools.product(range(tokens), repeat=length))
    rows = [[prefixes.setdefault(text[:t], len(prefixes)) for t in range(length)] for text in texts]
    return torch.tensor(texts), torch.tensor(rows)


def gradients(theta: Tensor, texts: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """(log-probabilities [N, T], their gradients with respect to theta [N, T, parameters]): e_token - p(prefix)."""
    table = theta.log_softmax(-1)
    logp = table[rows, texts]
    ahead = torch.zeros(*texts.shape, theta.numel(), dtype=theta.dtype)
    for token in range(theta.shape[1]):
        value = (texts == token).double() - table[rows, token].exp()
        ahead.scatter_(2, (rows * theta.shape[1] + token).unsqueeze(2), value.unsqueeze(2))
    return logp, ahead


def bias_and_variance(gate: Gate, noise: float, seed: int) -> tuple[float, float]:
    """(|E g - exact|, sqrt E |g - E g|^2) of the estimate from one text of the sampler, in units of |exact|.

    exact: the gradient of the expected reward under the trainer's policy, with the rewards centred.
    """
    texts, rows = texts_of(TOKENS, LENGTH)
    generator = torch.Generator().manual_seed(seed)
    shape = (int(rows.max()) + 1, TOKENS)
    theta = torch.randn(shape, generator=generator, dtype=torch.float64)
    sampler = theta + noise * torch.randn(shape, generator=generator, dtype=torch.float64)
    correct = (torch.rand(len(texts), generator=generator) < 0.3).double()
    (logp, slope), (rollout_logp, _) = gradients(theta, texts, rows), gradients(sampler, texts, rows)
    p, q = logp.sum(1).exp(), rollout_logp.sum(1).exp()
    advantages = correct - (p * correct).sum()
    exact = (p * advantages) @ slope.sum(1)
    batch = TokenBatch(
        rewards=correct,
        groups=torch.zeros(len(texts), dtype=torch.int64),
        mask=torch.ones(texts.shape, dtype=torch.bool),
        vocab_size=TOKENS,
        max_tokens=LENGTH,
        step=0,
        seed=0,
        advantages=advantages.unsqueeze(1).expand(texts.shape),
        old_logp=logp,
        rollout_logp=rollout_logp,
    )
    each = advantages.unsqueeze(1) * (gate(batch).unsqueeze(2) * slope).sum(1)  # [N, parameters]
    mean = q @ each
    variance = (q * ((each - mean) ** 2).sum(1)).sum()
    return float((mean - exact).norm() / exact.norm()), float(variance.sqrt() / exact.norm())


def measured() -> dict[str, list[tuple[float, float]]]:
    """Correction -> (bias, deviation) at each noise, means over the policies."""
    errors = {}
    for name, gate in CORRECTIONS.items():
        rows = [[bias_and_variance(gate, noise, seed) for seed in range(POLICIES)] for noise in NOISE]
        errors[name] = [(sum(b for b, _ in row) / POLICIES, sum(v for _, v in row) / POLICIES) for row in rows]
    return errors


def draw(errors: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Deviation against bias, a line a correction, a point a noise."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "rlvr"  # the same file every time
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, points in errors.items():
        axis.plot([max(b, 1e-3) for b, _ in points], [v for _, v in points], marker="o", markersize=3, label=name)
    axis.set(xscale="log", yscale="log", xlabel="bias / |exact gradient| (0 is drawn at 0.001)")
    axis.set_ylabel("standard deviation / |exact gradient|")
    axis.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def page(errors: dict[str, list[tuple[float, float]]]) -> str:
    header = ["correction", *(f"noise {noise:g}" for noise in NOISE)]
    table = markdown_table(header, [[name, *(f"{b:.3f} / {v:.2f}" for b, v in row)] for name, row in errors.items()])
    return "\n\n".join(
        [
            "# Corrections of the mismatch between trainer and sampler: exact bias and variance",
            made_by("python -m benchmarks.corrections") if "--write" in sys.argv else "",
            f"The policies are {POLICIES} random tables for texts of {LENGTH} tokens, with {TOKENS} different "
            "tokens. So all texts can be listed, and the numbers are exact. The sampler has the trainer's logits "
            "plus normal noise with the stated deviation. Each cell is *bias / standard deviation* of the gradient "
            "estimate from one text, divided by the norm of the exact gradient.\n\n**This is no language model. It "
            "shows how the corrections differ, not how large a mismatch is.** These texts are short, so the "
            "geometric mean varies "
            "more than over thousands of tokens. Its mask therefore drops more texts here.",
            table,
            "![Deviation against bias](corrections.svg)",
        ]
    )


def main() -> None:
    errors = measured()
    text = page(errors)
    print(text)
    if "--write" in sys.argv[1:]:
        write(PAGE, text)
        draw(errors, FIGURE)


if __name__ == "__main__":
    main()
