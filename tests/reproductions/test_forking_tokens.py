"""Forking tokens: derived values, properties, a slow version in loops, and parity with TRL's own mask."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from evals.provenance import Origin, assumed
from harness.backends.errors import CannotExpress
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate import to_grpo_config
from harness.spec import Experiment, Method, catalogue, use
from harness.step.batch import TokenBatch
from reproductions.forking_tokens.method import filled, forking_tokens
from tests.batches import one_group, token_batches
from tests.experiments import GRPO, WHY, experiment, sourced
from tests.shared import excerpt

TOP20: dict[str, Any] = {"rho": 0.2, "keep": "top", "scope": "update", "micro_batch_tokens": None}


def method(**values: Any) -> Method:
    gate = use(forking_tokens, **sourced(**{**TOP20, **values}))
    return replace(GRPO, gates=(gate,))


def slow_forking_tokens(
    batch: TokenBatch, *, rho: float, keep: str, scope: str, micro_batch_tokens: int | None = None
) -> torch.Tensor:
    """The interpolated quantile of each part's sorted entropies, in Python floats. Then token against threshold."""
    assert batch.entropies is not None
    rows = range(len(batch.rewards))
    parts = [0] * len(batch.rewards) if batch.micro_batches is None else batch.micro_batches.tolist()
    if scope != "micro_batch":
        parts = [0] * len(parts)
    elif micro_batch_tokens is not None:
        held, number = 0, 0
        for i in rows:
            length = int(batch.mask[i].sum())
            if held > 0 and held + length > micro_batch_tokens:
                held, number = 0, number + 1
            held, parts[i] = held + length, number
    kept = torch.zeros(batch.mask.shape, dtype=torch.float64)
    for part in set(parts):
        cells = [(i, t) for i in rows if parts[i] == part for t in range(batch.mask.shape[1]) if batch.mask[i, t]]
        values = sorted(float(batch.entropies[i, t]) for i, t in cells)
        if not values:
            continue
        at = (1 - rho if keep == "top" else rho) * (len(values) - 1)
        below = min(int(at + 1e-9), len(values) - 1)
        above = min(below + 1, len(values) - 1)
        share = at - below if abs(at - below) > 1e-9 else 0.0
        quantile = values[below] if share == 0 else (1 - share) * values[below] + share * values[above]
        for i, t in cells:
            h = float(batch.entropies[i, t])
            kept[i, t] = h >= quantile if keep == "top" else h <= quantile
    return kept


def row(entropies: list[float], **fields: Any) -> TokenBatch:
    values = torch.tensor([entropies], dtype=torch.float64)
    return one_group(entropies=values, **fields)


def test_by_hand() -> None:
    # Six tokens, rho 0.2: the 0.8 quantile is at 0.8 * 5 = 4 of the sorted 0 1 2 3 4 5, that is 4 -> 4 and 5 stay.
    # rho 0.5: at 2.5, between 2 and 3 -> 3, 4 and 5 stay. Lowest 0.8: at 4 -> 0 to 4 stay.
    batch = row([3.0, 0.0, 5.0, 1.0, 4.0, 2.0])
    assert forking_tokens(batch, **TOP20).tolist() == [[0, 0, 1, 0, 1, 0]]
    assert forking_tokens(batch, **{**TOP20, "rho": 0.5}).tolist() == [[1, 0, 1, 0, 1, 0]]
    assert forking_tokens(batch, rho=0.8, keep="bottom", scope="update").tolist() == [[1, 1, 0, 1, 1, 1]]
    # 0.3 * 10 and 0.7 * 10 are not whole in binary: of 11 tokens rho 0.3 keeps 1 + 3
    eleven = forking_tokens(row([float(i) for i in range(11)]), rho=0.3, keep="top", scope="update")
    assert eleven.tolist() == [[0] * 7 + [1] * 4]


def test_the_scope_decides_who_is_compared() -> None:
    # One sequence of low, one of high entropy. Together the second's tokens win. Apart each keeps its own best.
    batch = one_group(entropies=torch.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]]), micro_batches=torch.tensor([0, 1]))
    # 0.8 * 5 = 4 -> the two highest of six. 0.8 * 2 = 1.6 -> the highest of three
    assert forking_tokens(batch, **TOP20).tolist() == [[0, 0, 0], [0, 1, 1]]
    assert forking_tokens(batch, **{**TOP20, "scope": "micro_batch"}).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_equal_entropies_one_token_and_no_token() -> None:
    # equal entropies all tie with the threshold. One token is its own quantile. No token, no gate
    assert forking_tokens(row([1.0, 1.0, 1.0]), **TOP20).tolist() == [[1, 1, 1]]
    assert forking_tokens(row([0.7]), **TOP20).tolist() == [[1]]
    empty = replace(row([1.0, float("nan")]), mask=torch.zeros(1, 2, dtype=torch.bool))
    assert forking_tokens(empty, **TOP20).tolist() == [[0, 0]]


