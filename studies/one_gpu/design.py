"""The arms and comparisons of the study. Registered before the first run. A change makes another study (its digest
changes)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

COMMON: Mapping[str, object] = {  # one recipe, so that methods differ in their equation alone
    "rewards": ["accuracy"],
    "reward_weights": [1.0],
    "prompts_per_rollout": 32,
    "group_size": 8,
    "updates_per_rollout": 1,
    "rollout_temperature": 1.0,
    "max_prompt_tokens": 384,
    "max_completion_tokens": 384,
    "learning_rate": 3e-6,
    "lr_schedule": "constant",
    "warmup_ratio": 0.0,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "kl_beta": 0.0,
    "aggregation": "token_mean",
    "clip_low": 0.2,
    "clip_high": 0.28,
    "precision": "bfloat16",
}
BENCHMARK = "gsm8k"
MEASURED: Mapping[str, object] = {
    "protocol.benchmarks": [BENCHMARK],
    "protocol.n": 1,
    "protocol.temperature": 0.0,
    "protocol.max_tokens": 384,
    "protocol.ks": [1],
}


@dataclass(frozen=True)
class Entry:
    """One arm of the track, and what it is compared with ("" for the reference itself)."""

    paper: str
    arm: str
    than: str = "grpo"

    @property
    def key(self) -> str:
        return f"{self.paper}/{self.arm}"


@dataclass(frozen=True)
class Design:
    """The study as data.

    Attributes:
        rollouts: of every run. seeds: of every entry, for a verdict about a method.
        entries: by worth. A first quarter of an hour makes seed 0 of as many as its memory and time allow.
    """

    base_model: str
    data: str
    rollouts: int
    seeds: int
    common: Mapping[str, object]
    measured: Mapping[str, object]
    entries: Sequence[Entry]

    @property
    def digest(self) -> str:
        """Twelve hex digits of everything declared here."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]


STUDY = Design(
    base_model="Qwen2.5-Coder-0.5B-Instruct",
    data="GSM8K's 7,473 training problems; measured on its 1,319 test problems",
    rollouts=40,
    seeds=3,
    common=COMMON,
    measured=MEASURED,
    entries=(
        Entry("egsw", "grpo", ""),
        Entry("entropy_advantage", "grpo_entropy_advantage"),
        Entry("erpo", "erpo"),
        Entry("egsw", "egsw"),
        Entry("trial_and_error", "grpo_ppl"),
        Entry("egsw", "egsw+shuffled_signal"),
        Entry("forking_tokens", "top20"),
        Entry("trial_and_error", "grpo_position"),
        Entry("egsw", "egsw_micro_batch"),
    ),
)


def entered(paper: str, arm: str) -> tuple[Entry, ...]:
    """The rows of a method: GRPO, the method, its placebo.

    A paper that `rlvr new NAME` made has its placebo as an arm. Others get their signals shuffled, or random rewards
    where the method reads no signal.

    Raises:
        UsageError: no such paper or arm, or one that is not trained with rewards.
    """
    from harness.errors import UsageError, choose
    from harness.spec import Experiment, catalogue
    from harness.step.batch import TOKEN_SIGNALS

    choose("paper", [paper], catalogue.papers())
    arms = {each.key: each.train for each in catalogue.load(paper).arms}
    choose("arm", [arm], list(arms))
    training = arms[arm]
    if not isinstance(training, Experiment):
        raise UsageError(f"arm={arm}: it is not trained with rewards, so it has no place beside GRPO")
    control = "random_reward" if training.method.reads.isdisjoint(TOKEN_SIGNALS) else "shuffled_signal"
    placebo = "placebo" if "placebo" in arms else f"{arm}+{control}"
    reference = Entry(paper if "grpo" in arms else STUDY.entries[0].paper, "grpo", "")
    return reference, *((Entry(paper, arm),) if arm != "grpo" else ()), Entry(paper, placebo)


def arguments(
    entry: Entry, seed: int, *, model: str, data: str, rollouts: int, more: Mapping[str, object] | None = None
) -> list[str]:
    """The words behind `rlvr run` for one run.

    Args:
        model: folder of the base model. data: the file of training problems. rollouts: fewer than the design's in a
            rehearsal. more: values of the machine, and in a rehearsal smaller ones.
    """
    values = {"max_steps": rollouts, **COMMON, **MEASURED}
    if entry.arm.startswith("grpo_position"):  # the plateau stage: as at small scale, a fifth in, a tenth long
        first, steps = rollouts // 5, max(1, rollouts // 10)
        values |= {"position_advantage.first_step": first, "position_advantage.steps": steps}
    values |= more or {}
    named = [f"{key}={json.dumps(value) if isinstance(value, list) else value}" for key, value in values.items()]
    identity = [f"paper={entry.paper}", f"arm={entry.arm}", "scale=small", f"seeds=[{seed}]"]
    return [*identity, f"base_model={model}", f"data={data}", *named]
