"""Entropy and branching factor: derived values, properties, and the means of responses against one-by-one passes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.analysis.uncertainty import branching_factor, entropy, measure


def test_by_hand() -> None:
    # 1/2, 1/4, 1/8, 1/8: H = (1/2) ln 2 + (1/4) ln 4 + 2 (1/8) ln 8 = (1/2 + 1/2 + 3/4) ln 2
    logits = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
    assert float(entropy(logits)) == pytest.approx(1.75 * math.log(2))
    # a mass that the first k reach exactly needs no more than k
    for mass, size in ((0.1, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.875, 3), (0.9, 4), (1.0, 4)):
        assert int(branching_factor(logits, mass=mass)) == size
    # one token has it all
    certain = torch.tensor([0.0, -math.inf, -math.inf])
    assert float(entropy(certain)) == 0 and int(branching_factor(certain, mass=1.0)) == 1
    # uniform over 100: 95 of them
    assert int(branching_factor(torch.zeros(100, dtype=torch.float64), mass=0.949)) == 95


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=12), st.floats(0.01, 1))
def test_the_set_is_the_smallest(values: list[float], mass: float) -> None:
    logits = torch.tensor(values, dtype=torch.float64)
    size = int(branching_factor(logits, mass=mass))
    p = sorted(logits.softmax(-1).tolist(), reverse=True)
    assert sum(p[:size]) >= mass - 1e-12 and sum(p[: size - 1]) < mass + 1e-12
    assert 0 <= float(entropy(logits)) <= math.log(len(values)) + 1e-12
    shuffled = logits.flip(0)
    assert int(branching_factor(shuffled, mass=mass)) == size


def test_bad_mass_is_named() -> None:
    with pytest.raises(ValueError, match="mass: expected a number in"):
        branching_factor(torch.zeros(3), mass=0.0)


def test_measures_equal_one_pass_a_response(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests.experiments import save_random_model

    folder = save_random_model(tmp_path / "model")
    pairs = [("K is 7.", " so 7 + 5 = 12"), ("K is 7. K plus 5 is B.", ""), ("B", " then 3"), ("K is 7.", " so 7 + 5")]
    got = measure(str(folder), pairs, mass=0.9, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for (prompt, response), made in zip(pairs, got, strict=True):
        start, answer = tokenizer.encode(prompt), tokenizer.encode(response, add_special_tokens=False)
        assert made.tokens == len(answer)
        if not answer:
            assert made.mean_entropy is None and made.mean_branching is None
            continue
        # token by token: the model reads all that stands before a token and says what comes
        hs, bs = [], []
        for t in range(len(answer)):
            with torch.no_grad():
                last = model(torch.tensor([start + answer[:t]])).logits[0, -1].double()
            p = last.softmax(-1)
            hs.append(-sum(float(x) * math.log(float(x)) for x in p))
            total, size = 0.0, 0
            for x in sorted(p.tolist(), reverse=True):
                if total >= 0.9:
                    break
                total, size = total + x, size + 1
            bs.append(size)
        assert made.mean_entropy == pytest.approx(sum(hs) / len(hs), rel=1e-4)
        assert made.mean_branching == pytest.approx(sum(bs) / len(bs))
