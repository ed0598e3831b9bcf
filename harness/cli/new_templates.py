"""The files that `rlvr new` writes, with $name for the method's name: an example that works, to be changed."""

from __future__ import annotations

INIT = ""

METHOD = '''"""$name: say in a line what the method does (and the paper's title and arXiv number)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from harness.spec.equation import stage
from harness.spec.ranges import NonNegative
from harness.step.batch import reads

if TYPE_CHECKING:
    from torch import Tensor

    from harness.step.batch import TokenBatch


@stage("shaping")
@reads("entropies")
def $name(batch: TokenBatch, *, alpha: NonNegative) -> Tensor:
    """A (1 + alpha H / log |V|), H detached: an example, to be replaced (name the paper and its equation here).

    Args:
        alpha: >= 0, without unit; 0 leaves the advantages as they are.
    Returns:
        [B, T], 0 on masked positions.
    Raises:
        ValueError: alpha is out of range, or entropies or advantages are missing.
    """
    share = batch.need("entropies") / log(batch.vocab_size)  # of the largest entropy there is
    return batch.need("advantages") * (1 + alpha * share)
'''

PAPER = '''"""$name as data: what is trained, on what, with which values, and where each value is from.

`assumed(value, TEMPLATE)` marks what nobody has looked up yet: write `paper(value, "section ...")`,
`code(value, "file")` or `assumed(value, "why")` in its place.
"""

from __future__ import annotations

from dataclasses import replace

from baselines.grpo import grpo
from harness.spec import Arm, Experiment, Method, Reproduction, assumed, use
from reproductions.$name.method import $name

TEMPLATE = "the value of the template: say why, or where the paper states it"

GRPO = Method(
    advantage=use(grpo, std=assumed("sample", TEMPLATE), epsilon=assumed(1e-6, TEMPLATE)),
    aggregation=assumed("token_mean", TEMPLATE),
)
SHAPED = replace(
    GRPO,
    shaping=(use($name, alpha=assumed(0.4, TEMPLATE)),),
)

EXPERIMENT = Experiment(
    base_model=assumed("Qwen/Qwen2.5-7B", TEMPLATE),
    dataset=assumed("BytedTsinghua-SIA/DAPO-Math-17k", TEMPLATE),
    dataset_rows=assumed(17000, TEMPLATE),
    prompt=assumed("boxed_suffix", TEMPLATE),
    rewards=assumed(("accuracy",), TEMPLATE),
    reward_weights=assumed((1.0,), TEMPLATE),
    method=GRPO,
    dynamic_sampling=assumed(False, TEMPLATE),
    prompts_per_rollout=assumed(128, TEMPLATE),
    group_size=assumed(8, TEMPLATE),
    rollout_temperature=assumed(1.0, TEMPLATE),
    rollout_top_p=assumed(1.0, TEMPLATE),
    max_prompt_tokens=assumed(1024, TEMPLATE),
    max_completion_tokens=assumed(4096, TEMPLATE),
    critic=assumed(False, TEMPLATE),
    updates_per_rollout=assumed(1, TEMPLATE),
    learning_rate=assumed(1e-6, TEMPLATE),
    lr_schedule=assumed("constant", TEMPLATE),
    warmup_ratio=assumed(0.0, TEMPLATE),
    weight_decay=assumed(0.0, TEMPLATE),
    max_grad_norm=assumed(1.0, TEMPLATE),
    clip_low=assumed(0.2, TEMPLATE),
    clip_high=assumed(0.2, TEMPLATE),
    dual_clip=assumed(None, TEMPLATE),
    kl_beta=assumed(0.0, TEMPLATE),
    reference_reset_every=assumed(None, TEMPLATE),
    entropy_coefficient=assumed(0.0, TEMPLATE),
    entropy_target=assumed(None, TEMPLATE),
    epochs=assumed(1.0, TEMPLATE),
    max_steps=assumed(None, TEMPLATE),
    precision=assumed("bfloat16", TEMPLATE),
    lora_rank=assumed(None, TEMPLATE),
    lora_alpha=assumed(64.0, TEMPLATE),
    lora_dropout=assumed(0.0, TEMPLATE),
)

REPRODUCTION = Reproduction(
    key="$name",
    title="$name (give the paper's title)",
    arxiv="give its number",
    models={"7b": EXPERIMENT.base_model},
    arms=(
        Arm("base", "7b", "Qwen2.5-7B", None),
        Arm("grpo", "7b", "GRPO", EXPERIMENT),
        Arm("$name", "7b", "GRPO + $name", replace(EXPERIMENT, method=SHAPED)),
    ),
    protocol="egsw",
    seeds=assumed(1, TEMPLATE),
    departures=("The template's values stand where nobody has looked up the paper's.",),
)
'''

