"""The pinned base models are those that were pinned, with the tokenizer that the code builds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from harness.data.tiny import FAMILIES, family, tokenizer
from harness.data.tiny.pinned import PINNED, pinned

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", FAMILIES)
def test_pinned_base_is_what_was_pinned(name: str) -> None:
    """The hash is of the shipped files, and the tokenizer in the folder is the one that the code builds."""
    from transformers import AutoTokenizer

    folder = pinned(name)
    loaded = AutoTokenizer.from_pretrained(folder)
    built = tokenizer.build_tokenizer(family(name).pieces())
    texts = [row[key] for row in family(name).train_solutions(50, seed=0) for key in ("problem", "solution")]
    assert loaded(texts).input_ids == built(texts).input_ids and loaded.batch_decode(built(texts).input_ids) == texts
    assert (loaded.padding_side, loaded.pad_token, loaded.eos_token) == ("left", "<pad>", "<eos>")
    assert set(PINNED) == set(FAMILIES)


def test_changed_pinned_base_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.data.tiny import pinned as module

    shutil.copytree(pinned("tiny"), tmp_path / "tiny")
    weights = tmp_path / "tiny" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    monkeypatch.setattr(module, "MODELS", tmp_path)
    pinned.cache_clear()
    try:
        with pytest.raises(RuntimeError, match=f"expected the pinned base model {PINNED['tiny'][:12]}"):
            pinned("tiny")
    finally:
        pinned.cache_clear()


def test_chat_template() -> None:
    words = tokenizer.build_tokenizer(family("tiny").pieces())
    question = {"role": "user", "content": "What is T?"}
    answer = {"role": "assistant", "content": "\\boxed{3}"}

    def chat(*messages: dict[str, str], prompt: bool = False) -> str:
        return words.apply_chat_template(list(messages), add_generation_prompt=prompt, tokenize=False)

    assert chat(question, prompt=True) == "<user>What is T?<assistant>"
    assert chat(question, answer) == f"<user>What is T?<assistant>\\boxed{{3}}{tokenizer.EOS}"
    assert words(chat(question, answer)).input_ids[-1] == words.eos_token_id
