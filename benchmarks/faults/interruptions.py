"""Signals, and SIGKILL at random and at chosen moments."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.faults.lives import RUN, STEPS, after, difference, live, reached, result, when
from benchmarks.faults.rows import Row

SAVE_OFTEN = [*RUN, "hardware.save_every=1"]


def unbroken(root: Path) -> tuple[dict[str, Any], float]:
    """(the results of an uninterrupted run, its seconds)."""
    shutil.rmtree(root / "unbroken", ignore_errors=True)
    life = live(RUN, root / "unbroken")
    assert life.code == 0, life.err
    return result(root / "unbroken"), life.seconds


def signals(root: Path, expected: dict[str, Any]) -> Iterator[Row]:
    """After the first signal the run saves and exits with 75; the same command then ends with equal results."""
    row = Row(
        "A first SIGINT, SIGTERM or SIGUSR1 finishes the step, saves and exits with 75; the same command resumes",
        "each signal after step 2 of 6, before any checkpoint (save_every=50), then the command again: weights, "
        "verdicts and MLflow points equal those of an uninterrupted run",
    )
    for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
        home = root / name
        number = getattr(signal, name)
        life = live(RUN, home, meanwhile=when(reached(home, 2), lambda pid, n=number: os.kill(pid, n)))
        wrong = None
        if life.code != 75 or life.traceback or f"stopped by {name} after step" not in life.err:
            wrong = f"exit code {life.code}: {life.err[-300:]}"
        else:
            again = live(RUN, home)
            first = f"step {int(life.err.split('after step ')[1].split()[0]) + 1}/{STEPS}"
            if again.code != 0 or "step 1/6" in again.err or first not in again.err:
                wrong = f"the second command: exit code {again.code}: {again.err[-300:]}"
            else:
                wrong = difference(home, expected)
        row.check(name, wrong)
    yield row
    twice = Row("A second signal stops at once", "SIGTERM twice during a step; the resumed run ends with equal results")
    home = root / "twice"

    def two(pid: int) -> None:
        os.kill(pid, signal.SIGTERM)
        time.sleep(0.02)
        os.kill(pid, signal.SIGTERM)

    life = live(RUN, home, meanwhile=when(reached(home, 1), two))
    wrong = None if life.code in (143, 75) and not life.traceback else f"exit code {life.code}: {life.err[-300:]}"
    again = live(RUN, home)
    twice.check("SIGTERM twice", wrong or (difference(home, expected) if again.code == 0 else again.err[-300:]))
    yield twice
    saved = Row(
        "Checkpoints are also saved by time (every ten minutes by default)",
        "save_minutes=0.0001 with save_every=50, SIGKILL after step 3",
    )
    home = root / "by-time"
    often = [*RUN, "hardware.save_minutes=0.0001"]
    live(often, home, meanwhile=when(reached(home, 3), lambda pid: os.kill(pid, signal.SIGKILL)))
    again = live(often, home)
    late = "step 1/6" not in again.err and again.code == 0
    saved.check("by time", difference(home, expected) if late else f"it started from the beginning: {again.err[-300:]}")
    yield saved


def processes(root: Path) -> Row:
    """The same for a training in two processes (torchrun, gloo): a scheduler signals all of them at once."""
    row = Row(
        "A training in several processes: a first signal, to the command or to all of its processes, finishes the "
        "step, saves and exits with 75; the same command resumes",
        "hardware.processes=2; after step 2 of 6, before any checkpoint: SIGTERM to the command; SIGUSR1 to the "
        "command and each of its processes; then the command again: equal to an uninterrupted run of two processes",
    )
    two = [*RUN, "hardware.processes=2"]
    whole = root / "processes-unbroken"
    if not (whole / "done").exists():
        shutil.rmtree(whole, ignore_errors=True)
        life = live(two, whole, limit_s=1800)
        assert life.code == 0, life.err
        (whole / "done").touch()
    expected = result(whole)

    def every_one(pid: int) -> None:
        for one in [pid, *_under(pid)]:
            os.kill(one, signal.SIGUSR1)

    for name, send in (
        ("SIGTERM to the command", lambda pid: os.kill(pid, signal.SIGTERM)),
        ("SIGUSR1 to every process", every_one),
    ):
        if row.again(name):
            continue
        home = root / f"processes-{name.partition(' ')[0]}"
        shutil.rmtree(home, ignore_errors=True)
        life = live(two, home, meanwhile=when(reached(home, 2), send), limit_s=1800)
        if life.code != 75 or life.traceback or f"stopped by {name.partition(' ')[0]} after step" not in life.err:
            row.check(name, f"exit code {life.code}: {life.err[-400:]}")
            continue
        again = live(two, home, limit_s=1800)
        early = "step 1/6" in again.err
        wrong = f"the second command: exit code {again.code}: {again.err[-400:]}" if again.code or early else None
        row.check(name, wrong or difference(home, expected))
    return row


def _under(pid: int) -> list[int]:
    """All descendants of a process, grading processes included."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [one for child in children for one in (child, *_under(child))]


