"""Real trainings with veRL on this CPU: they learn, survive what kills them, and leave nothing behind.

Each start of Ray and vLLM takes about two minutes, so that few runs show many things.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.needs_verl import need_verl

need_verl()

from evals.files import read_json, read_jsonl  # noqa: E402
from evals.sampling.engines.encode import prompt_tokens  # noqa: E402
from evals.sampling.prompt_nats import PROMPTS, TOKENS, prompt_nats  # noqa: E402
from harness.backends.verl import PROMPT_NATS, ROWS  # noqa: E402
from harness.backends.verl.processes import members  # noqa: E402
from tests.verl.runs import finish, session_of, start, steps, train_folder, wait_for  # noqa: E402

pytestmark = pytest.mark.timeout(3600)
STEPS = 16
FAST = (f"max_steps={STEPS}", "prompts_per_rollout=16", "learning_rate=5e-4")


def has_ended(session: str) -> bool:
    """Whether all processes of a session have ended within a few seconds."""
    end = time.monotonic() + 20
    while members(session) and time.monotonic() < end:
        time.sleep(0.2)
    return not members(session)


def read_by_transformers(base: str, folder: Path) -> dict[str, float]:
    """How well the base model predicts the prompts that a training's first rollout has read."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    prompts = read_json(folder / PROMPT_NATS)["token_ids"]
    rows = [prompt_tokens(tokenizer, row["prompt"])[:TOKENS] for row in read_jsonl(folder / ROWS)]
    assert len(prompts) == PROMPTS and all(prompt in rows for prompt in prompts)
    read = prompt_nats(AutoModelForCausalLM.from_pretrained(base), tokenizer, prompts)
    assert read is not None
    return read.as_record()


def rises(by_step: dict[int, dict[str, float]], key: str) -> None:
    order = [by_step[step][key] for step in sorted(by_step)]
    assert mean(order[-4:]) > mean(order[:4]) + 0.05, order


