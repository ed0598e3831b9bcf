"""Markers of a thought that are special tokens stay in the text of a response. Other special tokens do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.grading import Grader
from evals.grading.verdicts import Verdict
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.encode import marker_tokens, texts_of
from evals.sampling.engines.transformers import TransformersEngine
from tests.evals.conftest import make_model

GREEDY = Decoding(0.0, 1.0, 200)
HARMONY = ["<|start|>", "<|channel|>", "<|message|>"]  # gpt-oss's special tokens. Its <|end|> is the model's end here
CASES = {
    # special tokens, the response as it is generated, its text
    "magistral": (["[THINK]", "[/THINK]"], r"[THINK]so\boxed{7}[/THINK]is\boxed{8}."),
    "closed": (["</think>"], r"so\boxed{7}</think>\boxed{8}"),
    "gpt_oss": (
        HARMONY,
        r"<|channel|>analysis<|message|>\boxed{7}<|start|>assistant<|channel|>final<|message|>\boxed{8}",
    ),
}


def saying(folder: Path, special: list[str], text: str) -> Any:
    """An engine whose model says these tokens, then ends."""
    import torch
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(make_model(folder))
    tokenizer.add_special_tokens({"extra_special_tokens": [*special, "<|tool|>"]})
    tokenizer.save_pretrained(folder)
    engine = TransformersEngine(str(folder), device="cpu")
    engine.model.resize_token_embeddings(len(tokenizer))
    script = [*engine.tokenizer.encode(text), engine.tokenizer.eos_token_id]
    spoken: list[int] = []

    def say(_: Any, __: Any, output: Any) -> Any:
        output.logits = torch.full_like(output.logits, -1e9)
        output.logits[..., script[len(spoken)]] = 0.0
        spoken.append(script[len(spoken)])
        return output

    engine.model.register_forward_hook(say)
    return engine


def one_completion(engine: Any, decoding: Decoding = GREEDY) -> Completion:
    (batch,) = engine.generate([Request(("p", 0), "2 + 2", 0)], decoding)
    (completion,) = batch
    return completion  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_what_follows_a_thought_is_graded(name: str, tmp_path: Path) -> None:
    special, text = CASES[name]
    completion = one_completion(saying(tmp_path, special, text.replace("so", "<|tool|>so")))
    # gpt-oss's <|start|> is a part of no marker
    assert (completion.text, completion.finish_reason) == (text.replace("<|start|>", ""), "stop")
    verdicts = [
        Grader().grade_responses([(gold, completion.text, completion.finish_reason)], "boxed_last")[0].verdict
        for gold in ("7", "8")
    ]
    assert verdicts == [Verdict.WRONG, Verdict.CORRECT]


def test_a_thought_that_never_ends_is_truncated(tmp_path: Path) -> None:
    completion = one_completion(saying(tmp_path, ["[THINK]", "[/THINK]"], r"[THINK]so\boxed{7}"))
    assert Grader().grade_responses([("7", completion.text, "stop")], "boxed_last")[0].verdict is Verdict.TRUNCATED


def test_a_marker_may_end_a_response(tmp_path: Path) -> None:
    engine = saying(tmp_path, ["[THINK]", "[/THINK]"], "[THINK]7[/THINK]8")
    completion = one_completion(engine, replace(GREEDY, stop=("[/THINK]",)))
    assert (completion.text, completion.tokens, completion.finish_reason) == ("[THINK]7", 3, "stop")


def test_byte_pairs_keep_their_spaces_and_other_models_their_texts(tmp_path: Path) -> None:
    """As models are: pieces of bytes, where a token's text is not the text of its bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AddedToken, PreTrainedTokenizerFast

    def made(special: bool) -> Any:
        core = Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False)
        core.train_from_iterator(["so the answer is é ◁ 7"] * 3, trainer)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>")
        tokenizer.add_tokens([AddedToken("◁/think▷", special=special, normalized=False)])
        return tokenizer

    text = " so é 7 ◁/think▷ the answer is 7"
    marked, plain = made(True), made(False)
    rows = [[*tokenizer.encode(text), tokenizer.eos_token_id] for tokenizer in (marked, plain)]
    assert list(marker_tokens(marked).values()) == ["◁/think▷"] and marker_tokens(plain) == {}
    assert marked.batch_decode(rows[:1], skip_special_tokens=True) == [" so é 7  the answer is 7"]  # lost
    assert texts_of(marked, rows[:1]) == texts_of(plain, rows[1:]) == [text]
