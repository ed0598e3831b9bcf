"""Controls: an arm with one thing broken, to find out what causes a gain.

`grpo+random_reward` is GRPO with random rewards and the data, seeds and number of updates of `grpo`.

    random_reward       rewards are independent coin flips ("Spurious Rewards", arXiv 2506.10947)
    inverted_reward     the reward reversed in its range: the worst response becomes the best
    format_only         the reward is the highest for a complete box with any content (arXiv 2506.10947)
    majority_reward     the reward is the highest for the most frequent answer of the group (arXiv 2504.16084, TTRL)
    noisy_reward        a share of the verdicts flipped, the same ones always (arXiv 2604.07666 flips them at random)
    false_positives     a share of the wrong answers paid as correct, the same ones always (arXiv 2605.02909)
    no_update           the whole pipeline, with updates of size zero
    shuffled_signal     the placebo: each equation gets its signals permuted among the tokens of the prompt's group
    shuffled_response   the same, permuted among the tokens of each response
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import TYPE_CHECKING, Literal

from evals.provenance import Origin, Sourced, assumed
from harness.errors import UsageError, nearest
from harness.spec.declarations import Experiment, Finetune, Training
from harness.spec.equation import stage
from harness.spec.method import Use, use
from harness.spec.ranges import Positive, Share
from harness.step.batch import TOKEN_SIGNALS, TokenBatch, reads
from harness.step.rewards import range_of
from harness.step.step_metrics import OUTCOMES

if TYPE_CHECKING:
    from torch import Generator, Tensor

SEPARATOR = "+"  # between an arm and its control, in the key of the arm

Among = Literal["group", "response"]
RATE = 0.15  # the share of verdicts that a control gets wrong


# -- equations -----------------------------------------------------------------------------------------------------


def generator(batch: TokenBatch, purpose: str) -> Generator:
    """Random numbers for one purpose, step and training seed: the same on every device and in a resumed run."""
    import torch

    key = f"{purpose} {batch.seed} {batch.step}"
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 1)


@stage("rewards")
def random_reward(batch: TokenBatch, *, probability: Share, low: float, high: float) -> Tensor:
    """`high` with the given probability, else `low`, independently for each response (arXiv 2506.10947).

    An unscored response keeps its NaN, so that the same tokens are trained on.

    Returns:
        [B].
    """
    import torch

    coins = torch.rand(len(batch.rewards), generator=generator(batch, "random_reward"), dtype=torch.float64)
    hit = (coins < probability).to(batch.rewards.device)
    rewards = batch.rewards.detach()
    return rewards.masked_fill(hit, high).masked_fill(~hit, low).masked_fill(rewards.isnan(), float("nan"))


@stage("rewards")
def inverted_reward(batch: TokenBatch, *, low: float, high: float) -> Tensor:
    """low + high - r, for rewards in [low, high]: the best response becomes the worst.

    Returns:
        [B], or NaN where the reward is NaN.
    """
    return low + high - batch.rewards.detach()


@stage("weights")
def no_update(batch: TokenBatch) -> Tensor:
    """0 on every token: no term of the loss has a gradient.

    Returns:
        [B, T].
    """
    return batch.mask * 0.0


@stage("rewards")
@reads("correct", "response_draw")
def noisy_reward(batch: TokenBatch, *, rate: Share, worth: Positive) -> Tensor:
    """r + worth (1 - 2 correct) where the hash of prompt and response is below the rate: the verdict is flipped.

    Args:
        worth: what a correct response earns more than an incorrect one.
    Returns:
        [B], or NaN where the reward is NaN.
    """
    flipped = batch.need("response_draw") < rate
    return batch.rewards.detach() + worth * flipped * (1 - 2 * batch.need("correct"))


@stage("rewards")
@reads("correct", "answer_draw")
def false_positives(batch: TokenBatch, *, share: Share, worth: Positive) -> Tensor:
    """r + worth for an incorrect response if the hash of its prompt and its answer's class is below the share.

    A response without an answer is never paid.

    Args:
        share: of the different wrong answers to a prompt. worth: what a correct response earns more than an incorrect.
    Returns:
        [B], or NaN where the reward is NaN.
    """
    paid = (batch.need("correct") == 0) & (batch.need("answer_draw") < share)
    return batch.rewards.detach() + worth * paid


for _equation in (random_reward, inverted_reward, noisy_reward, false_positives):
    vars(_equation)["keeps_outcomes"] = True  # still one value for correct and one for incorrect responses


# -- the placebo ---------------------------------------------------------------------------------------------------


def permuted(batch: TokenBatch, signals: frozenset[str], among: Among, purpose: str) -> TokenBatch:
    """The batch with its per-token signals permuted among the tokens (of the mask) of each group or response.

    All signals move together, so a token gets all signals of another token. Their joint distribution in the group (or
    response) stays. Their relation to the token is lost.
    """
    import torch

    mask = batch.mask.cpu()
    rows = torch.arange(len(mask)).unsqueeze(1).expand(mask.shape)[mask]
    units = rows if among == "response" else batch.groups.cpu()[rows]
    shuffled = torch.randperm(len(units), generator=generator(batch, purpose))
    targets = units.argsort(stable=True)  # tokens by unit, in order ...
    sources = shuffled[units[shuffled].argsort(stable=True)]  # ... and by unit, in random order
    order = torch.empty_like(targets)
    order[targets] = sources
    changed = {}
    for name in sorted(signals & set(TOKEN_SIGNALS)):
        values = getattr(batch, name)
        if values is not None:
            new = values.detach().clone()
            new[batch.mask] = values.detach()[batch.mask][order.to(values.device)]
            changed[name] = new
    return replace(batch, **changed)


class OnPermuted:
    """An equation that gets permuted signals: an object, so that pickle can send it to another process."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        update_wrapper(self, function)
        self.function, signature = function, inspect.signature(function)
        added = inspect.Parameter("placebo", inspect.Parameter.KEYWORD_ONLY, annotation=Among)
        self.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])

    def __call__(self, batch: TokenBatch, *, placebo: Among, **values: object) -> Tensor:
        purpose = f"placebo {self.function.__name__}"
        return self.function(permuted(batch, vars(self)["reads"], placebo, purpose), **values)

    def __reduce__(self) -> tuple[object, ...]:
        return OnPermuted, (self.function,)


