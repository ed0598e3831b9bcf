"""Some training seeds of an arm, as if no others had run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.placebo_seeds import parse_seeds, with_seeds
from tests.harness.tables.test_claims import measured


def test_seed_ranges_include_both_ends() -> None:
    assert list(parse_seeds("2-4")) == [2, 3, 4] and list(parse_seeds("7-7")) == [7]


@pytest.mark.parametrize("text", ["", "3", "4-2", "a-b", "-1-2"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected FIRST-LAST"):
        parse_seeds(text)


def test_other_seeds_are_removed_completely() -> None:
    arm = measured("egsw", 20)
    kept = with_seeds(arm, range(1, 3))
    assert kept.seeds == (1, 2)
    for name, table in kept.verdicts.items():
        assert table.seeds == [1, 2] and arm.verdicts[name].samples == table.samples * 3 // 2
    with pytest.raises(ValueError, match=r"egsw: expected a seed of \[5, 6\], got \[0, 1, 2\]"):
        with_seeds(arm, range(5, 7))


def test_the_base_model_has_no_seeds_to_choose() -> None:
    base = replace(measured("base", 20), trained=False)
    assert with_seeds(base, range(5, 7)) is base
