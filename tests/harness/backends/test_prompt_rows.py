"""The prompts that a training gets: rendered once for all arms of a seed, and again when anything differs."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from evals.provenance import assumed
from harness.backends import common
from harness.data.tiny import family, tokenizer
from tests.experiments import WHY, experiment


@pytest.fixture(scope="module")
def words() -> Any:
    pytest.importorskip("transformers")
    return tokenizer.build_tokenizer(family("tiny").pieces())


def test_equal_prompts_are_rendered_once(words: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    common._rendered.cache_clear()
    first = common.prompt_rows(experiment(), words, seed=5)
    monkeypatch.setattr("evals.data.prompts.render", lambda *_: pytest.fail("rendered again"))
    assert common.prompt_rows(experiment(), copy.deepcopy(words), seed=5) == first
    lengths = [len(words.encode(row["prompt"])) for row in first[0]]
    limit = replace(experiment(), max_prompt_tokens=assumed(min(lengths), WHY))
    rows, dropped, _ = common.prompt_rows(limit, words, seed=5)
    short = [row for row, length in zip(first[0], lengths, strict=True) if length == min(lengths)]
    assert (rows, dropped) == (short, 4000 - len(short))  # another limit asks for no rendering
    assert 0 < len(short) < len(first[0])


def test_different_prompts_are_rendered_again(words: Any) -> None:
    plain, _, digest = common.prompt_rows(experiment(), words, seed=5)
    of_seed, _, other = common.prompt_rows(experiment(), words, seed=6)
    assert plain != of_seed
    assert digest != other
    chat = replace(experiment(), prompt=assumed("boxed_suffix", WHY), max_prompt_tokens=assumed(200, WHY))
    asked = common.prompt_rows(chat, words, seed=5)[0]
    assert asked[0]["prompt"].startswith("<user>")
    changed = copy.deepcopy(words)
    changed.chat_template = "{{ messages[0].content }}!"
    assert common.prompt_rows(chat, changed, seed=5)[0][0]["prompt"].endswith("!")
    assert common.prompt_rows(chat, words, seed=5)[0] == asked
