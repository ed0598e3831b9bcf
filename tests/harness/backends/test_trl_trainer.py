"""The loss and its gradient through the TRL trainer equal an independent slow computation, micro-batches or not.

A fixed rollout (prompts, completions, rewards) takes the place of sampling. Everything after it is the real trainer.
The slow side uses a plain forward of the model, full log-softmax, and the loops that the methods' own tests use.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evals.provenance import Origin
from harness.backends.trl.hardware import TrlHardware
from harness.spec import Experiment
from harness.step.batch import TokenBatch
from harness.step.spread import SPREAD_METRICS
from tests.experiments import experiment
from tests.harness.cases import CASES, Case, with_grpo
from tests.harness.step.test_spread import slow_effective_share, slow_gini, slow_top_share

pytestmark = pytest.mark.slow

PROMPTS, GROUP, TOKENS = 3, 4, 6
LENGTHS = [6, 2, 4, 1, 5, 6, 3, 3, 2, 6, 1, 4]
REWARDS = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]  # the last group has no signal
BOXED = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]  # a second reward, where an arm has two


def rollout(vocab: int, declared: Experiment | None = None) -> dict[str, torch.Tensor]:
    """The same for every arm, with further rewards or the sampler's log-probabilities where `declared` reads them."""
    rows = PROMPTS * GROUP
    weights = (1.0,) if declared is None else declared.reward_weights.value
    parts = torch.tensor([REWARDS, BOXED][: len(weights)]).T
    generator = torch.Generator().manual_seed(3)
    lengths = torch.tensor(LENGTHS)
    mask = (torch.arange(TOKENS) < lengths.unsqueeze(1)).long()
    prompts = torch.randint(2, vocab, (PROMPTS, 4), generator=generator).repeat_interleave(GROUP, 0)
    prompt_mask = torch.ones_like(prompts)
    prompt_mask[:GROUP, 0] = 0  # a shorter prompt, padded on the left
    completions = torch.randint(2, vocab, (rows, TOKENS), generator=generator)
    fixed = {
        "prompt_ids": prompts,
        "prompt_mask": prompt_mask,
        "completion_ids": completions.masked_fill(mask == 0, 0),
        "completion_mask": mask,
        "rewards": parts @ torch.tensor(weights),
        "reward_parts": parts,
        "greedy_rewards": torch.tensor([1.0, 0.0, 0.5]).repeat_interleave(GROUP),
        "correct": torch.tensor(REWARDS),
        "response_draw": torch.arange(rows) * 7 % rows / rows,  # 0, 7/12, 2/12, ...: five of twelve below 0.4
        "answer_draw": torch.arange(rows) * 5 % rows / rows,
        "groups": torch.arange(rows) // GROUP,
        "base_accuracy": torch.tensor([0.25, 1.0, 0.0]).repeat_interleave(GROUP),
        "ref_per_token_logps": -torch.rand(rows, TOKENS, generator=generator) * 3,
        "old_per_token_logps": -torch.rand(rows, TOKENS, generator=generator) * 3 - 3,
    }
    if declared is not None and "old_entropies" in declared.method.reads:
        fixed["old_entropies"] = torch.rand(rows, TOKENS, generator=torch.Generator().manual_seed(5)) * 4
    if declared is not None and ("rollout_logp" in declared.method.reads or declared.old_policy.value == "sampler"):
        noise = torch.randn(rows, TOKENS, generator=torch.Generator().manual_seed(4))
        fixed["sampling_per_token_logps"] = fixed["old_per_token_logps"] + 0.3 * noise
    return fixed


def declared_with(case: Case) -> Experiment:
    """A complete experiment with the case's method, at the sizes of the fixed rollout."""
    sizes = {"prompts_per_rollout": PROMPTS, "group_size": GROUP, "max_completion_tokens": TOKENS, "kl_beta": 0.04}
    return replace(experiment().override({**sizes, **dict(case.values)}, Origin.USER, "a test"), method=case.method)


