"""What to type where a file is of no known format, or a row lacks its gold."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from evals.answer_files.leaves import Leaf, is_label
from evals.answer_files.proposal import proposal, verdict_columns
from evals.paths import in_jq

_GOLDS = (
    *("gold", "answer", "expected_answer", "ground_truth", "target", "reference", "references", "gt", "gts"),
    *("gold_answer", "correct_answer", "final_answer", "label", "ground_truths", "solution"),
)
_RESPONSES = (
    *("response", "generation", "completion", "output", "model_output", "output_response", "prediction"),
    *("responses", "generations", "completions", "outputs", "model_outputs", "predictions", "decoded_responses"),
    *("model_response", "llm_response", "model_prediction", "model_generation", "raw_generation", "raw_output"),
    *("generated_text", "predict", "content", "text", "solution", "code"),
)
_VERDICTS = ("correct", "is_correct", "correctness", "label", "acc", "accuracy", "score", "passed", "reward", "rewards")

SHOWN = 12  # paths of texts that an error lists
Objects = Sequence[Mapping[str, object]]


def may_be_row(row: Mapping[str, object]) -> bool:
    """Whether an object has a text by a name that people give to golds or responses."""
    return any(isinstance(row.get(name), str) for name in (*_GOLDS, *_RESPONSES))


def missing_gold(row: Mapping[str, object]) -> str:
    """That a row has no gold, and what to type."""
    theirs = proposal([row]).columns.get("answer", "THEIRS")
    return (
        f"this row has no gold answer. Its columns are {', '.join(row)}. If one of them is the gold answer, type "
        f"{argument({'answer': theirs})}. If the gold answers are in another file, type gold=FILE. FILE needs answer, "
        "and problem_id or problem"
    )


def unread(objects: Objects, columns: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that may be verdicts and are read as nothing else: of truth values, or of the names of verdicts with
    nothing but verdicts."""
    found = (Leaf(name, tuple(row.get(name) for row in objects)) for name in objects[0] if name not in columns.values())
    return tuple(
        leaf.path for leaf in found if leaf.truths or (leaf.name in _VERDICTS and all(map(is_label, leaf.values)))
    )


def given_by(objects: Objects) -> str:
    """The columns of unknown rows as they may be meant, as an argument to type; THEIRS for what is not seen."""
    found = proposal(objects)
    if found.columnar:
        ours = [name for name in ("problem", "answer", "response", "expected") if name in found.columns]
        lists = ", ".join(in_jq(found.columns[name]) for name in ours)
        row = ", ".join(f"{name}: .[{at}]" for at, name in enumerate(ours))
        return (
            "a row for each sample, because gold and response are lists of one length: "
            f"jq -c '[{lists}] | transpose[] | {{{row}}}' FILE > rows.jsonl"
        )
    named = {**{name: path for name, path in found.columns.items() if name == "problem_id"}, **found.columns}
    order = ("problem_id", "problem", "answer", "response", "expected", "finish_reason", "benchmark")
    given = {name: named.get(name, "THEIRS" if name in ("answer", "response") else None) for name in order}
    said = argument(given)
    if found.several:
        said += " golds=any (a response is right that has one of its golds; golds=all: that lists them all)"
    if "answer" not in named:
        said += f" (or, instead of answer, gold=FILE, as in gold=FILE {argument({**given, 'answer': None})})"
    if found.models is not None:
        column, model = found.models
        said += (
            f". Several models wrote the rows ({column}), so keep one of them: jq -c 'select({in_jq(column)} == "
            f"{json.dumps(model)})' FILE > kept.jsonl"
        )
    if found.extracted and "answer" in named:
        taken = argument({**given, "response": found.extracted})
        said += f". For the answers that {found.extracted} holds, type {taken} policy=whole"
    texts = [path for path in found.texts if path not in named.values()][:SHOWN]
    lacking = not {"answer", "response"} <= named.keys()
    return said + (f". Texts inside a row: {', '.join(texts)}" if lacking and texts else "")


def argument(columns: Mapping[str, str | None]) -> str:
    """`columns=OURS:THEIRS,...`, quoted where a shell would read it as something else."""
    return shlex.quote("columns=" + ",".join(f"{ours}:{theirs}" for ours, theirs in columns.items() if theirs))


def verdicts_by(objects: Objects) -> str | None:
    """The columns of a table of verdicts without responses, as they may be meant; None without verdicts."""
    columns = verdict_columns(objects)
    return argument(columns) if columns else None