def halves(batch: TokenBatch) -> TokenBatch:
    return replace(batch, micro_batches=torch.arange(len(batch.rewards)) % 2)


OPTIONS = (st.floats(0.01, 1.0), st.sampled_from(["top", "bottom"]), st.sampled_from(["update", "micro_batch"]))


@given(token_batches(), *OPTIONS)
def test_equals_the_loops(batch: TokenBatch, rho: float, keep: str, scope: str) -> None:
    settings: dict[str, Any] = {"rho": rho, "keep": keep, "scope": scope}
    assert torch.equal(forking_tokens(halves(batch), **settings), slow_forking_tokens(halves(batch), **settings))


@given(token_batches(), st.floats(0.01, 1.0), st.integers(1, 30))
def test_micro_batches_by_tokens_equal_the_loops(batch: TokenBatch, rho: float, tokens: int) -> None:
    settings: dict[str, Any] = {"rho": rho, "keep": "top", "scope": "micro_batch", "micro_batch_tokens": tokens}
    for machine in (batch, halves(batch)):  # the machine's own forward passes play no part
        assert torch.equal(forking_tokens(machine, **settings), slow_forking_tokens(batch, **settings))


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 20))
def test_a_micro_batch_holds_at_most_its_tokens_or_one_sequence(lengths: list[int], limit: int) -> None:
    numbers = filled(lengths, limit)
    assert numbers == sorted(numbers) and len(numbers) == len(lengths)
    for number in set(numbers):
        held = [length for length, n in zip(lengths, numbers, strict=True) if n == number and length]
        assert sum(held) <= limit or len(held) == 1
        behind = [length for length, n in zip(lengths, numbers, strict=True) if n == number + 1 and length]
        assert not behind or sum(held) + behind[0] > limit  # no room was left


def test_the_declared_micro_batch_needs_no_machine() -> None:
    # 3 + 3 tokens fit into 6, the third sequence starts a new micro-batch
    assert filled([3, 3, 1], 6) == [0, 0, 1] and filled([9, 1], 6) == [0, 1]
    assert method(scope="micro_batch").looks_at_micro_batches
    assert not method(scope="micro_batch", micro_batch_tokens=100).looks_at_micro_batches
    with pytest.raises(ValueError, match=r"micro_batch_tokens: expected null with scope='update', got 6"):
        method(micro_batch_tokens=6)


@given(token_batches())
def test_the_code_before_its_repair_computes_dapo(batch: TokenBatch) -> None:
    """results/released.md: no share reaches the loss there, so no token is left out."""
    declared = {arm.key: arm for arm in catalogue.load("forking_tokens").arms if arm.model == "14b"}
    released, dapo = declared["top20_as_released"], declared["dapo"]
    assert isinstance(released.train, Experiment) and isinstance(dapo.train, Experiment)
    assert released.same_as == "dapo"
    batch = replace(batch, micro_batches=None)
    made, plain = released.train.method.apply(batch), dapo.train.method.apply(batch)
    assert made.gates is not None and torch.equal(made.gates, batch.mask.to(made.gates.dtype))
    assert torch.equal(made.weights, plain.weights) and torch.equal(made.advantages, plain.advantages)


@given(token_batches(), st.sampled_from(["top", "bottom"]))
def test_all_tokens_is_the_method_without_gates(batch: TokenBatch, keep: str) -> None:
    batch = replace(batch, micro_batches=None)
    for denominator in (assumed("all", WHY), assumed("kept", WHY)):
        gated = replace(method(rho=1.0, keep=keep), denominator=denominator).apply(batch)
        plain = GRPO.apply(batch)
        assert gated.gates is not None
        assert torch.equal(gated.gates, batch.mask.to(gated.gates.dtype))
        assert torch.equal(gated.weights, plain.weights) and torch.equal(gated.advantages, plain.advantages)


@given(token_batches(), st.floats(0.01, 0.99))
def test_tokens_of_higher_entropy_are_kept_and_the_share_is_exact(batch: TokenBatch, rho: float) -> None:
    kept = forking_tokens(batch, rho=rho, keep="top", scope="update").bool()
    count = int(batch.mask.sum())
    assume(count)
    assert int(kept.sum()) == 1 + int(rho * (count - 1) + 1e-9)  # continuous samples: no ties
    dropped = batch.mask & ~kept
    assert batch.entropies is not None
    if dropped.any():
        assert batch.entropies[kept].min() > batch.entropies[dropped].max()


def test_kept_tokens_are_those_that_the_loss_divides_by() -> None:
    # token_mean over 6 tokens of which 2 stay: each counts 1/6 with "all", 1/2 with "kept"
    batch = row([3.0, 0.0, 5.0, 1.0, 4.0, 2.0])
    for denominator, want in ((assumed("all", WHY), 1 / 6), (assumed("kept", WHY), 1 / 2)):
        declared = replace(method(), aggregation=assumed("token_mean", WHY), denominator=denominator)
        assert torch.allclose(declared.apply(batch).weights, torch.full((1, 6), want))


