"""Decoding values beside temperature and top-p, with the engine of transformers, and who can express them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.provenance import Origin
from evals.sampling import engines
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.transformers import TransformersEngine, _Seen, choose
from evals.sampling.evaluate import check_decoding, evaluate
from tests.evals.sampling.toy import Scripted, protocol, set_up

PLAIN = Decoding(1.0, 1.0, 1)
TEXT = "<|user|>ab c<|assistant|>"


@pytest.fixture(scope="module")
def engine(model_dir: Path) -> TransformersEngine:
    return TransformersEngine(str(model_dir), device="cpu")


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # logits of the probabilities 1/10, 2/10, 3/10 and 4/10
        ({"top_k": 2}, [0, 0, 429, 571]),  # 3/7 and 4/7
        ({"min_p": 0.6}, [0, 0, 429, 571]),  # at least 0.24
        ({"min_p": 0.45}, [0, 222, 333, 445]),  # at least 0.18: 2/9, 3/9 and 4/9
        ({"top_k": 3, "top_p": 0.42}, [0, 0, 0, 1000]),  # the last one alone has 4/9 = 0.444 among the three
        ({"top_k": 3, "top_p": 0.45}, [0, 0, 429, 571]),
        ({"min_p": 0.0, "top_k": 99, "repetition_penalty": 2.0}, [100, 200, 300, 400]),
    ],
)
def test_shares_by_hand(values: dict[str, Any], expected: list[int]) -> None:
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log().repeat(1000, 1)
    u = (torch.arange(1000) + 0.5) / 1000
    shares = choose(logits, u, replace(PLAIN, **values)).bincount(minlength=4)
    assert (shares - torch.tensor(expected)).abs().max() <= 1  # rounding at a boundary


@given(st.lists(st.integers(-8, 8), min_size=3, max_size=9, unique=True), st.integers(1, 9), st.floats(0.05, 1.0))
@settings(max_examples=60)
def test_top_k_and_top_p_keep_what_transformers_keeps(logits: list[int], k: int, p: float) -> None:
    from transformers import TopKLogitsWarper, TopPLogitsWarper

    row = torch.tensor([logits], dtype=torch.float32) / 3
    warped = TopKLogitsWarper(k)(None, row.clone())  # type: ignore[arg-type]
    if p < 1:
        warped = TopPLogitsWarper(p)(None, warped)  # type: ignore[arg-type]
    kept = set(torch.isfinite(warped[0]).nonzero().flatten().tolist())
    u = (torch.arange(2000) + 0.5) / 2000
    chosen = set(choose(row.repeat(2000, 1), u, replace(PLAIN, top_k=k, top_p=p)).tolist())
    share = warped.softmax(-1)[0]
    assert chosen <= kept and all(token in chosen for token in kept if share[token] > 1 / 1000)


def test_the_repetition_penalty_by_hand() -> None:
    seen = _Seen([(0, 1), (2,)], 3, "cpu")
    logits = torch.tensor([[2.0, -1.0, 1.0], [2.0, -1.0, float("-inf")]])
    # seen tokens: positive logits are halved and negative ones doubled
    assert seen.penalised(logits, torch.tensor([0, 1]), 2.0).tolist() == [[1, -2, 1], [2, -1, float("-inf")]]
    seen.add(torch.tensor([1]), torch.tensor([0]))
    assert seen.penalised(logits[1:], torch.tensor([1]), 2.0).tolist() == [[1, -1, float("-inf")]]


def one_completion(engine: TransformersEngine, decoding: Decoding) -> Completion:
    ((done,),) = engine.generate([Request(("p", 0), TEXT, 7)], decoding)
    return done


def test_the_repetition_penalty_is_that_of_generate(engine: TransformersEngine) -> None:
    ids = engine.tokenizer(TEXT, return_tensors="pt", add_special_tokens=False).input_ids
    generated = engine.model.generate(ids, do_sample=False, repetition_penalty=1.7, max_new_tokens=20)[
        0, ids.shape[1] :
    ]
    text = engine.tokenizer.decode(generated, skip_special_tokens=True)
    assert one_completion(engine, Decoding(0, 1, 20, repetition_penalty=1.7)).text == text
    assert one_completion(engine, Decoding(0, 1, 20)).text != text


def test_a_text_ends_a_response_and_is_no_part_of_it(engine: TransformersEngine) -> None:
    whole = one_completion(engine, replace(PLAIN, max_tokens=30))
    assert whole.finish_reason == "length"
    stop = whole.text[4:6]
    cut = one_completion(engine, replace(PLAIN, max_tokens=30, stop=("not there", stop)))
    assert (cut.text, cut.finish_reason) == (whole.text[: whole.text.index(stop)], "stop")
    assert cut.tokens is not None and whole.tokens is not None and cut.tokens < whole.tokens


def test_steps_tell_their_tokens_and_may_stop(engine: TransformersEngine) -> None:
    steps: list[int] = []
    requests = [Request(("p", i), TEXT, i) for i in range(3)]
    decoding = replace(PLAIN, max_tokens=5)
    done = [c for batch in engine.generate(requests, decoding, steps.append) for c in batch]
    assert all(c.finish_reason == "length" for c in done) and steps == [3, 6, 9, 12]  # then the batch is whole

    def stop(tokens: int) -> None:
        if tokens >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(engine.generate(requests, decoding, stop))


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("scripted", {"top_k": 3}, "engine scripted cannot express top_k=3. Expected null, or engine=transformers or"),
        ("transformers", {"extra_body": {"a": 1}}, "engine transformers cannot express extra_body={'a': 1}. Expected"),
        ("transformers", {"reasoning_effort": "low"}, "engine=openai. Or, as the chat template has it"),
    ],
)
def test_a_value_that_the_engine_cannot_express_is_refused(name: str, values: dict[str, Any], words: str) -> None:
    engine: Any = Scripted() if name == "scripted" else engines.create(name, "m", device="cpu")
    with pytest.raises(ValueError) as caught:
        check_decoding(engine, replace(PLAIN, **values))
    assert words in str(caught.value)
    check_decoding(engine, PLAIN)


# ------------------------------------------------------------------------------------------------------- in a protocol


def test_what_is_off_changes_no_identity_and_what_is_stated_does(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = set_up(tmp_path, model_dir, monkeypatch)
    evaluate(protocol=protocol(2), engine=Scripted(), **place)
    manifest = json.loads((place["out_dir"] / "toy" / "manifest.json").read_text())
    assert manifest["identity"]["decoding"] == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 9}
    assert set(manifest["identity"]["prompt"]) == {"name", "first_sha256"}
    assert "top_k" not in manifest["record"]["protocol"]  # nobody has stated it
    able = Scripted()
    able.decoding = frozenset({"top_k"})  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"decoding\.top_k was null, now 5"):
        evaluate(protocol=protocol(2, top_k=5), engine=able, **place)


def test_system_message_examples_and_variables_are_in_prompt_and_manifest(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = set_up(tmp_path, model_dir, monkeypatch)
    shots = tmp_path / "shots.jsonl"
    shots.write_text('{"problem": "1+1?", "answer": "2"}\n{"problem": "2+2?", "solution": "is 4", "answer": "4"}\n')
    chosen = protocol(1, prompt="boxed_suffix", system="Be brief.", examples=str(shots))
    evaluate(protocol=chosen, engine=Scripted(), **place)
    identity = json.loads((place["out_dir"] / "toy" / "manifest.json").read_text())["identity"]
    assert identity["prompt"]["system"] == "Be brief."
    assert identity["prompt"]["examples"] == [["1+1?", "2"], ["2+2?", "is 4"]]
    prompt = chosen.prompt_of("toy")
    assert prompts.recorded(identity["prompt"], identity["decoding"]) == prompt
    turns = prompts.messages(prompt, Problem("p", "3+3?", "6"))
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [turn["content"] for turn in turns][2::2] == ["2", "is 4"] and turns[0]["content"] == "Be brief."


def test_variables_reach_the_chat_template() -> None:
    class Template:
        chat_template = "yes"

        def apply_chat_template(self, messages: Any, *, enable_thinking: bool = True, **_: Any) -> str:
            return f"{len(messages)} {enable_thinking}"

    prompt = prompts.with_parts(prompts.get("boxed_suffix"), variables={"enable_thinking": False})
    assert prompts.render(prompt, Problem("p", "?", "1"), Template()) == "1 False"


def test_examples_stand_before_a_plain_prompt(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text('user: "Q: {problem}\\nA:"\nchat: false\n')
    (tmp_path / "shots.jsonl").write_text('{"problem": "1+1?", "response": "2"}\n')
    own_prompt = prompts.with_parts(prompts.get(str(tmp_path / "own.yaml")), examples=tmp_path / "shots.jsonl")
    assert prompts.render(own_prompt, Problem("p", "3+3?", "6"), None) == "Q: 1+1?\nA: 2\n\nQ: 3+3?\nA:"
    with pytest.raises(ValueError, match=r"system='x': prompt .*own\.yaml' is plain text"):
        prompts.with_parts(own_prompt, system="x")


def test_a_prompt_of_your_own_holds_its_examples(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text('user: "Q: {problem}\\nA:"\nchat: false\nexamples:\n  - {problem: "1+1?", response: " 2"}\n')
    own_prompt = prompts.get(str(path))
    assert prompts.render(own_prompt, Problem("p", "3+3?", "6"), None) == "Q: 1+1?\nA: 2\n\nQ: 3+3?\nA:"
    assert prompts.parts(own_prompt) == {
        "examples": [["1+1?", " 2"]]
    }  # in the manifest, and so part of what decides a sample
    path.write_text('user: "{problem}"\nexamples:\n  - {problem: "1+1?", answer: "2"}\n')
    with pytest.raises(ValueError, match=r"examples, number 1: expected problem and response, got \{'problem': '1"):
        prompts.get(str(path))


def test_a_response_ends_at_the_texts_of_its_prompt_unless_the_protocol_has_its_own(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, prompt_file = set_up(tmp_path, model_dir, monkeypatch), tmp_path / "own.yaml"
    prompt_file.write_text('user: "{problem}"\nstop: ["\\n\\n", "Q:"]\n')
    able = Scripted()
    able.decoding = frozenset({"stop"})  # type: ignore[attr-defined]
    for number, (values, expected) in enumerate(
        [({}, ["\n\n", "Q:"]), ({"stop": ("x",)}, ["x"]), ({"stop": ()}, None)]  # [] is none
    ):
        folder = tmp_path / str(number)
        evaluate(protocol=protocol(1, prompt=str(prompt_file), **values), engine=able, **{**place, "out_dir": folder})
        manifest = json.loads((folder / "toy" / "manifest.json").read_text())
        assert manifest["identity"]["decoding"].get("stop") == expected


def test_texts_that_end_a_response_are_texts(tmp_path: Path) -> None:
    prompt_file = tmp_path / "own.yaml"
    prompt_file.write_text('user: "{problem}"\nstop: ["", 3]\n')
    with pytest.raises(ValueError, match=r"stop lists \['', 3\]. Each entry must be a text of one character or more"):
        prompts.get(str(prompt_file))


def test_a_typed_line_break_in_stop_is_one() -> None:
    given = protocol(1, "math500", prompt="boxed_suffix").override(
        {"stop": [r"\n\n", "Question:"]}, Origin.USER, "typed"
    )
    assert given.stop.value == ("\n\n", "Question:")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"top_k": 0}, r"top_k=0, expected a whole number >= 1, or null"),
        ({"min_p": 2}, r"min_p=2, expected a number in \[0, 1\]"),
        ({"repetition_penalty": 0}, "repetition_penalty=0, expected a number > 0"),
        ({"stop": ("",)}, r"stop=\('',\), expected a list of texts \(\[\] for none"),
        ({"system": 3}, "system=3, expected a text"),
        ({"examples": "no.jsonl"}, "no.jsonl: expected a file, there is none"),
        ({"chat_template_kwargs": "x"}, "chat_template_kwargs='x', expected pairs"),
        ({"system": "x", "prompt": "forking_tokens"}, "system='x': prompt 'forking_tokens' is plain text"),
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    values = {"benchmarks": ("math500",), "prompt": "boxed_suffix"} | values
    with pytest.raises(ValueError, match=message):
        protocol(1, *values.pop("benchmarks"), **values)
