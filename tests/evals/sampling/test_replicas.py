from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.sampling import engines
from evals.sampling.engines import EngineError, Request
from evals.sampling.engines.replicas import Replicas, cut
from tests.evals.sampling.scripted import DECODING, Scripted, generated, some_requests

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replicas]:
    monkeypatch.setattr(Replicas, "_visible", lambda _: ["4", "GPU-b"])
    made = Replicas(Scripted, "m", count=2, options={"batch_rows": 3})
    yield made
    made.close()


@given(st.integers(0, 50), st.integers(1, 9), st.integers(1, 9))
def test_pieces_are_whole_ordered_and_enough(count: int, rows: int, replicas: int) -> None:
    requests = some_requests(count)
    pieces = cut(requests, rows, replicas)
    assert [r for piece in pieces for r in piece] == requests
    assert all(1 <= len(piece) <= rows for piece in pieces)
    if count >= replicas * rows:  # then they are the batches that a single engine forms
        assert [len(piece) for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)


def test_each_request_once_on_one_gpu_each(two: Replicas, tmp_path: Path) -> None:
    done = generated(two, some_requests(14))
    words = {key[0]: c.text.split() for key, c in done.items()}
    assert {key: int(seed) for key, (seed, *_) in words.items()} == {f"p{i}": i for i in range(14)}
    assert [int(words[f"p{i}"][1]) for i in range(14)] == [3] * 12 + [2] * 2  # 14 in pieces of 3
    before = {process for _, _, process, _ in words.values()}
    met = generated(two, some_requests(0, *[f"meet {tmp_path}"] * 2))  # each waits for the other
    places = {tuple(c.text.split()[2:]) for c in met.values()}
    assert {device for _, device in places} == {"4", "GPU-b"} and len(places) == 2
    assert before <= {process for process, _ in places}, "the processes stay for the next request"
    assert str(os.getpid()) not in {process for process, _ in places}


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("die", EngineError, "a replica died"),
        ("fail", EngineError, "a replica failed: KeyError: 'no such thing'"),
        ("refuse", ValueError, "problem 'f0' is too long"),
    ],
)
def test_a_fault_is_reported_and_the_next_request_starts_fresh(
    two: Replicas, fault: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        generated(two, some_requests(6, fault))
    assert len(generated(two, some_requests(6))) == 6


def test_replicas_end_when_the_caller_stops(two: Replicas) -> None:
    batches = two.generate(some_requests(3, "wait", "wait", "wait"), DECODING)
    process = int(next(batches)[0].text.split()[2])  # the process of the first piece. Another piece waits.
    batches.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


PARENT = """
from evals.sampling.engines import Decoding, Request
from evals.sampling.engines.replicas import Replicas
from tests.evals.sampling.scripted import Scripted
requests = [Request(("p", i), text, 0) for i, text in enumerate(["say", "wait"])]
pair = Replicas(Scripted, "m", count=1, options={"batch_rows": 1})
for batch in pair.generate(requests, Decoding(1.0, 1.0, 9)):
    print(batch[0].text.split()[2], flush=True)
"""


def test_replicas_end_with_a_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    process = int(parent.stdout.readline())  # the replica is now in the middle of "wait"
    watch = os.pidfd_open(process)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    import select

    assert select.select([watch], [], [], 60)[0], "the replica still runs"  # readable once the process is gone


def test_impossible_replica_counts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="replicas=0, expected >= 1"):
        Replicas(Scripted, "m", count=0)
    monkeypatch.setattr(Replicas, "_visible", lambda _: ["0", "1"])
    short = Replicas(Scripted, "m", count=3)
    with pytest.raises(ValueError, match=r"replicas=3, .*Expected at most 2"):
        generated(short, some_requests(3))


@pytest.mark.exhaustive
def test_two_replicas_of_a_real_model_give_what_one_gives(model_dir: Path) -> None:
    single = engines.create("transformers", str(model_dir), device="cpu", batch_rows=4)
    pair = engines.create("transformers", str(model_dir), device="cpu", batch_rows=4, replicas=2)
    requests = [Request((f"p{i}", 0), "<|user|>ab<|assistant|>", i) for i in range(8)]
    try:
        alone = {
            c.key: c for start in (0, 4) for b in single.generate(requests[start : start + 4], DECODING) for c in b
        }
        assert generated(pair, requests) == alone
    finally:
        pair.close()  # type: ignore[attr-defined]
