"""What math-verify would pass over: a comparison that runs out of memory or of stack is unscored, not wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evals.grading import Conventions, worker
from evals.grading.worker import LET_THROUGH, MODULES, let_through

ROOT = Path(__file__).parents[3]
HANDLERS = b"""
def run(error):
    try:
        raise error
    except KeyError:
        return "key"
    except%s:
        return "passed over"
"""


@pytest.mark.parametrize("caught", [b"", b" Exception", b" (ValueError, Exception) as e", b" BaseException"])
def test_memory_errors_get_through_and_no_others(caught: bytes) -> None:
    space: dict[str, object] = {}
    exec(let_through(HANDLERS % caught, "x.py"), space)
    run = space["run"]
    assert callable(run)
    assert run(KeyError()) == "key"
    assert run(ValueError()) == "passed over"
    assert run(OverflowError()) == "passed over"
    for error in LET_THROUGH:
        with pytest.raises(error):
            run(error())


def test_a_handler_of_one_kind_is_left_alone() -> None:
    space: dict[str, object] = {}
    exec(let_through(HANDLERS % b" ValueError", "x.py"), space)
    run = space["run"]
    assert callable(run)
    with pytest.raises(TypeError):
        run(TypeError())
    assert run(ValueError()) == "passed over"


def test_math_verify_is_loaded_so_and_only_there() -> None:
    code = (
        "from evals.grading import worker; worker.install(); import math_verify, sys\n"
        f"assert all(type(sys.modules[m].__loader__).__name__ == '_Loader' for m in {MODULES!r})\n"
        "assert type(sys.modules['math_verify'].__loader__).__name__ == 'SourceFileLoader'\n"
        "import math_verify.grader as g\n"
        "class Deep:\n    def doit(self): raise RecursionError\n"
        "try: g.safe_sympy_doit(Deep())\nexcept RecursionError: print('through')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "through\n"
    late = "import math_verify; from evals.grading import worker; worker.install()"
    done = subprocess.run([sys.executable, "-c", late], cwd=ROOT, capture_output=True, text=True)
    assert "was imported before" in done.stderr


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), "memory"),
        (SystemError("error return without exception set"), "crash"),
        (RecursionError(), "size"),
        (ValueError("x"), "error"),
    ],
)
def test_each_failure_is_unscored(error: Exception, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise error

    monkeypatch.setitem(worker.TASKS, "equal", fail)
    answer = worker.reply("equal", "1", "2", Conventions())
    assert set(answer) == {"reason"}
    assert answer["reason"].split(":")[0] == kind


# One process a limit, forked where sympy is loaded: its address space may grow by a few pages, or by a few more.
SWEEP = """
import logging, os, resource
from pathlib import Path
from evals.grading import worker
worker.install()
from evals.grading import Conventions
from evals.grading.worker import reply
logging.disable(logging.CRITICAL)
assert reply("math_verify", "(1+x)^{2}", "1+2x+x^2", Conventions()) == {"equal": True}  # sympy is all there
for step in range(16):
    if not os.fork():
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        unlimited = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size + step * 2**14, unlimited[1]))
        answer = reply("math_verify", "(1+x)^{60}+x", "x+(1+2x+x^2)^{30}", Conventions())
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
        print(answer.get("equal", answer.get("reason", "").split(":")[0]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and a limit on the address space")
def test_no_limit_on_memory_makes_equal_answers_unequal() -> None:
    # the two are equal; where the memory ends is the machine's, so any limit may leave the verdict unknown
    done = subprocess.run([sys.executable, "-c", SWEEP], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"True", "memory", "crash"}
    assert done.stdout
