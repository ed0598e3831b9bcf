"""Speed, as ratios within one run: `nox -s bench [-- PART --rounds N]`.

Calls that are compared alternate in one process and their medians are reported: a machine that slows down then slows
both. pytest-benchmark would time each side by itself. `nox -s grader` has the speed of the grader.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from evals.notebook import markdown_table

if TYPE_CHECKING:
    import torch


class Row(NamedTuple):
    """One comparison: work per second (`unit`), of our engine and of another library."""

    name: str
    unit: str
    engine_rate: float
    library_rate: float
    against: str
    note: str


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the median is reported (default 5)")
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    parts = [given.part] if given.part else list(PARTS)
    print(page([row for part in parts for row in PARTS[part](given.rounds)], given.rounds))


def page(rows: list[Row], rounds: int) -> str:
    cells = [
        (
            r.name,
            r.against,
            f"{r.engine_rate / r.library_rate:.2f}",
            f"{r.engine_rate:,.0f}",
            f"{r.library_rate:,.0f}",
            r.unit,
            r.note,
        )
        for r in rows
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "trl"))
    return (
        f"Ratio: ours / theirs; above 1, ours is faster. Medians of {rounds} rounds on a CPU "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end); {packages}.\n\n"
        + markdown_table(("what", "against", "ratio", "ours", "theirs", "unit", "note"), cells, left=2)
    )


def medians(
    calls: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each call over the rounds, after one untimed call. Every call runs once a round.

    Args:
        clock: time.process_time counts the processor's seconds, which other processes do not lengthen as much.
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            call()
            seconds[name].append(clock() - start)
    return {name: median(values) for name, values in seconds.items()}


SAMPLES, TOKENS = 16, 64


def engine(rounds: int) -> Iterator[Row]:
    """The transformers engine against `model.generate`."""
    from tests.evals.conftest import make_model

    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder) / "model", hidden=64, spread=0.02)  # near uniform: few samples end early
        yield _generate(model, rounds)


def _generate(path: Path, rounds: int) -> Row:
    import torch

    from evals.sampling.engines import Decoding, Request
    from evals.sampling.engines.transformers import TransformersEngine

    engine = TransformersEngine(str(path), device="cpu")
    texts = [f"What is {a} plus {b}? " + "Think. " * (a % 4) for a, b in zip(range(12), range(30, 42), strict=True)]
    requests = [Request((text, s), text, 100 * i + s) for i, text in enumerate(texts) for s in range(SAMPLES)]
    encoded = engine.tokenizer(texts, return_tensors="pt", padding=True)
    counts: dict[str, int] = {}

    def run_engine() -> None:
        completions = [c for batch in engine.generate(requests, Decoding(1.0, 1.0, TOKENS)) for c in batch]
        counts["ours"] = sum(c.tokens for c in completions)

    def run_library() -> None:
        torch.manual_seed(0)
        out = engine.model.generate(
            **encoded, do_sample=True, temperature=1.0, top_p=1.0, top_k=0, max_new_tokens=TOKENS,
            num_return_sequences=SAMPLES,
        )  # fmt: skip
        new = out[:, encoded["input_ids"].shape[1] :]
        ended = (new == engine.tokenizer.eos_token_id).int()
        counts["theirs"] = int(((ended.cumsum(1) - ended) == 0).sum())  # up to the first end token, itself included

    seconds = medians({"ours": run_engine, "theirs": run_library}, rounds)
    return Row(
        "engine", "tokens/s", counts["ours"] / seconds["ours"], counts["theirs"] / seconds["theirs"], "model.generate",
        f"{len(texts)} prompts x {SAMPLES} samples of at most {TOKENS} tokens; random model, CPU; ours uses a "
        "separate random stream for each sample",
    )  # fmt: skip


PROMPTS, GROUP, LENGTH = 4, 8, 96
MICRO_BATCHES = 4  # per step, with gradient accumulation


def step(rounds: int) -> Iterator[Row]:
    """One optimiser step (loss and gradient, no sampling) through our trainer and TRL's: same batch, same model."""
    from tests.experiments import save_random_model
    from tests.harness.cases import CASES

    with tempfile.TemporaryDirectory() as folder:
        model = save_random_model(Path(folder) / "model")
        for name in ("grpo", "egsw-step", "entropy_advantage"):
            for parts in (1, MICRO_BATCHES) if CASES[name].method.reads else (1,):
                calls = {key: _step(name, model, Path(folder), parts, key == "ours") for key in ("ours", "theirs")}
                seconds = medians(calls, rounds, time.process_time)
                tokens = PROMPTS * GROUP * LENGTH
                note = f"{PROMPTS * GROUP} x {LENGTH} tokens, tiny model, micro-batches: {parts}"
                rates = tokens / seconds["ours"], tokens / seconds["theirs"]
                yield Row(f"TRL step, {name}", "tokens/CPU s", *rates, "TRL's GRPO loss", note)


def _step(name: str, model: Path, folder: Path, parts: int, with_method: bool) -> Callable[[], None]:
    from dataclasses import replace

    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from evals.provenance import Origin
    from harness.backends.trl.hardware import TrlHardware
    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config
    from tests.experiments import experiment
    from tests.harness.cases import CASES

    sizes = {"prompts_per_rollout": PROMPTS, "group_size": GROUP, "max_completion_tokens": LENGTH, "kl_beta": 0.04}
    declared = replace(experiment().override(sizes, Origin.USER, "a benchmark of speed"), method=CASES[name].method)
    config = GRPOConfig(
        **to_grpo_config(
            declared, TrlHardware(device="cpu", micro_batch=PROMPTS * GROUP // parts), seed=0, out_dir=folder
        )
    )
    arguments: dict[str, object] = {
        "model": str(model),
        "reward_funcs": [lambda completions, **_: [0.0] * len(completions)],
        "args": config,
        "train_dataset": Dataset.from_list([{"prompt": "1"}] * PROMPTS),
        "processing_class": AutoTokenizer.from_pretrained(model, padding_side="left"),
    }
    trainer: GRPOTrainer = MethodTrainer(declared, **arguments) if with_method else GRPOTrainer(**arguments)
    batch = _rollout(trainer.model.config.vocab_size)
    trainer._generate_and_score_completions = lambda _: dict(batch)
    trainer.model.train()

    def step() -> None:
        trainer._step, trainer._buffered_inputs = 0, None
        trainer.current_gradient_accumulation_steps = trainer.args.gradient_accumulation_steps
        trainer.model.zero_grad()
        for part in range(parts):
            trainer._step = part
            trainer.compute_loss(trainer.model, trainer._prepare_inputs(None)).backward()

    return step


def _rollout(vocab: int) -> dict[str, torch.Tensor]:
    import torch

    rows = PROMPTS * GROUP
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(rows, LENGTH, dtype=torch.long)
    rewards = torch.randint(0, 2, (rows,), generator=generator).float()
    return {
        "prompt_ids": torch.randint(2, vocab, (rows, 16), generator=generator),
        "prompt_mask": torch.ones(rows, 16, dtype=torch.long),
        "completion_ids": torch.randint(2, vocab, (rows, LENGTH), generator=generator),
        "completion_mask": mask,
        "ref_per_token_logps": -torch.rand(rows, LENGTH, generator=generator),
        "old_per_token_logps": -torch.rand(rows, LENGTH, generator=generator),
        "num_items_in_batch": mask.sum(),
        "rewards": rewards,  # read by ours
        "groups": torch.arange(rows) // GROUP,
        "advantages": rewards - rewards.mean(),  # read by TRL's
    }


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {"engine": engine, "step": step}


if __name__ == "__main__":
    main()
