"""Evidence from files: training curves of several tools, and files of graded responses."""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from evals.answer_files.names import PROBLEM_IDS, ROW_IDS, named
from evals.audit.console import (
    NUMBER,
    NUMBERED,
    STEPS,
    bars,
    counted,
    counts,
    has_bars,
    has_objects,
    has_sections,
    of_mlflow,
    printed,
    sections,
    stepped,
)
from evals.audit.evidence import NOT_COLUMNS, Evidence, resolution_of
from evals.audit.json_tables import column_name, flat, table_in
from evals.audit.notebook_text import notebook_text
from evals.audit.sets import is_repeat
from evals.data.rows import TwiceError, is_nothing, parsed, refuse_twice, values_of
from evals.errors import UsageError
from evals.files import text_sha256
from evals.paths import ROW, kept, row_filter
from evals.suggest import expected

if TYPE_CHECKING:
    from evals.answer_files.reading import AnswerFile
    from evals.answer_files.sample import Sample
    from evals.grading import Grade, Grader

Row = Mapping[str, object]  # a row of a file: a metric's number, or a word
LONGEST_HEADER = 1 << 20  # characters of the first two rows of a table
NEARLY_ALL = 0.9  # this share of rows has a name of its own: they may be runs
SHOWN = 20  # metrics that an error lists
LONG = 100  # characters of a response: two that are alike are copies
_ANSWERED = re.compile(r"\\(?:boxed|fbox)|</answer>|####|answer\b[^\n]{0,20}?(?:\bis\b|:|=)", re.IGNORECASE)
CONVENTION = 0.8  # this share of the correct responses states it so: a response without it has no answer
SIZE = "n_problems"  # the column of a curve that says how many problems are behind its scores
RUN = "run"  # the number of a run in a file of several
_PLANNED = "total_steps"  # a step where it grows, else how many are planned
_VERL = re.compile(r"\bstep:(\d+) - (.+)")
_NUMBER = re.compile(NUMBER)
_STEP_OF = re.compile(r"""(['"][\w/]*step[\w/]*['"]:\s*)['"](\d+)\s*/\s*\d+['"]""")  # 2 of '2/4389', as ms-swift writes
_OF_LIBRARY = re.compile(  # a number as NumPy and PyTorch print it: np.float64(0.5), tensor(0.5, device='cuda:0')
    rf"\b(?:(?:np\.|numpy\.)?(?:float|u?int)\d+\(({NUMBER}|nan)\)|tensor\(({NUMBER}|nan)[^()\n]*\))"
)
_LIGHTEVAL = re.compile(r"\|\s*\w+:(\w+):\d+\s*\|\s*\d+\|\w+\s*\|\s*([\d.]+)\s*\|")


def _verl(text: str) -> Iterable[Row]:
    """veRL's console: `step:10 - name:0.5 - name:1.0`, whatever Ray writes before it."""
    for match in _VERL.finditer(text):
        row: dict[str, float | str] = {"step": int(match[1])}
        for part in match[2].split(" - "):
            name, _, value = part.rpartition(":")
            if name:
                row[name] = _cell(value, False)
        yield row


def _trainer_state(text: str) -> Iterable[Row]:
    """trainer_state.json of transformers and TRL."""
    return [dict(entry) for entry in parsed(text, "the file")["log_history"]]


def _mllog(text: str) -> Iterable[dict[str, float]]:
    """MLPerf's log; the step of a point is its count of samples, or its step or epoch."""
    for line in text.splitlines():
        if ":::MLLOG " not in line:
            continue
        event = json.loads(line.partition(":::MLLOG ")[2])
        where = event.get("metadata") or {}
        step = next((where[key] for key in ("samples_count", "step_num", "step", "epoch_num") if key in where), None)
        if (
            event.get("event_type") == "POINT_IN_TIME"
            and isinstance(event.get("value"), int | float)
            and step is not None
        ):
            yield {"step": step, event["key"]: float(event["value"])}


def _lighteval(text: str) -> Iterable[dict[str, float]]:
    """lighteval's result tables one after another; the n-th of a task is checkpoint n of it."""
    seen: dict[str, int] = {}
    for task, value in _LIGHTEVAL.findall(text):
        seen[task] = seen.get(task, 0) + 1
        yield {"step": seen[task], task: float(value)}


def _lines(text: str) -> Iterable[Row]:
    """JSON Lines, a list of rows, or of TensorBoard's triples, and objects of several lines each."""
    if text.lstrip().startswith("["):
        names = ("Wall time", "Step", "Value")  # TensorBoard's download: a list of three numbers each
        whole = parsed(text, "the file")
        return [dict(zip(names, row, strict=True)) if isinstance(row, list) else flat(row) for row in whole]
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and lines[0][1].strip() == "{":  # objects of several lines each, as jq and indent=2 write them
        return [flat(row) for row in values_of(text, "the file")]
    return [flat(parsed(line, f"line {number}")) for number, line in lines]


