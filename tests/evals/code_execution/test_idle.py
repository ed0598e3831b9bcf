"""A program that waits for what never comes fails, as one that uses up its processor time does."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from evals.answer_files import grade_file
from evals.code_execution import sandbox
from evals.code_execution.program_grader import ProgramGrader, gold
from evals.code_execution.sandbox import Execution, Limits, run
from evals.files import write_jsonl
from evals.grading.verdicts import Verdict

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
TESTS = "def check(candidate):\n    assert candidate(1) == 2\n"
SHORT = Limits(cpu_s=5, idle_s=1.0, wall_s=100.0, memory_mb=256)
IDLE = {
    "sleeps long": "import time\ndef f(x): time.sleep(100000)\n",
    "sleeps often": "import time\ndef f(x):\n    while True: time.sleep(0.02)\n",
    "sleeps at once": "import time\ntime.sleep(100000)\ndef f(x): return x + 1\n",
    "a lock": "import threading\nlock = threading.Lock()\ndef f(x):\n    lock.acquire(); lock.acquire()\n",
    "an event": "import threading\ndef f(x): threading.Event().wait()\n",
    "a pipe": "import os\ndef f(x): return os.read(os.pipe()[0], 1)\n",
    "a signal": "import signal\ndef f(x): signal.pause()\n",
    "a stop": "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGSTOP)\n",
    "asyncio": "import asyncio\ndef f(x): asyncio.run(asyncio.sleep(10 ** 6))\n",
    "a thread": "import threading, time\nt = threading.Timer(10 ** 6, print)\nt.start()\ndef f(x): t.join()\n",
}
RIGHT = "def f(x):\n    return x + 1\n"


@needs_sandbox
@pytest.mark.parametrize("kind", IDLE)
def test_an_idle_program_fails(kind: str) -> None:
    outcome = run(IDLE[kind], "", TESTS, "f", SHORT)
    assert outcome == Execution(False, "time: it waited for 1 s, and nothing came")


@needs_sandbox
def test_tests_that_wait_for_the_programs_value_fail_it() -> None:
    """The tests sleep as long as the program says."""
    tests = "import time\ndef check(candidate):\n    time.sleep(candidate(1))\n"
    assert run("def f(x): return 10 ** 6\n", "", tests, "f", SHORT).passed is False


@needs_sandbox
def test_short_waits_are_no_fault() -> None:
    assert run("import time\ndef f(x):\n    time.sleep(0.4)\n    return x + 1\n", "", TESTS, "f", SHORT).passed


@needs_sandbox
def test_a_machine_that_does_not_run_the_program_leaves_it_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one with too many other processes: the program wants to run all the time, or no one can say."""
    monkeypatch.setattr(sandbox, "asleep", lambda _: False)
    outcome = run(IDLE["sleeps long"], "", TESTS, "f", Limits(idle_s=0.2, wall_s=2.0))
    assert outcome.passed is None and str(outcome.reason).startswith("time: not finished after 2 s")


@pytest.mark.parametrize(
    ("states", "idle"),
    [
        ({1: "S", 2: "S", 3: "S"}, True),
        ({1: "S", 2: "S", 3: "SSS"}, True),  # threads
        ({1: "S", 2: "S", 3: "SRS"}, False),  # one of them wants to run
        ({1: "S", 2: "S", 3: "D"}, False),  # the disk is slow
        ({1: "S", 2: "S", 3: "T"}, True),  # it stopped itself: who starts it is not stopped
        ({1: "S", 2: "S", 3: "Z"}, True),  # it has ended
        ({1: "S", 2: "S"}, False),  # the program has not begun
        ({}, False),  # nothing can be read
    ],
)
def test_all_threads_must_sleep(states: dict[int, str], idle: bool, tmp_path: Path) -> None:
    """/proc as Linux has it, of bubblewrap (1), its first process (2) and Python (3), each the parent of the next."""
    for pid, threads in states.items():
        for thread, state in enumerate(threads):
            task = tmp_path / str(pid) / "task" / str(100 * pid + thread)
            task.mkdir(parents=True)
            (task / "stat").write_text(f"{100 * pid + thread} (a) name) {state} {pid - 1} 1 1 0 -1\n")
            (task / "children").write_text(f"{pid + 1} " if pid + 1 in states and thread == 0 else "")
    assert sandbox.asleep(1, tmp_path) is idle


def rows() -> list[dict[str, str]]:
    test = gold("", TESTS, "f")
    idle = "```python\nimport time\ndef f(x):\n    time.sleep(100000)\n```"
    right = f"```python\n{RIGHT}```"
    return [
        {"problem_id": str(number), "answer": test, "response": text}
        for number, text in enumerate([right, right, idle, idle])
    ]


@needs_sandbox
def test_an_idle_program_stays_in_the_denominator_and_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two right programs and two that sleep: 50.0, under every policy from the same two runs."""
    ran: list[str] = []
    original = sandbox.run

    def counted(program: str, prompt: str, tests: str, entry_point: str, limits: Limits | None = None) -> Execution:
        ran.append(program)
        return original(program, prompt, tests, entry_point, SHORT)

    monkeypatch.setattr(sandbox, "run", counted)
    write_jsonl(tmp_path / "programs.jsonl", rows())
    report = grade_file(tmp_path / "programs.jsonl")
    assert report.verdicts == {"correct": 2, "wrong": 2}
    [scores] = report.scores.values()
    assert [score.value for score in scores if score.metric == "avg"] == [0.5]
    assert max(Counter(ran).values()) <= 2  # for the two rows, not again for each policy that finds the same text


@needs_sandbox
def test_an_unscored_program_is_not_run_again_by_another_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four programs that the machine did not finish took 8 minutes: each policy waited for them again."""
    ran: list[str] = []

    def never(program: str, *_: object) -> Execution:
        ran.append(program)
        return Execution(None, "time: not finished after 120 s (wall clock)")

    monkeypatch.setattr(sandbox, "run", never)
    triples = [(row["answer"], row["response"], None) for row in rows()]
    with ProgramGrader(workers=1) as grader:
        for policy in ("program", "program_fenced", "program_first"):
            assert {grade.verdict for grade in grader.grade_responses(triples, policy)} == {Verdict.UNSCORED}
    assert len(ran) == 2  # two texts
