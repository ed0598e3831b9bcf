"""All processes of a session end with the process that holds it, however it ends. Others are not touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

from harness.backends.verl.processes import Session, members

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def wait_until(what: object, seconds: float = 20) -> bool:
    limit = time.monotonic() + seconds
    while not what() and time.monotonic() < limit:  # type: ignore[operator]
        time.sleep(0.1)
    return bool(what())  # type: ignore[operator]


def test_a_session_ends_with_its_grandchildren_and_its_folder(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    other = subprocess.Popen(SLEEP)
    with Session(uuid4().hex, scratch) as session:
        code = f"import subprocess, time; subprocess.Popen({SLEEP!r}, start_new_session=True); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **session.environment()})
        assert wait_until(lambda: len(members(session.name)) == 2)
    assert wait_until(lambda: members(session.name) == [])
    assert child.wait(5) == -9
    assert not scratch.exists()
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_session_ends_when_its_holder_is_killed(tmp_path: Path) -> None:
    name = uuid4().hex
    code = (
        "import os, subprocess, time\n"
        "from pathlib import Path\n"
        "from harness.backends.verl.processes import Session\n"
        f"with Session({name!r}, Path({str(tmp_path / 'scratch')!r})) as session:\n"
        f"    subprocess.Popen({SLEEP!r}, env={{**os.environ, **session.environment()}})\n"
        "    time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code])
    assert wait_until(lambda: len(members(name)) == 1)
    holder.kill()
    holder.wait()
    assert wait_until(lambda: members(name) == [])