def make_trainer(
    declared: Experiment, model: Path, tmp_path: Path, micro_batch: int | None, processes: int = 1, **arguments: Any
) -> Any:
    """The real trainer. `arguments` are those of it in place of, or beside, those here."""
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig

    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config

    hardware = TrlHardware(device="cpu", micro_batch=micro_batch, processes=processes, save_every=1)
    # without corrections of the sampler, which need vLLM: the rollout is given
    gates = tuple(gate for gate in declared.method.gates if "rollout_logp" not in gate.reads)
    blind = replace(declared, method=replace(declared.method, gates=gates))
    given: dict[str, Any] = {
        "model": str(model),
        "reward_funcs": [lambda completions, **_: [0.0] * len(completions)] * len(declared.rewards.value),
        "args": GRPOConfig(**to_grpo_config(blind, hardware, seed=0, out_dir=tmp_path)),
        "train_dataset": Dataset.from_list([{"prompt": f"{i}"} for i in range(16)]),
        "processing_class": AutoTokenizer.from_pretrained(model, padding_side="left"),
    }
    return MethodTrainer(declared, **{**given, **arguments})


def fast(trainer: Any, fixed: dict[str, torch.Tensor]) -> tuple[float, list[torch.Tensor]]:
    """One optimiser step's loss and gradient through the real trainer."""
    trainer._generate_and_score_completions = lambda _: dict(fixed)
    trainer.model.train()
    total = 0.0
    for step in range(trainer.args.gradient_accumulation_steps):
        trainer._step = step
        inputs = trainer._prepare_inputs(None)
        loss = trainer.compute_loss(trainer.model, inputs)
        loss.backward()
        total += loss.item()
    return total, [p.grad for p in trainer.model.parameters()]


def slow(
    declared: Experiment, case: Case, random_model: Path, fixed: dict[str, torch.Tensor]
) -> tuple[float, list[torch.Tensor]]:
    """The same step: plain forward, loops for the method, and the clipped objective token by token."""
    e = {key: value.value for key, value in declared.settings().items()}
    logp, entropies, pi_squared, model = plain_forward(random_model, fixed)
    mask = fixed["completion_mask"].bool()
    batch = TokenBatch(
        rewards=fixed["rewards"].double(),
        reward_parts=fixed["reward_parts"].double(),
        reward_weights=e["reward_weights"],
        groups=fixed["groups"],
        mask=mask,
        vocab_size=model.config.vocab_size,
        max_tokens=TOKENS,
        step=0,
        seed=0,
        micro_batches=fixed["groups"] * 0,
        entropies=entropies.detach().double(),
        pi_squared=pi_squared.double(),
        logp=logp.detach().double(),
        old_logp=fixed["old_per_token_logps"].double(),
        old_entropies=fixed.get("old_entropies"),
        ref_logp=fixed["ref_per_token_logps"].double(),
        base_accuracy=fixed["base_accuracy"].double(),
        greedy_rewards=fixed["greedy_rewards"].double(),
        **{name: fixed[name].double() for name in ("correct", "response_draw", "answer_draw")},
        rollout_logp=fixed.get("sampling_per_token_logps"),
    )
    batch = with_grpo(batch)
    made = case.slow(batch)
    ones = mask.double()
    advantages = batch.advantages if made.advantages is None else made.advantages
    weights = ones if made.weights is None else made.weights
    gates = ones if made.gates is None else made.gates
    penalties = ones * 0 if made.penalties is None else made.penalties
    counted = ones if e["denominator"] == "all" else (gates != 0) * ones
    coefficients = slow_coefficients(counted, e["aggregation"])
    assert advantages is not None
    loss = torch.zeros((), dtype=torch.float64)
    terms = None
    if case.objective is not None:
        seen = (full_log_probs(model, fixed), fixed["completion_ids"]) if case.method.likeliest else ()
        terms = case.objective(batch.with_advantages(advantages), logp, fixed["old_per_token_logps"], *seen)
    for i, length in enumerate(LENGTHS):
        for t in range(length):
            a = float(advantages[i, t])
            log_ratio = logp[i, t] - fixed["old_per_token_logps"][i, t]
            ratio = log_ratio.exp()
            low = 0.0 if e["clip_low"] is None else 1 - e["clip_low"]
            high = float("inf") if e["clip_high"] is None else 1 + e["clip_high"]
            objective = torch.minimum(ratio * a, ratio.clamp(low, high) * a)
            if e["dual_clip"] is not None and a < 0:
                objective = objective.clamp(min=e["dual_clip"] * a)
            if terms is not None:
                objective = terms[i, t]
            d = fixed["ref_per_token_logps"][i, t] - logp[i, t]
            term = float(gates[i, t]) * objective - e["kl_beta"] * (d.exp() - d - 1)
            term = term - float(penalties[i, t]) * log_ratio.abs() + e["entropy_coefficient"] * entropies[i, t]
            loss = loss - float(weights[i, t]) * coefficients[i] * term
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters()]


