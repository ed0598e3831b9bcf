"""Evaluate a model during its training: `eval.every=K` with its own protocol, and which snapshots to keep.

    <run>/curve/step-<k>/     samples and verdicts of the model after k optimiser steps. Step 0 is the base model
    <run>/curve.jsonl         one line for each: {"step": k, "scores": {benchmark: {metric: score}}}

The evaluations do not change the training and are not part of a job's digest. Each score is a metric of the run,
`curve/<benchmark>/<metric>`, at its step: their protocol is not that of `eval/...`.

On a GPU the vLLM of the rollouts evaluates, which has the weights, if it is in the training's only process
(`in_rollouts_engine`). Other trainings fill their GPUs, and in several processes one evaluation that fails would end
them. So their snapshots wait on disk, and `hardware.engine` measures them on all GPUs when the training has ended. On a
CPU transformers evaluates each at once.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evals.data.protocols import Protocol
from evals.files import append_jsonl, mend_jsonl, read_jsonl
from evals.sampling.engines.base import Engine
from harness.backends import backend
from harness.backends.engine import sampling_engine
from harness.backends.snapshots import Held, snapshots
from harness.command.watch import Watch, due
from harness.plan.costs import in_rollouts_engine
from harness.record.record import CURVE, run_identity
from harness.record.run import Run
from harness.record.write import Recorder
from harness.spec.hardware import Hardware
from harness.spec.job import Job


class Watcher:
    """Evaluates and logs the base model and each snapshot once, and deletes the snapshots that are not kept."""

    def __init__(
        self, job: Job, base: str, watch: Watch, recorder: Recorder, hardware: Hardware, data_dir: str | None
    ) -> None:
        self.job, self.base, self.watch, self.folder, self.recorder = job, base, watch, recorder.folder, recorder
        self.hardware, self.data_dir = hardware, data_dir
        self.inside = in_rollouts_engine(job, hardware, watch)
        self.protocol: Protocol = watch.protocol(job.protocol)
        self.stride = 1 if job.experiment is None else backend(job.backend).stride(job.experiment)
        mend_jsonl(self.folder / CURVE)

    def __call__(self, held: Held | None = None, *, ended: bool = False) -> None:
        """Evaluate what is new and need not wait, in order of the steps. A held model by the engine that has its
        weights. `ended`: the training has. Nothing waits."""
        waits = (self.inside or self.hardware.device == "gpu") and not ended
        models: list[tuple[int, Path | str]] = [(0, self.base), *snapshots(self.folder / "train")]
        for step, model in models:
            if self.watch.every and due(step, self.watch.every, self.stride):
                has = held if self.inside and held is not None and held.step == step else None
                if waits and has is None:
                    continue
                self.measure(step, model, held=has)
            if step and not (self.watch.keep and due(step, self.watch.keep, self.stride)):
                shutil.rmtree(model)

    def measure(self, step: int, model: Path | str, *, held: Held | None = None) -> None:
        """Evaluate the model of one step, unless already done. An interrupted evaluation begins anew, maybe by another
        engine."""
        from evals.sampling.evaluate import evaluate

        rows = {row["step"]: row for row in read_jsonl(self.folder / CURVE, "step")}
        if step not in rows:
            out_dir = self.folder / "curve" / f"step-{step:06d}"
            arguments: dict[str, Any] = {
                "out_dir": out_dir,
                "data_dir": self.data_dir,
                "seed": self.job.seed,
                "progress": False,
            }
            arguments["run"] = run_identity(Run(self.folder).record)
            shutil.rmtree(out_dir, ignore_errors=True)
            longest = self.protocol.longest
            with own_engine(self.hardware, str(model), longest) if held is None else held.engine(str(model)) as engine:
                verdicts = evaluate(model, self.protocol, engine=engine, **arguments)
            rows[step] = {"step": step, "scores": scores_of(verdicts, self.protocol)}
            append_jsonl(self.folder / CURVE, rows[step])
        self.recorder.metrics(step, {f"curve/{name}": value for name, value in flat(rows[step]["scores"]).items()})


def own_engine(hardware: Hardware, model: str, longest: int) -> AbstractContextManager[Engine]:
    """The engine for evaluations apart from the rollouts': on a GPU that of the settings, in processes of its own.
    On a CPU transformers, in this one."""
    if hardware.device == "cpu":
        return nullcontext(sampling_engine(replace(hardware, engine="transformers", engine_replicas=1), model))
    engine: Any = sampling_engine(hardware, model, longest, apart=True)
    return closing(engine)


def scores_of(verdicts: Mapping[str, Path], protocol: Protocol) -> dict[str, dict[str, object]]:
    """The scores of each benchmark, by key, from its file of verdicts."""
    from evals.files import read_parquet
    from evals.stats.score import score
    from evals.stats.verdict_table import REPORTED

    return {
        name: {s.key: asdict(s) for s in score(read_parquet(path), ks=protocol.value("ks", name), metrics=REPORTED)}
        for name, path in verdicts.items()
    }


def flat(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """{benchmark/metric: value} of the scores that have a value."""
    return {
        f"{benchmark}/{key}": score["value"]
        for benchmark, benchmark_scores in scores.items()
        for key, score in benchmark_scores.items()
        if score["value"] is not None and math.isfinite(score["value"])
    }
