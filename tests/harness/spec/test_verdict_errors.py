"""Controls whose verifier errs: noisy_reward and false_positives, and the hashes that they err by."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.provenance import Origin
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.order import Order
from harness.backends.verl.rewards import score
from harness.backends.verl.rows import PromptRows
from harness.backends.verl.translate import to_verl_config
from harness.command.resolve import resolve
from harness.errors import UsageError
from harness.spec.controls import controlled
from harness.step.batch import TokenBatch
from harness.step.draws import answer_class, draw, response_draws
from tests import experiments

NAMES = ("response_draw", "answer_draw")
HOW: dict[str, Any] = {"policy": "boxed_last", "reasoning": "after"}


# -- slow versions, for tests.harness.cases --------------------------------------------------------------------------


def slow_noisy_reward(batch: TokenBatch, rate: float, worth: float) -> torch.Tensor:
    """The reward that the other verdict would have earned, response by response."""
    assert batch.correct is not None and batch.response_draw is not None
    rewards = batch.rewards.tolist()
    for i, (correct, drawn) in enumerate(zip(batch.correct.tolist(), batch.response_draw.tolist(), strict=True)):
        if drawn < rate and not math.isnan(correct):
            rewards[i] += -worth if correct else worth
    return torch.tensor(rewards, dtype=batch.rewards.dtype)


def slow_false_positives(batch: TokenBatch, share: float, worth: float) -> torch.Tensor:
    assert batch.correct is not None and batch.answer_draw is not None
    rewards = batch.rewards.tolist()
    for i, (correct, drawn) in enumerate(zip(batch.correct.tolist(), batch.answer_draw.tolist(), strict=True)):
        if correct == 0 and not math.isnan(drawn) and drawn < share:
            rewards[i] += worth
    return torch.tensor(rewards, dtype=batch.rewards.dtype)


# -- by hand ---------------------------------------------------------------------------------------------------------


def graded(correct: list[float], **fields: list[float]) -> TokenBatch:
    """Responses to one prompt that earn 2 points if correct, and one has a point for its box."""
    box = [1.0, *[0.0] * (len(correct) - 1)]
    return TokenBatch(
        rewards=torch.tensor([2 * c + b for c, b in zip(correct, box, strict=True)]),
        groups=torch.zeros(len(correct), dtype=torch.int64),
        mask=torch.ones(len(correct), 1, dtype=torch.bool),
        vocab_size=5,
        max_tokens=1,
        step=0,
        seed=0,
        correct=torch.tensor(correct),
        **{name: torch.tensor(values) for name, values in fields.items()},
    )


def test_the_verdict_alone_is_flipped() -> None:
    # correct with a box: 2 + 1 -> 0 + 1; wrong: 0 -> 2; the rate itself is not below the rate; unscored stays so
    experiment = controlled(experiments.experiment(), "noisy_reward")
    (equation,) = experiment.method.rewards
    assert {key: value.value for key, value in equation.values.items()} == {"rate": 0.15, "worth": 1.0}
    batch = graded([1, 0, 0, 1, math.nan], response_draw=[0.1, 0.0, 0.25, 0.9, 0.0])
    noisy = equation.function(batch, rate=0.25, worth=2.0)
    assert noisy[:4].tolist() == [1.0, 2.0, 0.0, 2.0] and noisy[4].isnan()


def test_only_a_wrong_answer_is_paid() -> None:
    (equation,) = controlled(experiments.experiment(), "false_positives").method.rewards
    # the correct answer is of a paid class and stays at 2. The last two have no answer, or no verdict
    batch = graded([1, 0, 0, 0, math.nan], answer_draw=[0.1, 0.1, 0.25, math.nan, 0.1])
    paid = equation.function(batch, share=0.25, worth=2.0)
    assert paid[:4].tolist() == [3.0, 2.0, 0.0, 0.0] and paid[4].isnan()


def test_what_a_correct_answer_earns_more() -> None:
    def worth(names: list[str], weights: list[float], control: str) -> Any:
        declared = experiments.experiment().override(
            {"rewards": names, "reward_weights": weights}, Origin.USER, "a test"
        )
        (equation,) = controlled(declared, control).method.rewards
        return equation.values["worth"].value

    # signed accuracy is -1 or 1: 1.5 times 2
    assert worth(["boxed_format", "signed_accuracy"], [1.0, 1.5], "noisy_reward") == 3.0
    assert worth(["accuracy", "boxed_format"], [0.5, 1.0], "false_positives") == 0.5
    for names, weights in ((["boxed_format"], [1.0]), (["boxed_format", "accuracy"], [1.0, 0.0])):
        with pytest.raises(UsageError, match=r"none of its rewards \['boxed_format'.* It needs accuracy or signed"):
            worth(names, weights, "noisy_reward")


def test_dynamic_sampling_and_equations_that_count_outcomes() -> None:
    """The filter would see the true verdict. A method that counts correct responses counts those of the control."""
    for control in ("noisy_reward", "false_positives"):
        declared = experiments.experiment().override({"dynamic_sampling": True}, Origin.USER, "a test")
        assert not controlled(declared, control).dynamic_sampling.value
        (job,) = resolve("baselines", arms=[f"nsr+{control}"], seeds=[0])
        assert job.title.endswith(f"({control.replace('_', ' ')})")


@pytest.mark.parametrize(("control", "key"), [("noisy_reward", "rate"), ("random_reward", "probability")])
def test_a_value_of_a_control_can_be_given(control: str, key: str) -> None:
    """It was accepted, and not used."""
    key = f"{control}.{key}"
    (job,) = resolve("egsw", arms=[f"egsw+{control}"], seeds=[0], overrides={key: 0.3})
    assert job.experiment is not None
    given = job.experiment.settings()[key]
    assert given.value == 0.3 and given.origin is Origin.USER
    with pytest.raises(UsageError, match=rf"{key}: expected .*, got 3"):
        resolve("egsw", arms=[f"egsw+{control}"], seeds=[0], overrides={key: 3.0})


# -- the hashes ------------------------------------------------------------------------------------------------------


def test_a_draw_is_the_hash_of_its_texts() -> None:
    # the first 24 bits of SHA-256 of the JSON list, as a number in [0, 1)
    digest = hashlib.sha256(b'["What is 1 + 1?", "\\\\boxed{3}"]').hexdigest()
    assert json.dumps(["What is 1 + 1?", r"\boxed{3}"]) == r'["What is 1 + 1?", "\\boxed{3}"]'
    assert draw("What is 1 + 1?", r"\boxed{3}") == int(digest[:6], 16) / 2**24
    assert draw("ab", "c") != draw("a", "bc") != draw("abc")


def test_draws_are_uniform() -> None:
    draws = sorted(draw("a prompt", str(i)) for i in range(4000))
    # Kolmogorov: the largest gap to the uniform distribution stays below 1.95 / sqrt(n) but for 1 in 1,000
    assert max(abs(d - i / 4000) for i, d in enumerate(draws)) < 1.95 / math.sqrt(4000)


@given(st.text(), st.text())
def test_a_draw_survives_float32_below_1(prompt: str, response: str) -> None:
    number = draw(prompt, response)
    assert 0 <= number < 1 and torch.tensor([number]).item() == number


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (r"so \boxed{\dfrac{1}{2}}", r"\boxed{0.5}", True),  # one number
        (r"\boxed{1,000}", r"\boxed{1000.0}", True),
        (r"\boxed{x + 1}", r"\boxed{x+1}", True),  # one normal form
        (r"\boxed{B}", r"first \boxed{A}, no: \boxed{B}", True),
        (r"\boxed{7}", r"\boxed{-7}", False),
        (r"\boxed{x + 1}", r"\boxed{1 + x}", False),  # equal for the grader, and read as two classes
    ],
)
def test_classes_of_answers(first: str, second: str, same: bool) -> None:
    assert (answer_class(first, begun=False, **HOW) == answer_class(second, begun=False, **HOW)) == same
    draws = [response_draws(NAMES, "a prompt", response, **HOW) for response in (first, second)]
    assert (draws[0]["answer_draw"] == draws[1]["answer_draw"]) == same
    assert draws[0]["response_draw"] != draws[1]["response_draw"]
    assert draws[0]["answer_draw"] != response_draws(NAMES, "another", first, **HOW)["answer_draw"]


def test_no_answer_has_no_class() -> None:
    thinking = r"<think> \boxed{7}"
    assert answer_class("no box", begun=False, **HOW) is None
    assert answer_class(thinking, begun=False, **HOW) is None
    assert answer_class(thinking, begun=False, policy="boxed_last", reasoning="whole") == "7"
    assert answer_class(r"\boxed{7}", begun=True, **HOW) is None  # the prompt began the thought
    assert math.isnan(response_draws(NAMES, "<think>\n", r"\boxed{7}", **HOW)["answer_draw"])
    assert response_draws((), "a prompt", r"\boxed{7}", **HOW) == {}


# -- both backends ---------------------------------------------------------------------------------------------------


def test_verl_rewards_carry_what_the_method_reads(tmp_path: Any) -> None:
    given = {"prompt": "What is 1 + 1?", "answer": "2", "note": "a line\u2028separator ends no row"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(given, ensure_ascii=False) + "\n", encoding="utf-8")
    row = PromptRows(str(tmp_path / "rows.jsonl"))[0]
    assert row["extra_info"]["prompt"] == row["raw_prompt"] == "What is 1 + 1?"
    options: dict[str, Any] = {"names": ("accuracy",), "weights": (1.0,), "unscored": "skip", **HOW}
    scores = score(r"\boxed{3}", "2", prompt="What is 1 + 1?", draws=NAMES, **options)
    assert scores["score"] == 0.0  # the control comes later: the metrics have the true verdict
    for name, value in response_draws(NAMES, "What is 1 + 1?", r"\boxed{3}", **HOW).items():
        assert scores[name] == value
    assert not set(NAMES) & set(score(r"\boxed{3}", "2", **options))


@pytest.mark.parametrize(
    ("control", "reads"), [("noisy_reward", ["response_draw"]), ("false_positives", ["answer_draw"])]
)
def test_verl_is_asked_for_these_draws_alone(control: str, reads: list[str], tmp_path: Any) -> None:
    hardware = VerlHardware(device="cpu")
    order = Order(controlled(experiments.experiment(), control), "M", tmp_path, hardware, 3, 9, "boxed_last", 300, (0,))
    assert to_verl_config(order)["reward.custom_reward_function.reward_kwargs"]["draws"] == reads


@pytest.mark.slow
@pytest.mark.parametrize("control", ["noisy_reward", "false_positives"])
def test_trl_gives_the_same_draws(control: str, random_model: Any, tmp_path: Any) -> None:
    from tests.harness.backends.test_trl_trainer import make_trainer

    declared = controlled(experiments.experiment(), control)
    trainer = make_trainer(declared, random_model, tmp_path, None)
    texts = [r"\boxed{3}", r"\boxed{12}"]
    ids = [trainer.processing_class(text, add_special_tokens=False)["input_ids"] for text in texts]
    texts = trainer.processing_class.batch_decode(ids)
    prompts = ["What is 1 + 1?", "What is 5 + 8?"]
    trainer._calculate_rewards([{"prompt": p, "answer": "2"} for p in prompts], prompts, texts, ids)
    (name,) = declared.method.rewards[0].reads - {"correct"}
    expected = [response_draws([name], p, t, **HOW)[name] for p, t in zip(prompts, texts, strict=True)]
    assert list(trainer._draws) == [name] and not any(map(math.isnan, expected))
    assert trainer._draws[name].tolist() == expected
