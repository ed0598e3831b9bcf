"""Files of your own that decide a job's result: code of rewards, prompts, benchmarks. Part of the job's identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evals.data import benchmarks
from evals.files import file_sha256
from harness.step import own_rewards

YAML = (".yaml", ".yml")


def own_files(values: Mapping[str, Any]) -> dict[str, str]:
    """Name -> SHA-256 of the file, for every value that names a user's file. Training data are excluded: the training's
    record has their hash.

    Args:
        values: of a job's `settings()`, by key.
    """
    return {name: file_sha256(path) for name, path in sorted(_named(values))}


def _named(values: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    for name in values.get("rewards", ()):
        if own_rewards.is_own(name):
            yield name, own_rewards.source_of(name)
    for key in ("prompt", "protocol.prompt"):
        given = values.get(key)
        for name in given.values() if isinstance(given, Mapping) else [given]:
            if isinstance(name, str) and name.endswith(YAML):
                yield name, Path(name)
    for name in values.get("protocol.benchmarks", ()):
        if name in benchmarks.OWN:
            yield name, benchmarks.OWN[name]
            yield f"{name}, its problems", benchmarks.OWN[name].parent / benchmarks.task(name)["file"]
