"""Are a problem's own numbers more likely to a model than other numbers in their place?

Every number of the text is replaced by a random one of as many digits, several times; the text counts as preferred
where the model gives it a higher probability than each of the copies. What is compared is a problem with itself, so
neither its wording nor its subject matters. Real problems have rounder numbers than random ones: the control has too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evals.data.benchmarks import Problem

if TYPE_CHECKING:
    from torch import Tensor

COPIES = 9  # a text without any memory of it is the likeliest of ten with a probability of about 10 %
ROWS = 64  # texts read at once
_NUMBER = re.compile(r"\d+")


def renumbered(text: str, *, seed: str, copies: int = COPIES) -> list[str]:
    """Different texts with other numbers; [] where the text has too few numbers for `copies` of them."""
    rng, found = random.Random(seed), dict[str, None]()
    for _ in range(20 * copies):
        found.setdefault(_NUMBER.sub(lambda number: _other(number.group(), rng), text))
        if len(found) > copies:
            break
    found.pop(text, None)
    return list(found)[:copies] if len(found) >= copies else []


def _other(number: str, rng: random.Random) -> str:
    first = rng.choice("123456789" if len(number) > 1 or number != "0" else "0123456789")
    return first + "".join(rng.choice("0123456789") for _ in number[1:])


def preferred(engine: Any, problems: Sequence[Problem]) -> dict[str, bool]:
    """Problem -> whether its text is more likely than every copy; problems without copies are left out.

    Args:
        engine: with `model` and `tokenizer` in this process, as engine transformers has.
    """
    asked = {problem.id: [problem.problem, *copies] for problem in problems if (copies := _copies(problem))}
    logps = iter(text_logps(engine, [text for texts in asked.values() for text in texts]))
    found = {}
    for key, texts in asked.items():
        own, *others = [next(logps) for _ in texts]
        found[key] = own > max(others)
    return found


def _copies(problem: Problem) -> list[str]:
    return renumbered(problem.problem, seed=f"renumbered {problem.id}")


def text_logps(engine: Any, texts: Sequence[str]) -> list[float]:
    """Sum of the log-probabilities of each text's tokens after the first, nats."""
    import torch

    ids = [engine.tokenizer(text, add_special_tokens=True).input_ids for text in texts]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found = [0.0] * len(ids)
    for start in range(0, len(order), ROWS):
        rows = order[start : start + ROWS]
        width = max(len(ids[i]) for i in rows)
        batch = torch.tensor([ids[i] + [0] * (width - len(ids[i])) for i in rows], device=engine.model.device)
        mask = torch.tensor([[1] * len(ids[i]) + [0] * (width - len(ids[i])) for i in rows], device=batch.device)
        with torch.inference_mode():
            logits = engine.model(input_ids=batch, attention_mask=mask).logits
        for i, value in zip(rows, _sums(logits, batch, mask).tolist(), strict=True):
            found[i] = value
    return found


def _sums(logits: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """[B]: over the tokens of the mask but the first."""
    logp = logits[:, :-1].double().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask[:, 1:]).sum(1)
