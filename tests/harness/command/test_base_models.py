"""A base model's folder that cannot be trained or measured is named before anything starts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.command.base_models import check_base_models
from harness.command.resolve import resolve
from harness.data.tiny.pinned import MODELS

NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[0].content }}"
)


def jobs(**overrides: Any) -> list[Any]:
    return resolve("egsw", arms=["grpo"], seeds=[0], overrides=overrides)


def remove(pattern: str) -> Callable[[Path], None]:
    return lambda folder: [path.unlink() for path in folder.glob(pattern)] and None


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (remove("model.safetensors"), "it has no weights. Expected one of model*.safetensors"),
        (remove("tokenizer*"), "it has no tokenizer. Expected one of tokenizer.json"),
        (
            remove("chat_template.jinja"),
            "'plain' is a chat prompt, but the model's tokenizer has no chat template",
        ),
        (lambda folder: (folder / "chat_template.jinja").write_text("{% for"), "prompt 'plain': the chat template"),
    ],
    ids=["weights", "tokenizer", "template", "broken template"],
)
def test_what_a_folder_lacks_is_named(breaks: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    model = Path(shutil.copytree(MODELS / "tiny", tmp_path / "model"))
    check_base_models(jobs(base_model=str(model)))
    breaks(model)
    with pytest.raises(ValueError) as raised:
        check_base_models(jobs(base_model=str(model)))
    assert message in str(raised.value) and str(model) in str(raised.value)


@pytest.mark.parametrize("key", ["prompt", "protocol.prompt"])
def test_a_template_that_refuses_a_system_message(key: str, tmp_path: Path) -> None:
    """The protocol's prompt would have failed after the training."""
    model = Path(shutil.copytree(MODELS / "tiny", tmp_path / "model"))
    (model / "chat_template.jinja").write_text(NO_SYSTEM)
    check_base_models(jobs(base_model=str(model)))
    with pytest.raises(ValueError, match=r"fails on a conversation of system, user \(no system\)"):
        check_base_models(jobs(**{"base_model": str(model), key: "boxed_system"}))
    with pytest.raises(ValueError, match=r"base_model=tiny: .* fails on a conversation of system, user"):
        check_base_models(jobs(**{key: "boxed_system"}))  # the shipped base models too
    check_base_models(jobs())
