"""Find a measured run by a path or an MLflow run id."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path

from evals.answer_files.reading import NOTHING_SAID, Reading
from evals.redaction import redact
from evals.stats.measured_run import MeasuredRun, read_run
from harness.errors import UsageError
from harness.runs.answers import graded, holds_verdicts

RUN_ID = re.compile(r"[0-9a-f]{32}")
EXPECTED = "expected a job's folder, a folder of an evaluation, a file of verdicts or answers, or an MLflow run id"


def check_names(*texts: str) -> None:
    """Before heavy imports, refuse a name that is neither a path nor a run id.

    Args:
        texts: one run each; the training seeds of one method are joined by commas.
    Raises:
        UsageError: no such path, and no run id.
    """
    for part in (part for text in texts for part in text.split(",") if part):
        if not Path(part).exists() and not RUN_ID.fullmatch(part):
            raise UsageError(f"{part}: {EXPECTED}")


def load_run(
    text: str, reading: Reading = NOTHING_SAID, policy: str | None = None, *, responses: bool = False
) -> MeasuredRun:
    """The verdicts of a run.

    Args:
        text: a path (the folder of a job or of an evaluation, or a file of verdicts such as `rlvr grade out=` writes),
            a file of answers in any format that `rlvr grade` reads, or an MLflow run id; the training seeds of one
            method are joined by commas.
        reading, policy: for files of answers: what they do not state, and how to extract answers.
    Raises:
        UsageError: no such path or run, a run without verdicts, or as `evals.stats.measured_run.read_run`.
    """
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise UsageError(f"{text!r}: {EXPECTED}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            return read_run([_find(part, Path(folder), reading, policy) for part in parts], text, responses=responses)
        except (ValueError, OSError) as error:
            raise UsageError(str(error)) from error


def find_verdicts(text: str, folder: Path) -> Path:
    """The folder of the verdicts of one run: a path, or an MLflow run id, whose artifacts are put into `folder`.

    Raises:
        UsageError: no such run, or one without verdicts.
    """
    return _find(text, folder, NOTHING_SAID, None)


def _find(part: str, folder: Path, reading: Reading, policy: str | None) -> Path:
    """The file or folder of verdicts; those of an MLflow run are downloaded into `folder`."""
    check_names(part)
    path = Path(part)
    if path.is_file() and not holds_verdicts(path):
        target = folder / f"answers-{len(list(folder.iterdir()))}"
        graded(path, target, reading, policy)
        return target
    if path.exists():
        return path / "eval" if (path / "eval").is_dir() else path
    from harness.runs.track import Tracker, tracking_uri

    store = tracking_uri()
    if store.startswith("sqlite:///") and not Path(store.removeprefix("sqlite:///")).is_file():
        raise UsageError(f"{part}: no MLflow store at {redact(store)}; set RLVR_HOME or MLFLOW_TRACKING_URI")
    from mlflow.exceptions import MlflowException

    target = folder / part
    target.mkdir()
    try:
        tracker = Tracker.open()
        # says whether the model was trained; if it is missing, the model counts as trained
        with suppress(MlflowException, OSError):
            tracker.download(part, "record.json", target)
        return tracker.download(part, "verdicts", target)
    except (MlflowException, OSError) as error:
        raise UsageError(f"{part}: no finished arm with verdicts in {redact(store)} ({redact(str(error))})") from error
