"""Run a model's code in bubblewrap (`bwrap`): a function against tests that it cannot see, change or outlive.

A sandbox has its own user, mount, network, process and IPC namespaces: no network, no other process, of the file
system only what Python needs (read-only) and one small temporary folder. It has no capabilities and cannot start a
process. The calls in DENIED fail. `inside.py` limits processor time and memory, bubblewrap the folder, and
this module waiting and wall time. Without bubblewrap nothing is run.

A function and its tests run in two sandboxes, connected by two pipes for plain data. A program that exits early,
patches `assert`, returns an object equal to everything or prints its own verdict therefore changes only its own
answers.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import IO

from evals.errors import UsageError

INSIDE = Path(__file__).parent / "inside.py"
VERDICT_BYTES = 2**16
LOOK_S = 0.25  # between two looks at whether a program sleeps


@dataclass(frozen=True)
class Limits:
    """Limits of a sandbox: seconds of processor time, MiB of address space and of the temporary folder.

    `idle_s` counts only while the program and its tests both sleep. `wall_s` applies to the whole run. It is so long
    that only an overloaded machine reaches it.
    """

    cpu_s: int = 10
    idle_s: float = 10.0
    wall_s: float = 120.0
    memory_mb: int = 512
    disk_mb: int = 8


@dataclass(frozen=True)
class Execution:
    """The tests' verdict. `passed` is None when it is unknown, and `reason` says what went wrong."""

    passed: bool | None
    reason: str | None = None


def run(program: str, prompt: str, tests: str, entry_point: str, limits: Limits | None = None) -> Execution:
    """Run `tests` against the function `entry_point` of `program`, and then their `check(entry_point)` if there is one.

    A program fails that uses up its processor time, or waits for `idle_s`. Also if the tests do so on its values.

    Args:
        prompt: code that is run before the tests, for the helpers that they use.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        calls_out, calls_in, replies_out, replies_in, verdict_out, verdict_in = _pipes(stack, 3)
        candidate = {"program": program, "entry_point": entry_point}
        tester = {"prompt": prompt, "tests": tests, "entry_point": entry_point}
        ends = {"candidate": {"calls": calls_out, "out": replies_in}}
        ends["tester"] = {"calls": calls_in, "replies": replies_out, "out": verdict_in}
        first = stack.enter_context(started("candidate", candidate, ends["candidate"], limits))
        second = stack.enter_context(started("tester", tester, ends["tester"], limits))
        kept, ended = _read(verdict_out.fileno(), (first, second), limits)
        if ended is not None:
            return ended
        try:
            message = json.loads(kept)
        except (ValueError, RecursionError):
            message = {}
        if "passed" in message:
            return Execution(bool(message["passed"]), message.get("why"))
        if why := second.failure() or first.failure():
            return Execution(None, f"sandbox: {why}")
        if second.process.wait() == 128 + signal.SIGXCPU:  # as bubblewrap reports a signal
            return Execution(False, f"time: the tests used {limits.cpu_s} s of processor time on the program's values")
        return Execution(None, "error: the tests ended without a verdict")


@functools.cache
def unavailable_reason() -> str | None:
    """Why programs cannot run here, or None. Tries one correct and one incorrect program, once."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return f"it needs Linux on {' or '.join(MACHINES)}, this is {sys.platform} on {platform.machine()}"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt-get install bubblewrap (its program is bwrap)"
    tests = "def check(f):\n    assert f(1) == 2\n"
    for program, passes in (("def f(x): return x + 1", True), ("def f(x): return x", False)):
        outcome = run(program, "", tests, "f")
        if outcome.passed is not passes:
            return outcome.reason or f"a program that should {'pass' if passes else 'fail'} did not"
    return None


def require() -> None:
    """Check that programs can be run here.

    Raises:
        UsageError: the sandbox cannot be created. The message says why.
    """
    if reason := unavailable_reason():
        raise UsageError(
            f"the sandbox for programs cannot be created here ({reason}). A model's code never runs without it. "
            "Expected bubblewrap 0.7 or later and user namespaces (in a container: --security-opt seccomp=unconfined)"
        )


# -- one sandbox -----------------------------------------------------------------------------------------------------


