"""A base model's context is declared where its own is too short, checked before a start, and reaches every engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.command.resolve import resolve
from harness.data.base_models import located
from harness.errors import UsageError
from harness.plan.context import check_context, context_need
from harness.spec import catalogue
from harness.spec.job import Job


def job(paper: str = "trial_and_error", **overrides: Any) -> Job:
    (resolved,) = resolve(paper, scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0], overrides=overrides)
    return resolved


def test_an_extended_context_is_a_sourced_value_of_the_job() -> None:
    declared = job()
    # scripts: 1,024 tokens of prompt and 8,192 of response
    assert context_need(declared).training == 1024 + 8192 and context_need(declared).fits
    values = declared.settings()
    assert (values["context.positions"].value, values["context.rope_theta"].value) == (32768, 40000.0)
    extended = job(**{"context.positions": 8192})
    assert extended.settings()["context.positions"].was is not None and extended.digest != declared.digest
    with pytest.raises(ValueError, match=r"context\.positions: math-7b/grpo is trained with 9,216 tokens"):
        check_context(extended)


@pytest.mark.parametrize(
    ("arm", "values", "advice"),
    [  # 20,000 tokens of fine-tuning, 1,024 + 8,192 of a rollout, 8,192 of an evaluation
        ("sft_math", {"context.positions": 16384}, r"Shorten max_tokens, or .* context\.positions=20000$"),
        ("grpo", {"context.positions": 9000}, r"Shorten max_prompt_tokens and max_completion_tokens, or .*=9216$"),
        ("grpo", {"protocol.max_tokens": 32768}, r"Shorten protocol\.max_tokens, or .* context\.positions=32769$"),
        ("base", {"base_model": "Qwen/Qwen2.5-Math-7B"}, r"=8193 context\.rope_theta=BASE$"),
    ],
)
def test_the_advice_names_what_the_arm_has(arm: str, values: dict[str, Any], advice: str) -> None:
    jobs = resolve("trial_and_error", scale="paper", models=["math-7b"], arms=[arm], seeds=[0], overrides=values)
    with pytest.raises(UsageError, match=advice):
        check_context(jobs[0])


def test_another_base_model_has_its_own_context() -> None:
    other = job(base_model="Qwen/Qwen3-32B")
    assert other.context is None and context_need(other).positions == 40960
    short = job(base_model="Qwen/Qwen2.5-Math-1.5B")
    with pytest.raises(ValueError, match=r"Qwen2\.5-Math-1\.5B has 4,096 positions"):
        check_context(short)
    tiny = resolve("trial_and_error", arms=["grpo"], models=["math-7b"], seeds=[0])[0]
    assert tiny.context is None and "context.positions" not in tiny.settings()
    with pytest.raises(UsageError, match=r"context\.positions: expected context\.positions and context\.rope_theta"):
        resolve("egsw", arms=["grpo"], models=["math-7b"], seeds=[0], overrides={"context.positions": 8192})


@pytest.mark.parametrize("paper", catalogue.papers())
def test_no_default_run_is_longer_than_its_model_is_known_to_be(paper: str) -> None:
    for each in resolve(paper, scale="paper", seeds=[0]):
        check_context(each)


@pytest.mark.parametrize("rope", [{"rope_theta": 10000.0}, {"rope_parameters": {"rope_theta": 10000.0}}])
def test_the_configuration_that_everything_reads_has_it(rope: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoConfig

    from tests.experiments import save_random_model

    model = save_random_model(tmp_path / "model")
    config = json.loads((model / "config.json").read_text())
    for key in ("rope_theta", "rope_parameters"):
        config.pop(key, None)
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 64, **rope}))
    extended = job(base_model=str(model), **{"context.positions": 512, "context.rope_theta": 40000.0})
    folder = Path(located(extended, tmp_path / "into"))
    read = AutoConfig.from_pretrained(folder)
    assert read.max_position_embeddings == 512
    assert (getattr(read, "rope_parameters", None) or {}).get("rope_theta", getattr(read, "rope_theta", None)) == 40000
    assert (folder / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert json.loads((model / "config.json").read_text())["max_position_embeddings"] == 64  # the user's own stays
    assert located(extended, tmp_path / "into") == str(folder)
