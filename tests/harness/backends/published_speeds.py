"""GPU measurements of others, throughputs and memory peaks, beside the estimates of `rlvr plan` for the same settings.

We measured none of this: no GPU was available. The published numbers are their authors'. The rules of thumb of
`harness/backends/seconds.py` were chosen with these throughputs in view: they are a fit, not a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.backends.memory import activations
from harness.backends.seconds import FAST, MIDDLE, SLOW, Rules, pass_flops, reached
from harness.backends.verl.hardware import VerlHardware
from harness.backends.verl.needs import states, step_seconds
from harness.command.resolve import resolve
from harness.spec import Experiment
from harness.spec.hardware import GPUS, Gpu
from tests.experiments import shape_of

H20 = Gpu(96e9, 148e12, 4.0e12)  # data sheet
NEMO_PAGE = (
    "NeMo-RL, performance summary (github.com/NVIDIA-NeMo/RL, docs/about/performance-summary.md, v0.4; v0.5 has "
)
PRIME = "prime-rl (github.com/PrimeIntellect-ai/prime-rl, benchmarks/baselines), "
VERL = "veRL (github.com/volcengine/verl, docs/advance/fully_async.md), colocate sync, 128 H20, "


@dataclass(frozen=True)
class Row:
    """One published measurement beside the estimate. `low` to `high` is the estimate's range; `other` is the value of
    another version or run of the same source."""

    what: str
    published: float
    low: float
    middle: float
    high: float
    source: str
    other: float | None = None

    @property
    def ratios(self) -> list[float]:
        """Estimate divided by measurement, for each published value."""
        return [self.middle / value for value in (self.published, self.other) if value is not None]


def experiment(paper: str, arm: str, model: str, **values: Any) -> Experiment:
    """A declared experiment with other values, in place of the measured one."""
    job = resolve(paper, scale="paper", models=[model], arms=[arm], backend="verl", seeds=[0], overrides=values)[0]
    assert isinstance(job.experiment, Experiment)
    return job.experiment


def machine(gpus: int, **values: Any) -> VerlHardware:
    return VerlHardware(processes=8, nodes=gpus // 8, gradient_checkpointing=True, **values)


def throughputs() -> list[Row]:
    """The four published throughputs and their estimates."""
    rows = []
    # GRPO on policy on H100s: 64 prompts x 32, four updates, at most 4,096 tokens; mean tokens of a sequence
    e = experiment(
        "egsw", "grpo", "math-7b", prompts_per_rollout=64, group_size=32, updates_per_rollout=4,
        max_completion_tokens=4096, kl_beta=0.01,
    )  # fmt: skip
    for name, gpus, parallel, mean, published, later in (
        ("meta-llama/Llama-3.1-8B", 16, 1, 1060, 1562, 1581),
        ("Qwen/Qwen3-32B", 32, 4, 3206, 540, 571),
    ):
        hardware = machine(gpus, vllm_tensor_parallel=parallel, vllm_gpu_memory=0.6)

        def rate(
            rules: Rules, name: str = name, mean: int = mean, gpus: int = gpus, on: VerlHardware = hardware
        ) -> float:
            step = step_seconds(shape_of(name), GPUS["h100"], e, on, rules, mean - 150)  # the prompt: about 150
            return 2048 * mean / step.total / gpus

        what = f"{name.partition('/')[2]} GRPO, {gpus} H100, {mean:,} tokens on average"
        source = f"{NEMO_PAGE}{later:,})"
        rows.append(Row(what, published, rate(SLOW), rate(MIDDLE), rate(FAST), source, later))
    flops = pass_flops(shape_of("Qwen/Qwen3-4B"), 16384, backward=True, recompute=True, frozen=True)
    low, middle, high = (reached(GPUS["h100"], rules) / flops for rules in (SLOW, MIDDLE, FAST))
    source = (
        PRIME
        + "Qwen3-4B-Instruct-2507-rl-16-1gpu-Recompute-flash_attention_3-16384 (another run is said to have 6,229)"
    )
    rows.append(Row("Qwen3-4B LoRA trainer, 16,384 tokens, 1 H100", 6038, low, middle, high, source, 6229))
    e = experiment(
        "forking_tokens", "dapo", "8b", max_completion_tokens=28672, dynamic_sampling=False,
        **{"overlong.max_length": 28672},
    )  # fmt: skip
    steps = [
        step_seconds(shape_of("Qwen/Qwen2.5-7B"), H20, e, machine(128, vllm_gpu_memory=0.7), rules, 2500)
        for rules in (FAST, MIDDLE, SLOW)
    ]
    rest = "512 x 16, 28k tokens; its mean length is not published: 2,500 are assumed"
    low, middle, high = (step.total for step in steps)
    rows.append(Row("Qwen2.5-Math-7B DAPO, one step", 356.3, low, middle, high, VERL + rest))
    low, middle, high = (step.sample for step in steps)
    rows.append(Row("of it sampling", 177.9, low, middle, high, "the same"))
    return rows


def peaks() -> list[Row]:
    """Published memory peaks (FSDP2, recomputation, one sequence of 16,384 tokens) and the memory model's."""
    rows = []
    for name, gpus, gib in (("Qwen/Qwen3-0.6B", 1, 12.53), ("Qwen/Qwen3-4B", 8, 17.10)):
        e = experiment("erpo", "grpo", "qwen2.5-3b", lora_rank=None)
        hardware = VerlHardware(device="gpu", processes=gpus, gradient_checkpointing=True, fused_kernels=True)
        parts = states(shape_of(name), e, hardware, "bfloat16")
        total = sum(parts.values()) + activations(shape_of(name), 16384, "bfloat16", checkpointing=True, padded=False)
        what = f"{name.partition('/')[2]}, all weights, {gpus} H100, peak"
        rows.append(Row(what, gib, total / 2**30, total / 2**30, total / 2**30, PRIME + "...-16384, peak_memory"))
    return rows