def plain_forward(random_model: Path, fixed: dict[str, torch.Tensor]) -> tuple[Any, Any, Any, Any]:
    """(log-probabilities, entropies, sums of squared probabilities) of the completion tokens, [B, T] each, by a full
    log-softmax, and the model."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_model, dtype=torch.float32)
    log_probs = full_log_probs(model, fixed)
    logp = log_probs.gather(-1, fixed["completion_ids"].unsqueeze(-1)).squeeze(-1)
    probabilities = log_probs.exp()
    return logp, -(probabilities * log_probs).sum(-1), (probabilities.detach() ** 2).sum(-1), model


def full_log_probs(model: Any, fixed: dict[str, torch.Tensor]) -> torch.Tensor:
    """The log-probabilities of all tokens of the vocabulary at the completion tokens, [B, T, V]."""
    ids = torch.cat([fixed["prompt_ids"], fixed["completion_ids"]], 1)
    attention = torch.cat([fixed["prompt_mask"], fixed["completion_mask"]], 1)
    logits = model(input_ids=ids, attention_mask=attention).logits[:, -TOKENS - 1 : -1]
    return torch.log_softmax(logits, dim=-1)


def slow_coefficients(counted: torch.Tensor, aggregation: str) -> list[float]:
    """The weight of each token of a sequence, sequence by sequence."""
    lengths = [max(int(row.sum()), 1) for row in counted]
    total = max(int(counted.sum()), 1)
    of_prompt = [int(counted[start : start + GROUP].sum()) for start in range(0, len(lengths), GROUP)]
    each = {
        "sequence_mean": [1 / (len(lengths) * length) for length in lengths],
        "token_mean": [1 / total for _ in lengths],
        "fixed_length": [1 / (len(lengths) * TOKENS) for _ in lengths],
        "sequence_sum": [1 / len(lengths) for _ in lengths],
        "prompt_mean": [
            1 / (sum(n > 0 for n in of_prompt) * max(of_prompt[i // GROUP], 1)) for i in range(len(lengths))
        ],
    }
    return each[aggregation]


@pytest.mark.parametrize("micro_batch", [None, 2], ids=["whole", "micro-batches"])
@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_equal_the_slow_computation(
    name: str, micro_batch: int | None, random_model: Path, tmp_path: Path
) -> None:
    declared = declared_with(CASES[name])
    trainer = make_trainer(declared, random_model, tmp_path, micro_batch)
    fixed = rollout(trainer.model.config.vocab_size, declared)
    loss, gradient = fast(trainer, fixed)
    want, want_gradient = slow(declared, CASES[name], random_model, fixed)
    assert loss == pytest.approx(want, rel=1e-5)
    assert_close(gradient, want_gradient)


# without and with a need of entropies before the loss
@pytest.mark.parametrize("micro_batch", [None, 2], ids=["whole", "micro-batches"])
@pytest.mark.parametrize("name", ["grpo", "entropy_advantage"])
def test_a_step_is_measured_whole(name: str, micro_batch: int | None, random_model: Path, tmp_path: Path) -> None:
    trainer = make_trainer(declared_with(CASES[name]), random_model, tmp_path, micro_batch)
    fixed = rollout(trainer.model.config.vocab_size)
    fast(trainer, fixed)
    assert step_log(trainer) == measured_by_hand(random_model, fixed)
    assert ("train/shaping_ratio" in trainer._metrics["train"]) == (name == "entropy_advantage")


@pytest.mark.parametrize("micro_batch", [None, 2], ids=["whole", "micro-batches"])
def test_the_spread_is_that_of_the_whole_step(micro_batch: int | None, random_model: Path, tmp_path: Path) -> None:
    trainer = make_trainer(declared_with(CASES["grpo"]), random_model, tmp_path, micro_batch)
    fast(trainer, rollout(trainer.model.config.vocab_size))
    # |A| of the first group (two of four correct) and of the second (three of four). Each response weighs as much as
    # another, so a token 1 / length of it. The last group has no advantage.
    std = (math.sqrt(4 * 0.5**2 / 3), math.sqrt((3 * 0.25**2 + 0.75**2) / 3))
    means = (0.5, 0.75)
    advantages = [abs(r - means[i // GROUP]) / (std[i // GROUP] + 1e-4) for i, r in enumerate(REWARDS[: 2 * GROUP])]
    rows = list(zip(advantages, LENGTHS, strict=False))
    sizes = [a / length for a, length in rows for _ in range(length)]
    logged = {key.removeprefix("train/token_"): trainer._metrics["train"][key] for key in SPREAD_METRICS}
    assert logged == {
        "gini": [pytest.approx(slow_gini(sizes), rel=1e-5)],
        "effective_share": [pytest.approx(slow_effective_share(sizes), rel=1e-5)],
        "top_share": [pytest.approx(slow_top_share([a for a, length in rows for _ in range(length)]), rel=1e-5)],
    }
    assert 0.1 < logged["gini"][0] < 0.9


def test_kl_and_clip_fraction_are_of_the_whole_step(random_model: Path, tmp_path: Path) -> None:
    """Sums over counts of all tokens, however the step is cut. A token of advantage 0 can not be clipped."""
    measured = []
    for micro_batch in (None, 1, 2, 3):
        declared = declared_with(CASES["grpo"])
        trainer = make_trainer(declared, random_model, tmp_path, micro_batch)
        fixed = rollout(trainer.model.config.vocab_size)
        fast(trainer, fixed)
        logged = {name: trainer._metrics["train"][name] for name in ("kl", "clip_fraction")}
        assert all(len(values) == 1 for values in logged.values())
        measured.append({name: values[0] for name, values in logged.items()})
    logp, _, _, _ = plain_forward(random_model, fixed)
    mask = fixed["completion_mask"].bool()
    gaps = (fixed["ref_per_token_logps"] - logp)[mask]
    rewards = fixed["rewards"].reshape(PROMPTS, GROUP)
    sign = (rewards - rewards.mean(1, keepdim=True)).sign().reshape(-1, 1).expand_as(mask)
    log_ratio = logp - fixed["old_per_token_logps"]
    low, high = (math.log(1 - declared.clip_low.value), math.log(1 + declared.clip_high.value))
    clipped = ((sign < 0) & (log_ratio < low) | (sign > 0) & (log_ratio > high)) & mask
    counted = mask & (sign != 0)  # the last group has no advantage
    assert 0 < clipped.sum() < counted.sum() < mask.sum()
    for metrics in measured:
        assert metrics["kl"] == pytest.approx((gaps.exp() - gaps - 1).mean().item(), rel=1e-5)
        assert metrics["clip_fraction"] == clipped.sum().item() / counted.sum().item()


def test_a_step_without_any_advantage_has_no_clip_fraction(random_model: Path, tmp_path: Path) -> None:
    trainer = make_trainer(declared_with(CASES["grpo"]), random_model, tmp_path, 2)
    fixed = rollout(trainer.model.config.vocab_size)
    fixed["rewards"] = torch.ones_like(fixed["rewards"])
    fixed["reward_parts"] = torch.ones_like(fixed["reward_parts"])
    fast(trainer, fixed)
    assert "clip_fraction" not in trainer._metrics["train"] and len(trainer._metrics["train"]["kl"]) == 1


def step_log(trainer: Any) -> dict[str, float]:
    """The log of the one step that was made, but for what its method adds."""
    logged = {key: values for key, values in trainer._metrics["train"].items() if key.startswith("train/")}
    assert all(len(values) == 1 for values in logged.values())
    return {key: values[0] for key, values in logged.items() if key not in ("train/shaping_ratio", *SPREAD_METRICS)}


def measured_by_hand(random_model: Path, fixed: dict[str, torch.Tensor], equal: float = 1 / 3) -> dict[str, Any]:
    """The metrics of the fixed rollout: counted in LENGTHS and REWARDS, entropies from the plain forward pass.

    Args:
        equal: the share of groups with equal rewards, as the method has changed them.
    """
    rows = [row[:length].tolist() for row, length in zip(plain_forward(random_model, fixed)[1], LENGTHS, strict=True)]
    correct, incorrect = (
        [h for row, r in zip(rows, REWARDS, strict=True) if r == reward for h in row] for reward in (1.0, 0.0)
    )
    assert (len(correct), len(incorrect)) == (21, 22)
    rewards = fixed["rewards"].tolist()
    spreads = [stdev(rewards[start : start + GROUP]) for start in range(0, len(rewards), GROUP)]
    return {
        "train/reward": pytest.approx(fmean(rewards)),
        "train/reward_std": pytest.approx(fmean(spreads)),
        "train/accuracy": pytest.approx(5 / 12),
        "train/unscored_fraction": 0,
        "train/zero_variance_groups": pytest.approx(equal),
        "train/response_length_positive": pytest.approx(21 / 5),
        "train/response_length_negative": pytest.approx(22 / 7),
        "train/entropy": pytest.approx(sum(correct + incorrect) / 43, rel=1e-5),
        "train/entropy_positive": pytest.approx(sum(correct) / 21, rel=1e-5),
        "train/entropy_negative": pytest.approx(sum(incorrect) / 22, rel=1e-5),
    }


def assert_close(gradient: list[torch.Tensor], want: list[torch.Tensor]) -> None:
    """Equal to 1e-5 of the largest entry."""
    scale = max(float(g.abs().max()) for g in want)
    assert scale > 0
    for got, expected in zip(gradient, want, strict=True):
        assert torch.allclose(got, expected, rtol=1e-5, atol=1e-5 * scale)


def test_the_reference_may_be_another_model(random_model: Path, tmp_path: Path) -> None:
    """A teacher: what `reverse_kl` reads as ref_logp are its log-probabilities. The policy stays its own model."""
    from transformers import AutoModelForCausalLM

    from tests.experiments import save_random_model

    teacher = save_random_model(tmp_path / "teacher", heads=2)  # another shape, so that no weights can be mixed up
    declared = declared_with(CASES["grpo"])
    trainer = make_trainer(declared, random_model, tmp_path, None, reference_model=str(teacher))
    for model, folder in ((trainer.model, random_model), (trainer.ref_model, teacher)):
        expected = AutoModelForCausalLM.from_pretrained(folder).state_dict()
        assert {name: tuple(w.shape) for name, w in model.state_dict().items()} == {
            name: tuple(w.shape) for name, w in expected.items()
        }
        assert all(torch.equal(w.float(), expected[name].float()) for name, w in model.state_dict().items())


def test_a_policy_that_teaches_itself_sees_the_first_other_correct_response(random_model: Path, tmp_path: Path) -> None:
    from harness.backends.common import RESPONSE

    declared = declared_with(CASES["reverse_kl"]).override({"reference_model": "self"}, Origin.USER, "a test")
    trainer = make_trainer(declared, random_model, tmp_path, 2)
    assert trainer.ref_model is None
    fixed = rollout(trainer.model.config.vocab_size, declared)
    rows = [
        {"prompt": f"{i // GROUP} + 2", "with_response": f"{i // GROUP} + 2, {RESPONSE}?"} for i in range(len(REWARDS))
    ]
    got = trainer._self_taught(rows, fixed, REWARDS)
    tokenizer, model = trainer.processing_class, trainer.model.eval()
    responses = [ids[:length] for ids, length in zip(fixed["completion_ids"], LENGTHS, strict=True)]
    # the correct ones are 0 and 3. 4, 5 and 7. None
    shown = [3, 0, 0, 0, 5, 4, 4, 4, None, None, None, None]
    for i, (response, row, other) in enumerate(zip(responses, rows, shown, strict=True)):
        text = row["prompt"] if other is None else f"{i // GROUP} + 2, {tokenizer.decode(responses[other])}?"
        prompt = torch.tensor(tokenizer.encode(text))
        logits = model(input_ids=torch.cat([prompt, response])[None]).logits[0, len(prompt) - 1 : -1]
        expected = logits.log_softmax(-1).gather(1, response[:, None])[:, 0]
        torch.testing.assert_close(got[i, : len(response)], expected, rtol=1e-4, atol=1e-5)


def test_the_greedy_response_of_each_prompt_is_scored(random_model: Path, tmp_path: Path) -> None:
    """ReMax: two prompts, two rows each. The rewards are the response's length and, at weight 1/2, the same."""
    from baselines.remax import remax
    from harness.spec import use

    case = replace(CASES["grpo"], method=replace(CASES["grpo"].method, advantage=use(remax)))
    trainer = make_trainer(declared_with(case), random_model, tmp_path, None)
    trainer.reward_funcs = [lambda completions, **_: [float(len(text)) for text in completions]] * 2
    trainer.reward_weights = torch.tensor([1.0, 0.5])
    rows = [{"prompt": prompt, "answer": "7"} for prompt in ("2 + 2", "2 + 2", "what is 31 * 2?", "2 + 2")]
    got = trainer._greedy_rewards(rows)
    tokenizer, model = trainer.processing_class, trainer.model.eval()
    lengths = {}
    for prompt in {row["prompt"] for row in rows}:
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        for _ in range(TOKENS):  # the most probable token, one by one
            token = model(input_ids=ids).logits[0, -1].argmax().view(1, 1)
            ids = torch.cat([ids, token], dim=1)
            if token.item() in trainer.eos_token_ids:
                break
        start = len(tokenizer(prompt)["input_ids"])
        lengths[prompt] = len(tokenizer.decode(ids[0, start:], skip_special_tokens=True))
    assert got.tolist() == [1.5 * lengths[row["prompt"]] for row in rows]


