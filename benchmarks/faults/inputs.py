"""Thousands of bad inputs: each gives exit code 2 and a sentence with the field or file, in under 2 s of CPU time."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.lives import RUN
from benchmarks.faults.rows import Row

LIMIT_S = 2.0
ODD = (
    *("nan", "inf", "-inf", "1e400", "-1", "", "null", "true", "${x}", "${oc.env:HOME}", "a=b=c", "[", "[]", "[[]]"),
    *("[nan]", "{a:1}", "1,2", "range(1,3)", "glob(*)", "\x00", "\x1b[31m", "\ud800", "日本", "🙂", "..", "a b", "\\"),
    *("9" * 400, "9" * 5000, "1e-400", "--x", "@x", "[a,'b',1.5,null,true]", "x" * 100_000),
)
GOOD = [{"problem": f"{i}+1?", "answer": str(i + 1)} for i in range(20)]
ANSWERS = [{"problem_id": str(i), "answer": "2", "response": "\\boxed{2}"} for i in range(20)]
YAML = ("[", "{", "*a", "!x y", "-1", ".nan", "[[]]", "{a: 1}", "{default: [1,0]}", "1e400")
PROTOCOL = "base: egsw\nn: 2\nks: [1, 2]\n"


def rows(root: Path, *, cases: int, seed: int) -> Iterator[Row]:
    """`cases`: how many random inputs of each kind, in addition to the fixed ones."""
    folder = root / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("RLVR_HOME", str(root / "inputs-home"))
    yield _overrides(cases, seed)
    yield _files("training data", ".jsonl", GOOD, lambda p: [*RUN, f"dataset={p}"], folder, cases, seed)
    yield _files("responses to grade", ".jsonl", ANSWERS, lambda p: ["grade", str(p)], folder, cases, seed)
    yield _tables(folder)
    yield _protocols(folder, cases, seed)
    yield _homes(folder)


def refusal_fault(arguments: list[str], named: str = "") -> str | None:
    """Run `rlvr` with these arguments; returns what is wrong with the refusal, or None."""
    from harness.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    begin = time.process_time()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: Any = main(arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    seconds = time.process_time() - begin
    text = err.getvalue()
    if code != 2:
        return f"exit code {code}: {text[-200:]}"
    if named not in text:
        return f"{named!r} is not named: {text[-200:]}"
    if len(text) > 5000:
        return f"a message of {len(text)} characters"
    return f"{seconds:.1f} s" if seconds > LIMIT_S else None


def _overrides(cases: int, seed: int) -> Row:
    """Odd values of every key: values that no key accepts must be refused; the others may be valid for some key."""
    from harness.command.resolve import resolve

    row = Row(
        "Odd values on the command line: exit code 2, key named", "NaN, inf, 1e400, ${...}, brackets, Unicode, ..."
    )
    keys = [
        key for key in resolve("egsw", arms=["egsw"], seeds=[0])[0].settings() if not key.startswith("protocol.prompt")
    ]
    rng = random.Random(seed)
    never = ("nan", "inf", "-inf", "1e400", "[nan]", "a=b=c", "${x}", "[", "range(1,3)", "glob(*)", "{a:1}", "9" * 400)
    pairs = [(key, value) for key in keys for value in never]
    for key, value in rng.sample(pairs, min(cases, len(pairs))):
        row.check(f"{key}={value[:20]}", refusal_fault(["plan", "paper=egsw", "arm=egsw", "seeds=1", f"{key}={value}"]))
    for value in (value for value in ODD if value.strip()):
        for key in ("paper", "arm", "scale", "backend", "hardware.dtype", "hardware.nonsense", "no.such.key"):
            options = {"paper": "egsw", "seeds": "1", key: value}
            row.check(f"{key}={value[:20]!a}", refusal_fault(["plan", *(f"{k}={v}" for k, v in options.items())]))
    return row


def _files(
    what: str,
    suffix: str,
    good: list[dict[str, str]],
    command: Callable[[Path], list[str]],
    folder: Path,
    cases: int,
    seed: int,
) -> Row:
    """Fixed and random damages to a JSON Lines file."""
    row = Row(f"A file of {what} that cannot be read: exit code 2, file and row named", "JSON Lines: see inputs.py")
    text = "".join(json.dumps(r) + "\n" for r in good)
    first = list(good[0])[-1]  # a column that must be text
    for name, content in _damages(text, good[0], first).items():
        path = folder / f"{name.replace(' ', '-')}{suffix}"
        path.write_bytes(content)
        row.check(name, refusal_fault(command(path), path.name))
    row.check("a folder", refusal_fault(command(_made(folder / f"folder{suffix}")), f"folder{suffix}"))
    row.check("missing", refusal_fault(command(folder / f"missing{suffix}"), "missing"))
    rng = random.Random(seed)
    path = folder / f"random{suffix}"
    for number in range(cases):
        path.write_bytes(_random_damage(text, first, rng))
        row.check(f"random {number}", refusal_fault(command(path), path.name))
    return row


def _damages(text: str, row: dict[str, str], first: str) -> dict[str, bytes]:
    """Name -> a file that is not the JSON Lines of `text`; `first` is a column that must be text."""
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
        "number for text": json.dumps({**row, first: 1}).encode(),
        "null for text": json.dumps({**row, first: None}).encode(),
        "list for text": json.dumps({**row, first: [1]}).encode(),
        "cut off": text.encode()[:-30],
        "lone surrogate": json.dumps({**row, first: "\ud800"}).encode(),
        "deep": b'{"a":' * 100_000,
        "deep list": b"[" * 100_000,
        "10 MB line cut off": b'{"problem": "' + b"x" * 10_000_000,
        "half a gzip": gzip.compress(text.encode())[:40],
        "garbage after gzip magic": b"\x1f\x8b" + b"garbage",
        "Parquet magic": b"PAR1garbagePAR1",
        "zip magic": b"PK\x03\x04garbage",
    }


def _random_damage(text: str, first: str, rng: random.Random) -> bytearray:
    """Insert a byte that is not UTF-8, cut a line, or remove a column from one row."""
    data = bytearray(text.encode())
    place = rng.randrange(len(data))
    kind = rng.randrange(3)
    if kind == 0:  # a byte that UTF-8 never has
        data[place] = rng.choice((0xC0, 0xFF, 0xFE))
    elif kind == 1:  # a cut line
        del data[data.index(b"}\n", min(place, len(data) - 40))]
    else:  # one row lacks a column
        lines = bytes(data).splitlines(keepends=True)
        at = rng.randrange(len(lines))
        lines[at] = lines[at].replace(f'"{first}"'.encode(), b'"other"')
        data = bytearray(b"".join(lines))
    return data


def _tables(folder: Path) -> Row:
    """Parquet with another schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = Row(
        "A Parquet file with another schema: exit code 2, file named", "as training data, as responses, as a benchmark"
    )
    tables = {
        "other columns": {"a": [1], "b": [2]},
        "numbers": {"problem": [1], "answer": [2]},
        "no rows": {"problem": pa.array([], pa.string()), "answer": pa.array([], pa.string())},
        "nulls": {"problem": pa.array([None], pa.string()), "answer": ["1"]},
        "nested": {"problem": [{"a": 1}], "answer": [[1]]},
        "binary": {"problem": [b"\xff"], "answer": [b"\x00"]},
    }
    benchmark = ["eval", "model=/nowhere", "protocol=tiny", "benchmarks=[tiny_short]"]
    for name, columns in tables.items():
        path = folder / f"{name.replace(' ', '-')}.parquet"
        pq.write_table(pa.table(columns), path)
        row.check(f"data: {name}", refusal_fault([*RUN, f"dataset={path}"], path.name))
        row.check(f"responses: {name}", refusal_fault(["grade", str(path)], path.name))
        data = _made(folder / f"data-{name.replace(' ', '-')}")
        pq.write_table(pa.table(columns), data / "tiny_short.parquet")
        row.check(f"benchmark: {name}", refusal_fault([*benchmark, f"data_dir={data}"]))
    return row


