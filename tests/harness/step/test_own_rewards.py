"""A user's own rewards: their contract is checked before anything starts, and again in training."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.step import own_rewards
from harness.step.rewards import range_of, score_responses
from harness.step.time_limit import TimeIsUp, within

GOOD = "def reward(response, answer):\n    return {body}\nreward.range = (0, 1)\n"


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    own_rewards.load.cache_clear()
    return f"{path}:reward"


def test_a_reward_that_keeps_the_contract(tmp_path: Path) -> None:
    name = written(tmp_path, GOOD.format(body="1.0 / (1 + len(response))"))
    own_rewards.check(name)
    assert own_rewards.value(name, "abc", "7") == 0.25  # 1 / (1 + 3)
    assert range_of(name) == (0.0, 1.0) and own_rewards.source_of(name) == tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.format(body="2.0"), "expected a number in its range [0, 1], got 2.0"),
        (GOOD.format(body="float('nan')"), "expected a finite number or None, got nan"),
        (GOOD.format(body="'1'"), "expected a finite number or None, got '1'"),
        (GOOD.format(body="1 / len(response)"), "raises ZeroDivisionError"),
        ("import random\n" + GOOD.format(body="random.random()"), "expected the same number for the same response"),
        ("def reward(response):\n    return 1.0\nreward.range = (0, 1)\n", "expected a function of (response, answer)"),
        (
            "def reward(response, answer):\n    return 1.0\n",
            ": set reward.range = (smallest, largest), as reward.range = (0.0, 1.0)",
        ),
        ("def other(a, b):\n    return 1.0\n", "expected a function 'reward' in"),
        ("import no_such_package\n", "fails when it is imported (ModuleNotFoundError"),
    ],
)
def test_what_breaks_the_contract_is_named(text: str, message: str, tmp_path: Path) -> None:
    name = written(tmp_path, text)
    with pytest.raises(ValueError) as raised:
        own_rewards.check(name)
    assert message in str(raised.value) and str(raised.value).startswith(f"rewards={name}")


@pytest.mark.parametrize("name", ["no_such_module_of_mine:reward", "nowhere/mine.py:reward"])
def test_missing_parts_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        own_rewards.load(name)


@pytest.mark.parametrize(
    "body",
    ["np.float32(0.5)", "np.array(0.5)", "torch.tensor(0.5)", "Fraction(1, 2)", "Decimal('0.5')", "np.float16(0.5)"],
)
def test_any_real_number_is_a_reward(body: str, tmp_path: Path) -> None:
    head = "import numpy as np\nimport torch\nfrom decimal import Decimal\nfrom fractions import Fraction\n"
    name = written(tmp_path, head + GOOD.format(body=body))
    own_rewards.check(name)
    assert own_rewards.value(name, "abc", "7") == 0.5 and type(own_rewards.value(name, "abc", "7")) is float


@pytest.mark.parametrize("body", ["np.bool_(True)", "True", "np.float32('nan')", "torch.ones(1)", "1j", "[1.0]"])
def test_what_is_no_real_number_is_refused(body: str, tmp_path: Path) -> None:
    name = written(tmp_path, "import numpy as np\nimport torch\n" + GOOD.format(body=body))
    with pytest.raises(ValueError, match="expected a finite number or None, got"):
        own_rewards.check(name)


def test_none_remains_none_and_others_are_graded(tmp_path: Path) -> None:
    from evals.grading import Grader

    name = written(tmp_path, GOOD.format(body="None if 'skip' in response else 0.5"))
    grader = Grader()
    given = score_responses(
        ["accuracy", name], ["\\boxed{7}", "skip \\boxed{8}"], ["7", "7"], grader, policy="boxed_last"
    )
    assert given == {"accuracy": [1.0, 0.0], name: [0.5, None]}


IN_THE_MAIN_THREAD_ALONE = {
    "alarm": "import signal\n\ndef r(response, answer):\n    signal.signal(signal.SIGALRM, lambda *_: 1 / 0)\n"
    "    signal.alarm(5)\n    signal.alarm(0)\n    return 1.0\n",
    "timer": "import signal\n\ndef r(response, answer):\n    signal.setitimer(signal.ITIMER_REAL, 5)\n"
    "    signal.signal(signal.SIGALRM, signal.SIG_DFL)\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    return 1.0\n",
    "asks": "import threading\n\ndef r(response, answer):\n"
    "    assert threading.current_thread() is threading.main_thread()\n    return 1.0\n",
    "a loop": "import asyncio\n\ndef r(response, answer):\n    asyncio.get_event_loop_policy().get_event_loop()\n"
    "    return 1.0\n",
}


@pytest.mark.parametrize("kind", IN_THE_MAIN_THREAD_ALONE)
def test_a_reward_for_the_main_thread_alone_works_from_another_thread(kind: str, tmp_path: Path) -> None:
    """veRL calls rewards in another thread, where `signal.alarm` failed after the first rollout: there each call goes
    to the main thread of a process of its own."""
    own_rewards.load.cache_clear()
    file = tmp_path / "mine.py"
    file.write_text(f"{IN_THE_MAIN_THREAD_ALONE[kind]}\nr.range = (0.0, 1.0)\n")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(own_rewards.value, f"{file}:r", "text", "7").result() == 1.0


SLOW = """import re
def reward(response, answer):
    return float(re.fullmatch(r"(\\w+,? ?)*\\.", response) is not None)
reward.range = (0, 1)
reward.limit_s = 0.2
"""  # backtracks for 2^n steps of a text of n words without a full stop
HARD = "a" * 60


@pytest.mark.parametrize("thread", [False, True])
def test_a_reward_that_never_returns_leaves_its_response_unscored(
    thread: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the main thread, as under TRL, and in another one, as under veRL."""
    name = written(tmp_path, SLOW)
    assert own_rewards.limits_of(["correctness", name]) == {name: 0.2}  # what the record has
    called = own_rewards.value
    if thread:
        with ThreadPoolExecutor(1) as pool:
            rewards = [pool.submit(called, name, text, "7").result() for text in ("a.", HARD, "b.")]
    else:
        rewards = [called(name, text, "7") for text in ("a.", HARD, "b.")]
    assert rewards == [1.0, None, 1.0]
    message = capsys.readouterr().err
    assert message == f"    warning: rewards={name}: no result after 0.2 s for the response {HARD!r}: unscored\n"


def test_a_reward_that_never_returns_is_refused_before_the_start(tmp_path: Path) -> None:
    name = written(tmp_path, SLOW)
    with pytest.raises(ValueError, match=r"no result after 0.2 s for the response 'wait, .*type reward.limit_s = SEC"):
        own_rewards.check(name)
    name = written(tmp_path, SLOW.replace("0.2", "'soon'"))
    with pytest.raises(ValueError, match="expected limit_s in seconds, above 0, got 'soon'"):
        own_rewards.check(name)


def test_the_limit_keeps_another_timer_and_is_not_caught() -> None:
    """The user's `except Exception` does not catch it, and pytest's own timer (600 s) goes on."""
    before = signal.setitimer(signal.ITIMER_REAL, 500)

    def stubborn() -> None:
        while True:
            try:
                time.sleep(10)
            except Exception:
                continue

    try:
        with pytest.raises(TimeIsUp):
            within(0.05, stubborn)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 500
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