def _object(text: str) -> Mapping[str, object] | None:
    """The JSON object that a whole text is; None of any other text, as of JSON Lines."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return dict(parsed(text, "the file"))
    except TwiceError:
        raise
    except UsageError:
        return None


def _csv(text: str) -> Iterable[Row]:
    """With commas, or, as spreadsheets of many languages write it, with semicolons (and decimal commas), or tabs."""
    text = _without_comments(text)
    separator = _separator(text) or ","
    refuse_twice([name.strip() for name in next(csv.reader(text.splitlines()[:1], delimiter=separator))])
    decimal = separator != "," and re.search(r"\d,\d", text) is not None
    table = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False)
    return [{str(name): _cell(cell, decimal) for name, cell in row.items()} for row in table.to_dict("records")]


def _cell(text: str, decimal_comma: bool) -> float | str:
    """The number in a cell, `30%` as 30; NaN where the file says so; the text of an empty cell or one of words."""
    bare = text.removesuffix("%").strip()
    bare = bare.replace(",", ".") if decimal_comma else bare
    return float(bare) if _NUMBER.fullmatch(bare) or bare.lower() == "nan" else text


def _separator(text: str) -> str | None:
    header, first, *_ = [*text.split("\n", 2), "", ""]
    if "," in header:
        return ","
    return next((sign for sign in (";", "\t") if 0 < header.count(sign) == first.count(sign)), None)


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    return {str(key): float(value) for key, value in row.items() if isinstance(value, int | float)}


def _reader(name: str, text: str) -> Callable[[str], Iterable[Row]]:
    """The reader of a file of curves, by its content."""
    if _is_csv(text):
        return _csv
    if of_mlflow(text):
        return of_mlflow
    if ":::MLLOG " in text:
        return _mllog
    if '"log_history"' in text[:100_000] and text.lstrip().startswith("{"):
        return _trainer_state
    if _VERL.search(text):
        return _verl
    if _LIGHTEVAL.search(text):
        return _lighteval
    if has_bars(text):
        return bars
    if stepped(text):
        return stepped
    if has_sections(text):
        return sections
    if text.lstrip().startswith(('{"', "{\n", "{\r", "[\n", "[{", "[[")):
        return _lines
    if has_objects(text):
        return printed
    if text.lstrip().startswith(("{", "[{")):
        return _lines
    if counted(text):
        return counted
    raise UsageError(
        f"{name}: no curve was recognised. Expected a console log of veRL, trainer_state.json, lines such as "
        "`{'loss': 0.1}` and `step 3 | reward: 0.4`, a log of MLPerf, tables of lighteval, CSV or JSON Lines"
    )


def _is_csv(text: str) -> bool:
    """Whether the first two lines, after comments, are a header of words and as many cells, and no lines of a log."""
    text = _without_comments(text)
    separator = _separator(text)
    if separator is None or counts(text.partition("\n")[0]):
        return False
    rows = csv.reader(io.StringIO(text[:LONGEST_HEADER]), delimiter=separator)
    header, first = next(rows, []), next(rows, [])
    words = all(re.search(r"[A-Za-z]", cell) and not re.search(r"[{}]|[:=]\s*[-\d.]", cell) for cell in header)
    return len(header) > 1 and len(header) == len(first) and words


def _without_comments(text: str) -> str:
    """Without the lines that begin with # above a table."""
    return re.sub(r"\A(?:#[^\n]*\n)+", "", text.removeprefix("\ufeff"))


