from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.sampling.engines import Completion, Decoding, EngineError, Request
from evals.sampling.engines.base import sample_seed
from evals.sampling.engines.reading import Reading
from evals.sampling.engines.transformers import TransformersEngine, choose
from tests.evals.conftest import make_model

END = 1  # the minuscule model's end token


@pytest.fixture(scope="module")
def engine(model_dir: Path) -> TransformersEngine:
    return TransformersEngine(str(model_dir), device="cpu")


def generated(engine: Any, requests: list[Request], decoding: Decoding, batch_rows: int = 512) -> dict[Any, Completion]:
    engine.batch_rows = batch_rows
    return {c.key: c for batch in engine.generate(requests, decoding) for c in batch}


def some_requests(problems: int, samples: int) -> list[Request]:
    """Prompts of several lengths, so that a batch has padding."""
    return [
        Request(
            (f"p{i}", s), "<|user|>" + "ab c" * (1 + i % 3) + f"{i}<|assistant|>", sample_seed(0, "x", (f"p{i}", s))
        )
        for i in range(problems)
        for s in range(samples)
    ]


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_logits_that_overflow_are_never_token_zero(top_p: float) -> None:
    # softmax of an infinity is NaN everywhere, and no comparison with NaN is true: token 0 was chosen, with a verdict
    logits, uniform = torch.tensor([[0.0, 1.0, float("inf")]]), torch.tensor([0.5])
    with pytest.raises(EngineError, match="too large to sample from"):
        choose(logits, uniform, Decoding(1.0, top_p, 1))
    with pytest.raises(EngineError, match="temperature=1e-40 is too large"):
        choose(torch.tensor([[0.0, 1.0, 2.0]]), uniform, Decoding(1e-40, top_p, 1))
    ruled_out = torch.tensor([[float("-inf"), float("-inf"), 2.0]])
    assert choose(ruled_out, uniform, Decoding(1.0, top_p, 1)).tolist() == [2]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_output_that_is_not_finite_stops_at_its_token(model_dir: Path, value: float, temperature: float) -> None:
    """Finite weights can overflow in the pass: the samples before stay, and none is made of noise."""
    engine = TransformersEngine(str(model_dir), device="cpu")
    calls: list[int] = []

    def break_third(_: Any, __: Any, output: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            output.logits[0, -1, 5] = value
        return output

    engine.model.register_forward_hook(break_third)
    with pytest.raises(EngineError, match="NaN or infinite at token 3"):
        list(engine.generate(some_requests(2, 2), Decoding(temperature, 1.0, 40)))


def slow_choice(logits: np.ndarray, u: float, temperature: float, top_p: float) -> int:
    """One row in float64, in loops: sort, cut the nucleus, walk up the cumulative distribution."""
    if temperature == 0:
        return int(np.argmax(logits))
    scaled = logits.astype(np.float64) / temperature
    p = np.exp(scaled - scaled.max())
    p /= p.sum()
    order = sorted(range(len(p)), key=lambda i: (-p[i], i)) if top_p < 1 else list(range(len(p)))
    nucleus, mass = [], 0.0
    for i in order:
        if mass >= top_p:
            break
        nucleus.append(i)
        mass += p[i]
    walked = 0.0
    for i in nucleus:
        walked += p[i]
        if walked > u * mass:
            return i
    return nucleus[-1]


@settings(deadline=None)
@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=9),
    st.integers(0, 2**24 - 1).map(lambda i: i / 2**24),  # what a float32 sample gives
    st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    st.sampled_from([0.3, 0.95, 1.0]),
)
def test_tokens_are_those_of_the_slow_version(logits: list[int], u: float, temperature: float, top_p: float) -> None:
    row = np.array(logits) + np.arange(len(logits)) * 1e-3  # no two logits equal
    # at a boundary of the distribution the two may differ by rounding: both neighbours of such a u are right
    allowed = {slow_choice(row, v, temperature, top_p) for v in (max(u - 1e-5, 0), u, u + 1e-5)}
    got = choose(torch.tensor(row[None], dtype=torch.float32), torch.tensor([u]), Decoding(temperature, top_p, 1))
    assert got.item() in allowed


