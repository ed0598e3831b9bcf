"""The content of a compressed file, bounded: a small file may hold far more than a machine has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evals.errors import DamagedFileError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

LARGEST, RATIO = 1 << 30, 100  # bytes that a file may always unpack to. Beyond, at most so many times its own size


class Unpacked:
    """The content of a compressed file, read no further than an honest one goes.

    Args:
        stream: that unpacks it. path: the compressed file.
    """

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path, self._most = stream, path, most_unpacked(path)
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """As of a file.

        Raises:
            DamagedFileError: it unpacks to more.
        """
        return self._counted(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        """As `read`."""
        return self._counted(self._stream.readline(size))

    def _counted(self, data: bytes) -> bytes:
        self._read += len(data)
        if self._read > self._most:
            raise DamagedFileError(self._path, f"it unpacks to more than {self._most / 2**30:.1f} GiB", "do not use it")
        return data


def most_unpacked(path: Path) -> int:
    """The bytes that a compressed file may unpack to."""
    return max(LARGEST, RATIO * path.stat().st_size)


CELL = 64  # bytes that a value takes in a row of Python


def check_parquet(path: Path) -> None:
    """Check what a Parquet file unpacks to, without unpacking it: a million equal texts are a few bytes in it.

    Raises:
        DamagedFileError: it unpacks to more than `most_unpacked`.
        pa.ArrowException, OSError: it is no Parquet file.
    """
    import pyarrow.parquet as pq

    most = most_unpacked(path)
    with pq.ParquetFile(path) as file:
        meta = file.metadata
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        chunks = [(meta.schema.column(i), group.column(i)) for group in groups for i in range(meta.num_columns)]
    stored = sum(chunk.total_uncompressed_size for _, chunk in chunks)
    fixed = sum(chunk.num_values * max(CELL, column.length or 0) for column, chunk in chunks)
    texts = {column.path: 0 for column, chunk in chunks if chunk.physical_type == "BYTE_ARRAY"}
    for column, chunk in chunks:
        if column.path in texts:  # no text is longer than all that is stored of its column
            texts[column.path] += chunk.num_values * chunk.total_uncompressed_size
    values = max(fixed, CELL * meta.num_rows)
    if max(stored, values) <= most < values + sum(texts.values()):  # only then it is worth to look at the texts
        values += _texts_in(path, list(texts), most - values)
    if max(stored, values) > most:
        raise DamagedFileError(path, f"it unpacks to more than {most / 2**30:.1f} GiB", "do not use it")


def parquet_batches(file: ParquetFile, columns: list[str] | None = None) -> Iterator[RecordBatch]:
    """The rows of a Parquet file, in order. Each batch is from one row group: each group has dictionaries of its own,
    and pyarrow cannot join the dictionaries of two groups inside a list or an object."""
    for number in range(file.num_row_groups):
        # in this thread alone: a thread that pyarrow has just started aborts a process that ends meanwhile
        yield from file.iter_batches(row_groups=[number], columns=columns, use_threads=False)


def _texts_in(path: Path, columns: list[str], most: int) -> int:
    """The bytes of all texts in these columns, each as often as it stands in a row. Counting ends above `most`."""
    import pyarrow.parquet as pq

    count = 0
    with pq.ParquetFile(path, read_dictionary=columns) as file:
        for batch in parquet_batches(file, columns):
            count += sum(map(_text_bytes, batch.columns))
            if count > most:
                break
    return count


def _text_bytes(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        return int(pc.sum(pc.take(pc.binary_length(array.dictionary), array.indices)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_text_bytes(part) for part in array.flatten())
    if pa.types.is_map(kind):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    return _text_bytes(array.flatten()) if pa.types.is_nested(kind) else array.nbytes
