"""What programs print, and what becomes of those that do not end. Needs a machine where the sandbox can be made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from evals.code_execution.sandbox import ExecutionResult, Limits, SandboxError, execute

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SHORT = Limits(cpu_s=1, wall_s=60.0, memory_mb=512)
ENDED = "the program was killed: it ran out of time or memory, or exited"


def printed(program: str, longest: int = 100, limits: Limits = SHORT) -> ExecutionResult:
    return execute(program, limits=limits, longest=longest)


def test_a_script_returns_what_it_printed() -> None:
    assert printed("print(2 ** 10)\nprint('ä€')") == ExecutionResult("1024\nä€\n", False, None)
    assert printed("x = 1") == ExecutionResult("", False, None)
    assert printed("import sys; print(1, end=''); sys.exit(3)") == ExecutionResult("1", False, None)
    assert printed("if __name__ == '__main__': print(1)").text == "1\n"


def test_errors_come_with_what_was_printed_before() -> None:
    assert printed("print(1)\n1 / 0") == ExecutionResult("1\n", False, "ZeroDivisionError: division by zero")
    assert printed("def f(:").error == "SyntaxError: invalid syntax (program, line 1)"
    assert printed("raise KeyError") == ExecutionResult("", False, "KeyError")
    assert printed("input()").error == "EOFError: EOF when reading a line"
    assert printed("bytearray(10 ** 10)").error == "MemoryError"


def test_output_beyond_the_limit_is_cut() -> None:
    assert printed("print('é' * 3000)", longest=10) == ExecutionResult("é" * 10, True, None)
    flood = printed("while True: print('x' * 1000)", longest=10)
    assert flood == ExecutionResult("x" * 10, True, "TimeoutError: more than 1 s of processor time")


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("while True: pass", "TimeoutError: more than 1 s of processor time"),
        ("import os; os._exit(0)", ENDED),
        (
            "import os\nfor d in range(3, 32):\n  try: os.write(d, b'[1]\\n')\n  except OSError: pass\nos._exit(0)",
            ENDED,
        ),
        (
            "import os\nfor d in range(3, 32):\n  try: os.write(d, b'[' * 60_000)\n  except OSError: pass\nos._exit(0)",
            ENDED,  # too deep for the parser of its status
        ),
        ("import os, time\nif os.fork() == 0: time.sleep(1000)", "PermissionError: [Errno 1] Operation not permitted"),
    ],
)
def test_failing_programs_report_their_error(program: str, error: str | None) -> None:
    assert printed(program).error == error


def test_a_program_that_catches_its_timeout_is_killed() -> None:
    stubborn = printed("while True:\n  try:\n    while True: pass\n  except BaseException: pass")
    assert stubborn.error in (ENDED, "TimeoutError: more than 1 s of processor time")  # by the kernel, or by chance


def test_an_idle_program_is_stopped() -> None:
    idle = printed("import time\nprint(1)\ntime.sleep(10 ** 6)", limits=Limits(cpu_s=1, wall_s=1.5))
    assert idle == ExecutionResult("1\n", False, "TimeoutError: not finished after 1.5 s")


def test_nothing_outside_the_sandbox_is_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "sk-1")
    (tmp_path / "file").write_text("x")
    assert "sk-1" not in printed("import os; print(dict(os.environ))", longest=10_000).text
    assert "FileNotFoundError" in str(printed(f"open({str(tmp_path / 'file')!r})").error)
    assert "ConnectionRefusedError" in str(
        printed("import socket; socket.create_connection(('127.0.0.1', 1), 1)").error
    )
    assert printed("import os; print(os.getpid())").text == "2\n"  # alone with bubblewrap's own process
    assert printed("open('mine', 'w').write('x'); print(open('mine').read())").text == "x\n"


def test_threads_run_and_processes_do_not() -> None:
    thread = "import threading\nt = threading.Thread(target=print, args=(1,))\nt.start()\nt.join()"
    assert printed(thread) == ExecutionResult("1\n", False, None)
    assert "PermissionError" in str(printed("import subprocess; subprocess.run(['/bin/true'])").error)


def test_without_a_sandbox_no_program_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where a container's rules forbid namespaces: bubblewrap says so, and exits."""
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxError, match="No permissions to create new namespace"):
        printed("print(1)")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError, match="bwrap"):
        printed("print(1)")
