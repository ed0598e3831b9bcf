"""Test a model's function with tests that it cannot see, change or outlive.

Program and tests run in two sandboxes (`evals.code_execution.inside.jail`), connected by two pipes for plain data. A
program that exits early, patches `assert`, returns an object equal to everything or prints its own verdict therefore
changes only its own answers. Without a sandbox nothing is run.

Only Linux, 5.12 or later, with user namespaces allowed.
"""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSIDE = Path(__file__).parent / "inside"
FIRST_USER = 2_000_000_000  # unused user ids; a sandbox started by root runs as one of them
VERDICT_BYTES = 2**16


@dataclass(frozen=True)
class Limits:
    """Limits of each of the two sandboxes.

    `cpu_s` and `memory_mb` (address space) apply to one process, `wall_s` to the whole run; it is so long that only an
    idle program or an overloaded machine reaches it.
    """

    cpu_s: int = 10
    wall_s: float = 120.0
    memory_mb: int = 512
    disk_mb: int = 8
    processes: int = 4


@dataclass(frozen=True)
class Outcome:
    """The tests' verdict; `passed` is None when it is unknown, and `reason` says what went wrong."""

    passed: bool | None
    reason: str | None = None


def run(program: str, prompt: str, tests: str, entry_point: str, limits: Limits | None = None) -> Outcome:
    """Run `check(entry_point)` of `tests` against the function of that name in `program`.

    Args:
        prompt: code that is run before the tests, for the helpers that they use.
    """
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="rlvr-sandbox-") as root:
        calls_out, calls_in = os.pipe()
        replies_out, replies_in = os.pipe()
        verdict_out, verdict_in = os.pipe()
        given = {"candidate": {"calls": calls_out, "out": replies_in}}
        given["tester"] = {"calls": calls_in, "replies": replies_out, "out": verdict_in}
        jobs = {
            "candidate": {"program": program, "entry_point": entry_point},
            "tester": {"prompt": prompt, "tests": tests, "entry_point": entry_point},
        }
        started: list[subprocess.Popen[bytes]] = []
        try:
            try:
                started += [start(role, jobs[role], given[role], root, limits) for role in given]
            finally:
                for descriptor in (calls_out, calls_in, replies_out, replies_in, verdict_in):
                    os.close(descriptor)
            return _outcome(verdict_out, limits)
        finally:
            os.close(verdict_out)
            for process in started:
                process.terminate()
            for process in started:
                process.wait()


@functools.cache
def unavailable_reason() -> str | None:
    """Why programs cannot run here, or None; tries one correct and one incorrect program, once."""
    if sys.platform != "linux":
        return f"it needs Linux, this is {sys.platform}"
    tests = "def check(f):\n    assert f(1) == 2\n"
    for program, passes in (("def f(x): return x + 1", True), ("def f(x): return x", False)):
        outcome = run(program, "", tests, "f")
        if outcome.passed is not passes:
            return outcome.reason or f"a program that should {'pass' if passes else 'fail'} did not"
    return None


def require() -> None:
    """Check that programs can be run here.

    Raises:
        ValueError: the sandbox cannot be created; the message says why.
    """
    reason = unavailable_reason()
    if reason is not None:
        raise ValueError(
            f"the sandbox for programs cannot be created here ({reason}); a model's code never runs without it. "
            "Expected Linux >= 5.12 with user namespaces (in a container: --security-opt seccomp=unconfined)"
        )


def start(
    role: str, job: Mapping[str, Any], descriptors: Mapping[str, int], root: str, limits: Limits
) -> subprocess.Popen[bytes]:
    """Start `inside/<role>.py` in its own sandbox, mounted at `root`, with its job and open descriptors."""
    config = {
        **descriptors,
        "keep": list(descriptors.values()),
        "root": root,
        "visible": _visible(),
        "user": FIRST_USER + os.getpid() * 2 + (role == "tester"),
        **{name: getattr(limits, name) for name in ("cpu_s", "memory_mb", "disk_mb", "processes")},
    }
    programs = [str(INSIDE / f"{name}.py") for name in ("wire", role)]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(job).encode())
        stdin.seek(0)
        return subprocess.Popen(
            [sys.executable, "-I", "-B", str(INSIDE / "jail.py"), json.dumps(config), *programs],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=tuple(descriptors.values()),
            start_new_session=True,
            env={},
        )


@functools.cache
def _visible() -> Sequence[str]:
    """The folders that Python needs (itself, its packages, system libraries), none inside another."""
    wanted = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", sys.base_prefix, sys.prefix]
    paths = sorted({path for path in wanted if os.path.isdir(path) and path not in ("/", "/usr", "/usr/local")})
    return [p for p in paths if not any(p.startswith(f"{other}/") for other in paths)]


def _outcome(verdict: int, limits: Limits) -> Outcome:
    """Read the verdict that the tests write before they end."""
    end, data = time.monotonic() + limits.wall_s, b""
    while len(data) < VERDICT_BYTES:
        if not select.select([verdict], [], [], max(0.0, end - time.monotonic()))[0]:
            return Outcome(None, f"time: not finished after {limits.wall_s:g} s (wall clock), within its CPU limit")
        more = os.read(verdict, VERDICT_BYTES)
        if not more:
            break
        data += more
    try:
        message: Any = json.loads(data)
    except ValueError:
        return Outcome(None, "error: the tests ended without a verdict (they ran out of time or memory)")
    if "sandbox" in message:
        return Outcome(None, f"sandbox: {message['sandbox']}")
    return Outcome(bool(message["passed"]), message.get("why"))
