"""The interface of a backend: what it can train, what it needs, and how to start it.

A backend is a folder of `harness.backends` (or any module) with an object of this class named BACKEND, and an entry in
`harness.command.resolve.BACKENDS`. Its content must be fast to import: trainers are imported when they are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from harness.backends.memory import Need
from harness.backends.seconds import Rules, StepSeconds
from harness.spec import Experiment, Training
from harness.spec.architecture import Architecture
from harness.spec.hardware import Gpu, Hardware

if TYPE_CHECKING:
    from harness.record.write import Recorder
    from harness.spec.job import Job

H = TypeVar("H", bound=Hardware)


class Backend(ABC, Generic[H]):
    """A trainer, and what the rest of the harness asks it. H: the class of its machine settings.

    Attributes:
        hardware: that class. label: beside the name of an arm in tables, or "" for the usual backend.
        profile: the settings of a machine profile beside the common ones. nodes: whether it trains on several machines.
        in_process: whether it trains in the process that asks, where that is one process.
    """

    hardware: type[H]
    label: ClassVar[str] = ""
    profile: ClassVar[Mapping[str, Any]] = {}
    nodes: ClassVar[bool] = False
    in_process: ClassVar[bool] = False

    @abstractmethod
    def check(self, training: Training, hardware: H) -> None:
        """Raise ValueError (`CannotExpress` is one) for values that the backend cannot train with. Fast. Starts
        nothing."""

    def ready(self, hardware: H) -> None:
        """Raise ValueError if this machine cannot run it: not installed, no answer, too little memory."""

    def stride(self, training: Training) -> int:
        """Optimiser steps between two moments at which a model in training can be saved."""
        return 1

    @abstractmethod
    def launch(self, job: Job, base_model: str, out_dir: Path, recorder: Recorder, hardware: H) -> dict[str, Any]:
        """Train `job` into `out_dir/final`, from its last complete checkpoint if there is one.

        Returns:
            The training's part of the record: steps, rows, hash of the data, seconds.
        Raises:
            Diverged: a quantity of a step was not finite. ValueError: the training data are wrong.
            RuntimeError: the training processes ended with an error. Interrupted: a signal asked to stop.
        """

    def config(self, training: Training, hardware: H, *, seed: int, out_dir: Path) -> dict[str, Any]:
        """The trainer's own configuration, for `rlvr config`.

        Raises:
            CannotExpress, ValueError: as `check`, or the trainer's own schema refuses it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no configuration to show")

    @abstractmethod
    def need(self, a: Architecture, training: Training, hardware: H, gpu_memory: float) -> Need:
        """Memory of one training device, which has `gpu_memory` bytes."""

    @abstractmethod
    def step_seconds(
        self, a: Architecture, gpu: Gpu, e: Experiment, hardware: H, rules: Rules, mean: float | None
    ) -> StepSeconds:
        """Time of one rollout and its updates on all devices. `mean`: published mean length of a response, or None."""

    def host(self, a: Architecture, training: Training, hardware: H) -> float:
        """Bytes of a machine's own memory, at most: each process loads float32 weights before its device has them."""
        return 4.0 * a.parameters * hardware.processes

    def colocated(self, training: Training, hardware: H) -> bool:
        """Whether a vLLM shares each device with the training, in its share `hardware.vllm_gpu_memory`."""
        return False

    def candidates(self, training: Training, base: H) -> Iterator[dict[str, Any]]:
        """Settings that a profile tries for an arm, from the fastest to the most memory-saving."""
        yield {}