def placebo(equation: Use, among: Among) -> Use:
    """The same equation with the same values, on permuted signals (see `permuted`).

    Raises:
        UsageError: the equation reads no signal, or trains a critic, whose values are its own target.
    """
    if equation.reads.isdisjoint(TOKEN_SIGNALS):
        raise UsageError(f"{equation.name} reads no signal of the tokens, so there is nothing to permute")
    if isinstance(equation.function, OnPermuted):
        raise UsageError(f"{equation.name}: its signals are permuted already")
    if getattr(equation.function, "critic_target", None) is not None:
        raise UsageError(f"{equation.name}: its signal is a critic's estimate, which the critic's target reads too")
    why = f"the placebo: signals permuted among the tokens of the same {among}"
    return Use(OnPermuted(equation.function), {**equation.values, "placebo": assumed(among, why)})


# -- what a control makes of an experiment -------------------------------------------------------------------------


def reward_range(experiment: Experiment) -> tuple[float, float]:
    """(smallest, largest) sum of the experiment's rewards."""
    parts = [
        sorted(weight * end for end in range_of(name))
        for name, weight in zip(experiment.rewards.value, experiment.reward_weights.value, strict=True)
    ]
    return sum(low for low, _ in parts), sum(high for _, high in parts)


def _with_reward(experiment: Experiment, equation: Use) -> Experiment:
    method = replace(experiment.method, rewards=(equation, *experiment.method.rewards))
    return _sampled_once(replace(experiment, method=method))


def _sampled_once(experiment: Experiment) -> Experiment:
    """Switch dynamic sampling off: it reads the verifier's reward, which a control must not see."""
    if not experiment.dynamic_sampling.value:
        return experiment
    off = experiment.dynamic_sampling.replace(False, Origin.ASSUMED, "control: the filter reads the verifier's reward")
    return replace(experiment, dynamic_sampling=off)


def _random(experiment: Experiment) -> Experiment:
    low, high = reward_range(experiment)
    ends = {name: assumed(value, "the range of the arm's own reward") for name, value in (("low", low), ("high", high))}
    half = assumed(0.5, "a fair coin, as the random rewards of Spurious Rewards (arXiv 2506.10947)")
    return _with_reward(experiment, use(random_reward, probability=half, **ends))


def _inverted(experiment: Experiment) -> Experiment:
    low, high = reward_range(experiment)
    ends = {name: assumed(value, "the range of the arm's own reward") for name, value in (("low", low), ("high", high))}
    return _with_reward(experiment, use(inverted_reward, **ends))


