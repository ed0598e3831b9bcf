"""Declarations: every value has a source, wrong values are named, overriding keeps what it replaced."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from baselines.grpo import grpo
from evals.provenance import Origin, assumed, paper
from harness.spec import Experiment, Finetune, catalogue, use
from reproductions.entropy_advantage.method import entropy_advantage
from tests.experiments import GRPO, WHY, experiment, finetune, ppo


@pytest.mark.parametrize("key", catalogue.papers())
def test_published_cells_name_declared_arms_and_real_benchmarks(key: str) -> None:
    from evals.data import benchmarks

    arms = {(a.model, a.key) for a in catalogue.load(key).arms}
    cells = catalogue.published(key)
    assert len({(c.table, c.model, c.arm, c.benchmark, c.metric) for c in cells}) == len(cells)
    for cell in cells:
        assert (cell.model, cell.arm) in arms and cell.row  # two tables may print one arm under two names
        assert cell.benchmark in (*benchmarks.names(), catalogue.AVERAGE, catalogue.ALL)
        assert 0 <= cell.value <= 100 or cell.unit != "%"


def test_a_bare_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"grpo\.std: 'sample' has no source"):
        use(grpo, std="sample", epsilon=assumed(0.0, WHY))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"learning_rate: 0\.1 has no source"):
        replace(experiment(), learning_rate=0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no source"):
        assumed(1, " ")


@pytest.mark.parametrize(
    ("declared", "key", "value"),
    [
        *(
            (experiment(), key, value)
            for key, value in (
                *(("learning_rate", "x"), ("group_size", 1), ("lr_schedule", "step"), ("rewards", "accuracy")),
                *(
                    ("reward_weights", [1.0, 1.0]),
                    ("reward_weights", [0.0]),
                    ("updates_per_rollout", 3),
                    ("grpo.std", "smaple"),
                ),
            )
        ),
        *((finetune(), key, value) for key, value in (("batch_size", 0), ("too_long", "keep"))),
    ],
)
def test_a_wrong_value_is_named(declared: Experiment | Finetune, key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(key)}: expected"):
        declared.override({key: value}, Origin.USER, "command line")


def test_an_override_keeps_what_it_replaced() -> None:
    declared = experiment(
        replace(GRPO, shaping=(use(entropy_advantage, alpha=paper(0.4, "section 5"), kappa=assumed(2.0, WHY)),))
    )
    changed = declared.override({"entropy_advantage.alpha": 0.5, "rewards": ["accuracy"]}, Origin.USER, "command line")
    alpha = changed.settings()["entropy_advantage.alpha"]
    assert (alpha.value, alpha.origin, alpha.note) == (0.5, Origin.USER, "command line")
    assert alpha.was is not None and (alpha.was.value, alpha.was.origin) == (0.4, Origin.PAPER)
    assert changed.rewards.value == ("accuracy",)
    untouched = {k: v for k, v in changed.settings().items() if k not in ("entropy_advantage.alpha", "rewards")}
    assert untouched == {k: declared.settings()[k] for k in untouched}
    with pytest.raises(KeyError, match="kapa"):
        declared.override({"entropy_advantage.kapa": 2}, Origin.USER, "command line")


def test_a_critic_comes_with_its_group_and_with_an_advantage_that_reads_it() -> None:
    declared = ppo()
    group = {"ppo.critic_learning_rate", "ppo.critic_warmup_steps", "ppo.value_clip", "gae.gamma", "gae.lam"}
    assert group <= set(declared.settings())
    changed = declared.override({"ppo.value_clip": 0.2}, Origin.USER, "command line")
    assert changed.ppo is not None and changed.ppo.value_clip.value == 0.2 and changed.ppo.value_clip.was is not None
    expected = "critic: expected true with an advantage that reads a critic's values and with the ppo group"
    for broken in ({"critic": assumed(False, WHY)}, {"ppo": None}, {"method": GRPO}):
        with pytest.raises(ValueError, match=expected):
            replace(declared, **broken)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=expected):
        experiment().override({"critic": True}, Origin.USER, "command line")
