"""Copies of an engine on the machines of a Ray cluster that is already running.

Requests are cut into pieces, each idle replica takes the next, and samples depend on their seeds: the result equals
that of one engine, as far as the engine itself guarantees it (`describe()` is the replicas' own). Every machine needs
this project and the model under the same path, or a hub id; each replica hashes its copy, and a copy that differs from
the driver's is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evals.fingerprint import model_fingerprint
from evals.sampling.engines.base import Completion, Decoding, EngineError, Request
from evals.sampling.engines.local import ModelFiles
from evals.sampling.engines.replicas import CHUNK_PIECES, cut, load_factory

RESTARTS = 2  # of a replica whose machine disappeared; its piece is generated again, from the same seeds


class Replica:
    """One engine inside an actor."""

    def __init__(self, factory: str, model_path: str, options: Mapping[str, Any]) -> None:
        self._model_path = model_path
        self._engine: Any = load_factory(factory)(model_path, **options)

    def describe(self) -> tuple[str, int, dict[str, Any]]:
        """The model's fingerprint on that machine, the engine's chunk_rows and its description."""
        return model_fingerprint(self._model_path), self._engine.chunk_rows, self._engine.describe()

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> list[Completion]:
        return [completion for batch in self._engine.generate(requests, decoding) for completion in batch]


class RayEngine(ModelFiles):
    """`replicas` actors that each hold the engine `factory(model_path, **options)`; they start at `describe()`.

    Args:
        factory: "module:name" of an engine's class.
        address: the cluster's, as `ray start` prints it; None is the one that Ray finds (RAY_ADDRESS, this machine).
        replicas: how many; None is one for each GPU of the cluster, or one where it has none.
        gpus, cpus: Ray reserves these for each; None is one GPU (if the cluster has any) and one CPU.
    Raises:
        ValueError: Ray is not installed, or replicas < 1.
    """

    def __init__(
        self,
        factory: str,
        model_path: str,
        *,
        options: Mapping[str, Any] | None = None,
        address: str | None = None,
        replicas: int | None = None,
        gpus: float | None = None,
        cpus: float | None = None,
    ) -> None:
        _need_ray()
        if replicas is not None and replicas < 1:
            raise ValueError(f"replicas={replicas}, expected >= 1")
        super().__init__(model_path)
        self.context = None  # its replicas know
        self._job = (factory, model_path, dict(options or {}))
        self._address, self._count, self._gpus, self._cpus = address, replicas, gpus, cpus
        self._actors: list[Any] = []
        self._rows = 0
        self._description: dict[str, Any] = {}

    @property
    def chunk_rows(self) -> int:
        self._start()
        return self._rows * len(self._actors) * CHUNK_PIECES

    def describe(self) -> dict[str, Any]:
        """The description of the replicas; their location changes no sample.

        Raises:
            ValueError: the cluster has no room for them, they differ, or one has another model.
        """
        self._start()
        return self._description

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """One completion for each request, a piece at a time.

        Raises:
            ValueError: a replica refused a request. EngineError: a replica failed.
        """
        if not requests:
            return
        self._start()
        pieces = deque(cut(requests, self._rows, len(self._actors)))
        yield from self._hand_out(pieces, decoding)

    def close(self) -> None:
        """End the replicas."""
        import ray

        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _hand_out(self, pieces: deque[Sequence[Request]], decoding: Decoding) -> Iterator[list[Completion]]:
        import ray

        busy: dict[Any, Any] = {}
        for actor in self._actors[: len(pieces)]:
            busy[actor.generate.remote(pieces.popleft(), decoding)] = actor
        finished = False
        try:
            while busy:
                for done in ray.wait(list(busy))[0]:
                    actor = busy.pop(done)
                    if pieces:
                        busy[actor.generate.remote(pieces.popleft(), decoding)] = actor
                    yield _result(done)
            finished = True
        finally:
            if not finished:  # replicas may still work on abandoned requests, or one is dead
                self.close()

    def _start(self) -> None:
        if self._actors:
            return
        import ray

        if not ray.is_initialized():
            try:
                ray.init(address=self._address or "auto", log_to_driver=False, logging_level="ERROR")
            except ConnectionError as error:
                raise ValueError(f"address={self._address!r}: no Ray cluster answers there ({error})") from error
        count, gpus, cpus = self._room(ray.cluster_resources())
        actor = ray.remote(num_cpus=cpus, num_gpus=gpus, max_restarts=RESTARTS, max_task_retries=RESTARTS)(Replica)
        self._actors = [actor.remote(*self._job) for _ in range(count)]
        try:
            descriptions = [_result(actor.describe.remote()) for actor in self._actors]
            self._rows, self._description = _alike(descriptions, model_fingerprint(self.model_path))
        except BaseException:
            self.close()
            raise

    def _room(self, resources: Mapping[str, float]) -> tuple[int, float, float]:
        has_gpus, has_cpus = resources.get("GPU", 0.0), resources.get("CPU", 0.0)
        gpus = self._gpus if self._gpus is not None else float(has_gpus > 0)
        cpus = self._cpus if self._cpus is not None else 1.0
        count = self._count or (int(has_gpus / gpus) if gpus > 0 else 1)
        if count < 1 or count * gpus > has_gpus or count * cpus > has_cpus:
            raise ValueError(
                f"replicas={count} of {gpus:g} GPUs and {cpus:g} CPUs each do not fit the cluster, which has "
                f"{has_gpus:g} GPUs and {has_cpus:g} CPUs"
            )
        return count, gpus, cpus


def _alike(descriptions: Sequence[tuple[str, int, dict[str, Any]]], model: str) -> tuple[int, dict[str, Any]]:
    """The description that all replicas share.

    Raises:
        ValueError: they differ, or hold another model than the driver's.
    """
    for fingerprint, rows, description in descriptions:
        if fingerprint != model:
            raise ValueError(f"a replica's model hashes to {fingerprint}, the driver's to {model}; expected one model")
        if (rows, description) != descriptions[0][1:]:
            raise ValueError(
                f"the replicas differ: {descriptions[0][2]} and {description}; expected machines that are alike"
            )
    return descriptions[0][1], descriptions[0][2]


def _result(reference: Any) -> Any:
    import ray

    try:
        return ray.get(reference)
    except ValueError:  # the engine's own refusal, carried here by Ray
        raise
    except ray.exceptions.RayError as error:
        raise EngineError(f"a replica on the cluster failed: {error}") from error


def _need_ray() -> None:
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise ValueError("Ray is not installed; expected `pip install rlvr-harness[ray]`")