class Started:
    """A sandbox that runs, or ran."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self.process, self.errors = process, errors

    def failure(self) -> str:
        """Why bubblewrap could not create it, or "" if it did."""
        self.errors.seek(0)
        return self.errors.read(2000).decode("utf-8", "replace").strip()


@contextmanager
def started(role: str, job: Mapping[str, object], ends: Mapping[str, FileIO], limits: Limits) -> Iterator[Started]:
    """`inside.py` in a sandbox, with a role, a job and the ends of pipes, which are closed here. Killed at the end."""
    descriptors = {name: end.fileno() for name, end in ends.items()}
    config = {"role": role, "job": job, **descriptors, **asdict(limits)}
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as rules, tempfile.TemporaryFile() as errors:
        stdin.write(json.dumps(config).encode())
        rules.write(system_call_rules(platform.machine()))
        for file in (stdin, rules):
            file.seek(0)
        inside = [sys.executable, "-I", "-B", "/inside.py", role, f"of-{os.getpid()}"]  # the last two for `ps`
        try:
            process = subprocess.Popen(
                [*_bubblewrap(limits.disk_mb), "--seccomp", str(rules.fileno()), "--", *inside],
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(*descriptors.values(), rules.fileno()),
                start_new_session=True,
            )
        finally:
            for end in ends.values():
                end.close()
        try:
            yield Started(process, errors)
        finally:
            process.kill()  # and with it, what runs inside (--die-with-parent)
            process.wait()


def _bubblewrap(disk_mb: int) -> list[str]:
    """The command up to its program."""
    namespaces = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    user = ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--die-with-parent", "--clearenv"]
    variables = {"HOME": "/sandbox", "TMPDIR": "/sandbox", "PATH": "/usr/bin:/bin"}
    variables |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # the one folder to write to has two names. A Python that lives under /tmp is mounted inside it
    place, name = ("/tmp", "/sandbox") if any(path.startswith("/tmp/") for path in _visible()) else ("/sandbox", "/tmp")
    folder = ["--size", str(disk_mb * 2**20), "--perms", "0777", "--tmpfs", place, "--symlink", place[1:], name]
    files = ["--ro-bind", str(INSIDE), "/inside.py", "--dev-bind", "/dev/null", "/dev/null"]
    for path in _visible():
        link = os.path.islink(path)
        files += ["--symlink", os.readlink(path), path] if link else ["--ro-bind", path, path]
    set_variables = [word for key, value in variables.items() for word in ("--setenv", key, value)]
    return ["bwrap", *namespaces, *user, *set_variables, *folder, *files, "--chdir", "/sandbox", "--remount-ro", "/"]


@functools.cache
def _visible() -> tuple[str, ...]:
    """The folders that Python needs (itself, its packages, system libraries), none inside another."""
    needed = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", sys.base_prefix, sys.prefix]
    paths = sorted({path for path in needed if os.path.isdir(path) and path not in ("/", "/usr", "/usr/local")})
    return tuple(p for p in paths if not any(p.startswith(f"{parent}/") for parent in paths))


def _pipes(stack: ExitStack, count: int) -> list[FileIO]:
    """Reading and writing ends of pipes, which are closed when the stack ends, if not before."""
    ends = [end for _ in range(count) for end in os.pipe()]
    return [stack.enter_context(FileIO(end, "rw"[place % 2])) for place, end in enumerate(ends)]


def _read(descriptor: int, sandboxes: Sequence[Started], limits: Limits) -> tuple[bytes, Execution | None]:
    """The first VERDICT_BYTES of a pipe (the rest is dropped), and what it means if it was not closed in time."""
    kept, idle, end = b"", 0.0, time.monotonic() + limits.wall_s
    step = min(LOOK_S, limits.idle_s / 4)
    while (left := end - time.monotonic()) > 0:
        if select.select([descriptor], [], [], min(step, left))[0]:
            data = os.read(descriptor, select.PIPE_BUF * 16)
            if not data:
                return kept, None
            kept += data[: VERDICT_BYTES - len(kept)]
        elif all(asleep(sandbox.process.pid) for sandbox in sandboxes):
            idle += step  # not by the clock: where this process waits for a core, the program may wait too
            if idle >= limits.idle_s:
                return kept, Execution(False, f"time: it waited for {limits.idle_s:g} s, and nothing came")
    return kept, Execution(None, f"time: not finished after {limits.wall_s:g} s (wall clock), within its other limits")


def asleep(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether every thread of a sandbox sleeps or has stopped itself. False where one wants to run or waits for a disk,
    and where the program has not begun: bubblewrap is two processes."""
    states: set[bytes] = set()
    waiting, processes = [pid], 0
    try:
        while waiting:
            processes += 1
            for thread in (proc / str(waiting.pop()) / "task").iterdir():
                states.add((thread / "stat").read_bytes().rpartition(b")")[2].split()[0])
                waiting += map(int, (thread / "children").read_bytes().split())
    except OSError:  # one of them has just ended
        return False
    return processes > 2 and states <= {b"S", b"T", b"Z"}


# -- system calls ----------------------------------------------------------------------------------------------------

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # the kernel's numbers of architectures
DENIED = {  # call: its number on each of MACHINES. None where there is none
    "fork": (57, None),
    "vfork": (58, None),
    "unshare": (272, 97),  # new namespaces, and with them capabilities
    "setns": (308, 268),
    "shmget": (29, 194),  # memory that no limit counts
    "memfd_create": (319, 279),
    "ptrace": (101, 117),  # bubblewrap's own process, which ends this one
    "process_vm_writev": (311, 271),
    "add_key": (248, 217),  # the keyrings of who started this
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),  # rarely needed, and where the kernel's faults were
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
}
CLONE, CLONE3, CLONE_THREAD = (56, 220), 435, 0x10000


def system_call_rules(machine: str) -> bytes:
    """The seccomp filter, for bubblewrap: DENIED fail with EPERM, and of `clone` only threads are allowed.

    The arguments of `clone3` cannot be seen, so it "does not exist", and the C library uses `clone`. A filter is a
    list of instructions (code, steps to jump if true, if false, value).
    """
    load, equal, at_least, has_bit, leave = 0x20, 0x15, 0x35, 0x45, 0x06
    kill, fail, allow = 0x80000000, 0x00050000, 0x7FFF0000
    column = list(MACHINES).index(machine)
    rules = [(load, 0, 0, 4), (equal, 1, 0, MACHINES[machine]), (leave, 0, 0, kill), (load, 0, 0, 0)]
    rules += [(at_least, 0, 1, 0x40000000), (leave, 0, 0, fail | errno.EPERM)]  # x32 numbers of the same calls
    for numbers in DENIED.values():
        if (number := numbers[column]) is not None:
            rules += [(equal, 0, 1, number), (leave, 0, 0, fail | errno.EPERM)]
    rules += [(equal, 0, 1, CLONE3), (leave, 0, 0, fail | errno.ENOSYS)]
    rules += [(equal, 0, 3, CLONE[column]), (load, 0, 0, 16), (has_bit, 1, 0, CLONE_THREAD)]
    rules += [(leave, 0, 0, fail | errno.EPERM), (leave, 0, 0, allow)]
    return b"".join(struct.pack("HBBI", *rule) for rule in rules)
