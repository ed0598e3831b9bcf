"""Training a tiny base model, on a short version of it: deterministic, whole or absent; the pinned models."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from harness.data.tiny import FAMILIES, base, chain, family, tokenizer
from harness.data.tiny.base import BaseSettings
from harness.data.tiny.pinned import PINNED, pinned

pytestmark = pytest.mark.slow

SHORT = BaseSettings(hidden=32, intermediate=64, practice_steps=2, mixture_steps=1, batch=8)


def build(folder: Path) -> Path:
    for part in base.train_base("tiny", 0, SHORT):
        part.save_pretrained(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_base_model_has_the_same_bytes_twice(tmp_path: Path) -> None:
    """Also with other global random state and another thread count around it, and both are left as they were."""
    import torch

    first = build(tmp_path / "a")
    torch.manual_seed(123)
    random.seed(123)
    threads = torch.get_num_threads()
    state, other_state = torch.get_rng_state(), random.getstate()
    torch.set_num_threads(1)
    try:
        second = build(tmp_path / "b")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert contents(first) == contents(second)
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == other_state


@pytest.mark.parametrize("name", FAMILIES)
def test_pinned_base_is_what_was_pinned(name: str) -> None:
    """The hash is of the shipped files, and the tokenizer in the folder is the one that the code builds."""
    from transformers import AutoTokenizer

    folder = pinned(name)
    loaded = AutoTokenizer.from_pretrained(folder)
    built = tokenizer.build_tokenizer(family(name).pieces())
    texts = [text for pair in islice(family(name).supervised_pairs(0), 50) for text in pair]
    assert loaded(texts).input_ids == built(texts).input_ids
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


def test_rows_train_on_the_answer_alone() -> None:
    words = tokenizer.build_tokenizer(chain.FAMILY.pieces())
    short = ("K is 7. What is K?", "\\boxed{7}")
    long = ("K is 7. What is K?", "first 7 is K \\boxed{7}")
    ids, labels = base.padded(base.encoded(words, [short, long]))
    # <user> K| is| 7|.| What is| K|? <assistant>: 9 tokens; \boxed{ 7 } <eos>: 4; four more on the longer row
    assert words.decode(ids[0, :9]) == "<user>K is 7. What is K?<assistant>"
    assert words.decode(ids[0, 9:13]) == "\\boxed{7}<eos>"
    assert ids.shape == labels.shape == (2, 17)
    assert labels[0].tolist() == [base.IGNORED] * 9 + ids[0, 9:13].tolist() + [base.IGNORED] * 4
    assert labels[1].tolist() == [base.IGNORED] * 9 + ids[1, 9:].tolist()


def test_gradient_is_that_of_the_mean_over_all_answer_tokens() -> None:
    """Against one row at a time without padding: the sum of -log p over answer tokens, divided by their number."""
    import torch

    words = tokenizer.build_tokenizer(chain.FAMILY.pieces())
    torch.manual_seed(0)
    model = base.new_model(words, SHORT).double()
    rows = base.encoded(words, list(islice(chain.FAMILY.supervised_pairs(0), 7)))
    slow = torch.zeros((), dtype=torch.float64)
    for prompt, answer in rows:
        log_probs = model(input_ids=torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
        for i, token in enumerate(answer):
            slow = slow - log_probs[len(prompt) + i - 1, token]
    slow = slow / sum(len(answer) for _, answer in rows)
    expected = torch.autograd.grad(slow, list(model.parameters()))

    loss = base.accumulate_gradient(model, rows, replace(SHORT, micro_batches=3))  # 7 rows: 3 + 3 + 1
    # transformers takes the cross-entropy in float32, hence not 1e-12
    assert loss == pytest.approx(slow.item(), rel=1e-6)
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-7)
