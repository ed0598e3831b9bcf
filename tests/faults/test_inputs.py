"""Files that cannot be read: exit code 2, and a message without a traceback that names the file.

`tests/harness/command/test_fuzz.py` has the odd keys and values of the command line.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests.faults.commands import RUN


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def refused(arguments: list[str], named: str = "") -> None:
    from rlvr.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main(arguments)
        except SystemExit as stop:
            code = stop.code
    assert code == 2, (arguments, code, err.getvalue()[-300:])
    assert named in err.getvalue() and len(err.getvalue()) < 5000, (arguments, err.getvalue()[-300:])


def test_parquet_with_another_schema(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables: dict[str, dict[str, Any]] = {
        "columns": {"a": [1], "b": [2]},
        "numbers": {"problem": [1], "answer": [2]},
        "no-rows": {"problem": pa.array([], pa.string()), "answer": pa.array([], pa.string())},
        "nulls": {"problem": pa.array([None], pa.string()), "answer": ["1"]},
        "nested": {"problem": [{"a": 1}], "answer": [[1]]},
        "binary": {"problem": [b"\xff"], "answer": [b"\x00"]},
    }
    for name, columns in tables.items():
        data = tmp_path / name
        data.mkdir()
        path = tmp_path / f"{name}.parquet"
        for place in (path, data / "tiny_short.parquet"):
            pq.write_table(pa.table(columns), place)
        refused([*RUN, f"dataset={path}"], path.name)
        refused(["grade", str(path)], path.name)
        refused(["eval", "model=/nowhere", "protocol=tiny", "benchmarks=[tiny_short]", f"data_dir={data}"])


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
PROMPTS = {
    "python object": "user: !!python/object/apply:os.system ['touch planted']\n",
    "unknown tag": "user: !x y\n",
    "bomb": BOMB,
    "bomb as a value": BOMB.replace("i: &i", "user: &i"),
    "bomb as system": 'user: "{problem}"\nsystem:\n' + "".join(f"  {line}\n" for line in BOMB.splitlines()),
    "mappings that double": "user:\n  m0: &m0 {x: 1}\n"
    + "".join(f"  m{i}: &m{i} {{{', '.join(f'x{j}: *m{i - 1}' for j in range(9))}}}\n" for i in range(1, 12)),
    "cycle": 'user: "{problem}"\nsystem: &n [*n]\n',
    "deep": "user: " + "[" * 5000,
    "list": "- 1\n",
    "empty": "",
    "not UTF-8": "\udcff",
    "unknown field": 'user: "{problem}"\nuserr: x\n',
    "no problem": "user: Solve it.\n",
    "user a list": 'user: ["{problem}"]\n',
    "text for chat": 'user: "{problem}"\nchat: many\n',
    "date": 'user: "{problem}"\nsystem: 2020-01-01\n',
    "binary": 'user: "{problem}"\nsystem: !!binary aGVsbG8=\n',
    "set": 'user: "{problem}"\npolicy: !!set {1, 2}\n',
    "no anchor": 'user: "{problem}"\nsystem: *nothing\n',
    "tabs": 'user:\t"{problem}"\n\tchat: true\n',
    "key a list": "[1]: 2\n",
    "merge of a number": 'user: "{problem}"\n<<: 3\n',
}


def test_a_yaml_file_that_is_no_prompt_runs_and_expands_nothing(tmp_path: Path) -> None:
    for name, text in PROMPTS.items():
        path = tmp_path / f"{name.replace(' ', '-')}.yaml"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        refused(["eval", "model=/nowhere", "protocol=tiny", f"prompt={path}"], path.stem)
    assert not (tmp_path / "planted").exists()
