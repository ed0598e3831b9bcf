"""A model reads responses (teacher forcing): exact values of every token over the full vocabulary, in one pass.

table = token_table(responses(subject, "aime24"), subject.model_path)

The model's body runs once over a batch of responses. The output head then processes a few positions at a time, so the
logits of a whole response (4,096 tokens of 151,936 numbers are 2.5 GB) are never in memory together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evals.analysis.quantities import branching_factor, entropy, update_size
from evals.analysis.subjects import Response
from evals.sampling.engines.encode import prompt_tokens
from evals.slow import slow

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_PROBE = 8  # tokens for the comparison of both ways to compute logits
_TOLERANCE = {"float64": 1e-9, "float32": 1e-4}  # relative to the largest logit. Other types are coarser
_COARSE = 0.03
MASS = 0.95  # the share of the probability in the set of tokens that the branching factor counts


@dataclass(frozen=True)
class SplitModel:
    """`projection(hidden_states(ids))` are the model's logits. `split` makes it and checks this."""

    model: PreTrainedModel
    projection: Any

    def hidden_states(self, ids: Tensor) -> Tensor:
        """[B, T] token ids, padded on the right with anything -> [B, T, d].

        No mask is needed: a causal model does not see tokens to the right.
        """
        states: Tensor = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return states


def split(model: PreTrainedModel, probe: Tensor) -> SplitModel:
    """The parts of a model, checked against the whole model on a few tokens.

    Args:
        model: a transformers causal language model. probe: [1, T], some tokens (the first 8 are used).
    Raises:
        ValueError: the model does more between hidden states and logits than project (such as scale or cap them), so
            this code cannot compute its logits a few positions at a time.
    """
    import torch

    what = f"{type(model).__name__} ({model.config.model_type})"
    projection = model.get_output_embeddings()
    if projection is None or model.base_model is model:
        raise ValueError(f"{what}: expected a causal language model with a body and an output projection")
    parts = SplitModel(model, projection)
    with torch.inference_mode():
        ids = probe[:, :_PROBE].to(model.device)
        whole = model(input_ids=ids, use_cache=False).logits.double()
        projected = projection(parts.hidden_states(ids)).double()
        tolerance = _TOLERANCE.get(str(model.dtype).removeprefix("torch."), _COARSE) * whole.abs().max()
        if projected.shape != whole.shape or not (projected - whole).abs().max() <= tolerance:
            raise ValueError(f"{what}: expected logits that are those of its output layer on its hidden states")
    return parts


# numbers: the logits of one piece (16 MiB in float32, a few copies). Pieces that fit caches are measured faster than
# larger ones
LOGITS_AT_ONCE = 2**22
TOKENS_AT_ONCE = 2**13  # per batch, its padding included