def random_kills(root: Path, expected: dict[str, Any], seconds: float, *, kills: int, seed: int) -> Row:
    """SIGKILL at random moments, repeated until the run is done."""
    row = Row(
        "SIGKILL at any moment loses nothing that was saved: weights, verdicts and MLflow points are equal, none "
        "doubled, none missing",
        f"kills at random moments over the length of an uninterrupted run ({STEPS} steps), until the run is done",
    )
    number = 0
    while row.tried < kills:
        number += 1
        if row.again(f"run {number}"):
            continue
        rng = random.Random(f"{seed}-{number}")
        home = root / f"random{number}"
        shutil.rmtree(home, ignore_errors=True)
        moments: list[float] = []
        while True:
            moment = rng.uniform(0, seconds)
            stop = row.tried + len(moments) >= kills
            life = live(SAVE_OFTEN, home, meanwhile=None if stop else after(moment, signal.SIGKILL))
            if life.code != -signal.SIGKILL:
                break
            moments.append(round(moment, 2))
        wrong = difference(home, expected) if life.code == 0 else f"exit code {life.code}: {life.err[-400:]}"
        row.check(f"run {number}", wrong and f"after kills at {moments} s: {wrong}", trials=len(moments))
        if wrong is None:
            shutil.rmtree(home)
    row.note = f"kills, in {number} runs"
    return row


def chosen_kills(root: Path, expected: dict[str, Any], *, most: int | None) -> Row:
    """SIGKILL before each moment at which something is written.

    One run is paused (SIGSTOP, all threads) at each moment while its folder is copied: a kill would leave the same
    files. The command then runs on each copy, in the original's place.
    """
    row = Row(
        "SIGKILL at every moment at which a file is written, renamed or sent to MLflow: weights, verdicts and MLflow "
        "points are equal, none doubled, none missing",
        "one run is paused before each such call (for MLflow also after it, so that the answer is lost) and its folder "
        "copied, as a kill would leave it; the command then runs on each copy",
    )
    home, events, moments = root / "chosen", root / "events", root / "moments.txt"
    if not (root / "moments-taken").exists():
        shutil.rmtree(home, ignore_errors=True)
        events.unlink(missing_ok=True)
        life = live(SAVE_OFTEN, home, inside=partial(_hold, events), meanwhile=partial(_copies, home, root, events))
        assert life.code == 0, life.err
        assert difference(home, expected) is None, "the paused and continued run ended with other results"
        (root / "moments-taken").touch()
    names = moments.read_text().splitlines()
    chosen = list(range(len(names)))
    if most is not None and most < len(chosen):
        chosen = sorted(random.Random(0).sample(chosen, most))
    for number in chosen:
        name = f"{number}: {names[number]}"
        if row.again(name):
            continue
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(root / "moments" / str(number), home)
        again = live(SAVE_OFTEN, home)
        wrong = difference(home, expected) if again.code == 0 else f"exit code {again.code}: {again.err[-400:]}"
        row.check(name, wrong)
        if wrong is None:
            shutil.rmtree(root / "moments" / str(number))
    row.note = f"of {len(names)} moments in a run"
    return row


def _copies(home: Path, root: Path, events: Path, pid: int) -> None:
    """A `meanwhile`: copy the folder each time the process has stopped itself, then continue it. Two threads that write
    at once may share a stop."""
    shutil.rmtree(root / "moments", ignore_errors=True)
    (root / "moments.txt").unlink(missing_ok=True)
    number = 0
    while True:
        state = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        if state is None or state.si_code != os.CLD_STOPPED:
            return
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)
        shutil.copytree(home, root / "moments" / str(number))
        with (root / "moments.txt").open("a") as names:
            names.write(events.read_text().splitlines()[-1] + "\n")
        number += 1
        os.kill(pid, signal.SIGCONT)


def _hold(log: Path) -> None:
    """Stop this process at each call that writes, and log the call."""
    import threading

    import safetensors.torch
    import torch

    from harness.runs.track import Tracker

    one = threading.Lock()  # the thread that delivers to MLflow writes too

    def event(name: str) -> None:
        with one:
            with log.open("a") as file:
                file.write(f"{name}\n")
            os.kill(os.getpid(), signal.SIGSTOP)

    def before(owner: Any, name: str) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            event(f"before {name} {_shown(args)}")
            return call(*args, **kwargs)

        setattr(owner, name, wrapped)

    def around(owner: Any, name: str) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            event(f"before {name}")
            answer = call(*args, **kwargs)
            event(f"after {name}")
            return answer

        setattr(owner, name, wrapped)

    for owner, name in (
        (os, "fsync"),
        (os, "replace"),
        (os, "rename"),
        (torch, "save"),
        (safetensors.torch, "save_file"),
    ):
        before(owner, name)
    for name in ("run_of", "log_points", "artifact", "status"):
        around(Tracker, name)


def _shown(args: tuple[Any, ...]) -> str:
    return next((Path(a).name for a in reversed(args) if isinstance(a, (str, Path))), "")
