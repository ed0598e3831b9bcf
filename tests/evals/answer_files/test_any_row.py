"""Whatever stands in a row, it is read or refused in words: no other exception, and no sample without a gold."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evals.answer_files.formats import format_of
from evals.answer_files.reading import Reading, read_answers
from evals.errors import UsageError
from tests.evals.answer_files.test_shapes import gym, message, responses, review, swift
from tests.evals.answer_files.test_strangers import MAKERS

ROWS: dict[str, dict[str, Any]] = {
    **{name: make(0, "1 + 1?", "2", r"\boxed{2}", True) for name, (make, _) in MAKERS.items()},
    "nemo_gym": gym(r"\boxed{2}", 1.0, 0, 0),
    "evalscope": review(0, r"\boxed{2}", 1.0),
    "ms_swift": swift(solution=["2"] * 4),
    "openai_responses": {"gold": "2", **responses(message(r"\boxed{2}"))},
    "rows": {"problem_id": "a", "gold": "2", "response": r"\boxed{2}", "expected": True, "finish_reason": "stop"},
    "verdicts": {"problem_id": "a", "gold": "2", "response": "2", "verdict": "correct", "extracted": "2"},
    "verl": {"input": "q", "output": "2", "gts": "2", "score": 1.0, "step": 5},
    "lm_eval": {"doc_id": 0, "doc": {"question": "q"}, "target": "2", "resps": [["2"]], "exact_match": 1.0},
    "inspect": {
        "id": 1, "target": "2", "scores": {"m": {"value": "C", "answer": "2"}},
        "output": {"choices": [{"stop_reason": "stop", "message": {"content": "2"}}], "completion": "2"},
    },
    "lighteval": {
        "doc": {"id": "1", "query": "q", "choices": ["2"], "gold_index": 0},
        "model_response": {"text": ["2"], "output_tokens": [[1]]}, "metric": {"m": 1.0},
    },
    "qwen_math": {"idx": 0, "gt": "2", "code": ["2"], "pred": ["2"], "score": [True]},
    "rollouts": {"qid": "a", "gold": "2", "rollouts": [{"text": "2", "correct": True}]},
    "oat": {"input": "q", "output": ["2"], "scores": [1.0], "reference": "2"},
    "trl": {"step": 1, "prompt": "q", "completion": "2", "answer": "2", "reward": 1.0},
}  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(),
        st.sampled_from(["", " ", "a", "[1]", "nan", "length"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["role", "type", "text"]), inner, max_size=2)
    ),
    max_leaves=3,
)


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_its_format(name: str) -> None:
    format_found = format_of(ROWS[name])
    assert format_found is not None and format_found.about.name == name


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value can be replaced: every key of every object, and every item of every list."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in inside for place in ((*at, key), *places(part, (*at, key)))]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", ROWS)
@given(data=st.data())
def test_a_row_with_another_value_somewhere_is_read_or_refused_in_words(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    row = copy.deepcopy(ROWS[name])
    *way, last = data.draw(st.sampled_from(places(row)))
    part = row
    for key in way:
        part = part[key]
    part[last] = data.draw(VALUES)
    rows = [row] if data.draw(st.booleans()) else [ROWS[name], row]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    columns = data.draw(st.sampled_from([{}, {"answer": "answer", "response": "response"}, {"problem_id": "problem"}]))
    try:
        samples = read_answers(path, Reading(columns, golds="any", label_threshold=1)).rows
    except UsageError:
        return
    assert all(sample.golds and sample.problem_id and isinstance(sample.response, str) for sample in samples)