Values = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class Encoded:
    """A prompt and a response in tokens. `ids` has both, the last `len(pieces)` are the response's. `pieces` is the
    response's text cut into its tokens, which join up to the text."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]


def encode(tokenizer: PreTrainedTokenizerBase, prompt: str, response: str) -> Encoded:
    """
    Raises:
        ValueError: the tokenizer does not give each token's characters, or the prompt has no token.
    """
    if not tokenizer.is_fast:
        raise ValueError(f"{type(tokenizer).__name__}: expected a fast tokenizer, which knows the text of each token")
    start = prompt_tokens(tokenizer, prompt)
    if not start:
        raise ValueError(f"prompt {prompt!r}: expected at least one token, the first of a response has to follow one")
    answer = tokenizer(response, add_special_tokens=False, return_offsets_mapping=True)
    # some tokenizers exclude white space from a token's span: text between two spans belongs to the later token
    ends = [0, *(end for _, end in answer["offset_mapping"])]
    if len(ends) > 1:
        ends[-1] = len(response)
    pieces = tuple(response[a:b] for a, b in pairwise(ends))
    return Encoded((*start, *answer["input_ids"]), pieces)


def read_tokens(model: PreTrainedModel, rows: Sequence[Encoded], *, mass: float = MASS) -> dict[int, Values]:
    """Row number -> the values of its response's tokens, [length] each, named as in the table. Rows with a response.

    Raises:
        ValueError: a row that does not fit the model's context, or a model that `split` refuses.
    """
    import torch

    todo = [index for index, row in enumerate(rows) if row.pieces]
    if not todo:
        return {}
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if context is not None and (longest := max(len(rows[i].ids) for i in todo)) > context:
        raise ValueError(f"a prompt and its response have {longest} tokens. Expected at most the model's {context}")
    readings: dict[int, Values] = {}
    with torch.inference_mode():
        parts = split(model, torch.tensor([rows[todo[0]].ids]))
        total = sum(len(rows[i].pieces) for i in todo)
        tokens_read = 0
        with slow("reading responses with the model, for their entropies") as progress:
            for batch in _batches(rows, todo):
                progress("tokens", tokens_read, total)
                values = _read_batch(parts, [rows[i] for i in batch], mass)
                readings.update(zip(batch, values, strict=True))
                tokens_read += sum(len(rows[i].pieces) for i in batch)
    return readings


def token_values(logits: Tensor, tokens: Tensor, hidden: Tensor, *, mass: float) -> dict[str, Tensor]:
    """The measures of each token, from its distribution.

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
    """Batches of rows with similar lengths, the longest first."""
    order = sorted(todo, key=lambda i: (-len(rows[i].ids), i))
    while order:
        count = max(1, TOKENS_AT_ONCE // len(rows[order[0]].ids))
        yield order[:count]
        order = order[count:]


def _read_batch(parts: SplitModel, rows: Sequence[Encoded], mass: float) -> list[Values]:
    import torch

    device = parts.model.device
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[0] * (width - len(row.ids))] for row in rows], device=device)
    # a token's distribution is at the previous position
    before = [slice(len(row.ids) - len(row.pieces) - 1, len(row.ids) - 1) for row in rows]
    states = parts.hidden_states(ids)
    hidden = torch.cat([state[where] for state, where in zip(states, before, strict=True)])
    del states
    tokens = torch.cat([row[where.start + 1 : where.stop + 1] for row, where in zip(ids, before, strict=True)])
    at_once = max(1, LOGITS_AT_ONCE // parts.model.config.get_text_config().vocab_size)
    whole: dict[str, Tensor] = {}
    for start in range(0, len(tokens), at_once):
        piece = slice(start, start + at_once)
        logits = _wide(parts.projection(hidden[piece]))
        for name, values in token_values(logits, tokens[piece], _wide(hidden[piece]), mass=mass).items():
            # written into one preallocated array: results that outlive their piece would fragment the pieces' memory,
            # which the allocator could then not reuse
            whole.setdefault(name, values.new_empty(len(tokens)))[piece] = values
    lengths = [len(row.pieces) for row in rows]
    cut = {name: [part.cpu().numpy() for part in torch.split(values, lengths)] for name, values in whole.items()}
    return [{name: parts_of[i] for name, parts_of in cut.items()} for i in range(len(rows))]


def _wide(values: Tensor) -> Tensor:
    """float32, or float64 if it is that already."""
    import torch

    return values if values.dtype == torch.float64 else values.float()


COLUMNS = (
    "problem_id", "sample", "position", "length", "token_id", "token", "logp", "entropy", "nucleus", "alternative_id",
    "alternative_logp", "update_size", "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """One response: its number of tokens, their mean entropy (nats) and branching factor. None: it has no token."""

    tokens: int
    mean_entropy: float | None
    mean_branching: float | None


def token_table(
    answers: Sequence[Response],
    model_path: str,
    *,
    mass: float = MASS,
    device: str | None = None,
    dtype: str | None = None,
) -> pd.DataFrame:
    """One row per response token, in the order of the responses.

    Columns: problem_id, sample; position (from 0), length (tokens of the response); token_id, token (its piece of the
    text: those of a response join up to it); logp and entropy (nats); nucleus (the smallest set of tokens with
    probability >= mass); alternative_id, alternative_logp (the most probable token other than the response's);
    update_size (G_t of arXiv 2508.07534, Eq. 4, for |alpha_t| = 1). Verdict.

    The tokenizer splits the response's text into these tokens, without an end token. The model may have sampled the
    same text as other tokens. A response without a token has no row.

    Args:
        answers: with their prompts.
        model_path: the model that reads them, a folder or a hub id: the one that generated them, or another one with
            the same tokenizer.
        mass: of the nucleus, in (0, 1].
        device, dtype: "cuda", "bfloat16", ..., None takes a GPU if there is one, and float32 on a CPU, the checkpoint's
            own type on a GPU. Logits are float32 or wider from the head on.
    Raises:
        ValueError: a response without a prompt, a duplicate response, one that does not fit the model's context,
            mass out of range, or a model that `split` refuses.
    """
    import numpy as np
    import pandas as pd

    _check(answers, mass)
    engine = _engine(model_path, device, dtype)
    rows = [encode(engine.tokenizer, str(answer.prompt), answer.text) for answer in answers]
    values = read_tokens(engine.model, rows, mass=mass)
    lengths = [len(row.pieces) for row in rows]
    measured = [values[index] for index, length in enumerate(lengths) if length]
    frame = {
        "problem_id": np.repeat(np.array([a.problem_id for a in answers], dtype=object), lengths),
        "sample": np.repeat(np.array([a.sample for a in answers], dtype=int), lengths),
        "position": np.concatenate([np.arange(length) for length in (0, *lengths)]),
        "length": np.repeat(np.array(lengths, dtype=int), lengths),
        "token": np.array([piece for row in rows for piece in row.pieces], dtype=object),
        "verdict": np.repeat(np.array([str(a.verdict) for a in answers], dtype=object), lengths),
        **{name: np.concatenate([v[name] for v in measured]) for name in (measured[0] if measured else ())},
    }
    return pd.DataFrame(frame, columns=list(COLUMNS))


def measure(
    model_path: str, pairs: Sequence[tuple[str, str]], *, mass: float, device: str | None = None
) -> list[Measure]:
    """Mean entropy and branching factor of each response under a model, at temperature 1.

    Args:
        pairs: (prompt as the model sees it, response). model_path, mass, device: as `token_table`.
    """
    engine = _engine(model_path, device, None)
    rows = [encode(engine.tokenizer, prompt, response) for prompt, response in pairs]
    values = read_tokens(engine.model, rows, mass=mass)
    return [
        Measure(len(row.pieces), float(values[i]["entropy"].mean()), float(values[i]["nucleus"].mean()))
        if row.pieces
        else Measure(0, None, None)
        for i, row in enumerate(rows)
    ]


def _engine(model_path: str, device: str | None, dtype: str | None) -> Any:
    """Model and tokenizer, loaded as an evaluation loads them."""
    from evals.sampling.engines.transformers import TransformersEngine

    return TransformersEngine(model_path, device=device, dtype=dtype)


def _check(answers: Sequence[Response], mass: float) -> None:
    if not 0 < mass <= 1:
        raise ValueError(f"mass: expected a number in (0, 1], got {mass}")
    samples: set[tuple[str, int]] = set()
    for answer in answers:
        key = (answer.problem_id, answer.sample)
        if answer.prompt is None:
            raise ValueError(
                f"problem {answer.problem_id!r}: expected its prompt, got none (read_subject renders them)"
            )
        if key in samples:
            raise ValueError(f"problem {key[0]!r}, sample {key[1]}: there twice. Expected one model's responses")
        samples.add(key)