def test_the_greedy_response_has_no_penalty_of_the_base_models_generation_configuration(
    random_model: Path, tmp_path: Path
) -> None:
    """Qwen2.5-Math-7B-Instruct repeats tokens less often in `generate`, by its generation_config.json."""
    trainer = make_trainer(declared_with(CASES["grpo"]), random_model, tmp_path, None)
    seen: list[list[str]] = []
    trainer.reward_funcs = [lambda completions, **_: seen.append(completions) or [0.0] * len(completions)]
    trainer._greedy_rewards([{"prompt": "2 + 2", "answer": "4"}])
    trainer.model.generation_config.update(repetition_penalty=100.0, no_repeat_ngram_size=1)
    trainer._greedy_rewards([{"prompt": "2 + 2", "answer": "4"}])
    assert seen[0] == seen[1]


class Longer:
    """An accelerator whose other process has responses of seven tokens."""

    num_processes = 2

    def pad_across_processes(self, tensor: torch.Tensor, *, dim: int) -> torch.Tensor:
        longest = 7 if dim == tensor.dim() - 1 else tensor.shape[dim]
        sides = [0, 0] * (tensor.dim() - 1 - dim) + [0, longest - tensor.shape[dim]]
        return torch.nn.functional.pad(tensor, sides)

    def gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor


