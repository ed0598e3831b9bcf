"""Resolve a declared base model on this machine."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

from evals.files import text_sha256, write_json
from evals.fingerprint import FILES, model_fingerprint
from harness.data.tiny.pinned import PINNED, pinned
from harness.spec import Context
from harness.spec.hardware import Hardware
from harness.spec.job import Job


def locate(base_model: str) -> str:
    """A folder or hub id that transformers can load. The name of a tiny family gives its pinned base model."""
    return str(pinned(base_model)) if base_model in PINNED else base_model


def located(job: Job, into: Path) -> str:
    """The base model of a job. With a declared context, a folder under `into` with that context in its configuration,
    from which training, sampling and evaluation all read it."""
    base = locate(job.base_model.value)
    return base if job.context is None else extended(base, job.context, into)


def fingerprint(base: str, hardware: Hardware) -> str:
    """The identity of a base model: the hash of its content, or of its name and place on a server."""
    if hardware.sampler.served:
        return text_sha256(f"{base} at {hardware.engine_url}")
    return model_fingerprint(base)


def extended(base: str, context: Context, into: Path) -> str:
    """A folder with links to a model's files and its configuration with that context. A hub id is downloaded first."""
    return _extended(base, context.positions.value, context.rope_theta.value, into)


@cache
def _extended(base: str, positions: int, rope_theta: float, into: Path) -> str:
    source = Path(base)
    if not source.is_dir():
        from huggingface_hub import snapshot_download

        source = Path(snapshot_download(base, allow_patterns=list(FILES)))
    name = base.replace("/", "--") if not Path(base).is_dir() else source.resolve().name
    folder = into / f"{name}-{positions}-{rope_theta:g}"
    folder.mkdir(parents=True, exist_ok=True)
    for file in {path for pattern in FILES for path in source.glob(pattern)}:
        link = folder / file.name
        if file.name != "config.json" and not link.exists():
            link.unlink(missing_ok=True)  # it leads to a snapshot that is gone
            os.symlink(file.resolve(), link)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["max_position_embeddings"] = positions
    if "rope_parameters" in config:  # as transformers 5 writes it
        config["rope_parameters"]["rope_theta"] = rope_theta
    else:
        config["rope_theta"] = rope_theta
    write_json(folder / "config.json", config)
    return str(folder)
