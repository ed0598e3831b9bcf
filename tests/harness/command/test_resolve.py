"""Resolve command lines into jobs: requested names and values are checked. Replaced values stay on record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.notebook import as_text
from evals.provenance import Origin
from harness.backends.seconds import FAST, MIDDLE, SLOW
from harness.backends.trl.hardware import TrlHardware
from harness.command import config
from harness.command.config import parse_overrides, read_seeds
from harness.command.resolve import resolve
from harness.command.watch import Watch
from harness.errors import UsageError
from harness.plan.costs import cost, hours, mean_length, training_steps
from harness.plan.plan import origins, plan
from harness.plan.text import blocks
from harness.spec import catalogue

TABLE = ["base", "grpo", "egsw"]  # the arms in EGSW's tables


def test_parse_follows_hydras_grammar() -> None:
    parsed = parse_overrides(
        ["paper=egsw", "seeds=[0,2]", "arm=base,grpo", "lr=3e-6", "x=null", 'name="a b"', "b=true"]
    )
    assert parsed == {
        "paper": "egsw",
        "seeds": [0, 2],
        "arm": ["base", "grpo"],
        "lr": 3e-6,
        "x": None,
        "name": "a b",
        "b": True,
    }


WORDS = ["a", "aB", "a.b", "./a", "../b/c-d", "/x", "ö", "a-1", "_x", "1a", "true", "False", "NULL", "nan", "inf"]
NUMBERS = ["0", "-0", "7", "-12", "007", "1.5", "-0.25", "1.", ".5"]
SCALARS = st.sampled_from(WORDS + NUMBERS)


@given(st.lists(SCALARS, min_size=1, max_size=4), st.booleans())
def test_the_quick_reading_is_hydras(parts: list[str], bracketed: bool) -> None:
    text = f"[{','.join(parts)}]" if bracketed else ",".join(parts)
    try:
        quick = config._simple(text)
    except LookupError:
        return  # left to Hydra
    key, slow = config._by_hydra(f"k={text}")
    assert (key, repr(quick)) == ("k", repr(slow))  # 1 is not 1.0, and not true


def test_an_object_of_json_is_read_as_it_stands() -> None:
    """As model cards and servers print one."""
    parsed = parse_overrides(['a={"enable_thinking": false, "n": [1, 2.5], "of": {"x": null}}', "b={top_a:0.2}"])
    assert parsed == {"a": {"enable_thinking": False, "n": [1, 2.5], "of": {"x": None}}, "b": {"top_a": 0.2}}
    with pytest.raises(UsageError, match="finite"):
        parse_overrides(['a={"x": NaN}'])


@pytest.mark.parametrize("argument", ["paper", "=x", "+a=1", "~a", "a=[1", "a=range(1,3)"])
def test_parse_refuses_malformed_arguments(argument: str) -> None:
    with pytest.raises(UsageError):
        parse_overrides([argument])


@given(st.integers(1, 20))
def test_a_seed_count_gives_seeds_from_zero(count: int) -> None:
    assert read_seeds(count) == list(range(count))


@pytest.mark.parametrize("value", [None, 0, -1, True, [], [1, 1], [-1], "x", 1.5])
def test_read_seeds_refuses_bad_values(value: Any) -> None:
    with pytest.raises(UsageError, match="seeds: expected"):
        read_seeds(value)


def test_tiny_scale_replaces_values_of_each_job() -> None:
    jobs = resolve("egsw", arms=TABLE, seeds=[0, 1])
    # the base model has no training seed. The paper's first model only
    assert [j.name for j in jobs] == [
        "tiny/base/seed0",
        "tiny/grpo/seed0",
        "tiny/grpo/seed1",
        "tiny/egsw/seed0",
        "tiny/egsw/seed1",
    ]
    assert all(j.base_model.value == "tiny" and j.protocol.name == "tiny" for j in jobs)
    rate = jobs[1].settings()["learning_rate"]
    assert rate.origin is Origin.SCALE and rate.was is not None and rate.was.value == 3e-6
    # a value that the scale does not change keeps its source
    assert jobs[3].settings()["egsw.alpha"].origin is Origin.PAPER
    assert jobs[1].settings()["lora_rank"].origin is Origin.ASSUMED


def test_paper_scale_jobs_have_the_papers_values() -> None:
    jobs = resolve("egsw", arms=TABLE, scale="paper")
    assert len(jobs) == 2 * (1 + 3 + 3)
    settings = jobs[-1].settings()
    assert settings["egsw.temperature"].value == 1.8
    assert {str(s.origin) for s in settings.values()} <= {"paper", "code", "assumed"}


def test_equal_values_give_equal_digests() -> None:
    first, again = resolve("egsw", arms=TABLE, seeds=[0]), resolve("egsw", arms=TABLE, seeds=[0, 1])
    assert first[1].digest == again[1].digest == again[2].digest
    assert len({j.digest for j in first}) == 3
    assert resolve("egsw", seeds=[0], overrides={"learning_rate": 1e-3})[1].digest != first[1].digest
    assert resolve("egsw", seeds=[0], overrides={"protocol.n": 32})[1].digest != first[1].digest


def test_costs_match_a_hand_computation() -> None:
    job = resolve("egsw", scale="paper", models=["math-7b"], arms=["egsw"], seeds=[0])[0]
    # 8523 problems / 128 a rollout = 66 steps. Each samples 128 x 7 = 896 responses of at most 1024 tokens
    assert training_steps(job) == 66
    costs = cost(job, TrlHardware())
    assert costs.tokens.rollout == 66 * 896 * 1024
    assert costs.tokens.trained == 66 * 896 * (1024 + 512)
    # one greedy sample of 500 + 30 + 30 + 198 problems, 3072 tokens each
    assert costs.tokens.evaluation == 758 * 3072


def test_mean_lengths_are_the_papers_where_it_publishes_them() -> None:
    # forking tokens, Table 2: 32B DAPO, mean over its benchmarks 5849
    (job,) = resolve("forking_tokens", scale="paper", models=["32b"], arms=["dapo"], backend="verl", seeds=[0])
    length = mean_length(job)
    assert length is not None and length.value == pytest.approx(5849, abs=60) and length.note == "Table 2"
    # egsw publishes none, and a public log of its recipe has one. entropy_advantage has neither
    base, grpo = resolve("egsw", scale="paper", models=["math-7b"], arms=["base", "grpo"], seeds=[0])
    log = mean_length(grpo)
    assert mean_length(base) is None and log is not None and (log.value, "issue 251" in log.note) == (639, True)
    small = resolve("egsw", scale="small", models=["math-7b"], arms=["grpo"], seeds=[0])[0]
    none = resolve("entropy_advantage", scale="paper", models=["7b"], arms=["grpo"], seeds=[0])[0]
    assert mean_length(small) is mean_length(none) is None


def test_gpu_hours_are_a_range_around_the_middle() -> None:
    for job in resolve("egsw", scale="paper", models=["math-7b"], seeds=[0]):
        machine = TrlHardware(processes=8, device="gpu", gpu="h100", rollouts="vllm_colocate")
        low, middle, high = (hours(job, machine, rules, Watch()) for rules in (FAST, MIDDLE, SLOW))
        assert low and middle and high and (0, 0) < low < middle < high
    assert hours(resolve("egsw", arms=["grpo"], seeds=[0])[0], TrlHardware(), MIDDLE, Watch()) is None  # tiny


def test_plan_counts_the_origin_of_every_value() -> None:
    for arm in plan(resolve("egsw", scale="paper")).arms:
        settings = arm.job.settings()
        assert sum(origins(settings).values()) == len(settings) and all(value.note for value in settings.values())
    job = resolve("egsw", overrides={"learning_rate": 1.0}, arms=["grpo"], seeds=[0])[0]
    assert origins(job.settings())["user"] == 1


def test_sft_costs_match_a_hand_computation() -> None:
    job = resolve("erpo", scale="paper", models=["qwen2.5-3b"], arms=["sft"])[0]
    # ceil(8441 / 16) = 528 steps an epoch, 3 epochs. Nothing is sampled. 16 rows of at most 2048 tokens a step
    assert training_steps(job) == 1584
    costs = cost(job, TrlHardware())
    assert (costs.tokens.rollout, costs.tokens.trained) == (0, 1584 * 16 * 2048)
    # 16 samples of 40 + 40 + 30 + 30 problems, 2048 tokens each
    assert costs.tokens.evaluation == 16 * 140 * 2048
    # 1,584 x 16 x 2,048 = 51,904,512: supervised training samples nothing, and its tokens are in the total
    assert "0 sampled and 51,904,512 trained on in training" in as_text(blocks(plan([job])))


def test_models_of_unknown_size_are_excluded_from_the_total_and_counted() -> None:
    total = plan(resolve("erpo", scale="paper", arms=["base"])).total
    known = plan(resolve("erpo", scale="paper", arms=["base"], models=["qwen2.5-7b", "qwen3-235b-instruct"])).total
    assert (total.unknown, known.unknown) == (1, 0)
    assert total.gpu_hours is not None and known.gpu_hours is not None
    assert total.gpu_hours.middle > known.gpu_hours.middle > 0
    alone = plan(resolve("erpo", scale="paper", arms=["base"], models=["deepseek-r1-0528"])).total
    assert alone.gpu_hours is None


def test_a_scale_may_replace_a_value_of_one_arm_alone() -> None:
    resets = {job.arm: job.settings() for job in resolve("baselines", arms=["grpo", "kl_reset"])}
    assert resets["grpo"]["reference_reset_every"].value is None
    reset = resets["kl_reset"]["reference_reset_every"]
    assert (reset.value, reset.origin) == (20, Origin.SCALE) and reset.was is not None and reset.was.value == 200
    assert resets["grpo"]["updates_per_rollout"].value == 2  # the declaration's own value for the scale, in all arms


def test_baselines_are_declared_like_a_paper_without_published_cells() -> None:
    assert catalogue.papers()[-1] == "baselines" and catalogue.published("baselines") == []
    five = ("egsw", "entropy_advantage", "erpo", "forking_tokens", "trial_and_error")
    assert all(catalogue.published(key) for key in five)  # a paper that `rlvr new` wrote has no cell yet


def test_an_arm_records_only_its_own_overrides() -> None:
    base, grpo, egsw = resolve("egsw", arms=TABLE, seeds=[0], overrides={"egsw.alpha": 0.5, "max_steps": 9})
    assert base.overrides == {} and grpo.overrides == {"max_steps": 9}
    assert egsw.overrides == {"egsw.alpha": 0.5, "max_steps": 9}


@pytest.mark.parametrize("key", [key for key in catalogue.papers() if catalogue.published(key)])
def test_a_bare_run_is_the_papers_tables_and_no_more(key: str) -> None:
    cells = {(cell.model, cell.arm) for cell in catalogue.published(key)}
    # the other reading of EGSW's Eq. 9 runs beside the one that the paper's text states
    beside = {(model, "egsw_micro_batch") for model in catalogue.load(key).models} if key == "egsw" else set()
    assert {(job.model, job.arm) for job in resolve(key, scale="paper")} == cells | beside


def test_sets_of_arms_run_by_name() -> None:
    def named(*sets: str, **more: Any) -> set[tuple[str, str]]:
        return {(j.model, j.arm) for j in resolve("trial_and_error", scale="paper", sets=list(sets), **more)}

    cells = catalogue.published("trial_and_error")
    assert named("table4") == {(c.model, c.arm) for c in cells if c.table == "Table 4"}
    assert named("table3") | named("table4") == named("table3", "table4")
    assert ("math-7b", "sft_all") in named("figure1") and ("7b", "base") not in named("figure1")
    everything = named("all")
    assert named("table4") < everything and ("7b", "grpo_position_late") in everything
    assert named("table4", models=["math-7b"]) == {pair for pair in named("table4") if pair[0] == "math-7b"}
    # one base model at tiny scale: the first that has an arm of the set
    assert {j.model for j in resolve("trial_and_error", sets=["table3"])} == {"32b"}
    with pytest.raises(UsageError, match=r"arms=table9: no such arms\. Did you mean 'table"):
        named("table9")
    with pytest.raises(UsageError, match=r"expected arm=\.\.\. or arms=\.\.\., not both"):
        named("table4", arms=["grpo"])


def test_like_gives_an_arm_a_frameworks_grpo() -> None:
    for key in catalogue.load("baselines").sets["frameworks"]:
        (job,) = resolve("baselines", arms=["grpo"], overrides={"like": key.removeprefix("grpo_")})
        (framework_job,) = resolve("baselines", arms=[key])
        assert job.overrides == {"like": key.removeprefix("grpo_")}
        assert job.settings() == framework_job.settings() | {
            "like": job.settings()["like"]
        }  # each value and its source
    (job,) = resolve("egsw", arms=["egsw"], seeds=[0], overrides={"like": "areal", "clip_low": 0.1})
    e: Any = job.experiment
    assert [u.name for u in e.method.uses()] == ["grpo", "batch_whitened", "egsw"]
    assert (e.clip_low.value, e.clip_high.value) == (0.1, 0.4)  # the command line's, AReaL's
    with pytest.raises(UsageError, match="like=verl: expected arms with GRPO's advantage and surrogate, got rloo"):
        resolve("baselines", arms=["grpo", "rloo"], overrides={"like": "verl"})
    with pytest.raises(UsageError, match=r"like=veml: no such like\. Did you mean 'verl'"):
        resolve("egsw", overrides={"like": "veml"})


def test_an_arm_that_trains_the_same_is_run_once() -> None:
    both = resolve("forking_tokens", arms=["dapo", "top100"])
    assert [job.arm for job in both] == ["dapo"]
    # top20_29k only has another length limit, and the tiny scale replaces the limit
    assert [job.arm for job in resolve("forking_tokens", models=["32b"], arms=["top20_29k"])] == ["top20"]
    at_paper_scale = resolve("forking_tokens", models=["32b"], arms=["top20_29k"], scale="paper")
    assert [job.arm for job in at_paper_scale] == ["top20_29k"]


def test_sweeps_run_only_by_name() -> None:
    keys = {j.arm for j in resolve("egsw", scale="paper")}
    assert keys == {*TABLE, "egsw_micro_batch"}
    (job,) = resolve("egsw", arms=["egsw_raw_0.15"], seeds=[0])
    settings = job.settings()
    assert (settings["egsw.alpha"].value, settings["egsw.entropy"].value) == (0.15, "raw")
    assert settings["egsw.alpha"].origin is Origin.PAPER
