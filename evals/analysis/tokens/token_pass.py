"""Token tables: what a model thinks of every token of saved responses, measured in one teacher-forced pass.

table = token_table(responses(subject, "aime24"), subject.model_path)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evals.analysis.subjects import Response
from evals.analysis.tokens.teacher_forcing import encode, read_tokens

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "problem_id", "sample", "position", "length", "token_id", "token", "logp", "entropy", "nucleus", "alternative_id",
    "alternative_logp", "update_size", "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """Of one response: its tokens, and their mean entropy (nats) and branching factor. None: it has no token."""

    tokens: int
    mean_entropy: float | None
    mean_branching: float | None


def token_table(
    answers: Sequence[Response],
    model_path: str,
    *,
    temperature: float = 1.0,
    mass: float = 0.95,
    device: str | None = None,
    dtype: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """One row a response token, in the order of the responses.

    Columns: problem_id, sample; position (from 0), length (tokens of the response); token_id, token (its piece of the
    text: those of a response join up to it); logp and entropy (nats); nucleus (the smallest set of tokens with
    probability >= mass); alternative_id, alternative_logp (the most probable token other than the response's);
    update_size (G_t of arXiv 2508.07534, Eq. 4, for |alpha_t| = 1); verdict.

    The tokens are those that the tokenizer makes of the response's text, without an end token. A model may have
    sampled the same text in other pieces. A response without a token has no row.

    Args:
        answers: with their prompts.
        model_path: the model that reads them, a folder or a hub id: the one that gave them, or another one with the
            same tokenizer.
        temperature: > 0; the distributions are those of logits / temperature.
        mass: of the nucleus, in (0, 1].
        device, dtype: "cuda", "bfloat16", ...; None takes a GPU if there is one, and float32 on a CPU, the checkpoint's
            own type on a GPU. Logits are float32 or wider from the head on.
        progress: a bar on stderr; None shows it when stderr is a terminal.
    Raises:
        ValueError: a response without a prompt or that is there twice, one that does not fit the model's context,
            temperature or mass out of range, or a model that `output_head.split` refuses.
    """
    _check(answers, temperature, mass)
    options: dict[str, Any] = {"temperature": temperature, "mass": mass, "progress": progress}
    return _read(answers, _engine(model_path, device, dtype), **options)


def in_parts(answers: Sequence[Response], model_path: str, size: int) -> Iterator[Callable[[], pd.DataFrame]]:
    """The token tables of `size` responses after another, each read when it is called for: together they hold the rows
    of `token_table`, equal up to rounding (a response may stand beside others). The model is loaded once.

    Raises:
        ValueError: as `token_table`; responses that are there twice, or have no prompt, at once.
    """
    _check(answers, 1.0, 0.95)
    engine = _engine(model_path, None, None)
    for start in range(0, max(1, len(answers)), size):
        yield partial(_read, answers[start : start + size], engine)


def _read(
    answers: Sequence[Response],
    engine: Any,
    *,
    temperature: float = 1.0,
    mass: float = 0.95,
    progress: bool | None = None,
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    rows = [encode(engine.tokenizer, str(answer.prompt), answer.text) for answer in answers]
    values = read_tokens(engine.model, rows, temperature=temperature, mass=mass, progress=progress)
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


def _check(answers: Sequence[Response], temperature: float, mass: float) -> None:
    if not temperature > 0:
        raise ValueError(f"temperature: expected a number above 0, got {temperature}")
    if not 0 < mass <= 1:
        raise ValueError(f"mass: expected a number in (0, 1], got {mass}")
    seen: set[tuple[str, int]] = set()
    for answer in answers:
        key = (answer.problem_id, answer.sample)
        if answer.prompt is None:
            raise ValueError(
                f"problem {answer.problem_id!r}: expected its prompt, got none (read_subject renders them)"
            )
        if key in seen:
            raise ValueError(f"problem {key[0]!r}, sample {key[1]}: there twice; expected one model's responses")
        seen.add(key)
