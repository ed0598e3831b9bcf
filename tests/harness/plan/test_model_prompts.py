"""The plan shows what a base model at hand is asked, and says where that is not as its files have it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evals.notebook import as_text
from harness.command.resolve import resolve
from harness.plan.plan import Plan, plan
from harness.plan.text import blocks
from tests.experiments import save_random_model

BOX = "What is 1 plus 2?\nPlease reason step by step, and put your final answer within \\boxed{}."


def planned(model: str, values: Mapping[str, Any] | None = None) -> Plan:
    overrides = {"base_model": model, "protocol.benchmarks": ["gsm8k"], **(values or {})}
    return plan(resolve("egsw", arms=["grpo"], scale="small", seeds=[0], overrides=overrides))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_random_model(tmp_path_factory.mktemp("model"))


def test_small_scale_asks_in_the_model_s_chat_template(model: Path) -> None:
    document = planned(str(model))
    (base_model,) = document.base_models
    assert list(base_model.ends) == ["<eos>"] and base_model.notes == ()
    (question,) = base_model.questions
    assert question.text == f"<user>{BOX}<assistant>"
    assert (question.prompt.name, question.uses, question.prompt.chat) == ("boxed_suffix", ("training", "gsm8k"), True)
    text = as_text(blocks(document, brief=True))
    assert f"boxed_suffix (training, gsm8k), its chat template: {question.text!r}" in text
    assert f"what {model} reads, with an example problem; it ends at <eos> ({base_model.ends['<eos>']})" in text


def test_a_prompt_beside_the_chat_template_is_said(model: Path) -> None:
    (base_model,) = planned(str(model), {"prompt": "forking_tokens"}).base_models
    assert base_model.notes == ("prompt forking_tokens is plain text: the model's chat template is not used",)
    assert [(question.prompt.name, question.uses) for question in base_model.questions] == [
        ("forking_tokens", ("training",)),
        ("boxed_suffix", ("gsm8k",)),
    ]


def test_a_chat_template_that_ends_responses_otherwise_is_said(tmp_path: Path) -> None:
    folder = save_random_model(tmp_path)
    for name in ("tokenizer_config.json", "generation_config.json"):
        path, end = folder / name, {"eos_token": "<pad>", "eos_token_id": 0}
        path.write_text(json.dumps({key: end.get(key, value) for key, value in json.loads(path.read_text()).items()}))
    (base_model,) = planned(str(folder)).base_models
    assert base_model.ends == {"<pad>": 0}
    (note,) = base_model.notes
    assert note.startswith("the chat template ends a response with '<eos>', which is none of the model's end tokens")
    assert f"note: {note}" in as_text(blocks(planned(str(folder))))


def test_a_model_without_a_chat_template_and_one_that_is_not_here(tmp_path: Path) -> None:
    folder = save_random_model(tmp_path)
    (folder / "chat_template.jinja").unlink()
    (base_model,) = planned(str(folder)).base_models
    assert len(base_model.notes) == 1 and "has no chat template" in base_model.notes[0]
    assert planned("Qwen/Qwen2.5-0.5B").base_models == ()