@given(token_batches(), st.sampled_from([0.1, 0.2, 0.5, 1.0]))
def test_equals_the_mask_of_trl(batch: TokenBatch, rho: float) -> None:
    from trl import GRPOTrainer

    class OneProcess:
        pad_across_processes = staticmethod(lambda tensor, dim, pad_index: tensor)
        gather = staticmethod(lambda tensor: tensor)

    assume(bool(batch.mask.any()))
    batch = replace(batch, entropies=batch.need("entropies").float())  # TRL takes the quantile in single precision
    fake = type("Fake", (), {"accelerator": OneProcess})()
    trl_mask = GRPOTrainer.get_high_entropy_mask(fake, batch.need("entropies"), batch.mask.long(), 1 - rho)
    assert torch.equal(forking_tokens(batch, rho=rho, keep="top", scope="update").bool(), trl_mask)


def table_2() -> dict[tuple[str, str, str], dict[str, str]]:
    """(model, arm, metric) -> benchmark -> the number as printed."""
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for cell in catalogue.published("forking_tokens"):
        if cell.table == "Table 2":
            cells.setdefault((cell.model, cell.arm, cell.metric), {})[cell.benchmark] = cell.printed
    return cells


def test_the_gains_are_in_the_text_and_follow_from_table_2() -> None:
    # the text: "the Qwen3-32B (+11.04 on AIME'25 and +7.71 on AIME'24) and Qwen3-14B (+4.79 ... +5.21 ...) base models"
    text = excerpt(4)
    gains = [cell for cell in catalogue.published("forking_tokens") if cell.table == "Abstract"]
    for model in ("32b", "14b"):
        named = {cell.benchmark: cell.printed for cell in gains if cell.model == model}
        year = "(+{} on AIME'25 and +{} on AIME'24)".format(named["aime25"], named["aime24"])
        assert f"Qwen3-{model.upper()} {year}" in text
        for benchmark, gain in named.items():
            forking, plain = (table_2()[model, arm, "avg@16"][benchmark] for arm in ("top20", "dapo"))
            assert Decimal(forking) - Decimal(plain) == Decimal(gain)


def test_table_2_is_that_of_the_papers_page() -> None:
    page = excerpt(4).partition("Forking tokens, Table 2")[2]
    order = [(m, a) for m in ("32b", "14b", "8b") for a in ("dapo", "top20")]
    names = ("AIME24", "AIME25", "AMC23", "MATH500", "Minerva", "OlympiadBench", "average")
    for name in names:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
        for (model, arm), cell in zip(order, line.strip("| ").split(" | ")[1:], strict=True):
            values = (table_2()[model, arm, metric][name.lower()] for metric in ("avg@16", "mean_tokens"))
            assert cell == "/".join(values), (name, model, arm)


def test_table_2_agrees_with_itself() -> None:
    """Averages are those of the six benchmarks. Accuracies fit 16 samples of each problem. As the doubts say."""
    problems = {"aime24": 30, "aime25": 30, "amc23": 40}
    for (_, _, metric), row in table_2().items():
        values = {benchmark: Decimal(value) for benchmark, value in row.items()}
        average = values.pop("average")
        assert len(values) == 6
        # each addend is rounded to a unit of its last place, and so is the average
        unit = Decimal(1).scaleb(average.as_tuple().exponent)  # type: ignore[arg-type]
        assert abs(sum(values.values()) / 6 - average) <= unit
        for benchmark, rows in problems.items() if metric == "avg@16" else ():
            answers = values[benchmark] * rows * 16 / 100
            right = answers.to_integral_value()
            assert abs(100 * right / (rows * 16) - values[benchmark]) <= Decimal("0.005"), (benchmark, answers)
    small = [table_2()["8b", arm, "avg@16"] for arm in ("top20", "dapo")]
    gains = [Decimal(small[0][b]) - Decimal(small[1][b]) for b in ("aime24", "aime25")]
    assert [round(gain * 480 / 100) for gain in gains] == [6, 4]


def test_a_rollout_of_several_updates_has_no_threshold_of_its_own_in_trl() -> None:
    declared = experiment(method(scope="rollout"))
    to_grpo_config(declared, TrlHardware(), seed=0, out_dir=Path("out"))  # one update: the rollout is the batch
    cut = declared.override({"updates_per_rollout": 2}, Origin.USER, WHY)
    with pytest.raises(CannotExpress, match=r"forking_tokens\.scope='rollout' \(assumed: a test\).*one update"):
        to_grpo_config(cut, TrlHardware(), seed=0, out_dir=Path("out"))
