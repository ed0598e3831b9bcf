"""Whether a model can read its own prompts: how well it predicts their text, before anything is sampled.

A broken tokenizer, another model's, or random weights raise no error. They give low scores that say nothing about a
model. Such a model predicts its prompts worse than random digits, or no better than a blind guess. Nats are counted per
byte of UTF-8: in English, bytes are characters, and a Chinese character is worth three of them.

SmolLM2-135M-Instruct has 0.4 to 1.2 nats per byte on its prompts (English, sums, Chinese). Planted faults have 2.6 to
6.4: random weights, shuffled token ids, single letters as tokens, the token ids of Gemma. A wrong chat template costs
1.1 to 2.8, so most are recorded here and not found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PROMPTS = 4  # so many different prompts are read
TOKENS = 256  # at most, per response
MOST_NATS = 2.4  # per byte: random digits cost log 10 = 2.3 each
MOST_SHARE = 0.7  # the loss relative to a blind guess, which untrained weights make
LEAST_VOCABULARY = 1000  # a smaller one is no language model's: models trained on responses alone predict no prompt


def nats(logits: Tensor, tokens: Tensor) -> float:
    """- sum over t of log p(tokens[t] | what is before it).

    Args:
        logits: [T, V], at the place before each token. tokens: [T], ids.
    """
    return -float(logits.float().log_softmax(-1).gather(1, tokens[:, None]).sum())


@dataclass(frozen=True)
class PromptNats:
    """How well a model predicts the first prompts.

    Attributes:
        prompts: how many were read. tokens: those predicted, all but the first of each. size: of their text, in
            bytes. nats: their sum. vocabulary: how many tokens the model chooses from.
    """

    prompts: int
    tokens: int
    size: int
    nats: float
    vocabulary: int

    @property
    def per_byte(self) -> float:
        return self.nats / max(1, self.size)

    @property
    def share_of_a_guess(self) -> float:
        """Nats per token, over those of a blind guess: log of the vocabulary's size."""
        return self.nats / (self.tokens * math.log(self.vocabulary))

    def as_record(self) -> dict[str, float]:
        return {
            "prompts": self.prompts,
            "tokens": self.tokens,
            "nats_per_byte": round(self.per_byte, 4),
            "share_of_a_guess": round(self.share_of_a_guess, 4),
        }

    @property
    def warning(self) -> str | None:
        """The warning about a model that cannot read its prompts, or None for one that can, or that cannot be
        judged."""
        readable = self.per_byte < MOST_NATS and self.share_of_a_guess < MOST_SHARE
        if readable or self.vocabulary < LEAST_VOCABULARY:
            return None
        return (
            f"the model cannot read its own prompts. It predicts them with {self.per_byte:.2f} nats per byte, which is "
            f"{100 * self.share_of_a_guess:.0f} % of a blind guess among its {self.vocabulary:,} tokens. The tokenizer "
            "or the chat template may be another model's, or the weights random. Check the model's folder."
        )


def prompt_nats(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompts: Iterable[Iterable[int]]
) -> PromptNats | None:
    """Read the first different prompts, one pass each, or None if none of them has two tokens.

    Args:
        model: of transformers. prompts: token ids.
    """
    import torch

    rows = first_rows(prompts)
    losses, vocabulary = [], 0
    with _evaluating(model), torch.no_grad():
        for row in rows:
            ids = torch.tensor([row], device=model.device)
            logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
            losses.append(nats(logits, ids[0, 1:]))
            vocabulary = logits.shape[-1]
    return total(rows, losses, tokenizer, vocabulary)


def first_rows(prompts: Iterable[Iterable[int]], longest: int = TOKENS) -> list[tuple[int, ...]]:
    """The beginnings of the first different prompts. A prompt of one token predicts nothing, so it is left out."""
    different = dict.fromkeys(row for prompt in prompts if len(row := tuple(prompt)[:longest]) > 1)
    return list(different)[:PROMPTS]


def total(
    rows: Sequence[Sequence[int]], losses: Sequence[float], tokenizer: PreTrainedTokenizerBase, vocabulary: int
) -> PromptNats | None:
    """The sum over prompts, or None for no prompt.

    Args:
        rows: token ids of each. losses: the nats of each. vocabulary: how many tokens the model chooses from.
    """
    size = sum(len(tokenizer.decode(row[1:]).encode()) for row in rows)
    return PromptNats(len(rows), sum(len(row) - 1 for row in rows), size, sum(losses), vocabulary) if rows else None


@contextmanager
def _evaluating(model: PreTrainedModel) -> Iterator[None]:
    """Without dropout inside the block."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)
