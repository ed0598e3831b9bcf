"""A disk cache of token tables, keyed by all that decides them: a second call loads no model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.interventions import need_model
from evals.analysis.subjects import Response, Subject, responses
from evals.files import write_atomically
from evals.fingerprint import model_fingerprint
from evals.log import logger

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1  # the version of a token table's content. A table of another version is measured again.


def token_table(subject: Subject, benchmark: str, folder: Path, *, reader: str | None = None) -> pd.DataFrame:
    """`evals.analysis.token_pass.token_table` of a subject's responses, from the cache if possible.

    Args:
        folder: of the cache.
        reader: the model that reads them. None: the model that generated them.
    Raises:
        ValueError: the subject has no model or no prompts, or as the pass.
    """
    import pandas as pd

    model = reader or need_model(subject)
    answers = responses(subject, benchmark)
    path = folder / f"{digest(model_fingerprint(model), answers)}.parquet"
    if not path.is_file():
        from evals.analysis import token_pass

        subject_of_line = f"    token entropies of {len(answers)} responses of {subject.name} to {benchmark}"
        logger.info(f"{subject_of_line} under {model}")
        table = token_pass.token_table(answers, model)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda part: table.to_parquet(part, index=False))
    # text as Python strings: faster, token by token, than the columns that a file is read into
    return pd.read_parquet(path).astype(dict.fromkeys(("problem_id", "token", "verdict"), object))


def content(subject: Subject, benchmark: str) -> str:
    """A name for a subject's model and responses to a benchmark.

    Raises:
        ValueError: the subject has no model.
    """
    return digest(model_fingerprint(need_model(subject)), responses(subject, benchmark))


def digest(model: str, answers: Sequence[Response]) -> str:
    """The digest of the model's fingerprint and of every prompt, response and verdict."""
    sha = hashlib.sha256(f"{VERSION} {model}\n".encode())
    for a in answers:
        line = json.dumps([a.problem_id, a.sample, a.prompt, a.text, str(a.verdict)])
        sha.update(line.encode() + b"\n")
    return sha.hexdigest()[:32]
