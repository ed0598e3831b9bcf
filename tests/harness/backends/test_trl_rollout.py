"""Responses of the trainer's own rollout on a CPU against those of TRL, which calls transformers' `generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.provenance import Origin
from evals.sampling.engines.encode import prompt_tokens
from harness.data.tiny import family
from harness.data.tiny.pinned import pinned
from harness.step.finite import Diverged
from tests.experiments import experiment
from tests.harness.backends.test_trl_trainer import make_trainer

pytestmark = pytest.mark.slow

PROMPTS, GROUP, TOKENS = 6, 8, 64


def trainer_of(name: str, temperature: float, out_dir: Path, stop: str = "", **arguments: Any) -> Any:
    """The trainer of a pretrained tiny model, in training mode. With `stop`, a prompt whose responses end at that
    text."""
    sizes = {"prompts_per_rollout": PROMPTS, "group_size": GROUP, "max_completion_tokens": TOKENS}
    if stop:
        (out_dir / "own.yaml").write_text(f'user: "{{problem}}"\nstop: ["{stop}"]\n')
        sizes["prompt"] = str(out_dir / "own.yaml")
    declared = experiment().override({**sizes, "rollout_temperature": temperature}, Origin.USER, "a test")
    trainer = make_trainer(declared, pinned(name), out_dir, None, **arguments)
    trainer.model.train()
    return trainer


def prompt_ids(trainer: Any, name: str) -> list[list[int]]:
    """Two prompts of each tier, whose lengths differ, `GROUP` times each."""
    template, words = prompts.get("plain"), trainer.processing_class
    rows = [row for tier in family(name).EVAL_SHAPES for row in family(name).eval_problems(tier)[:2]]
    tokens = [prompt_tokens(words, prompts.render(template, Problem(**row), words)) for row in rows]
    return [list(row) for row in tokens for _ in range(GROUP)]


@pytest.mark.parametrize(("name", "temperature"), [("tiny", 1.0), ("tiny", 0.7), ("tiny_search", 1.3)])
def test_responses_and_the_random_state_after_them_are_those_of_generate(
    name: str, temperature: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token by token. The state, because the next rollout starts from it."""
    trainer = trainer_of(name, temperature, tmp_path)
    rows = prompt_ids(trainer, name)
    torch.manual_seed(5)
    expected, _ = GRPOTrainer._generate_single_turn(trainer, rows, None, {}, GROUP)
    state = torch.get_rng_state()
    monkeypatch.setattr(trainer.model, "generate", None)  # what would call it fails
    torch.manual_seed(5)
    responses, _ = trainer._generate_single_turn(rows, None, {}, GROUP)
    assert responses == expected
    assert torch.equal(torch.get_rng_state(), state)
    lengths = [len(row) for row in responses]
    assert len(set(map(len, rows))) > 1 and len(set(lengths)) > 4  # padded prompts. Rows left the batch on the way


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    trainer = trainer_of("tiny", 1.0, tmp_path)
    with torch.no_grad():
        trainer.model.model.norm.weight[0] = float("nan")
    with pytest.raises(Diverged, match="probability of a sampled token"):
        trainer._generate_single_turn([[5, 6]], None, {}, 1)


@pytest.mark.parametrize("change", ["nucleus", "bfloat16", "checkpointing"])
def test_other_rollouts_are_those_of_trl(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = trainer_of("tiny", 1.0, tmp_path)
    if change == "nucleus":
        trainer.args.top_p = 0.9
    elif change == "bfloat16":
        trainer.args.bf16 = True
    else:
        trainer.model.gradient_checkpointing_enable()
    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", lambda *_, **__: ("those of TRL", None))
    assert trainer._generate_single_turn([[5, 6]], None, {}, 1) == ("those of TRL", None)


def slow_cut(tokenizer: Any, row: list[int], stop: str) -> list[int]:
    """The tokens up to the first one with which the text has `stop` in it: one more at a time."""
    for n in range(1, len(row) + 1):
        if stop in tokenizer.decode(row[:n], skip_special_tokens=True):
            return row[:n]
    return row


@pytest.mark.parametrize("sampler", ["own", "that of TRL"])
def test_a_response_ends_with_the_token_that_completes_a_stop_text(
    sampler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the beginning of the response without one: the random numbers are the same."""
    trainer = trainer_of("tiny", 1.0, tmp_path)
    rows, words = prompt_ids(trainer, "tiny"), trainer.processing_class
    torch.manual_seed(5)
    whole, _ = trainer._generate_single_turn(rows, None, {}, GROUP)
    expected = [slow_cut(words, row, "= 1") for row in whole]
    assert 0 < sum(a != b for a, b in zip(whole, expected, strict=True)) < len(whole)  # it ends some
    stopping = trainer_of("tiny", 1.0, tmp_path, stop="= 1")
    logps = None
    if sampler != "own":
        stopping.args.top_p = 0.9  # which the loop of our own does not sample
        logps = [[-float(i) for i in range(len(row))] for row in whole]
        monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", lambda *_, **__: (whole, logps))
    torch.manual_seed(5)
    responses, cut_logps = stopping._generate_single_turn(rows, None, {}, GROUP)
    assert responses == expected
    assert cut_logps == (logps and [row[: len(kept)] for row, kept in zip(logps, expected, strict=True)])


def test_rewards_read_what_comes_before_a_stop_text_and_no_such_response_is_truncated(tmp_path: Path) -> None:
    from datasets import Dataset

    seen: list[str] = []

    def reward(completions: list[str], **_: Any) -> list[float]:
        seen.extend(completions)
        return [0.0] * len(completions)

    tier = next(iter(family("tiny").EVAL_SHAPES))
    problem = family("tiny").eval_problems(tier)[0]
    trainer = trainer_of("tiny", 1.0, tmp_path, stop=" ", reward_funcs=[reward])
    text = prompts.render(prompts.get("plain"), Problem(**problem), trainer.processing_class)
    rows = Dataset.from_list([{"prompt": text, "answer": "1"}] * PROMPTS * GROUP).to_list()
    torch.manual_seed(5)
    output = trainer._generate_and_score_completions(rows)
    assert len(seen) == PROMPTS * GROUP and not any(" " in text for text in seen)
    kept = [
        row[mask.bool()].tolist() for row, mask in zip(output["completion_ids"], output["completion_mask"], strict=True)
    ]
    texts = trainer.processing_class.batch_decode(kept, skip_special_tokens=True)
    ended = [" " in text or row[-1] in trainer.eos_token_ids for text, row in zip(texts, kept, strict=True)]
    assert sum(" " in text for text in texts) > len(texts) / 2  # most responses have a blank
    (truncated,) = trainer._metrics["train"]["completions/clipped_ratio"]
    assert truncated == pytest.approx(1 - sum(ended) / len(ended))
