"""What math-verify would pass over: a comparison that runs out of memory or of stack is unscored, not wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evals.grading.math_verify_errors import LET_THROUGH, MODULES, let_through

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
def test_two_errors_get_through_and_no_others(caught: bytes) -> None:
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
        "from evals.grading import math_verify_errors; math_verify_errors.install(); import math_verify, sys\n"
        f"assert all(type(sys.modules[m].__loader__).__name__ == '_Loader' for m in {MODULES!r})\n"
        "assert type(sys.modules['math_verify'].__loader__).__name__ == 'SourceFileLoader'\n"
        "import math_verify.grader as g\n"
        "class Deep:\n    def doit(self): raise RecursionError\n"
        "try: g.safe_sympy_doit(Deep())\nexcept RecursionError: print('through')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "through\n"
    late = "import math_verify; from evals.grading import math_verify_errors; math_verify_errors.install()"
    done = subprocess.run([sys.executable, "-c", late], cwd=ROOT, capture_output=True, text=True)
    assert "was imported before" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is set, which only Linux can")
def test_an_answer_too_large_for_the_memory_is_unscored() -> None:
    # the difference of the two has ten thousand terms; math-verify alone says that they are not equal
    import resource

    command = [sys.executable, "-m", "evals.grading.worker", str(2**40), "{}"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None and worker.stdout is not None

        def ask(gold: str, answer: str, task: str = "equal") -> object:
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write(json.dumps([task, gold, answer]) + "\n")
            worker.stdin.flush()
            return json.loads(worker.stdout.readline())

        assert json.loads(worker.stdout.readline()) == {"ready": True}
        assert ask("(1+x)^{2}", "1+2x+x^2") == {"equal": True}  # sympy is all there
        pages = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + 25 * 2**20
        resource.prlimit(worker.pid, resource.RLIMIT_AS, (limit, limit))
        reply = ask("(1+x)^{200}", "(1+x)^{10000}", task="math_verify")
        assert reply == {"reason": "memory: the comparison ran out of memory"}
        worker.kill()
