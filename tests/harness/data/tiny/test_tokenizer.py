"""The tokenizer: nothing lost, one token a piece, the same after a round trip through a checkpoint folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.data.tiny import chain
from harness.data.tiny.tokenizer import EOS, build_tokenizer

if TYPE_CHECKING:
    from transformers import Qwen2Tokenizer

pytest.importorskip("transformers")
TOKENIZER = build_tokenizer(chain.FAMILY.pieces())


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Qwen2Tokenizer:
    """The tokenizer as ``AutoTokenizer`` finds it beside a Qwen2 configuration; the model type decides the class."""
    from transformers import AutoTokenizer, Qwen2Config

    folder: Path = tmp_path_factory.mktemp("checkpoint")
    Qwen2Config().save_pretrained(folder)
    TOKENIZER.save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def family_texts() -> list[str]:
    rows = chain.FAMILY.train_solutions(400, seed=0)
    evaluated = [row["problem"] for tier in chain.FAMILY.EVAL_SHAPES for row in chain.FAMILY.eval_problems(tier)]
    return [*(row[name] for row in rows for name in ("problem", "solution")), *evaluated]


def test_loading_changes_nothing(loaded: Qwen2Tokenizer) -> None:
    texts = family_texts()
    assert loaded(texts).input_ids == TOKENIZER(texts).input_ids
    assert loaded.batch_decode(loaded(texts).input_ids) == texts
    assert len(loaded) == len(TOKENIZER)
    assert (loaded.padding_side, loaded.pad_token, loaded.eos_token) == ("left", "<pad>", "<eos>")
    assert loaded.pad_token_id != loaded.eos_token_id


def test_chat_template() -> None:
    question = {"role": "user", "content": "What is T?"}
    answer = {"role": "assistant", "content": "\\boxed{3}"}

    def chat(*messages: dict[str, str], prompt: bool = False) -> str:
        return TOKENIZER.apply_chat_template(list(messages), add_generation_prompt=prompt, tokenize=False)

    assert chat(question, prompt=True) == "<user>What is T?<assistant>"
    assert chat(question, answer) == f"<user>What is T?<assistant>\\boxed{{3}}{EOS}"
    assert TOKENIZER(chat(question, answer)).input_ids[-1] == TOKENIZER.eos_token_id