def _protocols(folder: Path, cases: int, seed: int) -> Row:
    row = Row(
        "A YAML file that is no valid protocol: exit code 2, file named; nothing in it runs or expands",
        "tags for Python objects, anchor bombs, cycles, deep nesting, random edits",
    )
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    chosen = {
        "python object": "base: !!python/object/apply:os.system ['touch planted']\n",
        "unknown tag": "base: !x y\n",
        "bomb": bomb,
        "bomb as a value": bomb.replace("i: &i", "benchmarks: &i"),
        "bomb as n": "base: egsw\nn:\n" + "".join(f"  {line}\n" for line in bomb.splitlines()),
        "cycle": "base: egsw\nn: &n [*n]\n",
        "deep": "n: " + "[" * 5000,
        "list": "- 1\n",
        "empty": "",
        "number": "3\n",
        "not UTF-8": "\udcff",
        "unknown field": "base: egsw\nnn: 3\n",
        "no base": "base: nowhere\n",
        "base a list": "base: [1]\n",
        "nan": "base: egsw\ntemperature: .nan\n",
        "inf": "base: egsw\nmax_tokens: .inf\n",
        "text for n": "base: egsw\nn: many\n",
        "date": "base: egsw\nn: 2020-01-01\n",
        "binary": "base: egsw\nn: !!binary aGVsbG8=\n",
        "set": "base: egsw\nks: !!set {1, 2}\n",
        "duplicate anchors": "base: egsw\nn: *nothing\n",
        "tabs": "base:\tegsw\n\tn: 2\n",
        "key a list": "[1]: 2\n",
        "merge bomb": "base: egsw\n<<: 3\n",
    }
    for name, text in chosen.items():
        path = folder / f"{name.replace(' ', '-')}.yaml"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        row.check(name, refusal_fault(["eval", "model=/nowhere", f"protocol={path}"], path.stem))
    row.check("nothing ran", "a file was made" if Path("planted").exists() else None)
    rng = random.Random(seed)
    path = folder / "random.yaml"
    for number in range(cases):
        lines = PROTOCOL.splitlines()
        at = rng.randrange(len(lines))
        key = lines[at].split(":")[0]
        lines[at] = f"{key}: {rng.choice(YAML)}"
        path.write_text("\n".join(lines))
        row.check(f"random {number}: {lines[at]}", refusal_fault(["eval", "model=/nowhere", f"protocol={path}"]))
    return row


def _homes(folder: Path) -> Row:
    row = Row("RLVR_HOME that cannot be a folder: exit code 2, named", "a file, a folder in a file")
    (folder / "file").touch()
    before = os.environ.get("RLVR_HOME")
    try:
        for place in (folder / "file", folder / "file" / "inside"):
            os.environ["RLVR_HOME"] = str(place)
            for command in (RUN, ["tables", "paper=egsw"], ["status"], ["sync"], ["report", "paper=egsw"]):
                row.check(f"{command[0]} {place.name}", refusal_fault(list(command), "RLVR_HOME"))
    finally:
        if before is None:
            del os.environ["RLVR_HOME"]
        else:
            os.environ["RLVR_HOME"] = before
    return row


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
