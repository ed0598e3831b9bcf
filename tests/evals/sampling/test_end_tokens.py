"""A model that names no end token, or one that it cannot sample, would have every response cut: it is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.sampling.engines.encode import load_tokenizer, model_stop_tokens, stop_tokens


@pytest.fixture
def model(model_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_dir, tmp_path / "model"))


def edit(file: Path, **values: Any) -> None:
    """Set these keys of a JSON file. None removes one."""
    content = {**json.loads(file.read_text()), **values}
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def without_end(model: Path) -> None:
    for name in ("config.json", "generation_config.json"):
        edit(model / name, eos_token_id=None)
    edit(model / "tokenizer_config.json", eos_token=None)


def test_each_place_that_names_one_is_enough(model: Path) -> None:
    without_end(model)
    for name, values in (
        ("generation_config.json", {"eos_token_id": [1]}),
        ("tokenizer_config.json", {"eos_token": "<|end|>"}),
    ):
        before = (model / name).read_text()
        edit(model / name, **values)
        assert model_stop_tokens(str(model), load_tokenizer(str(model))) == [1]
        (model / name).write_text(before)
    (model / "generation_config.json").unlink()  # then transformers reads the model's own configuration
    edit(model / "config.json", eos_token_id=1)
    assert model_stop_tokens(str(model), load_tokenizer(str(model))) == [1]


def test_an_end_token_outside_the_vocabulary_is_none() -> None:
    # as Qwen2Tokenizer adds "<|endoftext|>", number 386, to a tokenizer of 386 tokens that names no end
    words = SimpleNamespace(eos_token_id=386, name_or_path="m")
    with pytest.raises(ValueError, match=r"model 'm': no end token\. .* among its 386 tokens"):
        stop_tokens(None, words, 386)
    assert stop_tokens(7, words, 386) == [7]
    assert stop_tokens(None, words, 387) == [386]
    assert stop_tokens([0, 386], SimpleNamespace(eos_token_id=None), 386) == [0]


def test_a_model_without_a_tokenizer_is_refused_by_name(model: Path) -> None:
    for file in model.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ValueError, match="it has no tokenizer"):
        load_tokenizer(str(model))
