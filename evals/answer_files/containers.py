"""The objects in a file of any of these forms: JSON Lines, a JSON list, Parquet, CSV, an inspect log (zip or JSON)."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import struct
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

Stream = gzip.GzipFile | io.BufferedReader
ZSTD = 93  # the compression of today's inspect logs, which Python 3.11's zipfile cannot read
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a file in a zip archive: 26 bytes, length of its name, of its extra field


def contents(path: Path) -> list[Any]:
    """The objects of a file. Compressed (.gz) files are decompressed.

    Raises:
        ValueError: its content contradicts its first bytes or its name, or it has no objects.
        OSError: it cannot be read.
    """
    import pyarrow as pa

    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.GzipFile(fileobj=file) if packed else nullcontext(file) as stream:
                objects = _objects(path, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path}: damaged or cut short ({error})") from error
    if not objects:
        raise ValueError(f"{path}: expected rows, found none")
    for number, row in enumerate(objects, 1):
        if not isinstance(row, dict):
            raise ValueError(f"{path}, row {number}: expected an object, got {type(row).__name__}")
    return objects


def _objects(path: Path, stream: Stream) -> list[Any]:
    start, name = stream.read(4), path.name.removesuffix(".gz")
    stream.seek(0)
    if start == b"PAR1":
        import pyarrow.parquet as pq

        # in this thread alone: a thread that pyarrow has just started aborts a process that ends meanwhile
        return list(pq.ParquetFile(stream).read(use_threads=False).to_pylist())
    if start[:2] == b"PK":
        return _zipped(stream)
    if name.endswith((".csv", ".tsv")):
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        return list(csv.DictReader(text, delimiter="\t" if name.endswith(".tsv") else ","))
    objects = _json(path, stream)
    if len(objects) == 1 and isinstance(objects[0], list):
        return list(objects[0])
    if len(objects) == 1 and isinstance(objects[0], dict) and isinstance(objects[0].get("samples"), list):
        return list(objects[0]["samples"])  # an inspect log
    return objects


def _zipped(stream: Stream) -> list[Any]:
    with zipfile.ZipFile(stream) as archive:
        files = {info.filename: info for info in archive.infolist()}
        inside = sorted(name for name in files if name.startswith("samples/") and name.endswith(".json"))
        return [json.loads(_member(stream, archive, files[name])) for name in inside]


def _member(stream: Stream, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of the archive; decompresses zstandard itself."""
    if info.compress_type != ZSTD:
        return archive.read(info)
    import pyarrow as pa

    stream.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(name + extra, io.SEEK_CUR)
    packed = stream.read(info.compress_size)
    return bytes(pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True))


def _json(path: Path, stream: Stream) -> list[Any]:
    """The values of JSON Lines, read line by line; or, where its first line is no value, the one of the whole file."""
    values: list[Any] = []
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            values.append(_value(line))
        except ValueError as error:
            if not values:
                try:
                    return [_value(line + stream.read())]
                except ValueError:
                    pass  # the line's error is the clearer one
            raise ValueError(f"{path}, line {number}: not JSON ({error})") from error
    return values


def _value(data: bytes) -> Any:
    """Raises ValueError: not UTF-8, not JSON, nested too deeply, or half of a surrogate pair, which is no character."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if re.search(rb"\\ud", data, re.IGNORECASE):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value