def test_grpo_learns_and_resumes_after_a_worker_was_killed(tmp_path: Path) -> None:
    options = ("paper=egsw", "arm=grpo", *FAST, "hardware.save_every=4")
    run = start(tmp_path, *options)
    wait_for(lambda: len(steps(tmp_path)) >= 6, run)
    session = session_of(run)
    worker = next(pid for pid in members(session) if "WorkerDict" in Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(worker, signal.SIGKILL)
    code, output = finish(run)
    assert code == 1
    assert "training with veRL ended with exit code" in output
    assert has_ended(session)
    folder = train_folder(tmp_path)
    assert folder is not None
    assert not (folder / "final").exists()

    code, output = finish(start(tmp_path, *options))
    assert code == 0, output[-3000:]
    by_step = steps(tmp_path)
    assert sorted(by_step) == list(range(1, STEPS + 1))
    rises(by_step, "train/reward")
    assert max(step["train/mismatch_max_logp_gap"] for step in by_step.values()) < 1e-3
    record: dict[str, Any] = read_json(folder.parent / "run.json")
    assert record["backend"] == "verl"
    assert record["training"]["prompt_nats"] == pytest.approx(
        read_by_transformers(record["base_model"]["loaded_from"], folder), abs=1e-3
    )
    assert record["training"]["steps"] == STEPS and record["training"]["reward_limits_s"] == {}
    assert record["training"]["resumed_from"].endswith("global_step_4")
    assert record["environment"]["packages"]["verl"] == "0.9.1"
    for benchmark in record["scores"].values():
        assert 0 <= benchmark["pass_at_1"]["value"] <= 1


def test_ppo_learns_with_a_critic_that_was_trained_first(tmp_path: Path) -> None:
    options = (
        "paper=entropy_advantage",
        "arm=ppo",
        f"max_steps={STEPS}",
        "prompts_per_rollout=32",  # one sample a state says less than a group of them
        "learning_rate=1e-3",
        "ppo.critic_warmup_steps=3",
        "ppo.critic_learning_rate=1e-3",
    )
    code, output = finish(start(tmp_path, *options))
    assert code == 0, output[-3000:]
    by_step = steps(tmp_path)
    assert sorted(by_step) == list(range(1, STEPS + 1))
    for step in (1, 2, 3):  # the critic alone: the policy has no loss yet
        assert "train/loss" not in by_step[step]
        assert "train/value_loss" in by_step[step]
    assert "train/loss" in by_step[4]
    losses = [by_step[step]["train/value_loss"] for step in sorted(by_step)]
    assert mean(losses[-4:]) < mean(losses[:2])
    rises(by_step, "train/reward")


def test_a_reference_is_reset_and_kept_over_a_kill(tmp_path: Path) -> None:
    options = ("paper=baselines", "arm=kl_reset", "max_steps=6", "prompts_per_rollout=8", "learning_rate=1e-3")
    options = (*options, "updates_per_rollout=1", "reference_reset_every=2", "hardware.save_every=3")
    run = start(tmp_path, *options)
    before = wait_for(lambda: len(by_step := steps(tmp_path)) >= 4 and by_step, run)
    run.kill()
    run.communicate()
    code, output = finish(start(tmp_path, *options))
    assert code == 0, output[-3000:]
    folder = train_folder(tmp_path)
    assert folder is not None
    record: dict[str, Any] = read_json(folder.parent / "run.json")
    assert record["training"]["resumed_from"].endswith("global_step_3")
    kl = [steps(tmp_path)[step]["train/kl"] for step in range(1, 7)]
    # a step's KL is that of the policy before it: nothing right after a reset (every second step), else something
    assert max(kl[0::2]) < 1e-6
    assert min(kl[1::2]) > 1e-5
    # step 4 came once before the kill, and again from the checkpoint of step 3, whose reference is the policy of step 2
    assert kl[3] == pytest.approx(before[4]["train/kl"], rel=1e-3)


def test_dapo_trains_on_groups_that_differ(tmp_path: Path) -> None:
    # two responses a prompt: about half of the groups are both correct or both incorrect, and are sampled again
    sizes = ("dynamic_sampling=true", "group_size=2", "prompts_per_rollout=8", "max_steps=4")
    code, output = finish(start(tmp_path, "paper=baselines", "arm=dapo", *sizes))
    assert code == 0, output[-3000:]
    by_step = steps(tmp_path)
    assert sorted(by_step) == [1, 2, 3, 4]
    assert [step["train/zero_variance_groups"] for step in by_step.values()] == [0.0] * 4
    assert max(step["train/resampling_rounds"] for step in by_step.values()) >= 2
    assert all(0 < step["train/zero_variance_groups_drawn"] < 1 for step in by_step.values())


def test_a_killed_command_leaves_no_process(tmp_path: Path) -> None:
    run = start(tmp_path, "paper=egsw", "arm=grpo", *FAST)
    session = wait_for(lambda: session_of(run), run)
    wait_for(lambda: len(members(session)) > 5, run)
    run.kill()
    run.communicate()
    assert has_ended(session)


def test_a_model_is_evaluated_while_it_trains(tmp_path: Path) -> None:
    options = (
        "paper=egsw",
        "arm=grpo",
        "max_steps=4",
        "prompts_per_rollout=8",
        "eval.every=2",
        "eval.rows=4",
        "eval.n=2",
    )
    code, output = finish(start(tmp_path, *options, "eval.ks=[1]", "eval.benchmarks=[tiny_short]", "keep=4"))
    assert code == 0, output[-3000:]
    folder = train_folder(tmp_path)
    assert folder is not None
    rows = read_jsonl(folder.parent / "curve.jsonl")
    assert [row["step"] for row in rows] == [0, 2, 4]
    assert all(0 <= row["scores"]["tiny_short"]["avg_at_2"]["value"] <= 1 for row in rows)
    (kept,) = (folder / "snapshots").iterdir()
    assert kept.name == "step-000004"
    assert (kept / "model.safetensors").read_bytes() == (folder / "final" / "model.safetensors").read_bytes()
