"""The plan's seconds per step beside published runs on several GPUs: `python -m benchmarks.step_seconds [--write]`.

Reads reproductions/anchors/step_seconds.csv, and writes results/anchors/seconds.md. Measures nothing.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.backends import backend
from harness.backends.seconds import FAST, MIDDLE, SLOW, Rules, StepSeconds, typical_length, whole_rollout
from harness.backends.trl.hardware import TrlHardware
from harness.backends.verl.hardware import VerlHardware
from harness.command.resolve import resolve
from harness.spec import Experiment
from harness.spec.architecture import Architecture, architecture
from harness.spec.hardware import GPUS, Gpu, Hardware

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "reproductions" / "anchors" / "step_seconds.csv"
PAGE = ROOT / "results" / "anchors" / "seconds.md"
CARDS = {**GPUS, "h20": Gpu(96e9, 148e12, 4.0e12)}  # data sheet
ON_A_NODE = 8


@dataclass(frozen=True)
class Run:
    """A published run. `mean`: tokens of a response, or None. `seconds`: of one rollout with its updates."""

    name: str
    trainer: str
    url: str
    stated: str
    base_model: str
    card: str
    gpus: int
    prompts: int
    group: int
    prompt_limit: int
    limit: int
    mean: float | None
    kl: bool
    tensor_parallel: int
    engine_memory: float
    seconds: float

    @property
    def shape(self) -> Architecture:
        known_shape = architecture(self.base_model)
        if known_shape is None:
            raise ValueError(f"{self.name}: the shape of {self.base_model} is not known")
        return known_shape

    @property
    def experiment(self) -> Experiment:
        """The declared GRPO with the sizes of the run."""
        sizes = {
            "prompts_per_rollout": self.prompts,
            "group_size": self.group,
            "updates_per_rollout": 1,  # the passes that the time counts do not depend on it
            "max_prompt_tokens": self.prompt_limit,
            "max_completion_tokens": self.limit,
            "kl_beta": 0.001 if self.kl else 0.0,
        }
        (job,) = resolve("baselines", scale="paper", models=["7b"], arms=["grpo"], seeds=[0], overrides=sizes)
        assert isinstance(job.experiment, Experiment)
        return job.experiment

    @property
    def hardware(self) -> Hardware:
        engine = {"vllm_tensor_parallel": self.tensor_parallel, "vllm_gpu_memory": self.engine_memory}
        common = {"device": "gpu", "processes": ON_A_NODE, "gradient_checkpointing": True, **engine}
        if self.trainer == "trl":
            return TrlHardware(rollouts="vllm_colocate", **common)  # type: ignore[arg-type]
        return VerlHardware(nodes=self.gpus // ON_A_NODE, ray_address="auto", **common)  # type: ignore[arg-type]

    def parts(self, rules: Rules) -> StepSeconds:
        step = backend(self.trainer).step_seconds
        seconds_of_parts: StepSeconds = step(
            self.shape, CARDS[self.card], self.experiment, self.hardware, rules, self.mean
        )
        return seconds_of_parts

    def planned(self, rules: Rules) -> float:
        """Seconds that the plan gives the rollout."""
        parts = self.parts(rules)
        return whole_rollout(self.shape, self.experiment, self.hardware, rules, parts, colocated=True)

    @property
    def slack(self) -> float:
        """The published time as a multiple of the middle's parts, without grading and sending."""
        parts = self.parts(MIDDLE).total
        beside = self.planned(MIDDLE) - MIDDLE.slack * parts
        return (self.seconds - beside) / parts


def runs() -> list[Run]:
    """Every published run, in the order of the file."""
    with ROWS.open(newline="", encoding="utf-8") as file:
        return [
            Run(
                *(row[key] for key in ("run", "trainer", "url", "stated", "base_model", "gpu")),
                *(int(row[key]) for key in ("gpus", "prompts", "group", "prompt_limit", "limit")),
                float(row["mean_tokens"]) if row["mean_tokens"] else None,
                row["kl"] == "yes",
                int(row["tensor_parallel"]),
                float(row["engine_memory"]),
                float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        ]


def typical(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def page() -> str:
    """results/anchors/seconds.md"""
    anchors = runs()
    rows = []
    for run in anchors:
        low, middle, high = (run.planned(rules) for rules in (FAST, MIDDLE, SLOW))
        length = f"{run.mean:,.0f}" if run.mean is not None else f"{typical_length(run.limit, MIDDLE):,.0f} by the rule"
        cells = (
            f"[{run.name}]({run.url})", run.trainer, f"{run.gpus} × {run.card}", run.base_model.partition("/")[2],
            f"{run.prompts} × {run.group}", f"{run.limit:,}", length, f"{run.seconds:,.0f}",
            f"{middle:,.0f} ({low:,.0f} to {high:,.0f})", f"{run.seconds / middle:.2f}",
        )  # fmt: skip
        rows.append("| " + " | ".join(cells) + " |")
    inside = sum(run.planned(FAST) <= run.seconds <= run.planned(SLOW) for run in anchors)
    slack = typical([run.slack for run in anchors])
    factor = typical([run.seconds / run.planned(MIDDLE) for run in anchors])
    how = "\n".join(f"- **{run.name}.** {run.stated}." for run in anchors)
    count, pages = len(anchors), len({run.url for run in anchors})
    return f"""# The plan's hours beside published runs on several GPUs

Written by `python -m benchmarks.step_seconds --write`. Nothing here was measured by us.

The table compares the seconds of one rollout with its updates: as others published them, and as `rlvr plan` gives
them. The last column is published ÷ planned. Above 1, the plan is too short.

| run | trainer | GPUs | model | prompts × group | limit | mean tokens | published, s | plan, s (low to high) | factor |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}

- **Inside the range:** {inside} of {count}. The range was widened until all were inside. This is no evidence that
  the next run will be.
- **The middle:** a step takes {slack:.1f} times the sum of its parts (geometric mean). The plan uses
  {MIDDLE.slack:g}, and {FAST.slack:g} to {SLOW.slack:g} as its ends. The factor's geometric mean is then {factor:.2f}.
- **A fit:** {count} runs of 2025 from {pages} pages say little about another machine.
- **Published means are rare.** Without one, the plan takes {MIDDLE.length:g} times the square root of the limit
  ({FAST.length:g} to {SLOW.length:g} times).
- **The open-r1 runs** sampled on one GPU and trained on seven. The plan is for eight that do both.
- **Start-up and checkpoints** are not in a step. The plan counts both in a run.

Where each time comes from:

{how}
"""


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())
