"""Every method, GRPO's advantages included, against the slow loops that its test compares it with.

Skips advantages that are one number per response, except GRPO's: their loops have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.bench.timing import Row, medians
from harness.step.batch import TokenBatch
from tests.harness.cases import CASES, with_grpo

ROWS, GROUP, TOKENS = 32, 8, 128


def run(rounds: int) -> Iterator[Row]:
    batch = _batch()
    for name, case in CASES.items():
        method = case.method
        if name != "grpo" and not (method.shaping or method.weights or method.gates or method.penalties):
            continue

        def ours(method: object = case.method) -> None:
            method.apply(batch)  # type: ignore[attr-defined]

        def theirs(slow: object = case.slow) -> None:
            slow(with_grpo(batch))  # type: ignore[operator]

        seconds = medians({"ours": ours, "theirs": theirs}, rounds)
        yield Row(
            f"method {name}", "tokens/s",
            ROWS * TOKENS / seconds["ours"], ROWS * TOKENS / seconds["theirs"], "its loops",
            rounds, f"{ROWS} x {TOKENS} tokens; equal to 1e-5 in tests/harness/backends/test_trl_trainer.py",
        )  # fmt: skip


def _batch() -> TokenBatch:
    generator = torch.Generator().manual_seed(0)

    def field() -> torch.Tensor:
        return torch.rand(ROWS, TOKENS, generator=generator, dtype=torch.float64)

    groups = torch.arange(ROWS) // GROUP
    return TokenBatch(
        rewards=torch.randint(0, 2, (ROWS,), generator=generator).double(),
        groups=groups,
        mask=torch.arange(TOKENS) < torch.randint(TOKENS // 2, TOKENS + 1, (ROWS, 1), generator=generator),
        vocab_size=50,
        max_tokens=TOKENS,
        micro_batches=groups * 0,
        entropies=3 * field(),
        logp=-3 * field(),
        old_logp=-3 * field(),
        ref_logp=-3 * field(),
    )
