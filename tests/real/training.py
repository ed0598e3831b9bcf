"""A training of the real model on eight sums, recorded, and the same training again by plain torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from evals.files import read_json, read_jsonl

SUMS = ((2, 3), (10, 5), (7, 8), (12, 30), (9, 9), (21, 4), (6, 6), (1, 15))
PROMPTS, GROUP, TOKENS, UPDATES = 2, 4, 24, 2  # a rollout is two updates of one group each
RATE, BETA, CLIP, NORM, TEMPERATURE = 2e-5, 0.04, 0.2, 1.0, 0.9


def sums(folder: Path) -> Path:
    """A file of problems with answers and solutions."""
    path = folder / f"sums-{folder.name}.jsonl"  # a benchmark's name is its file's, and one file's in a process
    rows = (
        {"problem": f"What is {a} + {b}?", "answer": f"{a + b}", "solution": f"It is \\boxed{{{a + b}}}."}
        for a, b in SUMS
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def words(model: Path, folder: Path, *more: str) -> list[str]:
    """`rlvr run` on the sums, in float32, with an evaluation of a few tokens."""
    file = sums(folder)
    measured = f"protocol.benchmarks=[{file}] protocol.n=1 protocol.ks=[1] protocol.max_tokens=8 protocol.rows=2"
    where = f"scale=small seeds=1 base_model={model} data={file} hardware.device=cpu precision=float32 {measured}"
    where += " allow_overlap=true"  # what is measured is the machinery, not a score
    return ["run", *where.split(), *more]


ROLLOUT = (  # short enough for a CPU
    *("rewards=tests.real.rewards:spaces", "reward_weights=[1.0]", f"rollout_temperature={TEMPERATURE}"),
    *(f"prompts_per_rollout={PROMPTS}", f"group_size={GROUP}"),
    *(f"max_completion_tokens={TOKENS}", "max_prompt_tokens=128"),
    *(f"learning_rate={RATE}", "lr_schedule=constant", "warmup_ratio=0"),
)
GRPO = ("paper=egsw", "arm=grpo", *ROLLOUT, f"kl_beta={BETA}")


@dataclass(frozen=True)
class Update:
    """The batch that one update was given, [B, ...], and its loss and gradient norm."""

    prompts: list[list[int]]
    responses: list[list[int]]
    rewards: Tensor
    loss: float


@contextmanager
def recorded() -> Iterator[list[Update]]:
    """The updates of a training with TRL in this process."""
    from harness.backends.trl.trainer import MethodTrainer

    updates: list[Update] = []
    compute = MethodTrainer.compute_loss

    def compute_loss(self: Any, model: Any, inputs: Mapping[str, Any], *arguments: Any, **named: Any) -> Any:
        loss = compute(self, model, inputs, *arguments, **named)

        def rows(what: str) -> list[list[int]]:
            pairs = zip(inputs[f"{what}_ids"], inputs[f"{what}_mask"], strict=True)
            return [ids[mask.bool()].tolist() for ids, mask in pairs]

        updates.append(Update(rows("prompt"), rows("completion"), inputs["rewards"].clone(), float(loss.detach())))
        return loss

    MethodTrainer.compute_loss = compute_loss  # type: ignore[method-assign]
    try:
        yield updates
    finally:
        MethodTrainer.compute_loss = compute  # type: ignore[method-assign]


def log_probabilities(model: Any, prompt: Sequence[int], response: Sequence[int]) -> Tensor:
    """The log-probability of each token of a response at the temperature of the rollouts, [T], by a pass over this
    sequence alone."""
    logits = model(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1].float() / TEMPERATURE
    return logits.log_softmax(-1).gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1)


def grpo_loss(model: Any, update: Update, old: Sequence[Tensor], reference: Sequence[Tensor]) -> float:
    """Loss of GRPO, response by response, with its gradient added to the model's: advantages over the group's sample
    deviation + 1e-4. The clipped objective and the k3 term, a mean over a response's tokens, then over responses."""
    advantages = (update.rewards - update.rewards.mean()) / (update.rewards.std() + 1e-4)
    total = 0.0
    for i, (prompt, response) in enumerate(zip(update.prompts, update.responses, strict=True)):
        logp = log_probabilities(model, prompt, response)
        ratio, d = (logp - old[i]).exp(), reference[i] - logp
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        objective = torch.minimum(ratio * advantages[i], clipped * advantages[i]) - BETA * (d.exp() - d - 1)
        loss = -objective.mean() / len(update.prompts)
        loss.backward()
        total += loss.item()
    return total


def replayed(folder: Path, updates: Sequence[Update]) -> tuple[list[tuple[float, float]], Any]:
    """(loss, gradient norm) of each update of a training from the model in `folder`, and the model at its end."""
    from transformers import AutoModelForCausalLM

    model, base = (AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32) for _ in range(2))
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    made = []
    for number, update in enumerate(updates):
        if number % UPDATES == 0:  # the policy that sampled this rollout
            with torch.no_grad():
                old = [_of_all(model, each) for each in updates[number : number + UPDATES]]
        with torch.no_grad():
            reference = _of_all(base, update)
        optimiser.zero_grad()
        loss = grpo_loss(model, update, old[number % UPDATES], reference)
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), NORM))
        optimiser.step()
        made.append((loss, norm))
    return made, model


def _of_all(model: Any, update: Update) -> list[Tensor]:
    return [log_probabilities(model, p, r) for p, r in zip(update.prompts, update.responses, strict=True)]


def check_updates(model: Path, run: Path, updates: Sequence[Update]) -> None:
    """Each update of a run from `model` has the loss and gradient norm of a separate computation, and so have the
    weights at its end."""
    from safetensors.torch import load_file

    metrics = [row["metrics"] for row in read_jsonl(run / "metrics.jsonl")]
    made, trained = replayed(model, updates)
    assert len(made) == len(metrics) >= UPDATES
    for update, logged, (loss, norm) in zip(updates, metrics, made, strict=True):
        assert len(set(update.rewards.tolist())) > 1
        assert update.loss == pytest.approx(loss, rel=1e-3, abs=1e-6)
        assert logged["train/grad_norm"] == pytest.approx(norm, rel=1e-3)
        assert norm > 0.1
    assert abs(made[1][0]) > 1e-4  # off the policy that sampled, the objective is not 0: a hundred times the tolerance
    base, saved = load_file(model / "model.safetensors"), load_file(run / "train" / "final" / "model.safetensors")
    apart = moved = 0.0
    for name, weight in trained.named_parameters():
        apart += float((saved[name] - weight.detach()).square().sum())
        moved += float((saved[name] - base[name].float()).square().sum())
    assert apart < 1e-2 * moved  # Adam divides by the gradient's size: what is near 0 in both has another sign


def check_description(model: Path, final: Path) -> None:
    """A saved model has the files of its base model. All but the weights and their type are the same."""
    assert {path.name for path in final.iterdir()} == {path.name for path in model.iterdir()}
    for path in model.iterdir():
        if path.name not in ("model.safetensors", "config.json"):
            assert (final / path.name).read_text() == path.read_text(), path.name
    assert read_json(final / "config.json") == {**read_json(model / "config.json"), "dtype": "float32"}


def without_time(run: Path) -> list[dict[str, Any]]:
    """The metrics of each step, but for how long it took."""
    rows = read_jsonl(run / "metrics.jsonl")
    return [{k: v for k, v in row["metrics"].items() if k != "train/step_seconds"} for row in rows]
