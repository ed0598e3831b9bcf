"""Ten minutes on one GPU: real optimiser steps, the token pass, the cost of methods, tiny arms, determinism.

python -m benchmarks.gpu [--out FILE] [--only steps,tokens,methods,tiny,determinism]
python -m benchmarks.gpu --dry-run      the same code on a CPU at sizes of a few thousand weights: it runs, no more

Needs torch with CUDA, transformers, accelerate, peft and trl; no vLLM, no hub, no checkpoint: models are random. Each
measurement is a line of JSON on stdout (and in FILE), written as soon as it is made, so that a machine that is taken
away loses only what it was doing. Times are medians after a warm-up; memory is torch's peak, beside the plan's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from evals.provenance import Origin
from harness.command.memory import need
from harness.command.profiles import judge
from harness.spec import Experiment
from harness.spec.architecture import QWEN25_7B, QWEN25_15B, Architecture
from harness.spec.hardware import Hardware

COPY_LIMIT = 3.0e12  # bytes/s that a copy reaches on an H100: what a pass over memory is compared with
VOCABULARY = 151_936


@dataclass(frozen=True)
class Sizes:
    """What is measured; the dry run has the small ones."""

    shapes: dict[str, Architecture]
    prompts: int
    group: int
    prompt: int
    completion: int
    steps: int
    tokens: int
    width: int
    batch: int
    length: int
    tiny_steps: int


FULL = Sizes({"1.5B": QWEN25_15B, "7B": QWEN25_7B}, 4, 8, 256, 1024, 5, 16_384, 1536, 512, 8192, 60)
SMALL = Architecture(2, 64, 128, 4, 2, 16, 512, False)
DRY = Sizes({"small": SMALL, "smaller": replace(SMALL, layers=1)}, 2, 4, 16, 16, 2, 64, 64, 8, 16, 1)


@dataclass(frozen=True)
class Bench:
    """Where it runs, and at what sizes."""

    device: str
    sizes: Sizes

    def sync(self) -> None:
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, call: Callable[[], Any], rounds: int = 5) -> float:
        """Median of some calls after one to warm up."""
        call()
        times = []
        for _ in range(rounds):
            self.sync()
            start = time.perf_counter()
            call()
            self.sync()
            times.append(time.perf_counter() - start)
        return median(times)

    def peak(self, *, reset: bool = False) -> float | None:
        """Bytes at the peak since the last reset; None on a CPU."""
        import torch

        if self.device != "cuda":
            return None
        if reset:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        return float(torch.cuda.max_memory_allocated())

    def memory(self) -> float:
        """Bytes of the device."""
        import torch

        if self.device == "cuda":
            return float(torch.cuda.get_device_properties(0).total_memory)
        return 8e9


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="on a CPU, at sizes of a few thousand weights")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, help="append the lines to this file too")
    arguments = parser.parse_args(argv)
    chosen = arguments.only.split(",")
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"--only: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    import torch

    if not arguments.dry_run and not torch.cuda.is_available():
        print("benchmarks.gpu: torch sees no GPU; --dry-run runs the code on a CPU", file=sys.stderr)
        return 2
    bench = Bench("cpu", DRY) if arguments.dry_run else Bench("cuda", FULL)
    failed = 0
    for row in measure(bench, chosen):
        failed += "error" in row
        line = json.dumps({**row, "dry_run": arguments.dry_run})
        print(line, flush=True)
        if arguments.out:
            with arguments.out.open("a") as file:
                file.write(line + "\n")
    return 1 if failed else 0


def measure(bench: Bench, chosen: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of the chosen parts; a part that fails gives a row with its error, and the next one runs."""
    yield {"part": "machine", **machine()}
    for name in chosen:
        try:
            for row in PARTS[name](bench):
                yield {"part": name, **row}
        except Exception as error:
            yield {"part": name, "error": f"{type(error).__name__}: {error}"[:500]}


def machine() -> dict[str, Any]:
    """What it ran on."""
    import platform

    import accelerate
    import torch
    import transformers
    import trl

    versions = {m.__name__: m.__version__ for m in (torch, transformers, accelerate, trl)}
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"gpu": gpu, "cpu": platform.processor() or platform.machine(), "versions": versions}


# -- optimiser steps ---------------------------------------------------------------------------------------------


def steps(bench: Bench) -> Iterator[dict[str, Any]]:
    """TRL steps of a random model of each shape: bfloat16 passes, float32 masters, or LoRA where those do not fit."""
    for name, a in bench.sizes.shapes.items():
        declared = experiment(bench, bench.sizes.steps)
        hardware = Hardware(
            device="gpu" if bench.device == "cuda" else "cpu", micro_batch=2, gradient_checkpointing=True
        )
        planned = need(a, declared, "trl", hardware, bench.memory())
        row: dict[str, Any] = {"shape": name, "parameters": a.parameters, "plan_bytes": planned.peak}
        if planned.peak > 0.94 * bench.memory():
            yield {**row, "lora_rank": None, "skipped": "the plan says that float32 masters do not fit"}
            declared = declared.override({"lora_rank": 32}, Origin.USER, "a benchmark")
            row["plan_bytes"] = need(a, declared, "trl", hardware, bench.memory()).peak
        yield {**row, "lora_rank": declared.lora_rank.value, **_train(bench, a, declared, hardware)}


