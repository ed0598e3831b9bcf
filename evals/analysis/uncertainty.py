"""How unsure a model is, token by token: entropy and rollout branching factor (arXiv 2508.07534, sections 2.2, 4.4.1).

measures = measure("path/to/model", [(prompt_text, response), ...], mass=0.95)
measures[0].mean_branching
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

LOGITS_AT_ONCE = 2**28  # numbers: what the logits of one forward pass may take (1 GiB in float32)
POSITIONS_AT_ONCE = 256  # positions of which the whole distribution is sorted together


@dataclass(frozen=True)
class Measure:
    """Of one response: its tokens, and their mean entropy (nats) and branching factor. None: it has no token."""

    tokens: int
    mean_entropy: float | None
    mean_branching: float | None


def entropy(logits: Tensor) -> Tensor:
    """-sum p log p of each distribution, in nats  (Eq. 3). [..., V] -> [...]."""
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p.masked_fill(log_p.isinf(), 0.0)).sum(-1)


def branching_factor(logits: Tensor, *, mass: float) -> Tensor:
    """The size of the smallest set of tokens whose probability is at least `mass`. [..., V] -> [...], whole numbers.

    Raises:
        ValueError: mass outside (0, 1].
    """
    if not 0 < mass <= 1:
        raise ValueError(f"mass: expected a number in (0, 1], got {mass}")
    p = logits.softmax(-1).sort(-1, descending=True).values
    before = p.cumsum(-1) - p  # the mass of the tokens ahead of each; those that are still needed come before `mass`
    return ((before < mass) & (p > 0)).sum(-1)


def measure(
    model_path: str, pairs: Sequence[tuple[str, str]], *, mass: float, device: str | None = None
) -> list[Measure]:
    """Entropy and branching factor of each response under a model, at temperature 1, by teacher-forced passes.

    Args:
        model_path: a folder, or an id on the hub.
        pairs: (prompt as the model sees it, response); the response's own tokens count, no end token is added.
        mass: see `branching_factor`. device: "cpu", "cuda", ...; None takes a GPU if there is one.
    """
    from evals.engines.transformers import TransformersEngine

    engine = TransformersEngine(model_path, device=device)  # loads model and tokenizer as an evaluation does
    model = engine.model
    rows = [_encode(engine.tokenizer, prompt, response) for prompt, response in pairs]
    measures: dict[int, Measure] = {}
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    while order:
        width = len(rows[order[-1]][0])
        count = max(1, LOGITS_AT_ONCE // (width * model.config.vocab_size))
        batch, order = order[-count:], order[:-count]
        measures.update(zip(batch, _measure_batch(model, [rows[i] for i in batch], mass), strict=True))
    return [measures[i] for i in range(len(rows))]


def _encode(tokenizer: Any, prompt: str, response: str) -> tuple[list[int], int]:
    """(token ids of prompt and response, how many are the response's)."""
    has_bos = tokenizer.bos_token is not None and prompt.startswith(tokenizer.bos_token)
    answer = tokenizer.encode(response, add_special_tokens=False)
    return [*tokenizer.encode(prompt, add_special_tokens=not has_bos), *answer], len(answer)


def _measure_batch(model: Any, rows: Sequence[tuple[list[int], int]], mass: float) -> list[Measure]:
    import torch

    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows], device=model.device)
    mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows], device=model.device)
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=mask).logits
        measures = []
        for row, (tokens, count) in zip(logits, rows, strict=True):
            # the distribution of a token stands at the position before it
            held = row[len(tokens) - count - 1 : len(tokens) - 1].split(POSITIONS_AT_ONCE)
            h = torch.cat([entropy(part.float()) for part in held]) if count else None
            b = torch.cat([branching_factor(part.float(), mass=mass) for part in held]) if count else None
            measures.append(
                Measure(count, None if h is None else h.mean().item(), None if b is None else b.double().mean().item())
            )
    return measures
