"""The declaration of trial_and_error: its arms, the values of each, and the doubts about its tables."""

from __future__ import annotations

from typing import Any

import pytest

from evals.provenance import Origin
from evals.stats.printed_counts import counts
from harness.backends.errors import CannotExpress
from harness.backends.trl.backend import BACKEND
from harness.backends.trl.hardware import TrlHardware
from harness.command.resolve import resolve
from harness.spec import catalogue
from harness.spec.catalogue import Published
from harness.spec.job import Job
from harness.tables.comeback import averaged
from reproductions.trial_and_error.doubts import doubts, fitting_sizes

KEY = "trial_and_error"


def job(arm: str, *, model: str = "7b", scale: str = "paper", **overrides: Any) -> Job:
    (only,) = resolve(KEY, models=[model], arms=[arm], scale=scale, overrides=overrides)
    return only


def values(declared_job: Job) -> dict[str, Any]:
    return {key: sourced.value for key, sourced in declared_job.settings().items()}


def test_a_record_names_its_position_bonus() -> None:
    released, printed = job("grpo_position").settings(), job("grpo_position_as_printed").settings()
    bonuses = {
        key: (released[f"position_advantage.{key}"], printed[f"position_advantage.{key}"]) for key in ("n", "bound")
    }
    assert {key: (a.value, b.value) for key, (a, b) in bonuses.items()} == {"n": (0.5, -0.5), "bound": (0.5, None)}
    assert all((a.origin, b.origin) == (Origin.CODE, Origin.PAPER) for a, b in bonuses.values())
    # rollouts 200 to 298 (200 < step < 300, counted from 1), and 200 to 299: 16 optimiser steps each
    for settings, rollouts in ((released, 99), (printed, 100)):
        assert settings["position_advantage.first_step"].value == 200 * 16
        assert settings["position_advantage.steps"].value == rollouts * 16
    early, late = values(job("grpo_position_early")), values(job("grpo_position_late"))
    assert {key for key in early if early[key] != late[key]} == {"position_advantage.d"}
    assert (early["position_advantage.d"], early["position_advantage.gamma"]) == (-1.0, 1.0)
    assert early["position_advantage.steps"] is None


def test_the_ppl_arms_differ_in_sign_and_statistics_alone() -> None:
    plain, high, released = (values(job(f"grpo_ppl{kind}")) for kind in ("", "_high", "_released"))
    assert plain["ppl_advantage.alpha"] == 0.01 and plain["ppl_advantage.sign"] == -1
    assert {key for key in plain if plain[key] != high[key]} == {"ppl_advantage.sign"}
    assert {key for key in plain if plain[key] != released[key]} == {"ppl_advantage.statistics"}


def test_a_reading_is_not_called_the_papers_value() -> None:
    # section 3.2.3 gives no alpha, and section 3.2.4 calls r the relative position, without m
    assert job("grpo_ppl").settings()["ppl_advantage.alpha"].origin is Origin.PAPER
    assert job("grpo_ppl_high").settings()["ppl_advantage.alpha"].origin is Origin.ASSUMED
    for direction in ("late", "early"):
        assert job(f"grpo_position_{direction}").settings()["position_advantage.m"].origin is Origin.ASSUMED
    assert job("grpo_position").settings()["position_advantage.m"].origin is Origin.PAPER


def test_the_supervised_arms_have_the_rows_of_their_domains() -> None:
    math, every = (job(arm, model="math-7b").settings()["dataset_rows"].value for arm in ("sft_math", "sft_all"))
    assert (math, every) == (89100, 113957)  # the hub's count for open-r1/OpenThoughts-114k-math. The set's card


def test_at_paper_scale_trl_refuses_what_it_cannot_do() -> None:
    experiment = job("grpo_ppl").experiment
    assert experiment is not None
    with pytest.raises(CannotExpress, match="dynamic_sampling"):
        BACKEND.check(experiment, TrlHardware(device="cpu"))


def test_the_tiny_scale_records_replaced_values_and_fits_trl() -> None:
    for arm in catalogue.load(KEY).arms:
        if arm.train is None or arm.model == "math-7b" or arm.same_as:
            continue
        tiny = job(arm.key, model=arm.model, scale="tiny")
        assert tiny.experiment is not None
        BACKEND.check(tiny.experiment, TrlHardware(device="cpu"))
        for key, sourced in tiny.settings().items():
            assert sourced.was is None or sourced.origin is Origin.SCALE, key
    settings = job("grpo_position", scale="tiny").settings()
    assert settings["dynamic_sampling"].was is not None and settings["dynamic_sampling"].value is False
    window = [settings[f"position_advantage.{key}"].value for key in ("first_step", "steps")]
    assert 0 < window[0] < sum(window) < settings["max_steps"].value


def test_counts_equal_a_search_through_all() -> None:
    for total in (30, 83, 240, 332):
        for count in range(total + 1):
            for decimals in (0, 1, 2):
                rounded = f"{100 * count / total:.{decimals}f}"
                assert count in counts(rounded, total)
                # and each returned one prints so, rounded or truncated
                for c in counts(rounded, total):
                    exact = 100 * c / total
                    assert abs(exact - float(rounded)) < 10**-decimals + 1e-9


def cell(benchmark: str, metric: str, printed: str) -> Published:
    return Published("T", "m", "a", "row", benchmark, "column", metric, printed, "%")


def test_which_version_of_a_benchmark_a_cell_fits() -> None:
    assert fitting_sizes(cell("amc23", "avg@8", "42.77")) == [83]  # 284 / 664
    assert fitting_sizes(cell("amc23", "avg@8", "38.44")) == [40]  # 123 / 320
    assert fitting_sizes(cell("amc23", "pass@8", "100.00")) == [40, 83]
    assert fitting_sizes(cell("aime24", "avg@8", "21.30")) == []
    assert fitting_sizes(cell("aime24", "avg@8", "21.3")) == [30]  # 51 / 240 = 21.25
    assert fitting_sizes(cell("aime24", "pass@8", "20.30")) == []


def test_an_average_of_a_row_has_each_benchmark_in_its_own_metric() -> None:
    cells = catalogue.published(KEY)
    average = next(c for c in cells if (c.table, c.arm, c.benchmark) == ("Table 6", "grpo", "average"))
    parts = averaged(average, cells)
    assert ("humaneval", "avg@4") in parts and ("aime24", "pass@8") in parts and len(parts) == 6


def test_the_doubts_name_what_does_not_fit() -> None:
    sentences = doubts()
    (amc,) = (line for line in sentences if line.startswith("AMC23"))
    assert "AMC23 avg@8 (42.77)" in amc
    assert any(
        line.startswith("Table 4: 2 of 24") and "2 of them would fit with one decimal less" in line
        for line in sentences
    )
    # 14.18 % of 656 = 93.02: 93/656 = 14.177; of 164 it is 23.26, and 23/164 = 14.02, 24/164 = 14.63
    (programs,) = (line for line in sentences if line.startswith("Table 6, HumanEval"))
    assert "0 of 8 cells are one" in programs and "8 are whole numbers of 656 samples" in programs
    assert "(93, 145, 141, 151, 175, 173, 219, 171)" in programs
    assert any("0.9994" in line for line in sentences)
    assert not any("the mean of its row" in line for line in sentences)  # the printed averages are those of their rows
    assert sentences == catalogue.load(KEY).doubts
