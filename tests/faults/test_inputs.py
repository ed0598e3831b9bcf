"""Files that cannot be read: exit code 2, and a message without a traceback that names the file.

`tests/harness/command/test_fuzz.py` has the odd keys and values of the command line.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults import CASES
from tests.faults.commands import RUN

GOOD = [{"problem": f"{i}+1?", "answer": str(i + 1)} for i in range(20)]
ANSWERS = [{"problem_id": str(i), "answer": "2", "response": "\\boxed{2}"} for i in range(20)]
PROMPT = 'user: "{problem}"\nchat: true\npolicy: boxed_last\n'
EDITS = ("[", "{", "*a", "!x y", "-1", ".nan", "[[]]", "{a: 1}", "{default: [1,0]}", "1e400")


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


def damaged(text: str, row: dict[str, str], column: str) -> dict[str, bytes]:
    """Name -> a file that is not the JSON Lines of `text`; `column` must be text."""
    return {
        "empty": b"",
        "blank lines": b"\n\n \n",
        "NUL": b"\x00" * 100,
        "random bytes": random.Random(1).randbytes(5000),
        "UTF-16": text.encode("utf-16"),
        "Latin-1": '{"problem": "caf\xe9"}\n'.encode("latin-1"),
        "a list": b"[1, 2]\n",
        "a number": b"3\n",
        "null": b"null\n",
        "a string": b'"x"\n',
        "no columns": b'{"x": 1}\n',
        "number for text": json.dumps({**row, column: 1}).encode(),
        "null for text": json.dumps({**row, column: None}).encode(),
        "list for text": json.dumps({**row, column: [1]}).encode(),
        "cut off": text.encode()[:-30],
        "lone surrogate": json.dumps({**row, column: "\ud800"}).encode(),
        "deep": b'{"a":' * 100_000,
        "deep list": b"[" * 100_000,
        "10 MB line cut off": b'{"problem": "' + b"x" * 10_000_000,
        "half a gzip": gzip.compress(text.encode())[:40],
        "garbage after gzip magic": b"\x1f\x8b" + b"garbage",
        "Parquet magic": b"PAR1garbagePAR1",
        "zip magic": b"PK\x03\x04garbage",
    }


def damaged_at_random(text: str, column: str, generator: random.Random) -> bytes:
    """A byte that is not UTF-8, a cut line, or a row without a column."""
    data = bytearray(text.encode())
    place = generator.randrange(len(data) - 40)
    kind = generator.randrange(3)
    if kind == 0:
        data[place] = generator.choice((0xC0, 0xFF, 0xFE))
    elif kind == 1:
        del data[data.index(b"}\n", place)]
    else:
        lines = bytes(data).splitlines(keepends=True)
        at = generator.randrange(len(lines))
        lines[at] = lines[at].replace(f'"{column}"'.encode(), b'"other"')
        return b"".join(lines)
    return bytes(data)


@pytest.mark.parametrize(
    ("rows", "column", "command"),
    [(GOOD, "answer", lambda p: [*RUN, f"dataset={p}"]), (ANSWERS, "response", lambda p: ["grade", str(p)])],
    ids=["training data", "responses"],
)
def test_json_lines(
    rows: list[dict[str, str]], column: str, command: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    generator = random.Random(0)
    contents = damaged(text, rows[0], column)
    contents |= {f"random {i}": damaged_at_random(text, column, generator) for i in range(CASES)}
    for name, content in contents.items():
        path = tmp_path / f"{name.replace(' ', '-')}.jsonl"
        path.write_bytes(content)
        refused(command(path), path.name)
    (tmp_path / "folder.jsonl").mkdir()
    refused(command(tmp_path / "folder.jsonl"), "folder.jsonl")
    refused(command(tmp_path / "missing.jsonl"), "missing")


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
    generator = random.Random(0)
    for _ in range(CASES):
        lines = PROMPT.splitlines()
        at = generator.randrange(len(lines))
        lines[at] = f"{lines[at].partition(':')[0]}: {generator.choice(EDITS)}"
        (tmp_path / "random.yaml").write_text("\n".join(lines))
        refused(["eval", "model=/nowhere", "protocol=tiny", f"prompt={tmp_path / 'random.yaml'}"])
