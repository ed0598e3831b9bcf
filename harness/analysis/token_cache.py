"""A disk cache of token tables, keyed by all that decides them: a second call loads no model.

A pass is read and saved in parts: a killed one resumes after its last whole part, and ends with
the table of an unbroken one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.subjects import Response, Subject, responses
from evals.files import write_atomically
from evals.fingerprint import model_fingerprint

if TYPE_CHECKING:
    import pandas as pd

PART = 256  # responses
VERSION = 1  # of what a token table holds; another one is measured again


def token_table(subject: Subject, benchmark: str, folder: Path, *, reader: str | None = None) -> pd.DataFrame:
    """`evals.analysis.token_pass.token_table` of a subject's responses, from the cache if possible.

    Args:
        folder: of the cache.
        reader: the model that reads them; None: the model that generated them.
    Raises:
        ValueError: the subject has no model or no prompts, or as the pass.
    """
    import pandas as pd

    model = reader or subject.model_path
    if model is None:
        raise ValueError(f"{subject.name}: has no model to read its responses with")
    answers = responses(subject, benchmark)
    path = folder / f"{digest(model_fingerprint(model), answers)}.parquet"
    if path.is_file():
        return _plain(pd.read_parquet(path))
    from evals.analysis import token_pass

    by = "" if reader is None else f", read by {reader}"
    print(f"    {subject.name}, {benchmark}: {len(answers)} responses{by}", file=sys.stderr, flush=True)
    parts = folder / f"{path.stem}-in-{PART}"
    parts.mkdir(parents=True, exist_ok=True)
    files = []
    for number, read in enumerate(token_pass.in_parts(answers, model, PART)):
        files.append(parts / f"{number:05d}.parquet")
        if not files[-1].is_file():
            _write(read(), files[-1])
    tables = [pd.read_parquet(file) for file in files]
    full = [table for table in tables if len(table)]  # one of empty responses alone has no types
    table = pd.concat(full, ignore_index=True) if full else tables[0]
    _write(table, path)
    shutil.rmtree(parts)
    return _plain(table)


def _write(table: pd.DataFrame, path: Path) -> None:
    write_atomically(path, lambda part: table.to_parquet(part, index=False))


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Text as Python strings: faster, token by token, than the columns that a file is read into."""
    return table.astype(dict.fromkeys(("problem_id", "token", "verdict"), object))


def content(subject: Subject, benchmark: str) -> str:
    """A name for a subject's model and responses to a benchmark.

    Raises:
        ValueError: the subject has no model.
    """
    if subject.model_path is None:
        raise ValueError(f"{subject.name}: has no model")
    return digest(model_fingerprint(subject.model_path), responses(subject, benchmark))


def digest(model: str, answers: Sequence[Response]) -> str:
    """Of the model's fingerprint and of every prompt, response and verdict."""
    sha = hashlib.sha256(f"{VERSION} {model}\n".encode())
    for a in answers:
        line = json.dumps([a.problem_id, a.sample, a.prompt, a.text, str(a.verdict)])
        sha.update(line.encode() + b"\n")
    return sha.hexdigest()[:32]