def experiment(bench: Bench, count: int) -> Experiment:
    """GRPO at the sizes of the benchmark."""
    from harness.command.resolve import resolve

    (job,) = resolve("egsw", arms=["grpo"], seeds=[0])
    assert isinstance(job.experiment, Experiment)
    s = bench.sizes
    values = {
        "prompts_per_rollout": s.prompts,
        "group_size": s.group,
        "max_prompt_tokens": s.prompt,
        "max_completion_tokens": s.completion,
        "max_steps": count,
        "rewards": ["accuracy"],
        "reward_weights": [1.0],
        "learning_rate": 1e-6,
        "kl_beta": 0.0,
        "precision": "bfloat16",
        "updates_per_rollout": 1,
    }
    return job.experiment.override(values, Origin.USER, "a benchmark")


def _train(bench: Bench, a: Architecture, declared: Experiment, hardware: Hardware) -> dict[str, Any]:
    """Seconds, tokens/s and peak bytes of the steps of one training, and a hash of the weights it ends with."""
    import peft
    import torch
    from datasets import Dataset
    from transformers import AutoTokenizer, TrainerCallback
    from transformers.trainer_callback import PrinterCallback
    from trl import GRPOConfig

    from harness.backends.trl.common import to_lora_config
    from harness.backends.trl.trainer import MethodTrainer
    from harness.backends.trl.translate import to_grpo_config
    from harness.data.base_models import locate

    times: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            bench.sync()
            times.append(time.perf_counter())

    tokenizer = AutoTokenizer.from_pretrained(locate("tiny"), padding_side="left")
    torch.manual_seed(0)
    model = random_model(a, bench.device)
    lora = to_lora_config(declared)
    with tempfile.TemporaryDirectory() as folder:
        arguments = to_grpo_config(declared, hardware, seed=0, out_dir=Path(folder))
        arguments |= {"model_init_kwargs": None, "save_strategy": "no"}
        bench.peak(reset=True)
        trainer = MethodTrainer(
            declared,
            model=model,
            reward_funcs=[_lengths],
            args=GRPOConfig(**arguments),
            train_dataset=Dataset.from_list([{"prompt": "1 + 2 * 3 = "}] * 64),
            processing_class=tokenizer,
            peft_config=None if lora is None else peft.LoraConfig(**lora),
            callbacks=[Clock()],
        )
        trainer.remove_callback(PrinterCallback)  # stdout is for the rows
        start = time.perf_counter()
        trainer.train()
    each = [b - a_ for a_, b in zip([start, *times], times, strict=False)]
    done = trainer.state.log_history
    lengths = [row["completions/mean_length"] for row in done if "completions/mean_length" in row]
    sequences = declared.prompts_per_rollout.value * declared.group_size.value
    seconds = median(each[1:] or each)
    return {
        "seconds_per_step": seconds,
        "seconds_all": each,
        "tokens_per_second": sequences * median(lengths) / seconds if lengths else None,
        "peak_bytes": bench.peak(),
        "weights": _digest(trainer.model),
    }


def _lengths(completions: list[str], **_: Any) -> list[float]:
    """A reward that varies within a group."""
    return [float(len(text) % 7) for text in completions]


