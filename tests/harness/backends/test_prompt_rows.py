"""The prompts that a training gets."""

from __future__ import annotations

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


def test_prompts_over_the_limit_are_dropped_and_counted(words: Any) -> None:
    every, dropped, _ = common.prompt_rows(experiment(), words, seed=5)
    lengths = [len(words.encode(row["prompt"])) for row in every]
    limit = replace(experiment(), max_prompt_tokens=assumed(min(lengths), WHY))
    short = [row for row, length in zip(every, lengths, strict=True) if length == min(lengths)]
    assert (len(every), dropped) == (4000, 0) and 0 < len(short) < 4000
    assert common.prompt_rows(limit, words, seed=5)[:2] == (short, 4000 - len(short))