def test_shares_are_the_probabilities() -> None:
    # p = softmax(log [1, 2, 3, 4]) = [.1, .2, .3, .4]: of 1000 evenly spaced u, 100, 200, 300, 400 fall to each token
    logits = torch.log(torch.tensor([1.0, 2, 3, 4])).repeat(1000, 1)
    u = (torch.arange(1000) + 0.5) / 1000
    assert choose(logits, u, Decoding(1.0, 1.0, 1)).bincount(minlength=4).tolist() == [100, 200, 300, 400]
    # nucleus of mass 0.65: {3, 2}, 4/7 and 3/7 of 1000
    assert choose(logits, u, Decoding(1.0, 0.65, 1)).bincount(minlength=4).tolist() == [0, 0, 429, 571]
    # temperature 1/2 squares them: [1, 4, 9, 16] / 30
    assert choose(logits, u, Decoding(0.5, 1.0, 1)).bincount(minlength=4).tolist() == [33, 134, 300, 533]


@pytest.mark.parametrize("top_p", [0.5, 1.0])
def test_a_token_without_mass_is_never_chosen(top_p: float) -> None:
    no_mass = -float("inf")
    logits = torch.tensor([[no_mass, 0.0, no_mass, 0.5, no_mass]]).repeat(2, 1)
    extremes = torch.tensor([0.0, 1 - 2**-24])  # the least and the greatest number that a float32 sample gives
    assert set(choose(logits, extremes, Decoding(1.0, top_p, 1)).tolist()) <= {1, 3}


def slow_decode(engine: TransformersEngine, request: Request, decoding: Decoding) -> Completion:
    """One row alone, without a cache: the whole sequence is read again for each token."""
    stream = np.random.Generator(np.random.Philox(key=request.seed))
    prompt = engine.tokenizer.encode(request.prompt_text)
    tokens: list[int] = []
    while len(tokens) < decoding.max_tokens and END not in tokens:
        with torch.no_grad():
            logits = engine.model(input_ids=torch.tensor([prompt + tokens])).logits[0, -1].numpy()
        u = float(stream.random(dtype=np.float32))
        tokens.append(slow_choice(logits, u, decoding.temperature, decoding.top_p))
    text = engine.tokenizer.decode([t for t in tokens if t != END], skip_special_tokens=True)
    return Completion(request.key, text, len(tokens), "stop" if END in tokens else "length")


@pytest.mark.parametrize("decoding", [Decoding(1.0, 1.0, 24), Decoding(0.6, 0.95, 24), Decoding(0.0, 1.0, 24)])
def test_batches_equal_single_rows(engine: TransformersEngine, decoding: Decoding) -> None:
    requests = some_requests(problems=6, samples=3)
    expected = {r.key: slow_decode(engine, r, decoding) for r in requests}
    for rows in (18, 5):
        assert generated(engine, requests, decoding, rows) == expected
    if decoding.temperature == 1:
        assert {c.finish_reason for c in expected.values()} == {"stop", "length"}, "the test should see both"


def test_more_samples_and_another_order_keep_each_sample(engine: TransformersEngine) -> None:
    decoding = Decoding(1.0, 1.0, 150)  # longer than one block of uniform numbers
    many = some_requests(problems=3, samples=6)
    few = [r for r in many if r.key[1] < 2]
    whole = generated(engine, many[::-1], decoding, 7)
    assert generated(engine, few, decoding) == {r.key: whole[r.key] for r in few}
    assert len({c.text for c in whole.values()}) == len(many), "samples of a problem differ"


def test_rows_leave_the_batch_when_they_end(tmp_path: Path) -> None:
    """A model that ends each row at once is called for the prompts and for nothing else."""
    loud = TransformersEngine(str(make_model(tmp_path)), device="cpu")
    with torch.no_grad():
        loud.model.lm_head.weight.zero_()
        loud.model.lm_head.bias = torch.nn.Parameter(torch.zeros(loud.model.config.vocab_size))
        loud.model.lm_head.bias[END] = 50.0
    calls: list[None] = []
    loud.model.register_forward_hook(lambda *_: calls.append(None))
    done = generated(loud, some_requests(3, 2), Decoding(1.0, 1.0, 30))
    assert len(calls) == 1
    assert {(c.text, c.tokens, c.finish_reason) for c in done.values()} == {("", 1, "stop")}


