"""A job: one arm with one seed at one scale, with every value and its source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.code_execution.programs import reward_of
from evals.data.benchmarks import OwnBenchmark
from evals.data.problem_file import ProblemFile
from evals.data.protocols import Protocol
from evals.files import file_sha256
from evals.fingerprint import model_fingerprint
from harness.spec import Context, Experiment, Sourced, Training
from harness.spec.declarations import ADDED, SELF
from harness.spec.own_code import own_code
from harness.spec.scales import base_name
from harness.step import own_rewards

YAML = (".yaml", ".yml")
REFERENCE = "reference_model"


@dataclass(frozen=True)
class Job:
    """One arm with one seed: what is trained (or not), and how the model is then evaluated."""

    paper: str
    model: str
    arm: str
    title: str
    scale: str
    backend: str
    seed: int
    base_model: Sourced[str]
    experiment: Training | None  # None: the base model is evaluated untrained
    protocol: Protocol
    command_line: Mapping[str, object]  # every value that the command line replaced, in any arm
    context: Context | None = None  # where the base model's own is too short

    def settings(self) -> dict[str, Sourced[object]]:
        """Every value with its source: those of the experiment, and those of the protocol as `protocol.<name>`."""
        settings = {"base_model": self.base_model} if self.experiment is None else self.experiment.settings()
        if self.context is not None:
            settings = settings | {f"context.{key}": sourced for key, sourced in self.context.settings().items()}
        return settings | {f"protocol.{k}": v for k, v in self.protocol.sourced().items()}

    @property
    def overrides(self) -> dict[str, object]:
        """The values that the command line replaced in this arm."""
        return {key: value for key, value in self.command_line.items() if key in self.settings()}

    @property
    def updates(self) -> int:
        """Optimiser steps of a rollout. 1 without rollouts."""
        return 1 if self.experiment is None else self.experiment.updates

    def own_files(self) -> dict[str, str]:
        """SHA-256 of each of the user's files, functions and models beside the base model that decide the result, by
        name."""
        values = {key: sourced.value for key, sourced in self.settings().items()}
        uses = self.experiment.method.uses() if isinstance(self.experiment, Experiment) else ()
        functions = {f"equation {use.name}": use.function for use in uses}
        functions |= {f"extraction {name}": reward_of(name) for name in _extractions(values) if ":" in name}
        hashes = {name: sha256 for name, function in functions.items() if (sha256 := own_code(function))}
        reference = {REFERENCE: model_fingerprint(str(values[REFERENCE]))} if _in_folder(values, REFERENCE) else {}
        return own_files(values) | hashes | reference

    @property
    def digest(self) -> str:
        """Eight hex digits that identify everything that decides the result, except the seed, the code and the weights
        of a base model in a folder, whose hash stands beside it in a run's name. Files count by name and content,
        not by their folders, so that the seeds of several machines are one arm's. The reference model in a folder
        counts by its content alone."""
        values = {
            key: sourced.value
            for key, sourced in self.settings().items()
            if key not in ADDED or sourced.value != ADDED[key]
        }
        values |= {key: "a folder" for key in ("base_model", REFERENCE) if _in_folder(values, key)}
        folders = {f"{path.parent}/" for _, path in _named(values) if path.parent.name}
        identity: dict[str, object] = {
            "names": [self.paper, self.model, self.arm, self.scale, self.backend],
            "values": _without(values, folders),
        }
        if files := self.own_files():
            identity["files"] = sorted((_without(name, folders), sha256) for name, sha256 in files.items())
        text = json.dumps(identity, sort_keys=True, default=list)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def trained(self) -> str:
        """The base model that is trained, for people: `model` unless the scale or the user replaced the paper's."""
        return base_name(self.model, self.base_model.value, self.base_model.origin)

    @property
    def label(self) -> str:
        return f"{self.trained}/{self.arm}"

    @property
    def name(self) -> str:
        return f"{self.label}/seed{self.seed}"


def own_files(values: Mapping[str, object]) -> dict[str, str]:
    """Name -> SHA-256 of the file, for every value that names a user's file.

    Args:
        values: of a job's `settings()`, by key.
    """
    return {name: file_sha256(path) for name, path in sorted(_named(values))}


def _in_folder(values: Mapping[str, object], key: str) -> bool:
    """Whether the model of this key is a folder."""
    return values.get(key) not in (None, SELF) and Path(str(values[key])).is_dir()


def _extractions(values: Mapping[str, Any]) -> Collection[str]:
    """The policies of extraction of all benchmarks."""
    given = values["protocol.extraction"]
    return given.values() if isinstance(given, Mapping) else [given]


def _without(value: object, folders: Collection[str]) -> object:
    """The value with these beginnings of paths cut off, in every text that it holds."""
    if isinstance(value, str):
        for folder in sorted(folders, key=len, reverse=True):
            value = value.replace(folder, "")
        return value
    if isinstance(value, Mapping):
        return {key: _without(part, folders) for key, part in value.items()}
    return [_without(part, folders) for part in value] if isinstance(value, (list, tuple)) else value


def _named(values: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    data = ProblemFile.parse(values.get("dataset") or "")
    for part in (*data.path.split(":"), *data.columns.values()):  # FILE, NAME:FILE, and a file of verdicts
        if Path(part).is_file():
            yield f"dataset {part}", Path(part)
    for name in values.get("rewards", ()):
        if own_rewards.is_own(name):
            yield name, own_rewards.source_of(name)
    for key in ("prompt", "protocol.prompt"):
        given = values.get(key)
        for name in given.values() if isinstance(given, Mapping) else [given]:
            if isinstance(name, str) and name.endswith(YAML):
                yield name, Path(name)
    examples = values.get("protocol.examples")
    for name in examples.values() if isinstance(examples, Mapping) else [examples]:
        if isinstance(name, str):
            yield name, Path(name)
    for name in values.get("protocol.benchmarks", ()):
        if isinstance(name, OwnBenchmark):
            yield name, Path(name.file.path)
