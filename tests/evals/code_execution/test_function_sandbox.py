# ruff: noqa: E501  (a program on one line is easier to read)
"""Programs that are right, wrong, or out to cheat. Needs a machine on which the sandbox can be made."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evals.code_execution import function_sandbox as sandbox
from evals.code_execution.function_sandbox import Limits, Outcome, run

needs_sandbox = pytest.mark.skipif(
    sandbox.unavailable_reason() is not None, reason=f"no sandbox here: {sandbox.unavailable_reason()}"
)
SHORT = Limits(cpu_s=1, wall_s=60.0, memory_mb=256)
TESTS = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(41) == 42\n"
RIGHT = "def f(x):\n    return x + 1\n"


def outcome(program: str, tests: str = TESTS, prompt: str = "", limits: Limits = SHORT) -> Outcome:
    return run(program, prompt, tests, "f", limits)


@needs_sandbox
def test_correct_and_incorrect_programs() -> None:
    assert outcome(RIGHT) == Outcome(True)
    assert outcome("def f(x):\n    return x\n").passed is False
    assert outcome("def f(x):\n    return x +\n").passed is False  # no Python
    assert outcome("def g(x):\n    return x + 1\n").passed is False  # another name
    assert outcome("def f(x):\n    raise KeyError(x)\n") == Outcome(False, "FailedError: KeyError")


@needs_sandbox
def test_tests_use_the_prompt_s_helpers_and_the_function_s_name() -> None:
    prompt = "def twice(x):\n    return 2 * x\n\ndef f(x):\n    pass\n"
    tests = "def check(candidate):\n    assert twice(candidate(1)) == 4\n    assert f(2) == 3\n"
    assert outcome(RIGHT, tests, prompt).passed
    # the tests use the prompt's helper, even if the program redefines it
    assert outcome(RIGHT + "def twice(x):\n    return 5\n", tests, prompt).passed


@needs_sandbox
@pytest.mark.parametrize(
    "value",
    [
        "None", "True", "-(10 ** 5000)", "0.1", "float('inf')", "'\\ud800ä\\n'", "b'\\0x'", "1 + 2j", "[1, [2.0, (3,)]]", "set()",
        "{1, (2, 3)}", "{'a': [None], (1, 2): {3}}", "frozenset({1})", "range(3)", "{1: 2}.keys()",
    ],
)  # fmt: skip
def test_plain_data_crosses_both_ways(value: str) -> None:
    tests = (
        f"def check(candidate):\n    value = {value}\n    given = candidate(value)\n"
        "    assert given == value or list(given) == list(value)\n"
        "    assert type(given) is type(value) or type(value) is type({}.keys())\n"
    )
    returned = outcome("def f(x):\n    return x\n", tests)
    assert returned.passed or "keys" in value, returned


@needs_sandbox
def test_an_iterator_is_one() -> None:
    tests = "def check(candidate):\n    assert list(candidate(3)) == [0, 1, 2]\n    assert candidate(1) != [0]\n"
    assert outcome("def f(x):\n    return (i for i in range(x))\n", tests).passed


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
    "flood": "import os\nfor d in range(3, 32):\n    try:\n        while os.write(d, b'x' * 65536): pass\n    except OSError: pass",
    "huge answer": "def f(x): return 'x' * 10 ** 8",
    "deep answer": "def f(x):\n    a = []\n    for _ in range(10 ** 5): a = [a]\n    return a",
    "memory": "def f(x): return len(bytearray(10 ** 10))",
    "memory, slowly": "def f(x):\n    a = []\n    while True: a.append(bytearray(10 ** 6))",
    "tracing": "import sys, os\nsys.settrace(lambda *a: None)\nimport atexit\natexit.register(os._exit, 0)\ndef f(x): return None",
    "kills all": "import os\ntry: os.kill(-1, 9)\nexcept OSError: pass\ndef f(x): return 0",
    "frames": "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame.f_back: frame = frame.f_back\n    frame.f_globals['job'] = {}\n    return 0",
}  # fmt: skip


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_programs_that_cheat_do_not_pass(name: str) -> None:
    assert outcome(HOSTILE[name]).passed is False


@needs_sandbox
def test_an_idle_program_is_not_known_to_be_wrong() -> None:
    idle = outcome("import time\ndef f(x): time.sleep(10 ** 6)", limits=Limits(cpu_s=1, wall_s=1.0))
    assert idle.passed is None
    assert "time: not finished after 1 s" in str(idle.reason)


def probe(body: str) -> Any:
    """What a program sees from inside: it raises its finding as an exception's name."""
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
    assert probe(attempt("open('mine', 'w').write('x')")) == "done"  # its own folder
    assert not Path("mine").exists()
    assert probe(attempt("open('mine', 'wb').write(b'x' * 10 ** 8)")) == "OSError"  # no more than disk_mb


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
        assert probe(attempt(f"socket.create_connection(('127.0.0.1', {port}), 5)")) == "OSError"  # unreachable
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
    ):
        assert probe(f"import ctypes\nlibc = ctypes.CDLL(None)\nreturn {call}") == "-1", call


@needs_sandbox
def test_a_fork_bomb_is_bounded_and_leaves_nothing() -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    assert outcome(bomb).passed is not True
    count = "import os\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            import time; time.sleep(100)\n        n += 1\nexcept OSError:\n    return n"
    assert int(probe(count)) < Limits().processes
    assert children() == []


@needs_sandbox
def test_a_process_that_leaves_its_session_is_killed() -> None:
    """A program that leaves its session and clears the signal of its parent's death."""
    fled = "import os, ctypes, time\nctypes.CDLL(None).prctl(1, 0)\n"
    flee = f"{fled}if os.fork() == 0:\n    os.setsid()\n    time.sleep(10 ** 6)\ndef f(x): time.sleep(10 ** 6)\n"
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(outcome, flee, limits=Limits(wall_s=2.0))
        while not children() and not running.done():
            pass
        assert children(), "the test sees them while they run"
        assert running.result().passed is None
    assert children() == []


def children() -> list[str]:
    """The processes on this machine of sandboxes that this one started."""
    pids = []
    users = [str(sandbox.FIRST_USER + os.getpid() * 2 + role).encode() for role in (0, 1)]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if any(user in command for user in users):
            pids.append(folder.name)
    return pids


def test_without_a_sandbox_nothing_is_run(tmp_path: Path) -> None:
    """As where a container's rules forbid namespaces: here, a limit of none."""
    code = (
        "import sys\nfrom evals.code_execution import function_sandbox as sandbox\nfrom evals.code_execution.inside import *\n"
        "sandbox.INSIDE = sandbox.Path(sys.argv[1])\n"
        "try:\n    sandbox.require()\nexcept ValueError as error:\n    print(error)\n"
    )
    for name in ("jail", "wire", "candidate", "tester"):
        text = (sandbox.INSIDE / f"{name}.py").read_text()
        (tmp_path / f"{name}.py").write_text(text.replace("libc.unshare(NEWUSER", "libc.unshare(-1 | NEWUSER"))
    root = Path(__file__).parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=root, capture_output=True, text=True, check=True
    )
    assert "the sandbox for programs cannot be created here (sandbox: [Errno 22] new namespaces" in ran.stdout, ran
