"""A rehearsal: every tenth default run passes, and each fault that once stopped paper-scale runs is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.backends import refusals
from harness.backends.trl import hardware as trl_hardware
from harness.command.resolve import resolve
from harness.data import dwarf
from harness.jobs import rehearsal
from harness.jobs.rehearsal import STAGES, Row, configuration_faults, engine_faults, plan_faults, rehearse
from harness.plan.machine import take_machine
from harness.spec import catalogue
from harness.spec.hardware import Hardware
from harness.spec.job import Job


def declared(paper: str, scale: str = "paper", hardware: str = "h100x8", **given: Any) -> tuple[list[Job], Any]:
    jobs = resolve(paper, scale=scale, seeds=[0], **given)
    return jobs, take_machine({"hardware": hardware}).by_arm(jobs)


def one(paper: str, model: str, arm: str, scale: str = "paper") -> tuple[Job, Hardware]:
    (job,), machines = declared(paper, scale, models=[model], arms=[arm])
    return job, machines[model, arm]


def card(paper: str, scale: str) -> str:
    return "h100" if paper == "anchors" else "rtx4090" if scale == "small" else "h100x8"


@cache
def default_runs() -> list[tuple[str, str, str, str]]:
    """(paper, scale, model, arm) of all default runs that TRL trains."""
    runs = []
    for paper in sorted(set(catalogue.papers()) - {"baselines"}):
        for scale in ("paper",) if paper == "anchors" else ("paper", "small"):
            jobs, machines = declared(paper, scale, card(paper, scale))
            without = refusals(jobs, machines)
            runs += [(paper, scale, j.model, j.arm) for j in jobs if (j.model, j.arm) not in without]
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(7))
def test_a_tenth_of_the_default_runs(tenth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    assert 60 <= len(default_runs()) < 70
    paper, scale, model, arm = default_runs()[10 * tenth]
    jobs, machines = declared(paper, scale, card(paper, scale), models=[model], arms=[arm])
    (row,) = rehearse(jobs, machines, paper=paper, lengths=False)
    trained = jobs[0].experiment is not None
    assert [stage for stage in STAGES if row.stages.get(stage) != "yes"] == ([] if trained else ["trained", "resumed"])
    assert all(note.startswith("shortened") for note in row.notes)
    assert (tmp_path / "rehearsal").is_dir() and not (tmp_path / paper).exists()  # apart from real runs


# -- faults that stopped runs of paper scale, put back one by one ---------------------------------------------------


def said(job: Job, hardware: Hardware) -> str:
    return "\n".join([*plan_faults(job, hardware), *configuration_faults(job, hardware)])


def test_today_nothing_is_said() -> None:
    for paper, model, arm in (
        ("entropy_advantage", "math-7b", "grpo"),
        ("egsw", "math-7b", "egsw"),
        ("trial_and_error", "32b", "rft"),
        ("forking_tokens", "32b", "base"),
    ):
        assert said(*one(paper, model, arm)) == "", (paper, model, arm)


def test_a_context_that_is_too_short() -> None:
    job, hardware = one("entropy_advantage", "math-7b", "grpo")
    assert "Qwen/Qwen2.5-Math-7B has 4,096 positions" in said(replace(job, context=None), hardware)
    assert "rollouts: vLLM refuses max_model_len=10,240" in said(replace(job, context=None), hardware)


def without(key: str) -> Callable[..., dict[str, Any]]:
    from harness.backends.trl.backend import Trl

    real = Trl.config

    def config(self: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        made = real(self, *arguments, **named)
        return {name: part if part is None else {**part, key: None} for name, part in made.items()}

    return config


def test_no_maximum_length_for_the_rollouts_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.backends.trl.backend import Trl

    job, hardware = one("egsw", "math-7b", "egsw")
    monkeypatch.setattr(Trl, "config", without("vllm_max_model_length"))
    assert "rollouts: vLLM has no maximum length and takes the model's 4096 positions" in said(job, hardware)
    job, hardware = one("entropy_advantage", "math-7b", "grpo")  # without its context it would be cut in silence
    assert "vLLM would cut at 4,096 tokens, 10,240 are needed" in said(replace(job, context=None), hardware)


def test_a_cache_for_the_models_own_positions() -> None:
    """Of a 7B 28 layers x 4 heads x 128 x 2 x 2 bytes x 131,072 tokens = 7.5 GB, beside 15.2 GB of weights."""
    _, hardware = one("egsw", "math-7b", "egsw")
    base = "Qwen/Qwen2.5-7B"
    assert engine_faults("rollouts", base, 2048, 131_072, 2048, 0.25, 1, hardware) == []
    (first, second) = engine_faults("rollouts", base, None, 131_072, 2048, 0.25, 1, hardware)
    assert "takes the model's 131072 positions" in first and "need 26 GB, and 0.25 of a h100 are 21 GB" in second


def test_zero_that_sums_in_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, hardware = one("egsw", "math-7b", "grpo")  # 896 sequences of a step, on 8 GPUs 4 at a time
    shipped = json.loads((trl_hardware.SHIPPED / "zero2.json").read_text())
    del shipped["data_types"]
    (tmp_path / "zero2.json").write_text(json.dumps(shipped))
    monkeypatch.setattr(trl_hardware, "SHIPPED", tmp_path)
    assert said(job, hardware) == "zero2.json sums 28 micro-batches in bfloat16"


def test_an_evaluation_without_tensor_parallelism() -> None:
    job, hardware = one("forking_tokens", "32b", "base")
    assert hardware.engine_tensor_parallel == 2
    alone = said(job, replace(hardware, engine_tensor_parallel=1, engine_replicas=8))
    assert "fewer than 8 responses at once fit the 1 h100 of an evaluation's engine" in alone
    assert "hardware.engine_tensor_parallel=2" in alone


def rehearsed(monkeypatch: pytest.MonkeyPatch, home: Path, breaks: Sequence[tuple[Any, str, Any]] = ()) -> Row:
    monkeypatch.setenv("RLVR_HOME", str(home))
    for owner, name, value in breaks:
        monkeypatch.setattr(owner, name, value)
    jobs, machines = declared("egsw", models=["math-7b"], arms=["egsw"])
    (row,) = rehearse(jobs, machines, paper="egsw", lengths=False)
    return row


@pytest.mark.slow
def test_a_checkpoint_that_is_never_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.backends.trl import common

    row = rehearsed(monkeypatch, tmp_path, [(common, "seal", lambda checkpoint: None)])
    assert row.stages["trained"] == "yes" and row.stages["resumed"] == "no"
    assert any("it began anew" in note for note in row.notes)


@pytest.mark.slow
def test_an_evaluation_that_asks_for_more_than_the_model_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = dwarf.configuration("Qwen/Qwen2.5-Math-7B")
    short = {**(own or {}), "max_position_embeddings": 700}
    monkeypatch.setattr(
        dwarf, "configuration", lambda base: short
    )  # of the 512 + 128 of the training, and 800 of the other
    monkeypatch.setattr(rehearsal, "SHORT", 800)
    real = rehearsal.overrides

    def short_training(*arguments: Any) -> Any:
        values, notes = real(*arguments)
        return {**values, "max_completion_tokens": 128}, notes

    row = rehearsed(monkeypatch, tmp_path, [(rehearsal, "overrides", short_training)])
    assert (row.stages["trained"], row.stages["resumed"], row.stages["evaluated"]) == ("yes", "yes", "no")
    assert any("the model's context is 700" in note for note in row.notes)


def test_a_dwarf_has_the_models_own_positions_and_ends_rarely(tmp_path: Path) -> None:
    from transformers import AutoConfig

    from evals.sampling.engines import Decoding, Request
    from evals.sampling.engines.transformers import TransformersEngine

    folder = dwarf.make("Qwen/Qwen2.5-Math-7B", tmp_path / "a", limit=128)
    config = AutoConfig.from_pretrained(folder)
    assert (config.max_position_embeddings, config.rope_parameters["rope_theta"]) == (4096, 10_000.0)
    assert config.tie_word_embeddings is False and "bfloat16" in str(config.dtype)
    engine = TransformersEngine(str(folder), device="cpu")
    requests = [Request((str(i), 0), "so", i) for i in range(64)]
    ends = [c.finish_reason for batch in engine.generate(requests, Decoding(1.0, 1.0, 128)) for c in batch]
    # (1 - 1/128)^128 is 37 %: of 64 responses 24 reach the limit, with a standard deviation of 4
    assert 8 <= ends.count("length") <= 40
    with pytest.raises(ValueError, match="the configuration of deepseek-ai/DeepSeek-R1-0528 is not known here"):
        dwarf.make("deepseek-ai/DeepSeek-R1-0528", tmp_path / "b", limit=128)