def read_curve(
    text: str,
    *,
    name: str = "text",
    step: str | None = None,
    wanted: Iterable[str] = (),
    conditions: Sequence[str] = (),
) -> pd.DataFrame:
    """The metrics of a training by step, one column each. Values of one step that stand on several lines are joined; of
    several values of one metric the last counts, as of a step that a resumed training logs again.

    Args:
        name: of the file, for errors. step: the column of steps; None: one of `STEPS`.
        wanted: the metrics that the user named, which say which table of several is read.
        conditions: on the rows that are read (`evals.paths.kept`). `attrs["chosen"]` says which rows these are.
    Raises:
        UsageError: the text is of no known form, damaged, or has no step.
    """
    text = _STEP_OF.sub(r"\1\2", _OF_LIBRARY.sub(lambda value: value[1] or value[2], text))
    whole = _rows(name, text, {*wanted, step} - {None, ROW})
    rows = [_numbers(row) for row in whole]
    table = pd.DataFrame(rows)
    if table.empty:
        raise UsageError(f"{name}: no curve. It needs two steps or more that have a metric of the same name")
    if step == ROW:
        table[ROW] = range(1, len(table) + 1)
    known = (*STEPS, NUMBERED) if step is None else (step,)
    columns = {column_name(column): column for column in reversed([*map(str, table)])} | {str(c): str(c) for c in table}
    step_column = next((columns[column] for column in known if column in columns), None)
    if step_column is None or (
        step is None and step_column == _PLANNED and len(table) > 1 and table[step_column].nunique() == 1
    ):
        column_names = ", ".join(map(str, table))
        if len(table) == 1:
            raise UsageError(
                f"{name}: no column of steps. Its only row holds final scores and no curve ({column_names})"
            )
        raise UsageError(
            f"{name}: no column of steps. Expected one of {', '.join(known if step else STEPS)}, got {column_names}. "
            f"{_which_step(whole, table)}"
        )
    whole, runs = _by_run(whole, table[step_column])
    try:
        places, chosen = kept(whole, conditions)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    whole, rows, table = [whole[at] for at in places], [rows[at] for at in places], table.iloc[places]
    table = table.reset_index(drop=True)
    _refuse_labels(name, whole, table, step_column)
    if step_column != "step":
        table = table.drop(columns="step", errors="ignore")
    table = table.rename(columns={step_column: "step"}).dropna(subset=["step"])
    _refuse_tables(name, table)
    curve_rows = _replaced(table)
    if runs > 1 and curve_rows[0] and not any(condition.startswith(f"{RUN}?") for condition in conditions):
        raise UsageError(
            f"{name}: its steps begin again after the last one, and have other values then. So it holds {runs} runs. "
            f"To read the first, type {row_filter(RUN, 1)}"
        )
    curve = table.groupby("step").last().reset_index()
    # the lines of a step that a resumed run logged again; plain values, because pandas compares `attrs` when it joins
    curve.attrs["nan"] = _nans(rows, step_column)
    curve.attrs["words"] = sorted(
        {name for row in whole for name, content in row.items() if content and isinstance(content, str)}
    )
    numbered = f"the file names no steps, so its {len(curve)} lines with metrics are numbered"
    curve.attrs["chosen"] = ". ".join(filter(None, [chosen, numbered if step_column == NUMBERED else ""]))
    curve.attrs["replaced"] = curve_rows
    curve.attrs["repeated"] = table[table["step"].duplicated(keep=False)].to_dict("list")
    return curve


def _rows(name: str, text: str, wanted: Collection[str | None]) -> list[Row]:
    """The rows of a text, by the reader of its form.

    Raises:
        UsageError: as `read_curve`.
    """
    try:
        whole = _object(text)
        if whole is not None and (outputs := notebook_text(whole)) is not None:
            return _rows(name, outputs, wanted)
        if whole is not None and "log_history" not in whole and (table := table_in(whole, wanted)) is not None:
            return list(table)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from error
    reader = _reader(name, text)
    try:
        return list(reader(text))
    except TwiceError as error:
        raise UsageError(f"{name}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{name}: damaged or cut short: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: its JSON is nested too deeply") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{name}: damaged or cut short ({error})") from error


def _by_run(rows: Sequence[Row], steps: pd.Series) -> tuple[list[Row], int]:
    """The rows, each with the number of its run, and how many runs there are: as often as the steps begin again at the
    first one after the last one. A training that was resumed begins again before it has reached the last one."""
    first, last = steps.min(), steps.max()
    runs, begun, ended, numbers = 1, False, False, []
    for step in steps:
        if ended and step == first:
            runs, ended = runs + 1, False
        begun = begun or step == first
        ended = ended or (begun and step == last)
        numbers.append(runs)
    if first == last or runs == 1 or not ended or any(RUN in row for row in rows):
        return list(rows), 1
    return [{**row, RUN: number} for row, number in zip(rows, numbers, strict=True)], runs


def _replaced(table: pd.DataFrame) -> tuple[int, float, int]:
    """How many rows a later row of the same step replaces, the step with the most rows, and how many it has.

    A row is replaced if a later row of its step has another value of a metric.
    """
    metrics = [column for column in table if column != "step"]
    last = table.groupby("step")[metrics].transform("last")
    replaced = ((table[metrics] != last) & table[metrics].notna()).any(axis=1)
    rows_of_step = table["step"][replaced].value_counts()
    return int(replaced.sum()), *(
        (rows_of_step.index[0], int(rows_of_step.iloc[0]) + 1) if len(rows_of_step) else (0, 0)
    )


def _refuse_labels(name: str, rows: Sequence[Row], table: pd.DataFrame, step: str) -> None:
    """Raise UsageError if one step has several values of a metric and a column of words tells them apart: they are
    several curves, and no step that a resumed run logged again.
    """
    for number, at in table[table[step].duplicated(keep=False)].groupby(step).groups.items():
        if not (table.loc[at].drop(columns=step).count() > 1).any():
            continue  # lines of one step that have different metrics
        apart = _telling_apart([rows[row] for row in at])
        if apart:
            fullest = max(at, key=lambda row: len(_numbers(rows[row])))
            first = row_filter(apart[0], rows[fullest][apart[0]])
            raise UsageError(
                f"{name}: step {number:g} has {len(at)} rows, which differ in {', '.join(apart)}. A curve has one row "
                f"for each step. To read the rows of one curve, type {first}"
            )


def _refuse_tables(name: str, table: pd.DataFrame) -> None:
    """Raise UsageError if the text has several tables (`evals.audit.console.stepped`), and lists them."""
    if "table" not in table or table["table"].nunique() == 1:
        return
    lines = [
        f"  {number:.0f}: {len(rows)} rows of {', '.join(rows.dropna(axis=1, how='all').columns.drop('table'))}"
        for number, rows in table.groupby("table")
    ]
    raise UsageError(
        f"{name}: it has {len(lines)} tables. To read the first, type {row_filter('table', 1)}. The tables are:\n"
        + "\n".join(lines)
    )


