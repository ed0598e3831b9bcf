"""Call an equation on arrays: what does a method make of these advantages and entropies?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

SIGNALS = ("advantages", "entropies", "logp", "old_logp", "ref_logp", "values")


def apply(
    equation: Callable[..., Any],
    *,
    rewards: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    vocab_size: int = 50_000,
    max_tokens: int | None = None,
    signals: dict[str, ArrayLike] | None = None,
    **values: Any,
) -> NDArray[np.float64]:
    """The result of an equation on B responses of T tokens.

        rlvr.apply(grpo, rewards=[1, 0, 0, 0], std="sample", epsilon=0.0)
        rlvr.apply(entropy_advantage, signals={"advantages": a, "entropies": h}, alpha=0.4, kappa=2.0)

    Args:
        equation: a function of a TokenBatch, such as those in `reproductions/*/method.py` and `baselines/`.
        rewards: [B]; zeros if not given. groups: [B] whole numbers, same prompt same number; one group if not given.
        mask: [B, T], true on tokens that count; all if not given.
        vocab_size: entries of the distribution that entropies are over.
        max_tokens: length limit of a response (default T).
        signals: [B, T] each, of advantages, entropies, logp, old_logp, ref_logp, values.
        values: the equation's hyperparameters.
    Returns:
        float64 array: [B, T], or [B] for an equation of rewards.
    Raises:
        ValueError: arrays of other shapes, an unknown signal, a signal that the equation needs and did not get, or a
            hyperparameter out of range.
    """
    if loose := [name for name in SIGNALS if name in values]:
        raise ValueError(f"{loose[0]}: expected inside signals, as signals={{{loose[0]!r}: array}}")
    import torch

    from harness.step.batch import TokenBatch

    given: dict[str, Any] = {
        name: torch.as_tensor(array, dtype=torch.float64) for name, array in (signals or {}).items()
    }
    if strange := [name for name in given if name not in SIGNALS]:
        raise ValueError(f"signals: expected some of {', '.join(SIGNALS)}, got {strange[0]!r}")
    first = None if mask is None else torch.as_tensor(mask)
    first = next(iter(given.values()), first) if first is None else first
    if first is None and rewards is None:
        raise ValueError("rewards: expected rewards, a mask or a signal (to count the responses), got none")
    size = len(torch.as_tensor(rewards)) if first is None else len(first)
    shape = (size, 1) if first is None else tuple(first.shape)
    batch = TokenBatch(
        rewards=torch.as_tensor([0.0] * size if rewards is None else rewards, dtype=torch.float64),
        groups=torch.zeros(size, dtype=torch.int64) if groups is None else torch.as_tensor(groups),
        mask=torch.ones(shape, dtype=torch.bool) if mask is None else torch.as_tensor(mask, dtype=torch.bool),
        vocab_size=vocab_size,
        max_tokens=shape[-1] if max_tokens is None else max_tokens,
        **given,
    )
    result: NDArray[np.float64] = equation(batch, **values).numpy()
    return result