def test_the_token_axis_is_padded_to_the_longest_of_all_processes_also_behind_other_axes() -> None:
    """[b, 3, T]: the log-probabilities of trainer and sampler, and the mask."""
    from harness.backends.trl.trainer import MethodTrainer

    trainer: Any = SimpleNamespace(accelerator=Longer())
    shapes = [tuple(MethodTrainer._gather(trainer, torch.ones(shape)).shape) for shape in ((4,), (4, 5), (4, 3, 5))]
    assert shapes == [(4,), (4, 7), (4, 3, 7)]


def test_the_old_entropies_are_those_of_the_policy_that_sampled(random_model: Path, tmp_path: Path) -> None:
    """ERC: three updates of a rollout. With one update the old policy is the current one."""
    several = declared_with(CASES["erc"]).override({"updates_per_rollout": PROMPTS}, Origin.USER, "a test")
    trainer = make_trainer(several, random_model, tmp_path, None)
    trainer.model.train()
    rollout = trainer._generate_and_score_completions([{"prompt": "2 + 2"}] * (PROMPTS * GROUP))
    _, entropies = trainer._signals(trainer.model, rollout)
    mask = rollout["completion_mask"].bool()
    torch.testing.assert_close(rollout["old_entropies"][mask], entropies[mask])
    with torch.no_grad():
        for weight in trainer.model.parameters():
            weight.mul_(1.5)
    parts = [{key: value[4 * i : 4 * i + 4] for key, value in rollout.items() if value.dim()} for i in range(PROMPTS)]
    trainer._apply_method(parts[1:2], None)
    ratio = trainer._signals(trainer.model, parts[1])[1] / parts[1]["old_entropies"]
    kept = (ratio > 0.4) & (ratio < 1.9) & parts[1]["completion_mask"].bool()
    assert torch.equal(parts[1]["gates"], kept.float()) and not torch.allclose(ratio, torch.ones(()))
    alone = make_trainer(declared_with(CASES["erc"]), random_model, tmp_path, None)
    assert "old_entropies" not in alone._generate_and_score_completions([{"prompt": "2 + 2"}] * (PROMPTS * GROUP))