def _telling_apart(rows: Sequence[Row]) -> list[str]:
    """The columns of words that do not have one value in all rows."""
    words = {column: [row.get(column) for row in rows] for column in rows[0]}
    return [column for column, values in words.items() if all(map(_is_word, values)) and len({*map(str, values)}) > 1]


def _is_word(value: object) -> bool:
    """No number and no date."""
    return isinstance(value, str) and _WORD.match(value) is not None


def _which_step(rows: Sequence[Row], table: pd.DataFrame) -> str:
    """The advice where no column has the name of a step: the first whose whole numbers grow from row to row, or without
    one, the row's number. Nothing where the rows may be no steps."""
    if repeats := [str(column) for column in table if is_repeat(str(column))]:
        return f"{repeats[0]} may number repeats or seeds, and those are no steps of one training"
    growing = [str(n) for n in table if (table[n].dropna() % 1 == 0).all() and (table[n].diff()[1:] > 0).all()]
    step = growing[0] if growing else ROW
    if named([step], PROBLEM_IDS, ROW_IDS):
        return f"{step} may number problems, and those are no steps of one training"
    names = [column for column in _telling_apart(rows) if len({row[column] for row in rows}) >= NEARLY_ALL * len(rows)]
    if names:
        return f"Nearly each row has another {names[0]}, so the rows may be runs, and no steps of one training"
    return f"If {'each row' if step == ROW else step} is a step, type {shlex.quote(f'columns=step:{step}')}"


def _nans(rows: Sequence[Mapping[str, float]], step: str) -> dict[str, float]:
    """Metric -> the last step at which the file says that it is NaN."""
    return {name: row[step] for row in rows if step in row for name, value in row.items() if value != value}


def refuse_curve(path: Path) -> None:
    """Refuse a file that is a training curve, by the metrics that it has: those of evaluations, if there are some.

    Raises:
        UsageError: it is one.
    """
    try:
        curve = read_curve(path.read_text(), name=str(path))
    except (UsageError, UnicodeDecodeError):
        return
    raise UsageError(f"metric: missing. {path} is a log of a training, which needs metric=NAME: {metrics_of(curve)}")


def metrics_of(curve: Iterable[object]) -> str:
    """The names of a curve's metrics, those of evaluations if there are some, cut to a few."""
    names = [str(name) for name in curve if name != "step"]
    shown = [name for name in names if _EVALUATION.search(name.lower())] or names
    more = f" and {len(names) - len(shown[:SHOWN])} more" if len(names) > len(shown[:SHOWN]) else ""
    return ", ".join(shown[:SHOWN]) + more


