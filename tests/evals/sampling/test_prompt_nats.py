"""How well a model predicts its prompts: by hand, by loops, and on models whose faults are planted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evals.sampling import prompt_nats as prompt_nats_module
from evals.sampling.evaluate import evaluate
from evals.sampling.prompt_nats import LEAST_VOCABULARY, MOST_NATS, MOST_SHARE, TOKENS, PromptNats, nats, prompt_nats
from evals.sampling.store import PROMPT_NATS
from harness.data.tiny.pinned import PINNED, pinned
from tests.evals.sampling.toy import Scripted, protocol, set_up


def test_nats_by_hand() -> None:
    import torch

    # softmax of log(p) is p: 1/2 for the first token, 1/8 for the second, so log 2 + log 8 = 4 log 2
    logits = torch.tensor([[1 / 2, 1 / 4, 1 / 4], [5 / 8, 1 / 4, 1 / 8]]).log() + 7  # a constant changes nothing
    assert nats(logits, torch.tensor([0, 2])) == pytest.approx(4 * math.log(2))


def test_shares_by_hand() -> None:
    # 3 tokens among 1,024 with 5 nats each, in 18 bytes: log 1024 = 10 log 2, so a share of 1 / (2 log 2) = 0.72
    read = PromptNats(prompts=1, tokens=3, size=18, nats=15.0, vocabulary=1024)
    assert read.per_byte == 15 / 18
    assert read.share_of_a_guess == pytest.approx(1 / (2 * math.log(2)))
    assert read.warning is not None
    assert "0.83 nats per byte, which is 72 % of a blind guess among its 1,024 tokens" in read.warning


def test_both_limits_and_no_verdict_on_a_small_vocabulary() -> None:
    def warned(nats_per_byte: float, share: float, vocabulary: int) -> bool:
        tokens = 100
        total = share * tokens * math.log(vocabulary)
        return PromptNats(1, tokens, round(total / nats_per_byte), total, vocabulary).warning is not None

    assert not warned(MOST_NATS - 0.1, MOST_SHARE - 0.1, 50_000)
    assert warned(MOST_NATS + 0.1, 0.1, 50_000)
    assert warned(0.5, MOST_SHARE + 0.1, 50_000)
    assert not warned(MOST_NATS + 0.1, MOST_SHARE + 0.1, LEAST_VOCABULARY - 1)


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    return model.train(), AutoTokenizer.from_pretrained(folder)


def test_it_is_the_sum_over_the_tokens_of_each_different_prompt(model_dir: Path) -> None:
    import torch

    model, tokenizer = loaded(model_dir)
    prompts = [tokenizer.encode(text) for text in ("What is 1+1?", "What is 1+1?", "ab", "x", "y" * (2 * TOKENS))]
    total, tokens = 0.0, 0
    for row in (prompts[0], prompts[2], prompts[4][:TOKENS]):  # a prompt of one token predicts nothing
        for place in range(1, len(row)):
            with torch.no_grad():
                p = torch.softmax(model(torch.tensor([row[:place]])).logits[0, -1], -1)
            total, tokens = total - math.log(p[row[place]]), tokens + 1
    read = prompt_nats(model, tokenizer, prompts)
    assert read is not None
    assert (read.prompts, read.tokens, read.size) == (3, tokens, tokens)  # each token of this model is a character
    assert read.nats == pytest.approx(total, rel=1e-5)
    assert model.training  # as it was
    assert prompt_nats(model, tokenizer, [[5], []]) is None


@pytest.mark.parametrize("name", PINNED)
def test_a_pinned_model_is_not_judged(name: str) -> None:
    """It was trained from scratch on responses alone: it answers prompts, and predicts them no better than a guess."""
    model, tokenizer = loaded(pinned(name))
    read = prompt_nats(model, tokenizer, [tokenizer.encode("<user>W is 7. W times 4 is M.<assistant>")])
    assert read is not None and read.vocabulary < LEAST_VOCABULARY
    assert read.share_of_a_guess > 1 and read.warning is None


def test_an_evaluation_warns_and_records_it(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prompt_nats_module, "LEAST_VOCABULARY", 2)  # the weights of this small model are random
    place = set_up(tmp_path, model_dir, monkeypatch)
    (table,) = evaluate(protocol=protocol(1), **place).values()
    assert capsys.readouterr().err.count("WARNING: toy: the model cannot read its own prompts") == 1
    record = recorded(table)
    assert record["prompts"] == 4 and record["nats_per_byte"] > MOST_NATS
    evaluate(protocol=protocol(1), **place)  # nothing is sampled, so nothing is measured, and the record keeps it
    assert recorded(table) == record


def test_an_engine_that_does_not_measure_it_says_so(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = set_up(tmp_path, model_dir, monkeypatch)
    (table,) = evaluate(protocol=protocol(1), engine=Scripted(), **place).values()
    assert recorded(table) is None


def recorded(table: Path) -> Any:
    return json.loads((table.parent / "manifest.json").read_text())["record"][PROMPT_NATS]