PUBLISHED = "table,model,arm,row,benchmark,column,metric,value,unit\n"

TEST = '''"""$name: derived values, properties, and a slow version in loops."""

from __future__ import annotations

from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.command.resolve import resolve
from harness.step.batch import TokenBatch
from reproductions.$name.method import $name
from tests.batches import padded, permuted, token_batches


def slow_$name(batch: TokenBatch, alpha: float) -> torch.Tensor:
    """A (1 + alpha H / log |V|): cell by cell in Python floats."""
    assert batch.advantages is not None and batch.entropies is not None
    shaped = torch.zeros_like(batch.advantages)
    for i, row in enumerate(batch.mask.tolist()):
        for t, counts in enumerate(row):
            if counts:
                a, h = float(batch.advantages[i, t]), float(batch.entropies[i, t])
                shaped[i, t] = a + a * alpha * h / log(batch.vocab_size)
    return shaped


def by_hand(entropies: list[float], advantages: list[float]) -> TokenBatch:
    """One response over a vocabulary of four, whose largest entropy is log 4."""
    return TokenBatch(
        rewards=torch.zeros(1),
        groups=torch.tensor([0]),
        mask=torch.ones(1, len(entropies), dtype=torch.bool),
        vocab_size=4,
        max_tokens=9,
        advantages=torch.tensor([advantages]),
        entropies=torch.tensor([entropies]),
    )


def test_by_hand() -> None:
    # alpha 0.4.  H = 0: A stays 1.  H = log 2 is half of log 4: 1 + 0.4 / 2 = 1.2.  H = log 4, A = -1: -(1 + 0.4).
    batch = by_hand([0.0, log(2), log(4), log(4)], [1.0, 1.0, -1.0, 0.0])
    assert torch.allclose($name(batch, alpha=0.4), torch.tensor([[1.0, 1.2, -1.4, 0.0]]))


@given(token_batches(), st.floats(0, 5))
def test_equals_the_loops_and_keeps_the_sign(batch: TokenBatch, alpha: float) -> None:
    shaped = $name(batch, alpha=alpha)
    assert torch.allclose(shaped, slow_$name(batch, alpha), atol=1e-12)
    assert torch.equal(shaped.sign(), batch.need("advantages").sign())


@given(token_batches())
def test_without_alpha_it_is_grpo(batch: TokenBatch) -> None:
    assert torch.equal($name(batch, alpha=0.0), batch.need("advantages"))


@given(token_batches())
def test_order_and_padding_change_nothing(batch: TokenBatch) -> None:
    want = $name(batch, alpha=0.4)
    order = torch.randperm(len(batch.rewards), generator=torch.Generator().manual_seed(2))
    assert torch.equal($name(permuted(batch, order), alpha=0.4), want[order])
    assert torch.equal($name(padded(batch, 2), alpha=0.4)[:, :-2], want)


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match="alpha: expected >= 0, got -1"):
        $name(by_hand([0.0], [1.0]), alpha=-1.0)


def test_the_arms_differ_in_the_method_alone() -> None:
    _, grpo, mine = (job.settings() for job in resolve("$name", scale="paper"))
    assert {key: value for key, value in mine.items() if not key.startswith("$name.")} == grpo
'''
