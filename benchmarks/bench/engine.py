"""Sampling: the transformers engine against `model.generate`, and a whole evaluation against lm-eval's own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.bench.timing import Row, medians

SAMPLES, TOKENS = 16, 64


def run(rounds: int) -> Iterator[Row]:
    from tests.evals.conftest import make_model

    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder) / "model", hidden=64, spread=0.02)  # near uniform: few samples end early
        yield _generate(model, rounds)
        yield _evaluate(model, Path(folder), rounds)


def _generate(path: Path, rounds: int) -> Row:
    import torch

    from evals.sampling.engines import Decoding, Request
    from evals.sampling.engines.transformers import TransformersEngine

    engine = TransformersEngine(str(path), device="cpu")
    texts = [f"What is {a} plus {b}? " + "Think. " * (a % 4) for a, b in zip(range(12), range(30, 42), strict=True)]
    requests = [Request((text, s), text, 100 * i + s) for i, text in enumerate(texts) for s in range(SAMPLES)]
    encoded = engine.tokenizer(texts, return_tensors="pt", padding=True)
    counts: dict[str, int] = {}

    def ours() -> None:
        done = [c for batch in engine.generate(requests, Decoding(1.0, 1.0, TOKENS)) for c in batch]
        counts["ours"] = sum(c.tokens for c in done)

    def theirs() -> None:
        torch.manual_seed(0)
        out = engine.model.generate(
            **encoded, do_sample=True, temperature=1.0, top_p=1.0, top_k=0, max_new_tokens=TOKENS,
            num_return_sequences=SAMPLES,
        )  # fmt: skip
        new = out[:, encoded["input_ids"].shape[1] :]
        ended = (new == engine.tokenizer.eos_token_id).int()
        counts["theirs"] = int(((ended.cumsum(1) - ended) == 0).sum())  # up to the first end token, itself included

    seconds = medians({"ours": ours, "theirs": theirs}, rounds)
    return Row(
        "engine", "tokens/s", counts["ours"] / seconds["ours"], counts["theirs"] / seconds["theirs"], "model.generate",
        rounds, f"{len(texts)} prompts x {SAMPLES} samples of at most {TOKENS} tokens; random model, CPU; ours uses a "
        "separate random stream for each sample",
    )  # fmt: skip


def _evaluate(model: Path, folder: Path, rounds: int) -> Row:
    from evals.data import protocols
    from evals.provenance import Origin
    from evals.sampling.evaluate import evaluate
    from harness.data.tiny import write_benchmarks

    data = folder / "data"
    data.mkdir()
    write_benchmarks(data)
    values = {"benchmarks": ("tiny_short",), "n": SAMPLES, "ks": (1,), "max_tokens": TOKENS}
    protocol = protocols.get("tiny").override(values, Origin.USER, "a benchmark of speed")
    rows: dict[str, int] = {}
    number = iter(range(10**6))

    def ours() -> None:
        import pyarrow.parquet as pq

        tables = evaluate(model, protocol, out_dir=folder / f"out{next(number)}", data_dir=data, progress=False)
        rows["ours"] = pq.read_metadata(tables["tiny_short"]).num_rows

    def theirs() -> None:
        import lm_eval

        result: Any = lm_eval.simple_evaluate(
            model="hf", model_args={"pretrained": str(model), "dtype": "float32"}, device="cpu",
            tasks=[_task(data)], batch_size=512, log_samples=True, bootstrap_iters=0, verbosity="ERROR",
            gen_kwargs=f"do_sample=True,temperature=1.0,max_gen_toks={TOKENS}",
        )  # fmt: skip
        rows["theirs"] = sum(len(s["resps"][0]) for s in result["samples"]["tiny_short"])

    seconds = medians({"ours": ours, "theirs": theirs}, rounds)
    if rows["ours"] != rows["theirs"]:
        raise RuntimeError(f"not the same work: {rows} samples")
    return Row(
        "evaluator", "samples/s",
        rows["ours"] / seconds["ours"], rows["theirs"] / seconds["theirs"], "lm_eval --model hf",
        rounds, f"{rows['ours']} samples generated and graded by each, with the same grader; imports not counted",
    )  # fmt: skip


def _task(data: Path) -> Any:
    """The task of the same file, as lm-eval loads it, with as many samples a problem."""
    from lm_eval.tasks import TaskManager

    from evals.data import benchmarks

    metadata: dict[str, Any] = {"data_dir": str(data), "repeats": SAMPLES, "ks": [1]}
    manager = TaskManager(include_path=str(benchmarks.TASKS), include_defaults=False, metadata=metadata)
    task: Any = manager.load(["tiny_short"])["tasks"]["tiny_short"]
    return task
