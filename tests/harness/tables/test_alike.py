"""Arms that gave the same samples are reported as such, with what their trainings logged."""

from __future__ import annotations

from dataclasses import replace

from harness.tables.alike import alike, pairs_alike, why_alike
from harness.tables.claims import check_claims
from harness.tables.differences import difference_grid, difference_rows
from harness.tables.measured import Measured
from tests.harness.tables.test_claims import HIGHER, measured, paper

LOGGED = {"train/entropy": 0.2, "train/clip_fraction": 0.0, "train/step_seconds": 3.0, "eval/b/avg_at_2": 0.1}


def curves(last: dict[str, float]) -> dict[str, list[tuple[int, float]]]:
    """Curves that end with these values."""
    return {name: [(1, 7.0), (2, value)] for name, value in last.items()}


def pair(**of_new: float) -> tuple[Measured, Measured]:
    """Both with the same samples in three seeds; `new` logged these last values instead, in its seed 1."""
    old = measured("old", 5, curves=dict.fromkeys(range(3), curves(LOGGED)))
    name = {key: f"train/{key}" for key in of_new}
    own = {**LOGGED, **{name[key]: value for key, value in of_new.items()}}
    return measured("new", 5, curves={0: curves(LOGGED), 1: curves(own), 2: curves(LOGGED)}), old


def test_a_bound_that_was_never_met() -> None:
    new, old = pair(step_seconds=4.0)  # only the time differs
    assert why_alike(new, old) == (
        "new did not differ from old: the same samples in every training seed, and every last logged value is equal: "
        "the setting in which they differ never took effect"
    )


def test_an_effect_too_small_for_so_few_steps() -> None:
    new, old = pair(entropy=0.25, clip_fraction=0.01)
    # relative to the larger one: 0.05 / 0.25 = 20 %, and 0.01 / 0.01 = 100 %
    assert why_alike(new, old).endswith(
        "(largest relative difference of a last logged value: train/clip_fraction 0.01 and 0, seed 1)"
    )


def test_one_differing_token_distinguishes_arms() -> None:
    new, old = pair()
    assert alike(new, old)
    assert list(pairs_alike([old, new, replace(new, arm="third", overrides="max_steps=20")])) == [(old, new)]
    new = measured("new", 5, longer=1)
    assert not alike(new, old)
    assert list(pairs_alike([old, new])) == []
    fewer = measured("new", 5, seeds=2)
    assert not alike(fewer, old)
    assert not alike(replace(old, trained=False), old)


def test_neither_a_claim_nor_a_difference_between_them_is_decided() -> None:
    new, old = pair(entropy=0.21)
    declared = paper(HIGHER)
    (checked,) = check_claims(declared, [new, old], "tiny")
    assert (checked.outcome, checked.missing) == ("not tested", (f"{why_alike(new, old)}, on small",))
    grid = difference_grid(declared, [new, old])
    assert grid is not None
    assert [row[-1] for row in grid.rows] == ["not tested"]
    assert f"{why_alike(new, old)}, on small at tiny scale." in grid.notes
    assert [row["line"]["verdict"] for row in difference_rows(declared, [new, old])] == ["not tested"]
