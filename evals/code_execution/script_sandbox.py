"""Run one whole program in a sandbox (`evals.code_execution.inside.jail`) and return what it prints."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Any

from evals.code_execution.function_sandbox import Limits, start


class SandboxError(RuntimeError):
    """The sandbox could not be created."""


@dataclass(frozen=True)
class ExecutionResult:
    """What a program printed and how it ended.

    `text`: its standard output, at most `longest` characters; `cut`: it wrote more. `error`: the exception or the limit
    that ended it, or None.
    """

    text: str
    cut: bool
    error: str | None


def execute(program: str, *, limits: Limits, longest: int) -> ExecutionResult:
    """Run a program without input or network; it sees only its own files and Python's packages.

    Args:
        limits: after `cpu_s` seconds of processor time it gets a TimeoutError; one second later it is killed.
        longest: characters of output to keep; the rest is read and dropped.
    Raises:
        SandboxError: the sandbox could not be created.
    """
    with tempfile.TemporaryDirectory(prefix="rlvr-sandbox-") as root:
        out, out_in = os.pipe()
        printed, printed_in = os.pipe()
        process: subprocess.Popen[bytes] | None = None
        try:
            try:
                job: dict[str, Any] = {"program": program, "cpu_s": limits.cpu_s}
                inside = replace(limits, cpu_s=limits.cpu_s + 1)
                process = start("script", job, {"out": out_in, "printed": printed_in}, root, inside)
            finally:
                os.close(out_in)
                os.close(printed_in)
            status, text, in_time = _read(out, printed, limits.wall_s, 4 * longest)  # a character has 4 bytes at most
        finally:
            os.close(out)
            os.close(printed)
            if process is not None:
                process.terminate()
                process.wait()
    return _result(status, text.decode("utf-8", "replace"), in_time, limits, longest)


def _read(out: int, printed: int, wall_s: float, longest: int) -> tuple[bytes, bytes, bool]:
    """Read both pipes until they close or time is up: at most `longest` bytes of each, and whether it was in time."""
    kept = {out: b"", printed: b""}
    end = time.monotonic() + wall_s
    with selectors.DefaultSelector() as selector:
        for descriptor in kept:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready and time.monotonic() >= end:
                return kept[out], kept[printed], False
            for key, _ in ready:
                data = os.read(key.fd, 2**16)
                if not data:
                    selector.unregister(key.fd)
                kept[key.fd] += data[: max(0, longest + 2**16 - len(kept[key.fd]))]
    return kept[out], kept[printed], True


def _result(status: bytes, text: str, in_time: bool, limits: Limits, longest: int) -> ExecutionResult:
    lines = status.split(b"\n")
    if lines[0] != b'{"ready": true}':  # written before the program starts
        raise SandboxError(
            f"the sandbox for a model's code could not be created: {lines[0].decode('utf-8', 'replace')!r}"
        )
    try:
        error = json.loads(lines[1])["error"]
        error = None if error is None else str(error)
    except (ValueError, KeyError, TypeError, IndexError):  # killed before it could report, or wrote something else
        error = "the program was killed: it ran out of time or memory, or exited"
    if not in_time:
        error = f"TimeoutError: not finished after {limits.wall_s:g} s"
    return ExecutionResult(text[:longest], len(text) > longest, error)
