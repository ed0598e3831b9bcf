"""Atomic writes, JSON Lines, hashes, locks."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals import files, unpacked
from evals.errors import BusyError, DamagedFileError
from evals.files import (
    append_jsonl,
    check_hashed,
    differing_files,
    folder_sha256s,
    is_locked,
    json_lines,
    locked,
    mend_jsonl,
    read_json,
    read_jsonl,
    read_object,
    read_parquet,
    write_atomically,
    write_hashed,
    write_json,
    write_jsonl,
    write_parquet,
)


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})

    def fail(part: Path) -> None:
        part.write_text("half")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, fail)
    assert read_json(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"garbage\x00"])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"record\.json is damaged \(not JSON: .*\): delete it"):
        read_json(path)


def test_an_object_needs_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert read_object(path, "a") is None
    for value, why in (([1], "expected a JSON object, got list"), ({"b": 1}, "no field 'a'"), (None, "got NoneType")):
        write_json(path, value)
        with pytest.raises(DamagedFileError, match=why):
            read_object(path, "a")
    write_json(path, {"a": 1})
    assert read_object(path, "a") == {"a": 1}


lines = st.lists(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.integers() | st.text()),
    max_size=8,
).map(lambda rows: json.loads(json.dumps(rows, ensure_ascii=True)))


@given(lines, st.integers(0, 10_000))
def test_an_incomplete_last_line_is_ignored(rows: list[dict[str, Any]], cut: int) -> None:
    """Wherever a kill cuts the file: the rows of whole lines are read, and appending continues after them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        for row in rows:
            append_jsonl(path, row)
        data = path.read_bytes() if path.exists() else b""
        kept = data[: min(cut, len(data))]
        path.write_bytes(kept)
        whole = rows[: kept.count(b"\n")]
        assert read_jsonl(path) == whole
        mend_jsonl(path)
        append_jsonl(path, {"next": 1})
        assert read_jsonl(path) == [*whole, {"next": 1}]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [{"a": 1}, {"a": 2}])
    path.write_bytes(path.read_bytes().replace(b'{"a": 1}', b'{"a": \x00'))
    with pytest.raises(DamagedFileError, match="the line at byte 0 is not JSON"):
        read_jsonl(path)


def test_a_table_that_was_cut_or_overwritten_is_named(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.table({"text": ["some text to be checked", "more of it"] * 20, "tokens": list(range(40))})
    path = tmp_path / "t.parquet"
    write_parquet(table, path)
    data = path.read_bytes()
    assert read_parquet(path).equals(table)
    at = data.index(b"some text")  # in a page: its checksum does not fit
    for content in (data[: len(data) // 2], b"", b"x" * 100, data[:at] + b"S" + data[at + 1 :]):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match="not readable as Parquet"):
            read_parquet(path)


def test_a_table_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    write_parquet(pa.table({"zeros": [0] * 10**6}), tmp_path / "t.parquet")  # a few kilobytes
    assert read_parquet(tmp_path / "t.parquet").num_rows == 10**6
    monkeypatch.setattr(unpacked, "LARGEST", 1 << 20)
    with pytest.raises(DamagedFileError, match=r"unpacks to more than 0\.0 GiB"):
        read_parquet(tmp_path / "t.parquet")


def test_every_flipped_byte_shows_in_the_name(tmp_path: Path) -> None:
    path = write_hashed(tmp_path, "000001", ".bin", lambda part: _write(part, b"some content"))
    check_hashed(path)
    assert path.name.startswith("000001-") and [p.name for p in tmp_path.iterdir()] == [path.name]
    for at in range(len(b"some content")):
        flipped = bytearray(b"some content")
        flipped[at] ^= 1
        path.write_bytes(bytes(flipped))
        with pytest.raises(DamagedFileError, match="does not fit the hash in its name"):
            check_hashed(path)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def test_hashes_find_missing_and_changed_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("1")
    (tmp_path / "sub" / "b").write_text("2")
    sums = folder_sha256s(tmp_path)
    assert sums.keys() == {"a", "sub/b"} and differing_files(tmp_path, sums) == []
    (tmp_path / "more").write_text("")
    (tmp_path / "a").write_text("x")
    (tmp_path / "sub" / "b").unlink()
    assert differing_files(tmp_path, sums) == ["a has changed", "sub/b is missing"]


def test_one_bit_of_a_large_file_changes_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART", 40)
    monkeypatch.setattr(files, "BLOCK", 10)
    path, content = tmp_path / "a", bytes(range(100))  # parts of 40, 40 and 20 bytes
    path.write_bytes(content)
    parts = [hashlib.sha256(content[start : start + 40]).digest() for start in (0, 40, 80)]
    assert files.parts_sha256(path) == hashlib.sha256(b"".join(parts)).hexdigest()
    seen = {files.parts_sha256(path)}
    for at in range(100):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        seen.add(files.parts_sha256(path))
    for other in (content[:-1], content + b"x", content[40:80] + content[:40] + content[80:]):
        path.write_bytes(other)
        seen.add(files.parts_sha256(path))
    assert len(seen) == 1 + 100 + 3
    path.write_bytes(content[:40])  # one part: its content
    assert files.parts_sha256(path) == files.file_sha256(path)


def test_a_lock_holds_across_processes_and_ends_with_them(tmp_path: Path) -> None:
    code = f"from evals.files import locked\nfrom pathlib import Path\nwith locked(Path({str(tmp_path)!r})): pass"
    with locked(tmp_path):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert other.returncode == 1 and "is in use by another process" in other.stderr
        with pytest.raises(BusyError, match="mine"), locked(tmp_path, "mine"):
            pass
    assert subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ)).returncode == 0


def test_a_line_separator_in_a_text_ends_no_json_line(tmp_path: Path) -> None:
    rows = [{"a": "x\u2028y\u2029z\u0085\x0b\x0c\x1c"}, {"a": ""}]
    write_jsonl(tmp_path / "a.jsonl", rows)
    assert [json.loads(line) for line in json_lines(tmp_path / "a.jsonl")] == rows
    (tmp_path / "a.jsonl").write_text('{"a": 1}\r\n\n{"a": "\u2028"}')  # the last line has no end
    assert [json.loads(line) for line in json_lines(tmp_path / "a.jsonl")] == [{"a": 1}, {"a": "\u2028"}]


def test_who_asks_whether_a_folder_is_held_does_not_make_it_busy(tmp_path: Path) -> None:
    """A question holds the folder for a moment: another one sees it as free, and who takes it waits for its end."""
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)
    question = (tmp_path / ".lock").open("rb")
    fcntl.flock(question, fcntl.LOCK_SH)
    assert not is_locked(tmp_path)
    end = threading.Timer(0.05, question.close)
    end.start()
    with locked(tmp_path):
        assert question.closed
    end.join()
