"""Evidence from files: training curves of several tools, and files of graded responses."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from evals.audit.evidence import Evidence
from evals.files import text_sha256
from evals.suggest import expected

if TYPE_CHECKING:
    from evals.answer_files.reading import AnswerFile
    from evals.grading import Grade, Grader

LONG = 100  # characters of a response: two that are alike are copies
STEPS = ("step", "Step", "global_step", "_step", "trainer/global_step", "steps", "iteration", "total_steps")
WORDS = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0} | dict.fromkeys(("", "none", "nan"))
_VERL = re.compile(r"\bstep:(\d+) - (.+)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LIGHTEVAL = re.compile(r"\|\s*\w+:(\w+):\d+\s*\|\s*\d+\|\w+\s*\|\s*([\d.]+)\s*\|")


def _verl(text: str) -> Iterable[dict[str, float]]:
    """veRL's console: `step:10 - name:0.5 - name:1.0`, whatever Ray writes before it."""
    for match in _VERL.finditer(text):
        row: dict[str, float] = {"step": int(match[1])}
        for part in match[2].split(" - "):
            name, _, value = part.rpartition(":")
            if name and _NUMBER.fullmatch(value.strip()):
                row[name] = float(value)
        yield row


def _trainer_state(text: str) -> Iterable[dict[str, float]]:
    """trainer_state.json of transformers and TRL."""
    return [_numbers(entry) for entry in json.loads(text)["log_history"]]


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


def _lines(text: str) -> Iterable[dict[str, float]]:
    if text.lstrip().startswith("["):
        return [_numbers(row) for row in json.loads(text)]
    return [_numbers(json.loads(line)) for line in text.splitlines() if line.strip()]


def _csv(text: str) -> Iterable[dict[str, float]]:
    return [_numbers(row) for row in pd.read_csv(io.StringIO(text)).to_dict("records")]


def _numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    return {str(key): float(value) for key, value in row.items() if isinstance(value, int | float) and value == value}


def _reader(name: str, text: str) -> Callable[[str], Iterable[dict[str, float]]]:
    """The reader of a file of curves, by its content."""
    if ":::MLLOG " in text:
        return _mllog
    if '"log_history"' in text[:100_000] and text.lstrip().startswith("{"):
        return _trainer_state
    if _VERL.search(text):
        return _verl
    if _LIGHTEVAL.search(text):
        return _lighteval
    if text.lstrip().startswith(("{", "[")):
        return _lines
    if "," in text.partition("\n")[0]:
        return _csv
    raise ValueError(
        f"{name}: no curve was recognised; expected a console log of veRL, trainer_state.json, a log of MLPerf, tables "
        "of lighteval, CSV or JSON Lines"
    )


def read_curve(text: str, *, name: str = "text", step: str | None = None) -> pd.DataFrame:
    """The metrics of a training by step, one column each. Values of one step that stand on several lines are joined; of
    several values of one metric the last counts, as of a step that a resumed training logs again.

    Args:
        name: of the file, for errors. step: the column of steps; None: one of `STEPS`.
    Raises:
        ValueError: the text is of no known form, damaged, or has no step.
    """
    reader = _reader(name, text)
    try:
        rows = list(reader(text))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{name}: damaged or cut short: {type(error).__name__} {error}") from error
    table = pd.DataFrame(rows)
    known = STEPS if step is None else (step,)
    found = next((column for column in known if column in table), None)
    if found is None:
        there = ", ".join(map(str, table)) or "no row"
        raise ValueError(
            f"{name}: no column of steps (columns=step:NAME); expected one of {', '.join(known)}, got {there}"
        )
    table = table.rename(columns={found: "step"}).dropna(subset=["step"])
    curve = table.groupby("step").last().reset_index()
    # the lines of a step that a resumed run logged again; plain values, because pandas compares `attrs` when it joins
    curve.attrs["repeated"] = table[table["step"].duplicated(keep=False)].to_dict("list")
    return curve


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
    "trainer.total_epochs": "epochs",
}


def verl_settings(text: str) -> dict[str, Any]:
    """The settings that the command in a console log of veRL gives, by the names of a declaration; {} without one."""
    given = dict(re.findall(r"(?:^|\s)'?([a-z_]+(?:\.\w+)+)=([^\s'\\]+)", text))
    numbers = {key: float(value) if _NUMBER.fullmatch(value) else value for key, value in given.items()}
    return {ours: numbers[theirs] for theirs, ours in _VERL_SETTINGS.items() if theirs in numbers}


