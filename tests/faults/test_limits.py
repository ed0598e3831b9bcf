"""Limits of a machine and of an account: one sentence that says what to do, no traceback, and nothing half-written."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.commands import RUN

ARCHIVE = Path(__file__).parents[2] / "results" / "records" / "forking_tokens.tar.xz"
TABLES = ["tables", "paper=forking_tokens", f"runs=[{ARCHIVE}]", "out=t"]
NOBODY = 65534  # root is exempt from the limit of processes. This user may read as root does, and nothing else
DROPPED = "-all,+dac_read_search"
AS_NOBODY = [
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *(f"--bounding-set={DROPPED}", f"--inh-caps={DROPPED}", f"--ambient-caps={DROPPED}"),
]
FILES, MEMORY = (resource.RLIMIT_FSIZE, 64), (resource.RLIMIT_AS, 180 << 20)
LATIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}  # as a locale of ISO 8859 is


@pytest.mark.parametrize(
    ("words", "environment", "limit", "code", "message"),
    [
        (["grade", "a.jsonl", "out=g.jsonl"], {}, FILES, 2, "File too large: 'g.jsonl'"),
        (TABLES, {"RLVR_CACHE": "/proc/none"}, None, 2, "set RLVR_CACHE to a folder to write to"),
        (TABLES, {"RLVR_HOME": "/proc/none"}, None, 0, ""),  # nothing is written there
        (RUN, {"RLVR_HOME": "/proc/none"}, None, 2, "expected a folder to write to"),
        (["list"], LATIN, None, 2, "set PYTHONUTF8=1"),
        (["grade", "a.jsonl"], {"LC_ALL": "C"}, None, 0, ""),
        (["grade", "a.jsonl"], {}, MEMORY, 1, "memory"),  # Python's error, or that of a library that is loaded
    ],
)
def test_a_limit_is_one_sentence(
    words: list[str],
    environment: dict[str, str],
    limit: tuple[int, int] | None,
    code: int,
    message: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jsonl").write_text('{"answer": "1", "response": "\\\\boxed{1} \u00e9"}\n', encoding="utf-8")
    home = {"RLVR_HOME": str(tmp_path / "home"), "RLVR_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "rlvr", *words],
        env={**os.environ, **home, **environment},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(limit[0], (limit[1], limit[1])),
    )
    err = done.stderr.decode()
    assert done.returncode == code and message in err and "Traceback" not in err, err
    assert not [path for path in tmp_path.rglob(".*.part")]


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_limit_of_threads_and_processes_is_one_sentence(processes: int, tmp_path: Path) -> None:
    """With each some other library is the first that cannot start a thread. One of them panics in Rust."""
    for folder in (tmp_path, *tmp_path.parents):
        if any(part.startswith("pytest-of-") for part in folder.parts):  # pytest's own, with xdist one level deeper
            folder.chmod(0o755)
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", NOBODY if os.geteuid() == 0 else -1, -1)
    done = subprocess.run(
        [*(AS_NOBODY if os.geteuid() == 0 else ()), sys.executable, "-m", "rlvr", *RUN],
        env={**os.environ, **{name: str(tmp_path / "home") for name in ("RLVR_HOME", "HOME", "TMPDIR")}},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes)),
    )
    message = "a limit on threads, processes or memory is reached"
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr, done.stderr