def _worth(experiment: Experiment) -> Sourced[float]:
    """The extra reward of a correct response over an incorrect one."""
    weights = dict(zip(experiment.rewards.value, experiment.reward_weights.value, strict=True))
    name = next((name for name in OUTCOMES if weights.get(name, 0) > 0), None)
    if name is None:
        raise UsageError(f"none of its rewards {list(weights)} pays a correct answer. It needs {' or '.join(OUTCOMES)}")
    low, high = range_of(name)
    return assumed(weights[name] * (high - low), f"the weight of {name} times its range")


def _noisy(experiment: Experiment) -> Experiment:
    why = "the largest rate within 2 points of a clean verifier in the abstract of arXiv 2604.07666"
    return _with_reward(experiment, use(noisy_reward, rate=assumed(RATE, why), worth=_worth(experiment)))


def _false_positives(experiment: Experiment) -> Experiment:
    why = "the rate of noisy_reward, so that errors at random and errors of one class compare"
    return _with_reward(experiment, use(false_positives, share=assumed(RATE, why), worth=_worth(experiment)))


def _other_reward(name: str, why: str) -> Callable[[Experiment], Experiment]:
    def change(experiment: Experiment) -> Experiment:
        low, high = reward_range(experiment)
        outcome = next((n for n in experiment.rewards.value if n.endswith("accuracy")), "accuracy")
        # the outcome reward stays with weight 0: its metric is logged, and unscored responses stay unscored
        values = {"rewards": (name, outcome), "reward_weights": (high - low, 0.0)}
        return _sampled_once(experiment.override(values, Origin.ASSUMED, why))

    return change


def _no_update(experiment: Experiment) -> Experiment:
    why = "control: no update"
    updates = experiment.updates_per_rollout.value  # steps: one rollout
    experiment = experiment.override({"weight_decay": 0.0, "max_steps": updates}, Origin.ASSUMED, why)
    return replace(experiment, method=replace(experiment.method, weights=(use(no_update),)))


def _shuffled(among: Among) -> Callable[[Experiment], Experiment]:
    def change(experiment: Experiment) -> Experiment:
        if experiment.method.reads.isdisjoint(TOKEN_SIGNALS):
            names = [u.name for u in experiment.method.uses()]
            raise UsageError(f"no equation of its method reads a signal of the tokens: {names}")
        method = experiment.method.map(lambda u: u if u.reads.isdisjoint(TOKEN_SIGNALS) else placebo(u, among))
        return replace(experiment, method=method)

    return change


@dataclass(frozen=True)
class Control:
    """One way to break an arm. `title` follows the arm's own. `change` raises ValueError if it does not apply."""

    title: str
    change: Callable[[Experiment], Experiment]


CONTROLS: Mapping[str, Control] = {
    "random_reward": Control("random reward", _random),
    "inverted_reward": Control("inverted reward", _inverted),
    "format_only": Control("format reward only", _other_reward("boxed_format", "control: a box is all that counts")),
    "majority_reward": Control("majority reward", _other_reward("majority", "control: the group's own majority")),
    "noisy_reward": Control("noisy reward", _noisy),
    "false_positives": Control("false positives", _false_positives),
    "no_update": Control("no update", _no_update),
    "shuffled_signal": Control("placebo, signals shuffled in the group", _shuffled("group")),
    "shuffled_response": Control("placebo, signals shuffled in the response", _shuffled("response")),
}


def controlled(training: Training | None, control: str) -> Experiment:
    """The training under a control (a key of CONTROLS).

    Raises:
        UsageError: there is no such control, or it does not apply. Says why.
    """
    if control not in CONTROLS:
        raise UsageError(f"{control}: no such control. {nearest(control, CONTROLS)}")
    if training is None:
        raise UsageError(f"{control}: the arm is not trained")
    if isinstance(training, Finetune):
        raise UsageError(f"{control}: expected reinforcement learning, got supervised fine-tuning")
    try:
        return CONTROLS[control].change(training)
    except UsageError as error:
        raise UsageError(f"{control}: {error}. These apply: {', '.join(_that_apply(training))}") from error


def _that_apply(experiment: Experiment) -> Iterator[str]:
    """The controls that this experiment can be put under."""
    for name, control in CONTROLS.items():
        with suppress(UsageError):
            control.change(experiment)
            yield name


def split_key(arm: str) -> tuple[str, str | None]:
    """("egsw+random_reward") -> ("egsw", "random_reward"). No control gives None."""
    key, separator, control = arm.rpartition(SEPARATOR)
    return (key, control) if separator else (arm, None)