def curve_evidence(
    curves: Mapping[str, pd.DataFrame],
    metric: str,
    *,
    problems: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evidence:
    """The checkpoints that curves evaluated; percentages become shares.

    Args:
        curves: seed -> its curve. metric: a column. problems: of the benchmark, if known. settings: of the run.
    Raises:
        ValueError: a curve lacks the metric.
    """
    parts, before = [], []
    for seed, curve in curves.items():
        if metric not in curve:
            raise ValueError(f"metric: {expected(metric, [str(column) for column in curve if column != 'step'])}")
        before.append(_overwritten(curve, metric).assign(seed=seed))
        points = curve[["step", metric]].dropna().set_axis(["checkpoint", "value"], axis=1)
        parts.append(points.assign(seed=seed))
    scores, overwritten = pd.concat(parts, ignore_index=True), pd.concat(before, ignore_index=True)
    if scores["value"].max() > 1:
        scores["value"] /= 100
        overwritten["value"] /= 100
    return replace(Evidence.of_scores(scores, problems, settings), overwritten=overwritten)


def graded(rows: Sequence[Mapping[str, Any]], grader: Grader) -> pd.DataFrame:
    """Verdicts of responses: `problem_id`, `label` (theirs), `ours`, `strict`, `truncated`, as `Evidence` takes them.
    Where the file cut its gold, a verdict against it says nothing, and the label stands.

    Args:
        rows: of `evals.answer_files.reading.read_answers`.
    """
    from evals.answer_files.differing import gold_is_cut

    table, grades = by_policy(rows, grader, ("boxed_strict", "answer_tag", "qwen"))
    for column, policy in (("ours", "ours"), ("strict", "boxed_strict")):
        cut = [gold_is_cut(row, grade.answer) for row, grade in zip(rows, grades[policy], strict=True)]
        table[column] = table[policy].mask(pd.Series(cut), table["label"])
    return table


def programs(file: AnswerFile) -> bool:
    """Whether the responses of a file are programs."""
    from evals.answer_files.reading import as_text
    from evals.code_execution.program_grader import is_gold

    return all(is_gold(as_text(row["answer"])) for row in file.rows)


def graded_programs(file: AnswerFile) -> pd.DataFrame:
    """As `graded`, of programs: `ours` by the policy of the file's format, `strict` by the last block in a closed fence
    where it is chat, else the same."""
    from evals.answer_files.formats import AS_PROGRAMS
    from evals.answer_files.reading import as_text
    from evals.code_execution.program_grader import ProgramGrader
    from evals.grading.verdicts import Verdict

    used = AS_PROGRAMS.get(file.format, "program")
    triples = [(as_text(row["answer"]), str(row["response"]), row.get("finish_reason")) for row in file.rows]
    table = pd.DataFrame(
        {
            "problem_id": [str(row["problem_id"]) for row in file.rows],
            "label": [None if row.get("expected") is None else float(row["expected"]) for row in file.rows],
            "truncated": [float(row.get("finish_reason") == "length") for row in file.rows],
        }
    )
    with ProgramGrader() as grader:
        for column, policy in (("ours", used), ("strict", "program_fenced" if used == "program" else used)):
            grades = grader.grade_responses(triples, policy)
            table[column] = [None if g.verdict == Verdict.UNSCORED else g.verdict == Verdict.CORRECT for g in grades]
    return table.astype(dict.fromkeys(("label", "ours", "strict"), float))


def by_policy(
    rows: Sequence[Mapping[str, Any]], grader: Grader, policies: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, list[Grade]]]:
    """Their labels, and our verdicts under each policy of extraction (`answer_tag` and `qwen` among them) and on the
    answer wherever it stands (`ours`), as 1, 0 or missing; and the grades."""
    from evals.answer_files.differing import anywhere
    from evals.answer_files.reading import as_text
    from evals.grading.verdicts import Verdict

    triples = [(as_text(row["answer"]), str(row["response"]), row.get("finish_reason")) for row in rows]
    grades = {policy: grader.grade_responses(triples, policy) for policy in policies}
    grades["ours"] = anywhere(grades["answer_tag"], grades["qwen"])
    columns: dict[str, Any] = {
        "problem_id": [str(row["problem_id"]) for row in rows],
        "label": [None if row.get("expected") is None else float(row["expected"]) for row in rows],
        "truncated": [float(row.get("finish_reason") == "length") for row in rows],
        "answer": [row.get("their_answer") or grade.answer for row, grade in zip(rows, grades["ours"], strict=True)],
    }
    # of long responses: short ones repeat by their nature
    texts = [
        f"{as_text(row['answer'])}\0{row['response']}" if len(str(row["response"])) >= LONG else None for row in rows
    ]
    columns["copy_of"] = [None if text is None else text_sha256(text) for text in texts]
    if any(row.get("benchmark") for row in rows):
        columns["benchmark"] = [str(row.get("benchmark")) for row in rows]
    for policy, of_policy in grades.items():
        columns[policy] = [None if g.verdict == Verdict.UNSCORED else g.verdict == Verdict.CORRECT for g in of_policy]
    return pd.DataFrame(columns).astype(dict.fromkeys(("label", *grades), float)), grades


def verdict_table(path: Path, columns: Mapping[str, str]) -> pd.DataFrame | None:
    """Verdicts without responses, as `Evidence` takes them: a table of `id`, `correct`, and where it has them `seed`,
    `step` and `truncated`. None if the file is none.

    Args:
        columns: our column -> theirs.
    """
    from evals.answer_files.containers import contents

    table = pd.DataFrame(contents(path)).rename(columns={theirs: ours for ours, theirs in columns.items()})
    if not {"id", "correct"} <= set(table) or "response" in table:
        return None
    for name in {"correct", "truncated"} & set(table):
        texts = table[name].astype(str).str.lower()
        if strange := sorted(set(texts) - set(WORDS)):
            raise ValueError(f"{path}: {name}: expected true, false, 1, 0 or nothing, got {strange[0]!r}")
        table[name] = texts.map(WORDS)
    table = table.rename(columns={"id": "problem_id", "correct": "label", "step": "checkpoint"})
    return table.astype({"checkpoint": int}) if "checkpoint" in table else table


def checkpoint_numbers(files: Sequence[Path]) -> list[int]:
    """The checkpoint of each file: the one number that differs between their names, else their order."""
    numbers = [[int(part) for part in re.findall(r"\d+", str(file))] for file in files]
    if len({len(row) for row in numbers}) == 1 and numbers[0]:
        varying = [column for column in zip(*numbers, strict=True) if len(set(column)) == len(files)]
        if len(varying) == 1:
            return list(varying[0])
    return list(range(len(files)))
