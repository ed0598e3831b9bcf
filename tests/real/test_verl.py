"""The real model with veRL: an update equals a separate computation. A killed training ends with the weights of one
that was not; what is saved is the base model with other weights, which vLLM loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tests.needs_verl import need_verl

need_verl()

from evals.files import read_json  # noqa: E402
from evals.provenance import Origin  # noqa: E402
from evals.sampling.engines.transformers import TransformersEngine  # noqa: E402
from harness.backends.checkpoints import WHOLE  # noqa: E402
from harness.backends.verl.rewards import UNEQUAL  # noqa: E402
from tests.experiments import WHY, experiment  # noqa: E402
from tests.parity.local_verl import make_worker, step  # noqa: E402
from tests.real.conftest import by_vllm, requests  # noqa: E402
from tests.real.test_sampling import check_greedy  # noqa: E402
from tests.real.training import (  # noqa: E402
    BETA,
    GRPO,
    TEMPERATURE,
    Update,
    check_description,
    grpo_loss,
    log_probabilities,
    without_time,
    words,
)  # fmt: skip

pytestmark = pytest.mark.slow
RESPONSES = ("It is 357.", "12 + 345 = \\boxed{357}.", "I am not sure, but I think that the answer is 350.", "357")
REWARDS = (0.5, 1.0, 0.0, 0.25)


RUN = (*GRPO, "backend=verl", "updates_per_rollout=1", "max_steps=2", "hardware.save_every=1")


def test_a_killed_training_ends_with_the_same_weights(model: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    command = [sys.executable, "-m", "rlvr", *words(model, tmp_path, *RUN)]
    runs = []
    for name in ("whole", "killed"):
        home = tmp_path / name
        environment = {**os.environ, "RLVR_HOME": str(home)}
        if name == "killed":
            _kill_after_a_checkpoint(command, environment, home)
        subprocess.run(command, env=environment, check=True)
        runs += [path.parent for path in home.glob("egsw/small/*/run.json")]
    whole, killed = runs
    assert read_json(whole / "run.json")["training"]["resumed_from"] is None
    assert read_json(killed / "run.json")["training"]["resumed_from"].endswith("global_step_1")
    base = load_file(model / "model.safetensors")
    first, second = (load_file(run / "train" / "final" / "model.safetensors") for run in runs)
    assert first.keys() == second.keys() == base.keys()
    assert any(not torch.equal(first[key].float(), base[key].float()) for key in base)
    assert all(torch.equal(first[key], second[key]) for key in first)
    for metrics, again in zip(without_time(whole), without_time(killed), strict=True):
        assert again == pytest.approx(metrics, rel=1e-3, abs=1e-4)  # vLLM's log-probabilities differ in the last digits
        assert 0 < metrics["train/mismatch_max_logp_gap"] < 1e-3  # both in float32
    _check_saved(model, whole / "train" / "final")


def _kill_after_a_checkpoint(command: list[str], environment: dict[str, str], home: Path) -> None:
    process = subprocess.Popen(command, env=environment)
    while not any(home.glob(f"egsw/small/*/train/checkpoints/global_step_1/{WHOLE}")):
        assert process.poll() is None, "the run ended before it saved"
        time.sleep(0.2)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=180)  # the next command needs their memory
    assert not alive
    assert not any(home.glob("egsw/small/*/train/final"))


def _check_saved(model: Path, final: Path) -> None:
    """It has the base model's description, and vLLM's greedy responses are its most likely tokens."""
    check_description(model, final)
    engine = TransformersEngine(str(final), device="cpu")
    first_requests = requests(engine.tokenizer)[:4]
    responses = by_vllm(final, first_requests)
    for request in first_requests:
        completion, output = responses[request.key[0]]
        check_greedy(engine, request, completion, list(output.token_ids))


def test_an_update_equals_a_separate_computation(model: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    plain = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    prompt = tokenizer.encode(requests(tokenizer)[0].prompt_text, add_special_tokens=False)
    responses = [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in RESPONSES]
    update = Update([prompt] * len(responses), responses, torch.tensor(REWARDS), 0.0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():  # policies that are not this one, so that ratios and the KL term count
        log_p = [log_probabilities(plain, prompt, response) for response in responses]
        old, reference = ([p + 0.1 * torch.randn(len(p), generator=generator) for p in log_p] for _ in range(2))
    loss = grpo_loss(plain, update, old, reference)
    gradients = {name: weight.grad for name, weight in plain.named_parameters()}
    norm = torch.stack([gradient.norm() for gradient in gradients.values() if gradient is not None]).norm()

    sizes = {"prompts_per_rollout": 1, "group_size": len(responses), "max_completion_tokens": 32}
    values = {**sizes, "kl_beta": BETA, "rollout_temperature": TEMPERATURE, "base_model": str(model)}
    declared = experiment().override(values, Origin.USER, WHY)
    worker = make_worker(model)
    rows = {
        f"00000001-000000_{i}_0": row(prompt, response, REWARDS[i], old[i], reference[i])
        for i, response in enumerate(responses)
    }
    line = step(declared, rows, worker, model, number=1, micro_batch=2, out=tmp_path)
    assert line["metrics"]["train/loss"] == pytest.approx(loss, rel=1e-4)
    verl_gradients = worker.engine.gradients
    assert verl_gradients.keys() == gradients.keys()
    scale = max(float(gradient.abs().max()) for gradient in gradients.values() if gradient is not None)
    assert scale > 0
    for name, gradient in gradients.items():
        torch.testing.assert_close(verl_gradients[name], gradient, rtol=1e-3, atol=1e-4 * scale, msg=name)
    assert float(torch.stack([g.norm() for g in verl_gradients.values()]).norm()) == pytest.approx(
        float(norm), rel=1e-4
    )


def row(
    prompt: list[int], response: list[int], reward: float, old: torch.Tensor, reference: torch.Tensor
) -> dict[str, Any]:
    """A sequence as veRL holds it, without padding."""
    ids, length = torch.tensor([*prompt, *response]), len(response)
    ones, scores = torch.ones(length, dtype=torch.int64), torch.zeros(length)
    scores[-1] = reward
    return {
        "prompts": torch.tensor(prompt),
        "responses": torch.tensor(response),
        "input_ids": ids,
        "position_ids": torch.arange(len(ids)),
        "response_mask": ones,
        "loss_mask": ones,
        "rm_scores": scores,
        "old_log_probs": old,
        "rollout_log_probs": old,
        "ref_log_prob": reference,
        "extra_fields": {
            "reward_extra_info": {
                "correct": float(reward == 1),
                "reward/accuracy": reward,
                "base_accuracy": 0.5,
                UNEQUAL: 0.0,
            }
        },
    }
