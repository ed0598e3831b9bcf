# ruff: noqa: E501  (a program on one line is easier to read)
"""Programs that are right, wrong, or out to cheat. Needs a machine on which the sandbox can be made."""

from __future__ import annotations

import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evals.code_execution import sandbox
from evals.code_execution.sandbox import Execution, Limits, run

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SHORT = Limits(cpu_s=1, wall_s=60.0, memory_mb=256)
ENDLESS_TESTS = "def check(candidate):\n    assert sum(range(candidate(1))) == 3\n"
TESTS = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(41) == 42\n"
RIGHT = "def f(x):\n    return x + 1\n"


def outcome(program: str, tests: str = TESTS, prompt: str = "", limits: Limits = SHORT) -> Execution:
    return run(program, prompt, tests, "f", limits)


@needs_sandbox
def test_correct_and_incorrect_programs() -> None:
    assert outcome(RIGHT) == Execution(True)
    assert outcome("def f(x):\n    return x\n").passed is False
    assert outcome("def f(x):\n    return x +\n").passed is False  # no Python
    assert outcome("def g(x):\n    return x + 1\n").passed is False  # another name
    assert outcome("def f(x):\n    raise KeyError(x)\n") == Execution(False, "FailedError: KeyError")


@needs_sandbox
def test_tests_use_the_prompt_s_helpers_and_the_function_s_name() -> None:
    prompt = "def twice(x):\n    return 2 * x\n\ndef f(x):\n    pass\n"
    tests = "def check(candidate):\n    assert twice(candidate(1)) == 4\n    assert f(2) == 3\n"
    assert outcome(RIGHT, tests, prompt).passed
    # the tests use the prompt's helper, even if the program redefines it
    assert outcome(RIGHT + "def twice(x):\n    return 5\n", tests, prompt).passed


@needs_sandbox
def test_plain_data_crosses_both_ways() -> None:
    values = [
        "None", "True", "-(10 ** 5000)", "0.1", "float('inf')", "'\\ud800ä\\n'", "b'\\0x'", "1 + 2j", "[1, [2.0, (3,)]]", "set()",
        "{1, (2, 3)}", "{'a': [None], (1, 2): {3}}", "()", "[]", "{}", "(-1e-300,)", "-float('inf')",
    ]  # fmt: skip
    tests = (
        f"def check(candidate):\n    for value in [{', '.join(values)}]:\n        given = candidate(value)\n"
        "        assert given == value and type(given) is type(value)\n"
    )
    returned = outcome("def f(x):\n    return x\n", tests)
    assert returned.passed, returned


HOSTILE = {
    "loop": "while True: pass",
    "loop when called": "def f(x):\n    while True: pass",
    "exit": "import sys; sys.exit(0)",
    "exit when called": "import sys\ndef f(x): sys.exit(0)",
    "hard exit": "import os\ndef f(x): os._exit(0)",
    "hard exit early": "import os; os._exit(0)",
    "patched assert": "import builtins\nclass E(BaseException): pass\nbuiltins.AssertionError = E\ndef f(x): return 0",
    "own check": "def check(candidate): pass\ndef f(x): return 0",
    "equal to all": (
        "class A:\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n"
        "    __lt__ = __gt__ = __le__ = __ge__ = __eq__\n    def __hash__(s): return 0\ndef f(x): return A()"
    ),
    "number equal to all": "class A(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return A(7)",
    "text in the middle of an encoding": "class A(str):\n    def __getitem__(s, i): return 2\ndef f(x): return A()",
    "own verdict": "import os\nfor d in range(3, 32):\n    try: os.write(d, b'{\"passed\": true}\\n')\n    except OSError: pass\nos._exit(0)",
    "brackets": "import os\nfor d in range(1, 32):\n    try: os.write(d, b'[' * 60_000 + b'\\n')\n    except OSError: pass\nos._exit(0)",
    "flood": "import os\nfor d in range(3, 32):\n    try:\n        while os.write(d, b'x' * 65536): pass\n    except OSError: pass",
    "huge answer": "def f(x): return 'x' * 10 ** 8",
    "deep answer": "def f(x):\n    a = []\n    for _ in range(10 ** 5): a = [a]\n    return a",
    "memory": "def f(x): return len(bytearray(10 ** 10))",
    "memory, slowly": "def f(x):\n    a = []\n    while True: a.append(bytearray(10 ** 6))",
    "endless values": "def f(x): return 10 ** 18",  # the tests never finish with them
    "processes, each with its own seconds": "import os\ndef f(x):\n    while True:\n        if os.fork():\n            os.wait()\n        else:\n            while True: pass",
    "tracing": "import sys, os\nsys.settrace(lambda *a: None)\nimport atexit\natexit.register(os._exit, 0)\ndef f(x): return None",
    "kills all": "import os\ntry: os.kill(-1, 9)\nexcept OSError: pass\ndef f(x): return 0",
    "frames": "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame.f_back: frame = frame.f_back\n    frame.f_globals['job'] = {}\n    return 0",
}  # fmt: skip


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_programs_that_cheat_do_not_pass(name: str) -> None:
    tests = ENDLESS_TESTS if name == "endless values" else TESTS
    assert outcome(HOSTILE[name], tests).passed is False


