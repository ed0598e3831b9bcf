"""`rlvr compare`: finding the runs, and the table."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from evals.stats.compare import CompareResult, Line
from evals.stats.intervals import ROUGH
from evals.stats.measured_run import MeasuredRun, read_run
from harness.cli.columns import columns
from harness.command.config import UsageError

_RUN_ID = re.compile(r"[0-9a-f]{32}")


def load_run(text: str) -> MeasuredRun:
    """The run that the command line names: paths or MLflow run ids, the training seeds of one method joined by commas.

    Raises:
        UsageError: no such path or run, a run without verdicts, or as `read_run`.
    """
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise UsageError(f"{text!r}: expected a path or an MLflow run id")
    with tempfile.TemporaryDirectory() as folder:
        try:
            return read_run([_find(part, Path(folder)) for part in parts], text)
        except (ValueError, OSError) as error:
            raise UsageError(str(error)) from error


def check_names(*texts: str) -> None:
    """Refuse a name that can be neither a path nor a run id, before anything heavy is imported."""
    for part in (part for text in texts for part in text.split(",") if part):
        if not Path(part).exists() and not _RUN_ID.fullmatch(part):
            raise UsageError(f"{part}: expected a verdicts.parquet, a folder of an evaluation, or an MLflow run id")


def _find(part: str, folder: Path) -> Path:
    check_names(part)
    if Path(part).exists():
        return Path(part)
    from harness.runs.track import Tracker, tracking_uri

    store = tracking_uri()
    if store.startswith("sqlite:///") and not Path(store.removeprefix("sqlite:///")).is_file():
        raise UsageError(f"{part}: no MLflow store at {store}; set RLVR_HOME or MLFLOW_TRACKING_URI")
    from mlflow.exceptions import MlflowException

    target = folder / part
    target.mkdir()
    try:
        found = Tracker.open().download(part, "verdicts", target)
    except (MlflowException, OSError) as error:
        raise UsageError(f"{part}: no finished arm with verdicts in {store} ({error})") from error
    return found


def as_text(result: CompareResult) -> str:
    """A table, and under it what it does not say."""
    header = ("benchmark", "metric", "A", "B", "A - B", "95 % interval", "p", "p (Holm)", "verdict", "problems")
    tests = dict.fromkeys(f"{line.test}, interval over {line.covers}" for line in result.lines if line.covers)
    lines = [f"A: {result.a}", f"B: {result.b}", "", columns(header, [_row(line) for line in result.lines], left=2), ""]
    lines.append(
        "A and B are means over the shared problems; percent, but tokens and, of unsolvable problems, the number. "
        "Holm's correction is for all lines of the table. A difference is higher or lower where its interval does not "
        "hold zero and p (Holm) is at most 0.05, else not resolved."
    )
    if any(line.rough for line in result.lines):
        lines.append(f"{ROUGH}.")
    lines += [f"Test: {test}." for test in tests]
    lines += [f"{line.benchmark} {line.name}: {line.why}" for line in result.lines if line.why]
    lines += [f"MEASURED DIFFERENTLY: {text}" for text in result.different]
    lines += [f"Note: {text}" for text in result.notes]
    return "\n".join(lines)


def _row(line: Line) -> tuple[str, ...]:
    left_out = line.shared - line.problems + line.only_a + line.only_b
    problems = f"{line.problems}" + (f" ({left_out} left out)" if left_out else "")
    factor = line.factor

    def number(value: float | None, form: str = ".1f") -> str:
        return "–" if value is None else format(factor * value, form)

    def p(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"

    interval = (
        "–"
        if line.low is None
        else f"{'~' * bool(line.rough)}[{number(line.low, '+.1f')}, {number(line.high, '+.1f')}]"
    )
    values = (number(line.a), number(line.b), number(line.difference, "+.1f"))
    return (line.benchmark, line.name, *values, interval, p(line.p_value), p(line.p_holm), line.verdict, problems)
