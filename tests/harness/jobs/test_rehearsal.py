"""A rehearsal: a tenth of the default runs pass, and each fault that once stopped paper-scale runs is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rehearsal import cases
from evals.files import read_parquet
from harness.backends.trl import hardware as trl_hardware
from harness.backends.trl.backend import Trl
from harness.backends.verl import backend as verl_backend
from harness.command.options import RunOptions
from harness.command.resolve import resolve
from harness.command.watch import Watch
from harness.data import dwarf
from harness.jobs.rehearsal import STAGES, Rehearsed, configuration_faults, plan_faults, rehearse
from harness.launch import prepare
from harness.plan import machine
from harness.plan.machine import machine_of
from harness.record.run import Run
from harness.spec import Experiment
from harness.spec.job import Job
from rlvr.cli import main


def declared(paper: str, scale: str = "paper", hardware: str = "h100x8", **given: Any) -> tuple[list[Job], Any]:
    jobs = resolve(paper, scale=scale, seeds=[0], **given)
    return jobs, machine_of(RunOptions.from_keys({"hardware": hardware})).by_arm(jobs)


SMALL = {
    "anchors": "qwen3-0.6b",
    "baselines": "7b",
    "egsw": "math-7b",
    "entropy_advantage": "7b",
    "trial_and_error": "7b",
}
TENTH = [  # the fastest of each kind among all default runs. `nox -s rehearse` does all of them.
    *((paper, "small", model, "base") for paper, model in SMALL.items()),
    *(("anchors", "paper", model, "base") for model in ("qwen3-0.6b", "qwen2.5-0.5b")),
    ("anchors", "paper", "qwen2.5-coder-1.5b", "mbpp"),
    *(("egsw", "paper", model, "base") for model in ("math-7b", "math-7b-instruct")),
    *(("erpo", "small", "qwen2.5-1.5b", arm) for arm in ("base", "sft")),
    *(("erpo", "paper", f"qwen2.5-{size}", "sft") for size in ("1.5b", "7b")),
    ("egsw", "paper", "math-7b-instruct", "egsw"),
    ("forking_tokens", "small", "8b", "top20"),
    ("trial_and_error", "paper", "32b", "rft_noise_rbf"),
]


@pytest.mark.slow
@pytest.mark.parametrize("run", TENTH, ids="-".join)
def test_a_tenth_of_the_default_runs(
    run: tuple[str, str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    paper, scale, model, arm = run
    (case,) = (case for case in cases([paper], [scale]) if (case.model, case.arm) == (model, arm))
    jobs, machines = declared(paper, scale, case.machine, models=[model], arms=[arm])
    (row,) = rehearse(jobs, machines, paper=paper)
    trained = jobs[0].experiment is not None
    assert [stage for stage in STAGES if row.stages.get(stage) != "yes"] == ([] if trained else ["trained", "resumed"])
    assert row.notes == []
    assert (tmp_path / "rehearsal").is_dir() and not (tmp_path / paper).exists()  # apart from real runs
    done = Run(max(tmp_path.rglob("run.json"), key=lambda file: file.stat().st_mtime).parent)
    (verdicts,) = (read_parquet(file).to_pandas() for file in done.folder.glob("eval/*/verdicts.parquet"))
    assert max(verdicts["tokens"]) == jobs[0].protocol.longest
    if isinstance(jobs[0].experiment, Experiment):  # some of the first rollout's responses, not all, reach the limit
        assert 0 < done.curve[1]["train/truncated_fraction"] < 1


# -- faults that stopped runs of paper scale, put back one by one and found by the command --------------------------


def test_today_nothing_is_said() -> None:
    for paper, model, arm in (
        ("entropy_advantage", "math-7b", "grpo"),
        ("egsw", "math-7b", "egsw"),
        ("trial_and_error", "32b", "rft"),
        ("forking_tokens", "32b", "base"),
    ):
        (job,), machines = declared(paper, models=[model], arms=[arm])
        hardware = machines[model, arm]
        assert [*plan_faults(job, hardware), *configuration_faults(job, hardware)] == [], (paper, model, arm)


def no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    from reproductions.entropy_advantage import paper

    monkeypatch.setattr(paper, "REPRODUCTION", replace(paper.REPRODUCTION, contexts={}))


def no_length_of_the_rollouts_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Trl.config

    def config(self: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        made = real(self, *arguments, **named)
        return {**made, "GRPOConfig": {**made["GRPOConfig"], "vllm_max_model_length": None}}

    monkeypatch.setattr(Trl, "config", config)


def without_both(monkeypatch: pytest.MonkeyPatch) -> None:
    no_context(monkeypatch)
    no_length_of_the_rollouts_engine(monkeypatch)


def sums_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, folder = trl_hardware.SHIPPED, Path(os.environ["RLVR_HOME"])
    settings = json.loads((shipped / "zero2.json").read_text())
    del settings["data_types"]
    (folder / "zero2.json").write_text(json.dumps(settings))
    monkeypatch.setattr(trl_hardware, "SHIPPED", folder)


def no_tensor_parallelism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "with_engine", lambda job, hardware, explicit: hardware)


def evaluations_only_after_a_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    def check_watch(watch: Watch, jobs: list[Job]) -> None:
        updates = jobs[0].settings()["updates_per_rollout"].value
        if (watch.every or 0) % updates:
            raise ValueError(f"eval.every: expected a multiple of {updates}, got {watch.every}")

    monkeypatch.setattr(prepare, "check_watch", check_watch)


def a_translation_that_needs_verl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verl_backend, "find_spec", lambda name: name)  # which this environment lacks


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, tuple[str, ...]]] = {
    "a context that is too short": (
        no_context,
        "paper=entropy_advantage model=math-7b arm=grpo",
        ("planned: ", "Qwen/Qwen2.5-Math-7B has 4,096 positions", "rollouts: vLLM refuses max_model_len=10,240"),
    ),
    "no length of the rollouts' engine": (
        no_length_of_the_rollouts_engine,
        "paper=egsw model=math-7b arm=egsw",
        ("configured: rollouts: vLLM has no maximum length and takes the model's 4096 positions",),
    ),
    "a cache for the model's own positions": (  # 28 layers x 4 heads x 128 x 2 x 2 bytes x 131,072 tokens = 7.5 GB,
        no_length_of_the_rollouts_engine,  # and 15.2 GB of weights
        "paper=baselines arm=grpo hardware.vllm_gpu_memory=0.25 hardware.vllm_tensor_parallel=1",
        ("takes the model's 131072 positions", "need 26 GB, and 0.25 of a h100 are 21 GB"),
    ),
    "responses that are cut in silence": (
        without_both,
        "paper=entropy_advantage model=math-7b arm=grpo",
        ("configured: rollouts: vLLM would cut at 4,096 tokens, 10,240 are needed",),
    ),
    "sums in bfloat16": (  # 896 sequences of a step, on 8 GPUs 4 at a time
        sums_in_bfloat16,
        "paper=egsw model=math-7b arm=grpo",
        ("configured: zero2.json sums 28 micro-batches in bfloat16",),
    ),
    "no tensor parallelism in the evaluation": (
        no_tensor_parallelism,
        "paper=forking_tokens model=32b arm=base",
        ("planned: fewer than 8 responses at once fit the 1 h100 of an evaluation's engine",),
    ),
    "evaluations only after a rollout": (  # a rollout has 16 updates
        evaluations_only_after_a_rollout,
        "paper=trial_and_error model=7b arm=grpo eval.every=10",
        ("eval.every: expected a multiple of 16, got 10",),
    ),
    "a configuration that needs veRL": (
        a_translation_that_needs_verl,
        "paper=entropy_advantage model=7b arm=ppo backend=verl",
        ("configured: backend=verl: veRL is not in this environment",),
    ),
    "a model that no GPU holds": (
        lambda monkeypatch: None,  # 671B parameters, measured on the machine itself
        "paper=erpo model=deepseek-r1-0528 arm=base",
        ("whether deepseek-ai/DeepSeek-R1-0528 fits is not known; hardware.engine=openai asks a server",),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_command_names_a_fault(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_back, words, sentences = FAULTS[fault]
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    put_back(monkeypatch)
    assert main(["rehearse", *words.split(), "scale=paper", "hardware=h100x8"])
    shown = "".join(capsys.readouterr())
    assert all(sentence in shown for sentence in sentences) and "Traceback" not in shown, shown


def rehearsed(monkeypatch: pytest.MonkeyPatch, home: Path, paper: str, model: str, arm: str) -> Rehearsed:
    monkeypatch.setenv("RLVR_HOME", str(home))
    jobs, machines = declared(paper, models=[model], arms=[arm])
    (row,) = rehearse(jobs, machines, paper=paper)
    return row


@pytest.mark.slow
def test_a_checkpoint_that_is_never_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.backends.trl import common

    monkeypatch.setattr(common, "seal", lambda checkpoint: None)
    row = rehearsed(monkeypatch, tmp_path, "erpo", "qwen2.5-1.5b", "sft")
    assert row.stages["trained"] == "yes" and row.stages["resumed"] == "no"
    assert any("it began anew" in note for note in row.notes)


@pytest.mark.slow
def test_an_evaluation_that_asks_for_more_than_the_model_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = dwarf.configuration("Qwen/Qwen2.5-Math-7B")
    short = {
        **(fields or {}),
        "max_position_embeddings": 2000,
    }  # the training needs 1,536 of them, and the evaluation 3,072
    monkeypatch.setattr(dwarf, "configuration", lambda base: short)
    row = rehearsed(monkeypatch, tmp_path, "egsw", "math-7b", "egsw")
    assert (row.stages["trained"], row.stages["resumed"], row.stages["evaluated"]) == ("yes", "yes", "no")
    assert any("the model's context is 2000" in note for note in row.notes)


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
