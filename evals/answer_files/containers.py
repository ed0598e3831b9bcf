"""The objects in a file of any of these forms: JSON Lines, a JSON list, Parquet, CSV, an inspect log (zip or JSON)."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ZSTD = 93  # the compression of today's inspect logs, which Python 3.11's zipfile cannot read
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a file in a zip archive: 26 bytes, length of its name, of its extra field


@dataclass(frozen=True)
class Contents:
    """The content of a file: its objects, and its header (for an inspect log: eval, plan, results)."""

    objects: list[dict[str, Any]]
    header: dict[str, Any] = field(default_factory=dict)


def contents(path: Path) -> Contents:
    """Read a file. Compressed (.gz) files are decompressed.

    Raises:
        ValueError: its content contradicts its first bytes or its name, or it has no objects.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    name = path.name.removesuffix(".gz")
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        content = _contents(path, name, data)
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: damaged or cut short ({error})") from error
    if not content.objects:
        raise ValueError(f"{path}: expected rows, found none")
    for number, row in enumerate(content.objects, 1):
        if not isinstance(row, dict):
            raise ValueError(f"{path}, row {number}: expected an object, got {type(row).__name__}")
    return content


def _contents(path: Path, name: str, data: bytes) -> Contents:
    if data[:4] == b"PAR1":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # in this thread alone: a thread that pyarrow has just started aborts a process that ends meanwhile
            return Contents(list(pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).to_pylist()))
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path}: expected a whole Parquet file ({error})") from error
    if zipfile.is_zipfile(io.BytesIO(data)):
        return _zipped(data)
    if name.endswith((".csv", ".tsv")):
        text = io.StringIO(data.decode("utf-8-sig"))
        return Contents(list(csv.DictReader(text, delimiter="\t" if name.endswith(".tsv") else ",")))
    return _json(path, data)


def _zipped(data: bytes) -> Contents:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {info.filename: info for info in archive.infolist()}
        inside = sorted(name for name in files if name.startswith("samples/") and name.endswith(".json"))
        samples = [json.loads(_member(data, archive, files[name])) for name in inside]
        header = json.loads(_member(data, archive, files["header.json"])) if "header.json" in files else {}
    return Contents(samples, header)


def _member(data: bytes, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of the archive; decompresses zstandard itself."""
    if info.compress_type != ZSTD:
        return archive.read(info)
    import pyarrow as pa

    name, extra = _LOCAL_HEADER.unpack_from(data, info.header_offset)
    start = info.header_offset + _LOCAL_HEADER.size + name + extra
    packed = data[start : start + info.compress_size]
    return bytes(pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True))


def _json(path: Path, data: bytes) -> Contents:
    text = data.decode("utf-8-sig")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return Contents(_lines(path, text))
    if isinstance(whole, dict) and isinstance(whole.get("samples"), list):  # an inspect log
        return Contents(whole["samples"], {key: value for key, value in whole.items() if key != "samples"})
    return Contents(whole if isinstance(whole, list) else [whole])


def _lines(path: Path, text: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: not JSON ({error})") from error
    return rows