def random_model(a: Architecture, device: str) -> Any:
    """A model of that shape with random weights in float32."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=a.hidden,
        num_hidden_layers=a.layers,
        intermediate_size=a.intermediate,
        num_attention_heads=a.heads,
        num_key_value_heads=a.kv_heads,
        vocab_size=a.vocab,
        tie_word_embeddings=a.tied,
        max_position_embeddings=32_768,
    )
    with torch.device(device):
        return Qwen2ForCausalLM(config)


def _digest(model: Any) -> str:
    import hashlib

    import torch

    digest = hashlib.sha256()
    for _, parameter in sorted(model.named_parameters()):
        digest.update(parameter.detach().to("cpu", torch.float32).numpy().tobytes())
    return digest.hexdigest()[:16]


# -- token pass --------------------------------------------------------------------------------------------------


def tokens(bench: Bench) -> Iterator[dict[str, Any]]:
    """The token pass over 16k tokens and a vocabulary of 151,936: time, and bytes of logits per second against what a
    copy reaches; and TRL's log-probabilities with entropy of the same logits (its GPU kernel where there is one)."""
    import torch
    from trl.trainer.utils import selective_log_softmax_and_entropy

    from evals.analysis.tokens.token_pass import Encoded, read_tokens

    s = bench.sizes
    vocabulary = VOCABULARY if bench.device == "cuda" else 512
    shape = Architecture(2, s.width, 2 * s.width, 8, 2, s.width // 8, vocabulary, True)
    torch.manual_seed(0)
    model = random_model(shape, bench.device).to(torch.bfloat16 if bench.device == "cuda" else torch.float32).eval()
    ids = torch.randint(vocabulary, (s.tokens + 1,), generator=torch.Generator().manual_seed(0))
    rows = [Encoded(tuple(ids.tolist()), ("",) * s.tokens)]
    size = {"tokens": s.tokens, "vocabulary": vocabulary}
    bench.peak(reset=True)
    ours = bench.seconds(lambda: read_tokens(model, rows, mass=0.95, progress=False), rounds=3)
    logit_bytes = s.tokens * vocabulary * 4
    yield {
        **size, "what": "token pass", "seconds": ours, "logit_bytes_per_second": logit_bytes / ours,
        "share_of_copy_limit": logit_bytes / ours / COPY_LIMIT, "peak_bytes": bench.peak(),
    }  # fmt: skip
    part = min(s.tokens, 4096)
    logits = torch.randn(part, vocabulary, device=bench.device)
    index = torch.randint(vocabulary, (part,), device=bench.device)
    copy = bench.seconds(lambda: logits.clone())
    fused = bench.seconds(lambda: selective_log_softmax_and_entropy(logits, index, entropy_requires_grad=False))
    yield {
        **size, "what": "copy and TRL's head", "rows": part, "copy_bytes_per_second": 2 * logits.nbytes / copy,
        "trl_seconds": fused, "trl_bytes_per_second": logits.nbytes / fused,
    }  # fmt: skip


# -- methods -----------------------------------------------------------------------------------------------------


def methods(bench: Bench) -> Iterator[dict[str, Any]]:
    """Seconds of each method's equations on a batch of the papers' size, which a step pays once."""
    import torch

    from harness.step.batch import TokenBatch
    from tests.harness.cases import CASES

    s = bench.sizes
    torch.manual_seed(0)
    shape = (s.batch, s.length)
    groups = torch.arange(s.batch, device=bench.device) // 8

    def field() -> torch.Tensor:
        return torch.rand(shape, device=bench.device)

    ends = torch.randint(s.length // 2, s.length + 1, (s.batch, 1), device=bench.device)
    batch = TokenBatch(
        rewards=torch.randint(0, 2, (s.batch,), device=bench.device).float(),
        groups=groups,
        mask=torch.arange(s.length, device=bench.device) < ends,
        vocab_size=VOCABULARY,
        max_tokens=s.length,
        micro_batches=groups,
        entropies=3 * field(),
        logp=-3 * field(),
        old_logp=-3 * field(),
        ref_logp=-3 * field(),
    )
    for name, case in CASES.items():
        try:
            seconds = bench.seconds(lambda case=case: case.method.apply(batch), rounds=3)  # type: ignore[misc]
        except ValueError as error:  # a method that needs a critic's values, say
            yield {"method": name, "skipped": str(error)[:200]}
            continue
        yield {"method": name, "batch": s.batch, "length": s.length, "seconds": seconds}


# -- tiny arms, determinism --------------------------------------------------------------------------------------


def tiny(bench: Bench) -> Iterator[dict[str, Any]]:
    """The tiny GRPO and EGSW arms on this device: scores to set beside the CPU's prediction intervals."""
    import os

    from harness.command.resolve import resolve
    from harness.jobs.run import check_data, read_record, run

    small = {"max_steps": bench.sizes.tiny_steps}
    if bench.device == "cpu":
        small |= {"protocol.rows": 2, "protocol.n": 1, "protocol.ks": [1], "group_size": 2, "prompts_per_rollout": 2}
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("RLVR_HOME")
        os.environ["RLVR_HOME"] = folder
        try:
            arms = ["grpo"] if bench.device == "cpu" else ["grpo", "egsw"]
            jobs = resolve("egsw", arms=arms, seeds=[0], overrides=small)
            hardware = Hardware(device="gpu" if bench.device == "cuda" else "cpu")
            for path in run(jobs, hardware=hardware, data_dir=check_data(jobs, None), command="benchmarks.gpu"):
                record = read_record(path / "record.json")
                scores = {b: {k: v["value"] for k, v in of.items()} for b, of in record["scores"].items()}
                yield {"arm": record["arm"], "seconds": record["training"]["train_seconds"], "scores": scores}
        finally:
            if before is None:
                del os.environ["RLVR_HOME"]
            else:
                os.environ["RLVR_HOME"] = before


def determinism(bench: Bench) -> Iterator[dict[str, Any]]:
    """The same three steps twice: are the weights equal to the bit?"""
    name, a = next(iter(bench.sizes.shapes.items()))
    declared = experiment(bench, min(3, bench.sizes.steps))
    hardware = Hardware(device="gpu" if bench.device == "cuda" else "cpu", micro_batch=2, gradient_checkpointing=True)
    if not judge(declared, "trl", hardware, memory=bench.memory()).fits:
        raise ValueError("it does not fit")
    first, second = (_train(bench, a, declared, hardware)["weights"] for _ in range(2))
    yield {"shape": name, "equal": first == second, "weights": [first, second]}


PARTS: dict[str, Callable[[Bench], Iterator[dict[str, Any]]]] = {
    "steps": steps,
    "tokens": tokens,
    "methods": methods,
    "tiny": tiny,
    "determinism": determinism,
}

if __name__ == "__main__":
    sys.exit(main())
