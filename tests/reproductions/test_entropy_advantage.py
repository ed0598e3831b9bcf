"""The entropy advantage: derived values, properties, and a slow version in loops."""

from __future__ import annotations

import re
from decimal import Decimal

import torch
from hypothesis import given
from hypothesis import strategies as st

from evals.stats.printed_counts import counts_of
from harness.spec import catalogue
from harness.step.batch import TokenBatch
from reproductions.entropy_advantage.method import entropy_advantage
from tests.batches import one_group, token_batches
from tests.shared import excerpt


def slow_entropy_advantage(batch: TokenBatch, alpha: float, kappa: float) -> torch.Tensor:
    """psi = min(alpha H, |A| / kappa), A + psi: cell by cell in Python floats."""
    assert batch.advantages is not None and batch.entropies is not None
    shaped = torch.zeros_like(batch.advantages)
    for i, row in enumerate(batch.mask.tolist()):
        for t, counts in enumerate(row):
            if counts:
                a, h = float(batch.advantages[i, t]), float(batch.entropies[i, t])
                shaped[i, t] = a + min(alpha * h, abs(a) / kappa)
    return shaped


def test_by_hand() -> None:
    # alpha 0.4, kappa 2.  A=1, H=1: min(0.4, 0.5) = 0.4 -> 1.4.  A=1, H=2: min(0.8, 0.5) = 0.5 -> 1.5.
    # A=-1, H=2: -1 + 0.5 = -0.5 (a wrong token is punished less where the policy was unsure).  A=0: stays 0.
    batch = one_group(
        advantages=torch.tensor([[1.0, 1.0, -1.0, 0.0]]),
        entropies=torch.tensor([[1.0, 2.0, 2.0, 2.0]]),
    )
    assert torch.allclose(entropy_advantage(batch, alpha=0.4, kappa=2.0), torch.tensor([[1.4, 1.5, -0.5, 0.0]]))


@given(token_batches(), st.floats(0.01, 5), st.floats(1.01, 10))
def test_equals_the_loops_keeps_the_sign_and_never_lowers(batch: TokenBatch, alpha: float, kappa: float) -> None:
    shaped = entropy_advantage(batch, alpha=alpha, kappa=kappa)
    assert torch.allclose(shaped, slow_entropy_advantage(batch, alpha, kappa), atol=1e-12)
    advantages = batch.need("advantages")
    assert torch.equal(shaped.sign(), advantages.sign())
    assert (shaped >= advantages).all()


def test_the_declaration_is_table_4() -> None:
    """Each row of the hyperparameter table that our text still holds. The learning rate and clip range are lost."""
    text = excerpt(3).partition("Hyperparameter | Value |")[2]
    rows = {line.split(" | ")[0]: line.split(" | ")[1].strip(" |") for line in text.splitlines() if " | " in line}
    declared = {arm.key: arm.train for arm in catalogue.load("entropy_advantage").arms if arm.train}["ppo"]
    e = {key: sourced.value for key, sourced in declared.settings().items()}
    responses = e["prompts_per_rollout"] * e["group_size"]
    assert rows["Training batch size"] == f"{e['prompts_per_rollout']} prompts"
    assert rows["Samples per prompt"] == str(e["group_size"])
    assert rows["Mini-batch size"] == str(responses // e["updates_per_rollout"])
    assert rows["Policy updates per rollout"] == str(e["updates_per_rollout"])
    assert rows["Max response length"] == f"{e['max_completion_tokens'] // 1024}K tokens"
    assert rows["Rollout temperature"] == str(e["rollout_temperature"])
    assert rows["Optimizer"] == "AdamW"  # which every backend here uses
    assert f"with a {e['ppo.critic_warmup_steps']}-step warm-up" in excerpt(3)


def test_the_printed_differences_follow_from_table_2() -> None:
    """Below each shaped row the table prints its gain over the row above: a check of both rows."""
    text = excerpt(3)
    printed = [line for line in text.splitlines() if re.match(r"[+-] ?\d+\.\d \| ", line)]
    cells: dict[tuple[str, str], dict[str, Decimal]] = {}
    for cell in catalogue.published("entropy_advantage"):
        if cell.table == "Table 2":
            cells.setdefault((cell.model, cell.arm), {})[cell.column] = Decimal(cell.printed)
    pairs = (("7b", "grpo"), ("7b", "ppo"), ("math-7b", "grpo"))
    assert len(printed) == len(pairs)
    for line, (model, arm) in zip(printed, pairs, strict=True):
        plain, shaped = cells[model, arm], cells[model, f"{arm}_entropy_advantage"]
        gains = [Decimal(cell.replace(" ", "")) for cell in line.strip("| ").split(" | ")]
        assert gains == [shaped[column] - plain[column] for column in plain]


def test_the_doubts_are_computed() -> None:
    """A pass@256 of n = 256 samples on 30 problems is a multiple of 1/30, one of 83 problems a multiple of 1/83."""
    odd = set()
    for cell in catalogue.published("entropy_advantage"):
        problems = {"pass@256": 30, "pass@128": 83, "pass@16": 500}.get(cell.metric)
        if problems:
            nearest = round(cell.value * problems / 100)
            if abs(100 * nearest / problems - cell.value) > 0.05 + 1e-9:
                odd.add((cell.model, cell.benchmark, cell.printed))
    assert odd == {("math-7b", "aime25", "50.7"), ("math-7b", "aime25", "57.4"), ("math-7b", "amc23_83", "90"),
                   ("math-7b", "aime25", "63.6")}  # fmt: skip


def test_one_released_model_is_measured_on_the_40_problems_of_amc23() -> None:
    cells = [c for c in catalogue.published("entropy_advantage") if c.column == "AMC23 Avg" and c.arm == "base"]
    (gpg,) = (c for c in cells if c.model == "gpg")
    counts = [counts_of(gpg.printed, problems) for problems in (40, 83)]
    # 54 / 83 = 65.06, which rounds to 65.1
    assert [(c.low, c.high, c.how) for c in counts if c] == [(26, 26, "rounded"), (54, 54, "cut")]
    assert gpg.benchmark == "amc23"
    counts_of_83 = [
        counts_of(c.printed, 83) for c in cells if c.model in ("math-7b-instruct", "eurus-2-prime", "oat-zero")
    ]
    assert [c.how for c in counts_of_83 if c] == ["rounded"] * 3


def test_an_entropy_term_in_the_loss_and_pass_at_k_in_the_papers_tables() -> None:
    """The page's sentence: of four benchmarks higher than GRPO on two, equal on one, lower on one."""
    cells = catalogue.published("entropy_advantage")
    passes = [
        {c.benchmark: c.value for c in cells if (c.model, c.arm) == ("7b", arm) and c.metric.startswith("pass")}
        for arm in ("grpo_entropy_regularisation", "grpo")
    ]
    signs = [(passes[0][b] > passes[1][b]) - (passes[0][b] < passes[1][b]) for b in passes[1]]
    assert sorted(signs) == [-1, 0, 1, 1]