def test_seeds_differ_by_everything_that_names_a_sample() -> None:
    names = [(s, b, (p, k)) for s in (0, 1) for b in ("x", "y") for p in ("1", "11") for k in (0, 1, 10)]
    seeds = [sample_seed(*name) for name in names]
    assert len(set(seeds)) == len(names)
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-0.1, 1.0, 1), "temperature=-0.1"),
        ((float("nan"), 1.0, 1), "temperature=nan"),
        ((1.0, 0.0, 1), "top_p=0.0"),
        ((1.0, 1.0, 0), "max_tokens=0"),
    ],
)
def test_impossible_decodings_are_refused(values: tuple[float, float, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decoding(*values)


def test_a_response_must_fit_the_context(engine: TransformersEngine) -> None:
    request = some_requests(1, 1)
    with pytest.raises(
        ValueError, match=r"max_tokens=1024 does not fit: the prompt of problem 'p0', the longest, .* context is 1024"
    ):
        list(engine.generate(request, Decoding(1.0, 1.0, 1024)))


@pytest.mark.parametrize("decoding", [Decoding(1.0, 1.0, 20), Decoding(0.6, 0.95, 20)])
def test_a_forced_prefix_is_continued(engine: TransformersEngine, decoding: Decoding) -> None:
    """As a prompt that ends in it, with less room. The rows of a batch may have different rooms."""
    plain = some_requests(4, 2)
    forced = [tuple(range(20, 20 + n)) for n in (0, 3, 7, 19, 1, 12, 0, 2)]
    requests = [replace(request, forced=ids) for request, ids in zip(plain, forced, strict=True)]
    got = generated(engine, requests, decoding)
    for request in requests:
        n = len(request.forced)
        longer = request.prompt_text + engine.tokenizer.decode(list(request.forced))
        alone = slow_decode(engine, replace(request, prompt_text=longer), replace(decoding, max_tokens=20 - n))
        text = engine.tokenizer.decode(list(request.forced), skip_special_tokens=True) + alone.text
        assert got[request.key] == Completion(request.key, text, n + alone.tokens, alone.finish_reason)


def test_a_forced_prefix_must_leave_room(engine: TransformersEngine) -> None:
    request = replace(some_requests(1, 1)[0], forced=(20, 21, 22))
    with pytest.raises(ValueError, match=r"max_tokens=3: 3 tokens of the response to problem 'p0' are forced"):
        list(engine.generate([request], Decoding(1.0, 1.0, 3)))


PAD = 0


@pytest.fixture
def prompts() -> list[tuple[int, ...]]:
    """Three prompts of three lengths, asked for 10, 8 and 6 times."""
    generator = torch.Generator().manual_seed(0)
    three = [tuple(torch.randint(20, 97, (n,), generator=generator).tolist()) for n in (4, 9, 6)]
    return [prompt for prompt, times in zip(three, (10, 8, 6), strict=True) for _ in range(times)]


def test_logits_are_those_of_the_whole_sequence(model_dir: Path, prompts: list[tuple[int, ...]]) -> None:
    """Read anew without a cache and without padding, a row at a time. Rows leave and change places on the way."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(model_dir).eval()
    with torch.inference_mode():
        reading = Reading.of_prompts(model, prompts, 5, PAD)
        rows = [list(prompt) for prompt in prompts]
        for step in range(5):
            tokens = torch.randint(20, 97, (len(rows),), generator=torch.Generator().manual_seed(step))
            reading.read(tokens)
            rows = [[*row, int(token)] for row, token in zip(rows, tokens, strict=True)]
            if step in (1, 3):
                keep = torch.arange(len(rows)).flip(0)[::2]
                reading, rows = reading.select(keep), [rows[i] for i in keep]
            alone = torch.stack([model(input_ids=torch.tensor([row])).logits[0, -1] for row in rows])
            assert torch.allclose(reading.logits, alone, atol=1e-4), step
