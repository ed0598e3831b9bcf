"""A model reads responses (teacher forcing): the values of every token, exact, full vocabulary, in one pass.

The body of the model runs once over a batch of responses; the output head then takes a few positions at a time, so that
memory grows neither with the length of a response times the vocabulary nor with the number of responses.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evals.analysis.tokens.output_head import SplitModel, split
from evals.analysis.tokens.uncertainty import branching_factor, entropy
from evals.analysis.tokens.update_size import update_size
from evals.sampling.engines.encode import prompt_tokens

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

LOGITS_AT_ONCE = 2**22  # numbers: the logits of one piece (16 MiB in float32, a few copies): pieces that fit caches are
# measured faster than larger ones
TOKENS_AT_ONCE = 2**13  # of a batch, its padding included

Values = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class Encoded:
    """A prompt and a response in tokens. `ids` holds both, the last `len(pieces)` are the response's; `pieces` is the
    response's text cut into its tokens: together they are the text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]


def encode(tokenizer: Any, prompt: str, response: str) -> Encoded:
    """
    Raises:
        ValueError: the tokenizer cannot say which characters a token stands for, or the prompt has no token.
    """
    if not tokenizer.is_fast:
        raise ValueError(f"{type(tokenizer).__name__}: expected a fast tokenizer, which knows the text of each token")
    start = prompt_tokens(tokenizer, prompt)
    if not start:
        raise ValueError(f"prompt {prompt!r}: expected at least one token, the first of a response has to follow one")
    answer = tokenizer(response, add_special_tokens=False, return_offsets_mapping=True)
    # some tokenizers leave white space out of a token's span: what lies between two ends belongs to the later token
    ends = [0, *(end for _, end in answer["offset_mapping"])]
    if len(ends) > 1:
        ends[-1] = len(response)
    pieces = tuple(response[a:b] for a, b in pairwise(ends))
    return Encoded((*start, *answer["input_ids"]), pieces)


def read_tokens(
    model: Any,
    rows: Sequence[Encoded],
    *,
    temperature: float = 1.0,
    mass: float = 0.95,
    progress: bool | None = None,
) -> dict[int, Values]:
    """For each row with a response (by its number): the values of its tokens, [length] each, named as in the table.

    Raises:
        ValueError: a row that does not fit the model's context, or a model that `output_head.split` refuses.
    """
    import torch
    from tqdm import tqdm

    todo = [index for index, row in enumerate(rows) if row.pieces]
    if not todo:
        return {}
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if context is not None and (longest := max(len(rows[i].ids) for i in todo)) > context:
        raise ValueError(f"a prompt and its response have {longest} tokens; expected at most the model's {context}")
    found: dict[int, Values] = {}
    show = sys.stderr.isatty() if progress is None else progress
    with torch.inference_mode():
        parts = split(model, torch.tensor([rows[todo[0]].ids]))
        total = sum(len(rows[i].pieces) for i in todo)
        with tqdm(total=total, desc="teacher-forced pass", unit="token", disable=not show, file=sys.stderr) as bar:
            for batch in _batches(rows, todo):
                values = _read_batch(parts, [rows[i] for i in batch], temperature, mass)
                found.update(zip(batch, values, strict=True))
                bar.update(sum(len(rows[i].pieces) for i in batch))
    return found


def token_values(logits: Tensor, tokens: Tensor, hidden: Tensor, *, mass: float) -> dict[str, Tensor]:
    """What is measured of tokens, each from its distribution.

    Args:
        logits: [N, V], float32 or wider. tokens: [N]. hidden: [N, d].
    Returns:
        name -> [N].
    """
    log_p = logits.log_softmax(-1)
    at = tokens.unsqueeze(-1)
    values = {
        "token_id": tokens,
        "logp": log_p.gather(-1, at).squeeze(-1),
        "entropy": entropy(log_p),
        "nucleus": branching_factor(log_p, mass=mass),
        "update_size": update_size(log_p, tokens, hidden),
    }
    best = log_p.scatter_(-1, at, -math.inf).max(-1)
    return {**values, "alternative_id": best.indices, "alternative_logp": best.values}


def _batches(rows: Sequence[Encoded], todo: Sequence[int]) -> Iterator[list[int]]:
    """Rows of like length together, the longest first."""
    order = sorted(todo, key=lambda i: (-len(rows[i].ids), i))
    while order:
        count = max(1, TOKENS_AT_ONCE // len(rows[order[0]].ids))
        yield order[:count]
        order = order[count:]


def _read_batch(parts: SplitModel, rows: Sequence[Encoded], temperature: float, mass: float) -> list[Values]:
    import torch

    device = parts.model.device
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[0] * (width - len(row.ids))] for row in rows], device=device)
    # the distribution of a token stands at the position before it
    before = [slice(len(row.ids) - len(row.pieces) - 1, len(row.ids) - 1) for row in rows]
    states = parts.hidden_states(ids)
    hidden = torch.cat([state[where] for state, where in zip(states, before, strict=True)])
    del states
    tokens = torch.cat([row[where.start + 1 : where.stop + 1] for row, where in zip(ids, before, strict=True)])
    at_once = max(1, LOGITS_AT_ONCE // parts.model.config.get_text_config().vocab_size)
    whole: dict[str, Tensor] = {}
    for start in range(0, len(tokens), at_once):
        piece = slice(start, start + at_once)
        logits = _wide(parts.logits(hidden[piece])) / temperature
        for name, values in token_values(logits, tokens[piece], _wide(hidden[piece]), mass=mass).items():
            # written into one place: results that outlive their piece would stand between the pieces' memory, which
            # the allocator could then not use again
            whole.setdefault(name, values.new_empty(len(tokens)))[piece] = values
    lengths = [len(row.pieces) for row in rows]
    cut = {name: [part.cpu().numpy() for part in torch.split(values, lengths)] for name, values in whole.items()}
    return [{name: parts_of[i] for name, parts_of in cut.items()} for i in range(len(rows))]


def _wide(values: Tensor) -> Tensor:
    """float32, or float64 if it is that already."""
    import torch

    return values if values.dtype == torch.float64 else values.float()