def _overwritten(curve: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The points of a metric that a later line of the same step replaced."""
    rows = pd.DataFrame(curve.attrs.get("repeated", {}), columns=["step", metric])
    points = rows[["step", metric]].dropna()
    kept = points.groupby("step")[metric].transform("last")
    return pd.DataFrame(points[points[metric] != kept]).set_axis(["checkpoint", "value"], axis=1)


_VERL_SETTINGS = {
    "data.train_batch_size": "prompts_per_rollout",
    "data.max_prompt_length": "max_prompt_tokens",
    "data.max_response_length": "max_completion_tokens",
    "actor_rollout_ref.model.path": "base_model",
    "actor_rollout_ref.model.lora_rank": "lora_rank",
    "actor_rollout_ref.actor.optim.lr": "learning_rate",
    "actor_rollout_ref.actor.clip_ratio_low": "clip_low",
    "actor_rollout_ref.actor.clip_ratio_high": "clip_high",
    "actor_rollout_ref.actor.kl_loss_coef": "kl_beta",
    "actor_rollout_ref.actor.entropy_coeff": "entropy_coefficient",
    "actor_rollout_ref.rollout.n": "group_size",
    "actor_rollout_ref.rollout.temperature": "rollout_temperature",
    "actor_rollout_ref.rollout.top_p": "rollout_top_p",
    "actor_rollout_ref.actor.grad_clip": "max_grad_norm",
    "actor_rollout_ref.actor.optim.lr_warmup_steps_ratio": "warmup_ratio",
    "actor_rollout_ref.actor.optim.weight_decay": "weight_decay",
    "actor_rollout_ref.actor.loss_agg_mode": "aggregation",
    "trainer.total_epochs": "epochs",
}
_VERL_WORDS = {"token-mean": "token_mean", "seq-mean-token-mean": "sequence_mean", "seq-mean-token-sum": "sequence_sum"}


_VERL_UPDATES = (
    "data.train_batch_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.ppo_epochs",
)


def verl_settings(text: str) -> dict[str, Any]:
    """The settings that a console log of veRL states, in the configuration that it prints and in its command, by the
    names of a declaration; {} without any."""
    given = dict(re.findall(r"(?:^|\s)'?([a-z_]+(?:\.\w+)+)=([^\s'\\]+)", text))
    given = {key: str(value) for key, value in _configuration(text).items()} | given
    numbers = {key: _as_number(value) for key, value in given.items()}
    settings = {setting: numbers[verl_name] for verl_name, setting in _VERL_SETTINGS.items() if verl_name in numbers}
    if str(numbers.get("actor_rollout_ref.actor.use_kl_loss")).lower() == "false":
        settings["kl_beta"] = 0.0
    rollout, update, epochs = map(numbers.get, _VERL_UPDATES)
    if isinstance(rollout, int) and isinstance(update, int) and update >= 1:
        settings["updates_per_rollout"] = math.ceil(rollout / update) * (epochs if isinstance(epochs, int) else 1)
    return settings


def _as_number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return _VERL_WORDS.get(text, text)
    return int(text) if text.isdigit() else float(text)


_BEGINS = re.compile(r"\{'(?:actor_rollout_ref|algorithm|critic|data|trainer|ray_init|ray_kwargs)':")


def _configuration(text: str) -> dict[str, object]:
    """The configuration that veRL prints as Python's dictionary when it starts, by dotted keys; {} without one."""
    plain = re.sub(r"(?m)^(?:\x1b\[\d+m)*\(\w+ pid=\d+[^)]*\)(?:\x1b\[\d+m)* ?", "", text)
    begin = _BEGINS.search(plain)
    if begin is None:
        return {}
    depth, end = 0, len(plain)
    for brace in re.finditer(r"[{}]", plain[begin.start() :]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            end = begin.start() + brace.end()
            break
    try:
        return dict(_dotted("", ast.literal_eval(plain[begin.start() : end])))
    except (ValueError, SyntaxError):  # cut, or mixed with other lines
        return {}


def _dotted(before: str, values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted(f"{before}{key}.", value)
        elif value is not None:
            yield f"{before}{key}", value


def in_percent(scores: pd.Series) -> bool:
    """Whether the scores of a curve are percentages: as shares none would be above 1."""
    return bool(scores.max() > 1)


def curve_evidence(
    curves: Mapping[str, pd.DataFrame],
    metric: str,
    *,
    problems: int | None = None,
    settings: Mapping[str, object] | None = None,
    recipes: bool = False,
) -> Evidence:
    """The checkpoints that curves evaluated; percentages become shares.

    Args:
        curves: seed (or recipe) -> its curve. metric: a column. settings: of the run.
        problems: of the benchmark, if known; else what a column n_problems of the curves says.
        recipes: each curve is another recipe, of which the last value counts.
    Raises:
        UsageError: a curve lacks the metric, or its values are neither shares nor percentages.
    """
    parts, before = [], []
    for seed, curve in curves.items():
        if metric not in curve:
            raise UsageError(f"metric: {expected(metric, [str(column) for column in curve if column != 'step'])}")
        before.append(_overwritten(curve, metric).assign(seed=seed))
        _refuse_nan(str(seed), curve, metric)
        points = curve[["step", metric]].dropna().set_axis(["checkpoint", "value"], axis=1)
        parts.append(points.assign(seed=seed))
        if problems is None and SIZE in curve and curve[SIZE].nunique() == 1:
            problems = int(curve[SIZE].dropna().iloc[0])
    scores, overwritten = pd.concat(parts, ignore_index=True), pd.concat(before, ignore_index=True)
    unit = 100 if in_percent(scores["value"]) else 1
    lowest, highest = scores["value"].min(), scores["value"].max()
    if not 0 <= lowest <= highest <= unit:
        raise UsageError(
            f"metric={metric}: its values are {lowest:g} to {highest:g}. An audit needs shares from 0 to 1, or "
            "percentages from 0 to 100. A reward outside of them cannot be audited. To draw it, type rlvr curves FILE"
        )
    scores["value"] /= unit
    overwritten["value"] /= unit
    beside = {} if recipes else _beside(curves, metric, unit)
    names: dict[int, str] = {}
    if recipes:
        ends = scores.groupby("seed", sort=False).tail(1)
        names = dict(enumerate(ends["seed"]))
        scores = ends.assign(checkpoint=range(len(ends)), seed="")
    return replace(
        Evidence.of_scores(scores, problems, settings),
        overwritten=None if recipes else overwritten,
        resolution=resolution_of(pd.concat([scores["value"], overwritten["value"]])),
        names=names,
        recipes=recipes,
        beside=beside,
        family=family_of(metric, beside),
        reward=metric if training_reward(metric) else "",
    )


def _refuse_nan(name: str, curve: pd.DataFrame, metric: str) -> None:
    """Raise UsageError if the last score of a curve is NaN: the last number would be an earlier step's."""
    at = curve.attrs.get("nan", {}).get(metric)
    numbers = curve.loc[curve[metric].notna(), "step"]
    if at is not None and (numbers.empty or at > numbers.max()):
        last = "it has no number" if numbers.empty else f"its last number is of step {numbers.max():g}"
        raise UsageError(
            f"{name}: {metric} is nan at step {at:g}, and {last}. If the training failed there, delete the lines after "
            "the last number"
        )


def _beside(curves: Mapping[str, pd.DataFrame], metric: str, unit: int) -> dict[str, pd.DataFrame]:
    """The scores by other metrics of an evaluation that every curve has, as shares: name -> `seed`, `checkpoint`,
    `value`. Beside a metric of a name like val/..., other such metrics; else other columns that no trainer logs of
    itself.

    Args:
        unit: 100 where the metric is in percent.
    """
    evaluation = _EVALUATION.search(metric.lower()) is not None
    scores: dict[str, pd.DataFrame] = {}
    for name in map(str, next(iter(curves.values()))):
        alike = _EVALUATION.search(name.lower()) if evaluation else not training_reward(name)
        if name in (metric, "step", SIZE) or not alike or _NO_SCORE.search(name.lower()):
            continue
        if not all(name in curve and curve[name].notna().any() for curve in curves.values()):
            continue
        tables = [
            curve[["step", name]].dropna().set_axis(["checkpoint", "value"], axis=1).assign(seed=seed)
            for seed, curve in curves.items()
        ]
        table = pd.concat(tables, ignore_index=True)
        table["value"] /= unit
        if table["value"].between(0, 1).all():
            scores[name] = table
    return scores


_WORDS_OF_NAMES = re.compile(r"[^/_.\s-]+")
_METRIC_WORDS = re.compile(r"@|acc|reward|score|best|maj|mean|pass|f1|match|std")


def family_of(metric: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names, among these, of the same metric of another benchmark. They differ from the metric's name in one run of
    words, none of which is of a metric: val/aime24/acc beside val/math500/acc."""

    def differing(a: list[str], b: list[str]) -> list[str]:
        while a and b and a[0] == b[0]:
            a, b = a[1:], b[1:]
        while a and b and a[-1] == b[-1]:
            a, b = a[:-1], b[:-1]
        return [*a, *b] if a and b else ["@"]

    words = _WORDS_OF_NAMES.findall(metric)
    rest = ((name, differing(words, _WORDS_OF_NAMES.findall(name))) for name in names if name != metric)
    return tuple(name for name, apart in rest if not any(_METRIC_WORDS.search(word.lower()) for word in apart))


def graded(rows: Sequence[Sample], grader: Grader) -> pd.DataFrame:
    """Verdicts of responses: `problem_id`, `label` (theirs), `ours`, `strict`, `truncated`, as `Evidence` takes them.
    Where the file cut its gold (`gold_cut`), a verdict against it says nothing, and the label stands.

    Args:
        rows: of `evals.answer_files.reading.read_answers`.
    """
    from evals.answer_files.differing import gold_is_cut

    table, grades = by_policy(rows, grader, ("boxed_strict", "answer_tag", "qwen"), any_form=True)
    for column, policy in (("strict", "boxed_strict"), ("ours", "ours")):
        cut = pd.Series([gold_is_cut(row, grade.answer) for row, grade in zip(rows, grades[policy], strict=True)])
        before, table[column] = table[policy], table[policy].mask(cut, table["label"])
    table = table.assign(gold_cut=cut & (before != table["ours"]))
    return table.drop(columns=["boxed_strict", "answer_tag", "qwen"])


def programs(file: AnswerFile) -> bool:
    """Whether the responses of a file are programs."""
    from evals.code_execution.program_grader import is_gold

    return all(is_gold(row.gold) for row in file.rows)


def graded_programs(file: AnswerFile) -> pd.DataFrame:
    """As `graded`, of programs: `ours` by the policy of the file's format, `strict` by the last block in a closed fence
    where it is chat, else the same."""
    from evals.code_execution.program_grader import ProgramGrader
    from evals.grading.reasoning import graded_part

    used = file.policy or "program"
    triples = [(row.gold, *graded_part(row.response, row.finish_reason)) for row in file.rows]
    with ProgramGrader() as grader:
        grades = {
            column: grader.grade_responses(triples, policy)
            for column, policy in (("ours", used), ("strict", "program_fenced" if used == "program" else used))
        }
    table = _labels(file.rows).join(
        pd.DataFrame({name: _as_numbers(grades_of_policy) for name, grades_of_policy in grades.items()})
    )
    table["truncated"] = [float(finish == "length") for _, _, finish in triples]
    return table.astype(dict.fromkeys(("label", "ours", "strict"), float))


def by_policy(
    rows: Sequence[Sample], grader: Grader, policies: Sequence[str], any_form: bool = False
) -> tuple[pd.DataFrame, dict[str, list[Grade]]]:
    """Their labels, and our verdicts under each policy of extraction (`answer_tag` and `qwen` among them) and on the
    answer wherever it stands (`ours`), as 1, 0 or missing; and the grades.

    A thought that is never closed is truncated, and the box in it is the answer for `ours`, as it is for graders that
    read the whole response.

    Args:
        any_form: `ours` also reads the letters of a multiple choice and bare answers, as `rlvr grade` would.
    """
    from evals.answer_files.differing import anywhere
    from evals.answer_files.policies import are_letters, is_bare
    from evals.grading.reasoning import graded_part

    triples = [(row.to_grade, row.response, row.finish_reason) for row in rows]
    parts = [graded_part(response, finish, grader.reasoning) for _, response, finish in triples]
    grades = {policy: grader.grade_responses(triples, policy) for policy in policies}
    letters = any_form and are_letters(row.gold for row in rows)
    our_grades = (
        grader.grade_responses(triples, "letter") if letters else anywhere(grades["answer_tag"], grades["qwen"])
    )
    bare = [i for i, grade in enumerate(our_grades) if any_form and grade.answer is None and is_bare(parts[i][0])]
    for i, grade in zip(bare, grader.grade_responses([triples[i] for i in bare], "whole"), strict=True):
        our_grades[i] = grade
    inside = [
        i
        for i, (grade, (part, _)) in enumerate(zip(our_grades, parts, strict=True))
        if grade.answer is None and part != triples[i][1]
    ]
    whole = replace(grader, reasoning="whole").grade_responses([triples[i] for i in inside], "boxed_last")
    for i, grade in zip(inside, whole, strict=True):
        our_grades[i] = our_grades[i] if grade.answer is None else grade
    grades["ours"] = our_grades
    columns: dict[str, Any] = {
        "truncated": [float(finish == "length") for _, finish in parts],
        "answer": [row.their_answer or grade.answer for row, grade in zip(rows, our_grades, strict=True)],
        "exchange": [text_sha256(f"{gold}\0{response}") for gold, response, _ in triples],
        "long": [len(response) >= LONG for _, response, _ in triples],
        **{policy: _as_numbers(of_policy) for policy, of_policy in grades.items()},
    }
    table = _labels(rows).join(pd.DataFrame(columns)).astype(dict.fromkeys(("label", *grades), float))
    stated = pd.Series([_ANSWERED.search(response) is not None for _, response, _ in triples])
    unknown = pd.Series([finish is None for _, finish in parts])
    correct = table["label"] == 1
    formless = ~stated & ~correct if stated[correct].mean() >= CONVENTION else stated & False
    return table.assign(silent=unknown & (table["answer"].isna() | formless)), grades


def _labels(rows: Sequence[Sample]) -> pd.DataFrame:
    """`problem_id`, the authors' `label`, and `benchmark` where a row names one."""
    columns: dict[str, Any] = {
        "problem_id": [row.problem_id for row in rows],
        "label": [None if row.expected is None else float(row.expected) for row in rows],
    }
    if any(row.benchmark for row in rows):
        columns["benchmark"] = [str(row.benchmark) for row in rows]
    if all(row.problem for row in rows):
        columns["problem"] = [row.problem for row in rows]
    for name in rows[0].extras if rows else ():  # what else a plain table says of its samples
        values = [row.extras.get(name) for row in rows]
        if name in (*NOT_COLUMNS, *_OF_A_RESPONSE, *columns) or not all(
            isinstance(value, str | int | float) for value in values
        ):
            continue
        columns[name] = [str(value) for value in values] if any(isinstance(value, str) for value in values) else values
    return pd.DataFrame(columns)


_OF_A_RESPONSE = (
    *("response", "expected", "finish_reason", "tokens", "their_answer", "sampling_error", "gold", "question", "id"),
    *("step", "train_seed", "benchmark"),
)


def _as_numbers(grades: Sequence[Grade]) -> list[bool | None]:
    from evals.grading.verdicts import Verdict

    return [None if g.verdict == Verdict.UNSCORED else g.verdict == Verdict.CORRECT for g in grades]


_IDS = ("id", "problem_id")
_RENAMED = {
    "id": "problem_id",
    "correct": "label",
    "step": "checkpoint",
}  # names in a table of verdicts -> those in `Evidence`


def verdict_table(
    path: Path, columns: Mapping[str, str], threshold: float | None = None, conditions: Sequence[str] = ()
) -> pd.DataFrame | None:
    """Verdicts without responses, as `Evidence` takes them: a table of `id`, `correct` (one, or a list of those of all
    samples), and where it has them `seed`, `step`, `truncated`, `answer` and `benchmark`. None if the file is none.

    Args:
        columns: our column -> theirs. `id` may be "row": each verdict is of a problem of its own.
        threshold: a verdict is correct from this number on; None: only 1 and 0 are verdicts.
        conditions: on the rows that are read (`evals.paths.kept`). `attrs["note"]` has a sentence about them.
    Raises:
        UsageError: a value is no verdict; with its row.
    """
    from evals.answer_files.containers import contents
    from evals.answer_files.items import select
    from evals.answer_files.labels import as_label
    from evals.paths import refuse_mixed

    objects, note = select(path, contents(path, columns, conditions), columns, conditions)
    numbered = columns.get("id") == ROW and ROW not in objects[0]
    if numbered:
        columns = {column: source for column, source in columns.items() if column != "id"}
    refuse_mixed(path, objects, columns)
    table = pd.DataFrame([_by_our_names(row, columns) for row in objects])
    if numbered and "correct" in table:
        table = table.explode("correct").reset_index(drop=True)
        table["id"] = range(1, len(table) + 1)
    if "correct" in columns and "correct" not in table:
        raise UsageError(f"{path}: no column {columns['correct']!r} for correct. There are {', '.join(objects[0])}")
    if "correct" in columns and "id" not in table:
        raise UsageError(
            f"{path}: no column id. Type {shlex.quote('columns=id:THEIRS,correct:' + columns['correct'])}, "
            "or id:row if each verdict is of a problem of its own"
        )
    if not {"id", "correct"} <= set(table) or ("response" in table and "correct" not in columns):
        return None
    if {"id", "problem_id"} <= {*table} and "id" not in columns:
        typed = [shlex.quote(f"columns=id:{name},correct:{columns.get('correct', 'correct')}") for name in _IDS]
        raise UsageError(f"{path}: both id and problem_id. Type {' or '.join(typed)}, the one that names the problem")
    table = table.drop(columns=[new_name for name, new_name in _RENAMED.items() if {name, new_name} <= {*table}])
    lists = [name for name in {*table} - {"correct"} if table[name].map(lambda limit: isinstance(limit, list)).any()]
    if "id" in lists:
        raise UsageError(
            f"{path}: id is a list. Type columns=id:THEIRS, a column whose value names the problem. If the file is one "
            "object whose keys are ids, write its entries as rows first"
        )
    table = table.drop(columns=lists)
    if lacking := [number for number, value in enumerate(table["id"], 1) if is_nothing(value)]:
        raise UsageError(
            f"{path}, row {lacking[0]}: id is empty. Type columns=id:THEIRS, a column that names the problem"
        )
    if table["correct"].map(lambda value: isinstance(value, list)).all():
        table = table.explode("correct").reset_index(drop=True)
    for name, limit in (("correct", threshold), ("truncated", None)):
        labels: list[float] = []
        reached = bool((pd.to_numeric(table.get(name, pd.Series(dtype=float)), errors="coerce") >= 1).any())
        for number, value in enumerate(table.get(name, ()), 1):
            try:
                label = as_label(value, limit, reached)
            except ValueError as error:
                inside = _inside(value, columns, objects[0])
                raise UsageError(f"{path}, row {number}: {name}: {error}{inside}") from error
            labels.append(float("nan") if label is None else float(label))
        if name in table:
            table[name] = labels
    for name in {*table} - {"id", "correct", "truncated", "seed", "answer", "problem"}:  # a CSV has texts
        with contextlib.suppress(ValueError, TypeError):
            table[name] = pd.to_numeric(table[name])
    table = table.rename(columns=_RENAMED)
    table.attrs["note"] = note
    return table.astype({"checkpoint": int}) if "checkpoint" in table else table


def _inside(value: object, columns: Mapping[str, str], row: Mapping[str, object]) -> str:
    """The advice where a verdict is an object: the path to the only verdict in it, else nothing."""
    from evals.answer_files.labels import is_label
    from evals.answer_files.what_to_type import argument
    from evals.paths import reach

    keys = [key for key, verdict in value.items() if is_label(verdict)] if isinstance(value, dict) else []
    if len(keys) != 1:
        return f". Type columns=correct:COLUMN.KEY with one of {', '.join(keys)}" if keys else ""
    path = columns.get("correct", "correct")
    every = ".*" if isinstance(reach(row, path), list) else ""
    return f". Type {argument({'id': 'id', **columns, 'correct': f'{path}{every}.{keys[0]}'})}"


def _by_our_names(row: Mapping[str, object], columns: Mapping[str, str]) -> dict[str, object]:
    """A row of verdicts by our names. An object inside is no column; a path of `columns` reaches what is in it."""
    from evals.paths import ABSENT, reach

    away = {*columns, *columns.values()}
    values = {name: value for name, value in row.items() if name not in away and not isinstance(value, dict)}
    named = ((column, reach(row, source)) for column, source in columns.items())
    return values | {column: value for column, value in named if value is not ABSENT}


_WORD = re.compile(r"(?!\d{4}-\d\d|nan$|inf$)(?=.*[A-Za-z])", re.IGNORECASE)  # and no date
_REWARD = re.compile(r"reward|critic/score|advantage|\breturns?\b|\btrain")
_NO_SCORE = re.compile(
    r"std|loss|\blr\b|learning_rate|entropy|\bkl|grad|length|time|runtime|per_second|clip|epoch|perplexity|step"
)
_EVALUATION = re.compile(r"(?:\b|_)(?:val|valid|validation|eval|evaluation|test)(?:\b|_)|bench")


def training_reward(metric: str) -> bool:
    """Whether a name is of what a trainer logs of its own rollouts, such as critic/rewards/mean, and not of an
    evaluation, such as val-core/openai/gsm8k/reward/mean@1."""
    return bool(_REWARD.search(metric.lower())) and not _EVALUATION.search(metric.lower())