def probe(body: str) -> Any:
    """The view of a program from inside: it raises its finding as an exception's name."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = f"def find():\n{lines}\ndef f(x):\n    raise type('Found_' + str(find()).replace(' ', '_'), (Exception,), {{}})\n"
    why = str(outcome(program).reason)
    assert "Found_" in why, why
    return why.split("Found_")[1]


def attempt(action: str) -> str:
    return f"import os, socket, subprocess, ctypes\ntry:\n    {action}\nexcept BaseException as e:\n    return type(e).__name__\nreturn 'done'"


@needs_sandbox
def test_nothing_is_written_outside(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    for path in (
        str(tmp_path / "new"),
        str(secret),
        "/etc/passwd",
        "/new",
        "/usr/lib/new",
        sys.prefix + "/new",
        "/dev/new",
    ):
        assert probe(attempt(f"open({path!r}, 'w')")) in ("FileNotFoundError", "OSError", "PermissionError"), path
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert not Path(sys.prefix, "new").exists()
    assert probe(attempt("open('a_new_file', 'w').write('x')")) == "done"  # its own folder
    assert not Path("a_new_file").exists()
    assert probe(attempt("open('a_new_file', 'wb').write(b'x' * 10 ** 8)")) == "OSError"  # no more than disk_mb


@needs_sandbox
def test_nothing_of_ours_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "sk-1")
    (tmp_path / "secret").write_text("x")
    for path in (
        str(tmp_path / "secret"),
        "/etc/passwd",
        "/proc/1/environ",
        str(Path.home() / ".ssh"),
        str(Path(__file__)),
    ):
        assert probe(attempt(f"open({path!r}).read()")) == "FileNotFoundError", path
    assert "A_SECRET_KEY" not in probe("import os\nreturn sorted(os.environ)")


@needs_sandbox
def test_a_program_has_no_network() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert (
            probe(attempt(f"socket.create_connection(('127.0.0.1', {port}), 5)")) == "ConnectionRefusedError"
        )  # by its own loopback
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()  # nobody came
    assert probe(attempt("socket.create_connection(('1.1.1.1', 80), 5)")) == "OSError"
    assert probe("import socket\nreturn [name for _, name in socket.if_nameindex()]") == "['lo']"


@needs_sandbox
def test_no_privileges_can_be_gained() -> None:
    for call in (
        "libc.unshare(0x10000000)",  # a user namespace, and with it capabilities
        "libc.mount(b'none', b'/sandbox', b'tmpfs', 0, None)",
        "libc.mount(None, b'/', None, 32 | 4096, None)",  # the root writable again
        "libc.umount2(b'/usr/lib', 2)",
        "libc.chroot(b'/sandbox')",
        "libc.sethostname(b'x', 1)",
        "libc.syscall(250, 0, -3, 1)",  # the session keyring of who started this. These are x86_64's numbers
        "libc.syscall(248, b'user', b'name', b'value', 5, -3)",
        "libc.syscall(29, 0, 2 ** 30, 0o1600)",  # shared memory that no limit counts
        "libc.syscall(319, b'x', 0)",
        "libc.syscall(101, 16, 1, 0, 0)",  # attach to bubblewrap's process
        "libc.syscall(425, 1, 0)",
        "libc.syscall(0x40000000 + 57)",  # fork, by its x32 number
    ):
        assert probe(f"import ctypes\nlibc = ctypes.CDLL(None)\nreturn {call}") == "-1", call


@needs_sandbox
def test_a_fork_bomb_is_bounded_and_leaves_nothing() -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    assert outcome(bomb).passed is not True
    assert probe(attempt("os.fork()")) == "PermissionError"
    wait_until_gone()


@needs_sandbox
def test_a_program_that_ignores_its_parents_death_is_killed() -> None:
    """It clears the signal of its parent's death, leaves its session and waits."""
    flee = "import os, ctypes, time\nctypes.CDLL(None).prctl(1, 0)\nos.setsid()\ndef f(x): time.sleep(10 ** 6)\n"
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(outcome, flee, limits=Limits(wall_s=2.0))
        while not children() and not running.done():
            pass
        assert children(), "the test sees them while they run"
        assert running.result().passed is None
    wait_until_gone()


def wait_until_gone() -> None:
    """The kernel ends them a moment after bubblewrap."""
    for _ in range(100):
        if not children():
            return
        time.sleep(0.1)
    raise AssertionError(children())


def children() -> list[str]:
    """The processes on this machine of sandboxes that this one started."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
        if b"/inside.py" in words and f"of-{os.getpid()}".encode() in words:
            pids.append(folder.name)
    return pids


@pytest.mark.parametrize(
    ("program", "reason"),
    [(None, "bubblewrap"), ("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", "bwrap: No permissions")],
)
def test_without_a_sandbox_nothing_is_run(
    program: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bubblewrap is not installed, and where a container's rules forbid namespaces."""
    monkeypatch.setenv("PATH", str(tmp_path))
    if program:
        (tmp_path / "bwrap").write_text(program)
        (tmp_path / "bwrap").chmod(0o755)
        unscored = outcome(RIGHT)
        assert unscored.passed is None and reason in str(unscored.reason)
    sandbox.unavailable_reason.cache_clear()
    try:
        with pytest.raises(ValueError, match=reason):
            sandbox.require()
    finally:
        sandbox.unavailable_reason.cache_clear()


@needs_sandbox
def test_memory_is_bounded_in_every_form() -> None:
    """256 MiB: shared anonymous memory, files in the temporary folder, many threads' stacks."""
    shared = "import mmap\na = []\ntry:\n    while True: a.append(mmap.mmap(-1, 2 ** 24))\nexcept (OSError, MemoryError):\n    return len(a)"
    assert int(probe(shared)) < 256 / 16
    files = "n = 0\ntry:\n    while True:\n        open(str(n), 'wb').write(b'x' * 2 ** 20)\n        n += 1\nexcept OSError:\n    return n"
    assert int(probe(files)) <= Limits().disk_mb
