"""The teacher-forced pass: equal to the whole logits, token by token; what it cannot read is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.analysis import token_pass
from evals.analysis.subjects import Response
from evals.analysis.token_pass import COLUMNS, Encoded, encode, measure, read_tokens, split, token_table
from evals.grading.verdicts import Verdict

ANSWERS = [
    Response("a", 0, "K is 7.", " so 7 + 5 = 12", Verdict.CORRECT),
    Response("a", 1, "K is 7.", "", Verdict.NO_ANSWER),
    Response("b", 0, "K is 7. K plus 5 is B.", " then 3", Verdict.WRONG),
    Response("a", 2, "K is 7.", " so 7 + 5 = 12 = 12", Verdict.UNSCORED),
]


def naive(model: Any, ids: list[int], count: int, mass: float) -> list[dict[str, float]]:
    """Token by token from the whole logits of the whole response, in Python's floats."""
    with torch.no_grad():
        out = model(torch.tensor([ids]), output_hidden_states=True)
    logits, hidden = out.logits[0].double(), out.hidden_states[-1][0].double()
    rows = []
    for t in range(len(ids) - count, len(ids)):
        p = logits[t - 1].softmax(-1).tolist()
        token = ids[t]
        order = sorted(range(len(p)), key=lambda k: -p[k])
        size, total = 0, 0.0
        while total < mass:
            total, size = total + p[order[size]], size + 1
        other = next(k for k in order if k != token)
        error = math.sqrt(sum(((k == token) - p[k]) ** 2 for k in range(len(p))))
        rows.append(
            {
                "token_id": token, "logp": math.log(p[token]), "entropy": -sum(x * math.log(x) for x in p),
                "nucleus": size, "alternative_id": other, "alternative_logp": math.log(p[other]),
                "update_size": error * float(hidden[t - 1].norm()),
            }
        )  # fmt: skip
    return rows


@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-6), ("float64", 1e-12)])
def test_it_equals_the_whole_logits(
    random_model: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, error: float
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setattr(token_pass, "LOGITS_AT_ONCE", 200)  # pieces of a few positions
    monkeypatch.setattr(token_pass, "TOKENS_AT_ONCE", 45)  # batches of two rows
    table = token_table(ANSWERS, str(random_model), mass=0.9, device="cpu", dtype=dtype)
    model = AutoModelForCausalLM.from_pretrained(random_model, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(random_model)
    assert tuple(table.columns) == COLUMNS
    start = 0
    for answer in ANSWERS:
        tokens = tokenizer.encode(answer.text, add_special_tokens=False)
        part = table.iloc[start : start + len(tokens)]
        start += len(tokens)
        assert (part["problem_id"] == answer.problem_id).all() and (part["sample"] == answer.sample).all()
        assert (part["verdict"] == answer.verdict).all() and (part["length"] == len(tokens)).all()
        assert part["position"].tolist() == list(range(len(tokens)))
        assert "".join(part["token"]) == answer.text
        expected = naive(model, tokenizer.encode(answer.prompt) + tokens, len(tokens), 0.9)
        for got, row in zip(part.to_dict("records"), expected, strict=True):
            for name, value in row.items():
                assert got[name] == pytest.approx(value, rel=error, abs=error), name
    assert start == len(table)


def small(architecture: str) -> Any:
    """A random model of another architecture, float64."""
    from transformers import AutoModelForCausalLM, Gemma2Config, GPT2Config

    sizes: dict[str, Any] = {
        "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 8, "initializer_range": 0.5, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2,
    }  # fmt: skip
    config: Any = {
        "gemma2": lambda: Gemma2Config(**sizes, final_logit_softcapping=1.5, query_pre_attn_scalar=8),
        "gpt2": lambda: GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5),
    }[architecture]()
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).double().eval()


def test_another_architecture_is_read() -> None:
    model = small("gpt2")
    ids = (1, 7, 3, 9, 22, 4)
    rows = [Encoded(ids, ("x",) * 4), Encoded(ids[:4], ("x",) * 3)]
    values = read_tokens(model, rows)
    with torch.no_grad():
        log_p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    assert values[0]["logp"] == pytest.approx([float(log_p[t - 1, ids[t]]) for t in range(2, 6)], abs=1e-12)
    assert values[1]["logp"] == pytest.approx([float(log_p[t - 1, ids[t]]) for t in range(1, 4)], abs=1e-12)


def test_an_architecture_that_caps_its_logits_is_refused() -> None:
    model = small("gemma2")
    with pytest.raises(ValueError, match="expected logits that are those of its output layer"):
        split(model, torch.tensor([[1, 2, 3]]))
    with pytest.raises(ValueError, match="expected a causal language model"):
        split(model.base_model, torch.tensor([[1, 2, 3]]))


def test_pieces_of_text() -> None:
    """Each character belongs to one token, also where a tokenizer leaves the space before a word out of its span."""

    class Tokenizer:
        is_fast, bos_token = True, None

        def encode(self, text: str, **_: Any) -> list[int]:
            return [1] * len(text)

        def __call__(self, text: str, **_: Any) -> dict[str, Any]:
            return {"input_ids": [4, 5, 6], "offset_mapping": [(0, 2), (3, 5), (3, 5)]}

    assert encode(Tokenizer(), "p", "so 12 ").pieces == ("so", " 12", " ")
    with pytest.raises(ValueError, match="prompt '': expected at least one token"):
        encode(Tokenizer(), "", "so 12 ")


def test_bad_input_is_named(random_model: Path) -> None:
    first = ANSWERS[0]
    for answers, options, message in (
        ([Response("a", 0, None, "x", Verdict.WRONG)], {}, "problem 'a': expected its prompt"),
        ([first, first], {}, "problem 'a', sample 0: there twice"),
        ([first], {"mass": 1.5}, "mass: expected a number in"),
        ([Response("a", 0, "K is 7.", "7 " * 300, Verdict.WRONG)], {}, "Expected at most the model's 256"),
    ):
        with pytest.raises(ValueError, match=message):
            token_table(answers, str(random_model), device="cpu", **options)


def test_means_of_responses(random_model: Path) -> None:
    table = token_table(ANSWERS, str(random_model), device="cpu")
    made = measure(str(random_model), [(str(a.prompt), a.text) for a in ANSWERS], mass=0.95, device="cpu")
    assert (made[1].tokens, made[1].mean_entropy, made[1].mean_branching) == (0, None, None)
    for i in (0, 2, 3):
        rows = table[(table["problem_id"] == ANSWERS[i].problem_id) & (table["sample"] == ANSWERS[i].sample)]
        assert made[i].tokens == len(rows)
        assert made[i].mean_entropy == pytest.approx(rows["entropy"].mean(), rel=1e-6)
        assert made[i].mean_branching == pytest.approx(rows["nucleus"].mean())