def test_rewards_read_what_follows_a_thought_whose_marker_is_a_special_token(
    random_model: Path, tmp_path: Path
) -> None:
    """TRL's own text of a response has no special tokens: \\boxed{7} of the thought would count."""
    from evals.grading import Grader
    from harness.backends.trl.train import reward_functions

    declared = declared_with(CASES["grpo"])
    trainer = make_trainer(declared, random_model, tmp_path, None)
    tokenizer = trainer.processing_class
    tokenizer.add_special_tokens({"extra_special_tokens": ["[THINK]", "[/THINK]"]})
    trainer.reward_funcs = reward_functions(declared, Grader(), policy="boxed_last")
    ids = [tokenizer.encode(text) for text in (r"[THINK]\boxed{7}[/THINK]", r"[THINK][/THINK]\boxed{7}")]
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    assert texts == [r"\boxed{7}"] * 2
    rows = [{"prompt": "2 + 5", "answer": "7"}] * 2
    assert trainer._calculate_rewards(rows, ["2 + 5"] * 2, texts, ids).tolist() == [[0.0], [1.0]]


def test_remax_subtracts_the_reward_of_the_greedy_response(random_model: Path, tmp_path: Path) -> None:
    """The whole way, with the model's own responses and their lengths as rewards. Lengths of 0 and 11 cannot be scored,
    which leaves 0 to a response of 11 and to all of the prompt whose greedy response is empty."""
    from baselines.remax import remax
    from harness.spec import use

    def length(completions: list[str], **_: Any) -> list[float | None]:
        return [None if len(text) in (0, 11) else float(len(text)) for text in completions]

    case = replace(CASES["grpo"], method=replace(CASES["grpo"].method, advantage=use(remax)))
    trainer = make_trainer(declared_with(case), random_model, tmp_path, None, reward_funcs=[length])
    trainer.model.train()
    prompts = ("2 + 2", "what is 31 * 2?", "9 - 4")
    rows = [{"prompt": prompt, "answer": "7"} for prompt in prompts for _ in range(GROUP)]
    torch.manual_seed(1)
    (micro,) = [trainer._prepare_inputs(rows) for _ in range(trainer.args.gradient_accumulation_steps)]
    tokenizer, model = trainer.processing_class, trainer.model.eval()
    greedy, expected = {}, []
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        made = model.generate(ids, do_sample=False, max_new_tokens=TOKENS, eos_token_id=trainer.eos_token_ids)
        (greedy[prompt],) = length([tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True)])
    responses = tokenizer.batch_decode(micro["completion_ids"], skip_special_tokens=True)
    for row, reward in zip(rows, length(responses), strict=True):
        baseline = greedy[row["prompt"]]
        expected.append(0.0 if reward is None or baseline is None else reward - baseline)
    mask = micro["completion_mask"]
    assert micro["advantages"].tolist() == (torch.tensor(expected)[:, None] * mask).tolist()
    assert greedy["what is 31 * 2?"] is None and None in length(responses) and len({*expected}) > 3


def test_the_trainer_names_each_phase_while_it_is_under_way(random_model: Path, tmp_path: Path) -> None:
    """The policy's passes without gradients sample. The reference model's passes and the rewards have their names."""
    seen: dict[str, set[str]] = {"policy": set(), "reference": set(), "reward": set()}

    def length(completions: list[str], **_: Any) -> list[float]:
        seen["reward"].add(trainer.phase)
        return [float(len(text)) for text in completions]

    trainer = make_trainer(declared_with(CASES["grpo"]), random_model, tmp_path, None, reward_funcs=[length])
    for name, model in (("policy", trainer.model), ("reference", trainer._reference)):
        model.register_forward_pre_hook(lambda *_, name=name: seen[name].add(trainer.phase))
    trainer.model.train()
    rows = [{"prompt": f"{i} + 2", "answer": "7"} for i in range(PROMPTS) for _ in range(GROUP)]
    for _ in range(trainer.args.gradient_accumulation_steps):
        trainer._prepare_inputs(rows)
    assert seen["reward"] == {"rewards"} and seen["reference"] == {"reference log-probabilities"}
    assert "sampling" in seen["policy"] and seen["policy"] <= {"sampling", ""}
    assert trainer.phase == ""
