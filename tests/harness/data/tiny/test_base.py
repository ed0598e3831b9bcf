"""The base model's building, on a short version of it: deterministic, cached by what decides it, whole or absent."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from harness.data.tiny import base, problems, tokenizer
from harness.data.tiny.base import BaseSettings, build_base

SHORT = BaseSettings(hidden=32, intermediate=64, practice_steps=2, mixture_steps=1, batch=8)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_same_bytes_twice(tmp_path: Path) -> None:
    """Also with other global random state and another thread count around it, and both are left as they were."""
    import torch

    first = build_base(tmp_path / "a", settings=SHORT)
    torch.manual_seed(123)
    random.seed(123)
    threads = torch.get_num_threads()
    state, other_state = torch.get_rng_state(), random.getstate()
    torch.set_num_threads(1)
    try:
        second = build_base(tmp_path / "b", settings=SHORT)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert first.name == second.name
    assert contents(first) == contents(second)
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == other_state


def test_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build_base(tmp_path, settings=SHORT)
    monkeypatch.setattr(base, "train_base", lambda *_: pytest.fail("trained again"))
    assert build_base(tmp_path, settings=SHORT) == folder
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]  # no working folder left behind


def test_key_changes_with_whatever_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = [base.cache_key(0, SHORT), base.cache_key(1, SHORT), base.cache_key(0, replace(SHORT, mixture_steps=2))]
    for module in (problems, tokenizer, base):
        changed = tmp_path / "changed.py"
        changed.write_text(Path(str(module.__file__)).read_text() + "# changed\n")
        with monkeypatch.context() as patched:
            patched.setattr(module, "__file__", str(changed))
            keys.append(base.cache_key(0, SHORT))
    with monkeypatch.context() as patched:
        patched.setattr(base.metadata, "version", lambda name: "0.0")
        keys.append(base.cache_key(0, SHORT))
    assert len(set(keys)) == len(keys)
    assert base.cache_key(0, SHORT) == keys[0]


@pytest.mark.parametrize("moment", ["training", "writing"])
def test_killed_build_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    from transformers import Qwen2ForCausalLM, Qwen2Tokenizer

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    owner, name = (Qwen2ForCausalLM, "forward") if moment == "training" else (Qwen2Tokenizer, "save_pretrained")
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_base(tmp_path, settings=SHORT)
    assert list(tmp_path.iterdir()) == []
    assert (build_base(tmp_path, settings=SHORT) / "model.safetensors").is_file()


def test_two_builds_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process's build lands while ours trains: ours gives way, and its folder is whole."""
    train = base.train_base

    def train_slowly(*arguments: object) -> object:
        monkeypatch.setattr(base, "train_base", train)
        build_base(tmp_path, settings=SHORT)
        return train(*arguments)

    monkeypatch.setattr(base, "train_base", train_slowly)
    folder = build_base(tmp_path, settings=SHORT)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert (folder / "model.safetensors").is_file()


def test_checkpoint_loads_and_answers(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = build_base(tmp_path, settings=SHORT)
    model, words = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.config.model_type == "qwen2"
    assert model.config.vocab_size == len(words)
    chat = [{"role": "user", "content": problems.eval_problems("tiny_short")[0]["problem"]}]
    prompt = words.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    out = model.generate(**prompt, do_sample=False, max_new_tokens=4)
    assert 1 <= out.shape[1] - prompt["input_ids"].shape[1] <= 4
    assert model.generation_config.eos_token_id == words.eos_token_id
    assert model.generation_config.pad_token_id == words.pad_token_id


def test_settings_size() -> None:
    """The real base model is within the promised 0.3 to 2 million parameters."""
    model = base.new_model(tokenizer.build_tokenizer(), BaseSettings())
    assert 300_000 <= model.num_parameters() <= 2_000_000


def test_rows_train_on_the_answer_alone() -> None:
    words = tokenizer.build_tokenizer()
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

    words = tokenizer.build_tokenizer()
    torch.manual_seed(0)
    model = base.new_model(words, SHORT).double()
    rows = base.encoded(words, list(islice(problems.supervised_pairs(0), 7)))
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
