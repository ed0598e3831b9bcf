"""The objects in a file of answers: a data file of any form, or an inspect log (zip or JSON)."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from evals.data.rows import read_rows
from evals.files import UsageError, most_unpacked

ZSTD = 93  # the compression of today's inspect logs, which Python 3.11's zipfile cannot read
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a file in a zip archive: 26 bytes, length of its name, of its extra field


def contents(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, found by its content.

    Raises:
        UsageError: its content contradicts its first bytes or its name, or it has no objects.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
    objects = _zipped(path) if zipped else list(read_rows(path, of_any_name=True))
    if len(objects) == 1 and isinstance(objects[0], dict):
        objects = _inside(objects[0])
    if not objects:
        raise UsageError(f"{path}: expected rows, found none")
    if strange := [number for number, row in enumerate(objects, 1) if not isinstance(row, dict)]:
        raise UsageError(f"{path}, row {strange[0]}: expected an object")
    return objects


def _inside(whole: dict[str, Any]) -> list[Any]:
    """The objects inside a file of one object: itself, where it is no container."""
    if isinstance(samples := whole.get("samples"), list):  # an inspect log
        return samples
    if isinstance(tasks := whole.get("eval"), dict):  # of evalplus: task -> samples
        return [sample for samples in tasks.values() for sample in samples]
    details = whole.get("details", whole)  # of OpenCompass: id -> object, beside the scores; or the predictions alone
    if isinstance(details, list):
        return details
    if isinstance(details, dict):
        rows = {key: row for key, row in details.items() if isinstance(row, dict)}
        rest = details.keys() - rows.keys() - {"type"}
        if rows and not rest and all(row.keys() == next(iter(rows.values())).keys() for row in rows.values()):
            return [{"idx": key, **row} for key, row in rows.items()]
    return [whole]


def _zipped(path: Path) -> list[Any]:
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            files = {info.filename: info for info in archive.infolist()}
            inside = sorted(name for name in files if name.startswith("samples/") and name.endswith(".json"))
            if sum(files[name].file_size for name in inside) > (most := most_unpacked(path)):
                raise UsageError(f"it unpacks to more than {most / 2**30:.1f} GiB")
            return [json.loads(_member(stream, archive, files[name])) for name in inside]
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: damaged or cut short ({error})") from error


def _member(stream: io.BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of the archive; decompresses zstandard itself."""
    if info.compress_type != ZSTD:
        return archive.read(info)
    import pyarrow as pa

    stream.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(name + extra, io.SEEK_CUR)
    packed = stream.read(info.compress_size)
    return bytes(pa.decompress(packed, decompressed_size=info.file_size, codec="zstd", asbytes=True))
