"""Limits of a machine and of an account: one sentence that says what to do, no traceback, and nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).parents[2] / "results" / "records" / "forking_tokens.tar.xz"
TABLES = ["tables", "paper=forking_tokens", f"runs=[{ARCHIVE}]", "out=t"]
FILES, MEMORY = (resource.RLIMIT_FSIZE, 64), (resource.RLIMIT_AS, 300 << 20)
LATIN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}  # as a locale of ISO 8859 is


@pytest.mark.parametrize(
    ("words", "environment", "limit", "code", "said"),
    [
        (["grade", "a.jsonl", "out=g.jsonl"], {}, FILES, 2, "File too large: 'g.jsonl'"),
        (TABLES, {"RLVR_CACHE": "/proc/none"}, None, 2, "set RLVR_CACHE to a folder to write to"),
        (TABLES, {"RLVR_HOME": "/proc/none"}, None, 0, ""),  # nothing is written there
        (["list"], LATIN, None, 2, "set PYTHONUTF8=1"),
        (["grade", "a.jsonl"], {"LC_ALL": "C"}, None, 0, ""),
        (["grade", "a.jsonl"], {}, MEMORY, 1, "out of memory"),
    ],
)
def test_a_limit_is_one_sentence(
    words: list[str],
    environment: dict[str, str],
    limit: tuple[int, int] | None,
    code: int,
    said: str,
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
    assert done.returncode == code and said in err and "Traceback" not in err, err
    assert not [path for path in tmp_path.rglob(".*.part")]
