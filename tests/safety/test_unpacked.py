"""The content of a packed file is bounded before it is in memory: Parquet by its values, archives by their content."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evals import unpacked
from evals.answer_files.containers import contents
from evals.data.rows import read_rows
from evals.files import read_parquet

MIB = 1 << 20
TEXT = "x" * 10_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may unpack to 1 MiB, not to 1 GiB, so that a bomb of the test is small."""
    monkeypatch.setattr(unpacked, "LARGEST", MIB)


def flat(column: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table({"problem": column}), path, compression="zstd")


BOMBS: dict[str, Callable[[Path], None]] = {
    "one text in every row": flat(pa.array([TEXT] * 300)),
    "one text, as large text": flat(pa.array([TEXT] * 300, pa.large_string())),
    "one text, as bytes": flat(pa.array([TEXT.encode()] * 300)),
    "bytes of a fixed size": flat(pa.array([TEXT.encode()] * 300, pa.binary(len(TEXT)))),
    "a list of texts": flat(pa.array([[TEXT] * 3] * 100)),
    "texts in an object": flat(pa.array([{"a": TEXT, "b": "y"}] * 300)),
    "texts in a list of objects": flat(pa.array([[{"a": TEXT}] * 2] * 150)),
    "numbers in one list": flat(pa.array([[7] * 400_000])),
    "one number in every row": flat(pa.array([7] * 400_000)),
    "nothing in every row": flat(pa.nulls(400_000)),
    "true in every row": flat(pa.array([True] * 400_000)),
    "a dictionary of arrow's": flat(pa.array([TEXT] * 300).dictionary_encode()),
    "two columns of half": lambda path: pq.write_table(
        pa.table({"problem": [TEXT] * 80, "answer": [TEXT] * 80}), path, compression="zstd"
    ),
    "several row groups": lambda path: pq.write_table(
        pa.table({"problem": [TEXT] * 300}), path, compression="zstd", row_group_size=20
    ),
    "several row groups of objects": lambda path: pq.write_table(
        pa.table({"problem": [[{"a": TEXT}]] * 300}), path, compression="zstd", row_group_size=60
    ),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize(
    "read", [lambda path: list(read_rows(path)), read_parquet, contents], ids=["rows", "table", "answers"]
)
def test_a_small_parquet_file_of_much_is_refused(read: Callable[[Path], Any], name: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    BOMBS[name](path)
    assert path.stat().st_size < 12_000, "small enough that 100 times its size is no allowance"
    with pytest.raises(ValueError, match=r"bomb\.parquet.*unpacks to more than"):
        read(path)


@pytest.mark.parametrize(
    "table",
    [
        {"problem": ["the same question, of some length"] * 2000, "answer": [str(i) for i in range(2000)]},
        {"problem": [f"{i} " + "q" * 300 for i in range(2000)], "answer": ["7"] * 2000},
        {"messages": [[{"role": "user", "content": "the same"}]] * 2000, "n": [1.5] * 2000},
        {"prompt": [[{"role": "user", "content": f"{i} " + "q" * 200}] for i in range(2000)]},
        {"problem": pa.array(["a", None, "b"] * 500).dictionary_encode(), "at": pa.array([[1, 2], [], None] * 500)},
        {"empty": []},
    ],
)
def test_an_honest_file_is_read_whole(table: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "honest.parquet"
    made = pa.table(table)
    pq.write_table(made, path, compression="zstd", row_group_size=700)
    assert list(read_rows(path)) == made.to_pylist()
    assert read_parquet(path).to_pylist() == made.to_pylist()


# ------------------------------------------------------------------------------------------------------- inspect's logs


def log(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def sized(path: Path, size: int, claimed: int) -> None:
    """Let the directory and the header of a zip file claim another size of its one member."""
    data = path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", claimed))
    path.write_bytes(data)


SAMPLE = json.dumps({"id": 1, "target": "7", "output": {"completion": " " * 12_000_000}}).encode()


@pytest.mark.parametrize("claimed", [None, 1000])
def test_a_log_whose_member_is_a_bomb_is_refused(claimed: int | None, tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    log(path, {"samples/1.json": SAMPLE})
    if claimed is not None:
        sized(path, len(SAMPLE), claimed)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"bomb\.eval"):
        contents(path)
    assert tracemalloc.get_traced_memory()[1] < 12 * MIB
    tracemalloc.stop()


def test_a_log_in_zstandard_whose_size_is_wrong_is_refused(tmp_path: Path) -> None:
    """As inspect writes today: the method 93, which zipfile does not know."""
    packed = bytes(pa.compress(SAMPLE, codec="zstd", asbytes=True))
    path = tmp_path / "bomb.eval"
    log(path, {"samples/1.json": packed}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    for claimed in (1000, 2**31 - 1):
        changed = bytearray(data)
        crc = struct.pack("<I", zlib.crc32(packed))
        for start in (data.find(b"PK\x03\x04") + 8, data.find(b"PK\x01\x02") + 10):
            changed[start : start + 2] = struct.pack("<H", 93)
        for at in (data.find(crc), data.find(crc, data.find(b"PK\x01\x02"))):
            changed[at + 8 : at + 12] = struct.pack("<I", claimed)
        path.write_bytes(bytes(changed))
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"bomb\.eval"):
            contents(path)
        assert tracemalloc.get_traced_memory()[1] < 12 * MIB
        tracemalloc.stop()


def test_a_log_of_very_many_members_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    log(path, {f"samples/{i}.json": b"{}" + b" " * 20_000 for i in range(100)})
    with pytest.raises(ValueError, match=r"bomb\.eval.*unpacks to more than"):
        contents(path)
