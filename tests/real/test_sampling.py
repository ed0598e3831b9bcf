"""The parts of sampling that toy models cannot show: a real tokenizer, chat template, end and padding tokens, bfloat16
files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import evals.sampling.engines.transformers as transformers_engine
from evals.sampling.engines import Completion, Request
from evals.sampling.engines.encode import model_stop_tokens, prompt_tokens
from tests.real.conftest import GREEDY, PROBLEMS, log_probabilities, requests

NEAR = 1e-3  # nats: two tokens that are nearer may change places with the order of float32 sums
EQUAL = 1e-3  # nats, between two engines' log-probabilities of a token, both in float32
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # its chat template has it


@pytest.fixture(scope="module")
def greedy_requests(engine: Any) -> list[Request]:
    return requests(engine.tokenizer)


@pytest.fixture(scope="module")
def responses(engine: Any, greedy_requests: list[Request]) -> dict[str, tuple[Completion, list[int]]]:
    """The greedy responses of transformers, 16 in a batch, with their token ids, end token included."""
    rows: list[list[int]] = []
    with pytest.MonkeyPatch.context() as patch:
        text_of = transformers_engine.response_text
        patch.setattr(
            transformers_engine,
            "response_text",
            lambda tokenizer, tokens, stopped: (rows.extend(tokens), text_of(tokenizer, tokens, stopped))[1],
        )
        done = [completion for batch in engine.generate(greedy_requests, GREEDY) for completion in batch]
    return {completion.key[0]: (completion, row) for completion, row in zip(done, rows, strict=True)}


def check_greedy(engine: Any, request: Request, completion: Completion, tokens: Sequence[int]) -> Any:
    """Each token is the most likely one by a plain pass over what is before it, or nearer than `NEAR` to it. The
    response ends at the end token or the limit, and its text is theirs. Returns the tokens' log-probabilities, [T]."""
    assert completion.tokens == len(tokens) <= GREEDY.max_tokens
    scores = log_probabilities(engine.model, prompt_tokens(engine.tokenizer, request.prompt_text), tokens)[:-1]
    chosen = scores.gather(1, torch.tensor(tokens).unsqueeze(1)).squeeze(1)
    assert float((scores.max(-1).values - chosen).max()) < NEAR
    (end,) = model_stop_tokens(engine.model_path, engine.tokenizer)
    assert end not in tokens[:-1]
    assert completion.finish_reason == ("stop" if tokens[-1] == end else "length")
    bare = tokens[:-1] if tokens[-1] == end else tokens
    assert completion.tokens == GREEDY.max_tokens or tokens[-1] == end
    assert completion.text == engine.tokenizer.decode(bare, skip_special_tokens=True)
    return chosen


def test_the_model_is_what_it_should_be(engine: Any, model: Path) -> None:
    tokenizer, loaded = engine.tokenizer, engine.model
    assert len(tokenizer) == loaded.config.vocab_size == 49_152
    assert loaded.config.num_hidden_layers == 30
    assert loaded.get_input_embeddings().weight is loaded.get_output_embeddings().weight
    # the model card's 135M: 49,152 x 576, and in each layer 3 x 576 x 1,536 + 2 x 576 x (576 + 192) + 2 x 576. 576
    assert loaded.num_parameters() == 49_152 * 576 + 30 * (3 * 576 * 1536 + 2 * 576 * 768 + 2 * 576) + 576
    with (model / "model.safetensors").open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    header.pop("__metadata__", None)
    assert {weight["dtype"] for weight in header.values()} == {"BF16"}
    assert "lm_head.weight" not in header


def test_the_tokenizer_ends_pads_and_splits_as_the_published_one(engine: Any) -> None:
    tokenizer = engine.tokenizer
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    assert model_stop_tokens(engine.model_path, tokenizer) == [2]
    # digits one by one and before anything else, so that what precedes a number is one piece
    assert tokenizer.tokenize("\n\n12 + 345") == ["ĊĊ", "1", "2", "Ġ+", "Ġ", "3", "4", "5"]
    for text in (*PROBLEMS, "  a , b .\t\r\n x", "<|im_end|>"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    (first, *_) = requests(tokenizer)
    assert first.prompt_text == (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{PROBLEMS[0]}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert prompt_tokens(tokenizer, first.prompt_text)[:2] == [1, tokenizer.convert_tokens_to_ids("system")]


def test_batched_greedy_responses_are_the_most_likely_tokens_of_plain_passes(
    engine: Any, greedy_requests: list[Request], responses: dict[str, tuple[Completion, list[int]]]
) -> None:
    for request in greedy_requests:
        check_greedy(engine, request, *responses[request.key[0]])
    assert {completion.finish_reason for completion, _ in responses.values()} == {"stop", "length"}
