"""Replicas on a Ray cluster, started here; what needs no Ray runs everywhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.sampling import engines
from evals.sampling.engines import EngineError
from evals.sampling.engines.ray import RayEngine, _alike
from evals.sampling.evaluate import evaluate
from tests.evals.sampling.scripted import DECODING, FACTORY, generated, some_requests
from tests.evals.sampling.toy import protocol, set_up

ROOT = Path(__file__).parents[3]
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed here (pip install ray==2.60.0)")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two machines, as Ray sees it, with one CPU each."""
    import os

    import ray
    from ray.cluster_utils import Cluster

    paths = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)  # the project is installed on every machine
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()
    os.environ.pop("PYTHONPATH") if paths is None else os.environ.__setitem__("PYTHONPATH", paths)


@needs_ray
def test_each_request_once_over_both_machines(address: str, model_dir: Path) -> None:
    engine = RayEngine(FACTORY, str(model_dir), address=address, replicas=2, options={"batch_rows": 3})
    try:
        assert engine.describe() == {"name": "scripted", "model": str(model_dir)}
        assert engine.chunk_rows == 3 * 2 * 16
        words = {key[0]: c.text.split() for key, c in generated(engine, some_requests(14)).items()}
        assert {key: int(seed) for key, (seed, *_) in words.items()} == {f"p{i}": i for i in range(14)}
        assert len({process for _, _, process, _ in words.values()}) == 2
        with pytest.raises(ValueError, match="problem 'f0' is too long"):
            generated(engine, some_requests(2, "refuse"))
        with pytest.raises(EngineError, match="no such thing"):
            generated(engine, some_requests(2, "fail"))
        assert len(generated(engine, some_requests(4))) == 4
    finally:
        engine.close()


@needs_ray
def test_a_killed_replica_starts_again_and_loses_nothing(address: str, model_dir: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle of a piece: it is sampled again, from the same seeds. One that dies each time is named."""
    engine = RayEngine(FACTORY, str(model_dir), address=address, replicas=2, options={"batch_rows": 3})
    died = tmp_path / "died"
    try:
        words = {key[0]: c.text.split() for key, c in generated(engine, some_requests(14, f"die {died}")).items()}
        assert died.exists()
        # Request f0 has seed 0
        assert {key: int(seed) for key, (seed, *_) in words.items()} == {**{f"p{i}": i for i in range(14)}, "f0": 0}
        with pytest.raises(EngineError, match="a replica on the cluster failed"):
            generated(engine, some_requests(2, "die"))
        assert len(generated(engine, some_requests(4))) == 4  # new ones
    finally:
        engine.close()


@needs_ray
def test_the_file_is_that_of_one_engine(
    address: str, tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = set_up(tmp_path, model_dir, monkeypatch)
    how = protocol(4, max_tokens=12)
    options: dict[str, Any] = {"device": "cpu", "batch_rows": 4}
    one = engines.create("transformers", str(model_dir), **options)
    alone = evaluate(protocol=how, engine=one, **place)["toy"]
    many = engines.create("ray", str(model_dir), inner="transformers", address=address, replicas=2, **options)
    try:
        spread = evaluate(protocol=how, engine=many, **{**place, "out_dir": tmp_path / "spread"})["toy"]
        assert spread.read_bytes() == alone.read_bytes()
        more = protocol(6, max_tokens=12)
        evaluate(protocol=more, engine=many, **place)  # one resumes what the other started
    finally:
        many.close()  # type: ignore[attr-defined]


@needs_ray
def test_replicas_that_the_cluster_cannot_hold_are_refused(address: str, model_dir: Path) -> None:
    for options, message in (
        ({"replicas": 3}, "replicas=3 of 0 GPUs and 1 CPUs each do not fit the cluster, which has 0 GPUs and 2 CPUs"),
        ({"gpus": 1.0}, "do not fit the cluster"),
    ):
        with pytest.raises(ValueError, match=message):
            RayEngine(FACTORY, str(model_dir), address=address, **options).describe()
    with pytest.raises(ValueError, match="replicas=0"):
        RayEngine(FACTORY, str(model_dir), replicas=0)


def test_replicas_must_be_alike() -> None:
    same = ("f", 4, {"device": "cpu"})
    assert _alike([same, same], "f") == (4, {"device": "cpu"})
    with pytest.raises(ValueError, match="a replica's model hashes to g, the driver's to f"):
        _alike([same, ("g", 4, {"device": "cpu"})], "f")
    with pytest.raises(ValueError, match="the replicas differ"):
        _alike([same, ("f", 4, {"device": "cuda"})], "f")


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")
def test_missing_ray_is_named() -> None:
    with pytest.raises(ValueError, match="Ray is not installed"):
        engines.create("ray", "m")


def test_options_of_the_inner_engine() -> None:
    with pytest.raises(ValueError, match="inner: got 'vlm', did you mean 'vllm'"):
        engines.create("ray", "m", inner="vlm")
    with pytest.raises(ValueError, match="engine transformers, option: got 'context'"):
        engines.create("ray", "m", inner="transformers", context=5)


def test_after_a_failure_no_dead_replica_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last busy replica dies: no other is busy, and yet the next request must start new ones. Ray is made up."""
    killed: list[Any] = []

    class Died(Exception):
        pass

    def get(piece: Any) -> Any:
        if piece == "dies":
            raise Died("killed")
        return [piece]

    fake = SimpleNamespace(
        wait=lambda pieces: (pieces[:1], pieces[1:]),
        get=get,
        kill=killed.append,
        exceptions=SimpleNamespace(RayError=Died),
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    engine = RayEngine.__new__(RayEngine)
    actors = [SimpleNamespace(generate=SimpleNamespace(remote=lambda piece, _: piece)) for _ in range(2)]
    engine._actors = list(actors)
    given: Any = deque(["fine", "dies"])
    with pytest.raises(EngineError, match="a replica on the cluster failed: killed"):
        list(engine._hand_out(given, DECODING))
    assert killed == actors
    assert engine._actors == []
    engine._actors = list(actors)
    assert list(engine._hand_out(deque(["a", "b", "c"]), DECODING)) == [["a"], ["b"], ["c"]]  # type: ignore[list-item]
    assert engine._actors == actors
