"""Files that survive a kill: atomic writes, JSON Lines, locks, hashes. Records, samples and tables are written here.

A reader sees the old file or the whole new one, never a part. A file that cannot be read is `DamagedFileError`, which
says what to delete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from evals.errors import BusyError, DamagedFileError
from evals.unpacked import check_parquet


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Run `write` on a temporary file beside `path`, flush it to the disk and rename it to `path`.

    A link stays: the file that it leads to is replaced. A file keeps its mode and its owner. A pipe or a device gets
    the content.
    """
    status = path.stat() if path.exists() else None
    if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        _write_into(path, write)
        return
    place = Path(os.path.realpath(path))
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        write(part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        if status is not None and not _keep_owner(part, status):
            shutil.copyfile(part, place)  # somebody else's file that we may write: it stays theirs
        else:
            part.replace(place)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a write failed: a full disk, a limit on files
            error.filename = str(path)
        raise
    finally:
        part.unlink(missing_ok=True)
    _flush_folder(place.parent)


def _keep_owner(part: Path, status: os.stat_result) -> bool:
    """Give a file the mode and the owner of the one that it replaces. False if this process may not."""
    part_status = part.stat()
    if (part_status.st_uid, part_status.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(part, status.st_uid, status.st_gid)
        except PermissionError:
            return False
    part.chmod(stat.S_IMODE(status.st_mode))
    return True


def _write_into(path: Path, write: Callable[[Path], None]) -> None:
    """Copy what `write` makes into a pipe or a device, which cannot be replaced."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        part = Path(folder) / path.name
        write(part)
        with part.open("rb") as written, path.open("wb") as out:
            shutil.copyfileobj(written, out)


def write_hashed(folder: Path, stem: str, suffix: str, write: Callable[[Path], None]) -> Path:
    """Write a file whose name holds the hash of its content, `<stem>-<16 hex digits><suffix>`, atomically. Its path."""
    part = folder / f".{stem}.{os.getpid()}.part"
    write_atomically(part, write)
    path = folder / f"{stem}-{file_sha256(part)[:16]}{suffix}"
    part.replace(path)
    return path


def check_hashed(path: Path) -> None:
    """Raise DamagedFileError if the content of a file of `write_hashed` does not match the hash in its name."""
    if path.stem.rpartition("-")[2] != file_sha256(path)[:16]:
        raise DamagedFileError(path, "its content does not fit the hash in its name")


def rename_folder(part: Path, path: Path) -> None:
    """Flush the files of the finished folder `part` to the disk, then rename it to `path` in one step."""
    for file in part.rglob("*"):
        if file.is_file():
            with file.open("rb") as written:
                os.fsync(written.fileno())
    part.rename(path)
    _flush_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically. The folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""

    def write(part: Path) -> None:
        part.write_bytes(data)

    write_atomically(path, write)


def write_json(path: Path, value: object) -> None:
    """Write JSON atomically; what is not JSON must be iterable (tuples and sets become lists)."""
    write_text(path, json.dumps(value, indent=2, default=list) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file, or None when there is no such file.

    Raises:
        DamagedFileError: it is there and is not JSON.
    """
    if not os.path.lexists(path):
        return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:  # bad UTF-8 is one too. Brackets in brackets
        raise DamagedFileError(path, f"not JSON: {error}") from error


def read_object(path: Path, *fields: str) -> dict[str, Any] | None:
    """A JSON object that must have these fields, or None when there is no such file.

    Raises:
        DamagedFileError: it is there and is not JSON, not an object, or lacks a field.
    """
    value = read_json(path)
    if value is None and not os.path.lexists(path):
        return None
    if not isinstance(value, dict):
        raise DamagedFileError(path, f"expected a JSON object, got {type(value).__name__}")
    for field in fields:
        if field not in value:
            raise DamagedFileError(path, f"no field {field!r}")
    return value


def write_jsonl(path: Path, rows: Iterable[object], default: Callable[[object], object] | None = None) -> None:
    """Write JSON Lines atomically. `default` writes a value that JSON has no form for, as bytes."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False, default=default) + "\n" for row in rows))


def append_jsonl(path: Path, row: object) -> None:
    """Add a line and flush it to the disk. A kill may leave a torn last line, which `read_jsonl` skips."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def mend_jsonl(path: Path) -> None:
    """Cut a torn last line off, so that lines can be appended again."""
    if path.is_file():
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            whole = data[: data.rfind(b"\n") + 1]
            write_bytes(path, whole)


def read_jsonl(path: Path, *fields: str) -> list[dict[str, Any]]:
    """The objects of all complete lines. An unfinished last line (after a kill) is skipped.

    Args:
        fields: that each must have.
    Raises:
        DamagedFileError: a finished line is no such object. Its place is named.
    """
    return [row for row, _ in read_jsonl_from(path, 0, *fields)] if os.path.lexists(path) else []


def read_jsonl_from(path: Path, offset: int, *fields: str) -> list[tuple[dict[str, Any], int]]:
    """(object, offset of the byte after it) of each whole line from that offset on.

    Raises:
        DamagedFileError: as `read_jsonl`.
    """
    rows = []
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                break
            start, offset = offset, offset + len(line)
            rows.append((_row(path, line, start, fields), offset))
    return rows


def json_lines(path: Path) -> list[str]:
    """The lines of JSON Lines that are not empty. Only a line feed ends a line: JSON may hold U+2028 as it is."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def last_row(path: Path, *fields: str) -> dict[str, Any] | None:
    """The object of the last complete line, or None without one.

    Raises:
        DamagedFileError: as `read_jsonl`.
    """
    if not os.path.lexists(path):
        return None
    data = path.read_bytes()
    end = data.rfind(b"\n")
    start = data.rfind(b"\n", 0, max(end, 0)) + 1
    return None if end < 0 else _row(path, data[start:end], start, fields)


def _row(path: Path, line: bytes, start: int, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(path, f"the line at byte {start} is not JSON: {error}") from error
    if not isinstance(row, dict) or (missing := [field for field in fields if field not in row]):
        why = f"lacks {', '.join(missing)}" if isinstance(row, dict) else "is no JSON object"
        raise DamagedFileError(path, f"the line at byte {start} {why}")
    return row


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_sha256(path: Path) -> str:
    """SHA-256 of a file. Read again only if the file has changed since (its size, times or inode)."""
    at = path.stat()
    return _content_sha256(os.fspath(path), at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino)


@lru_cache(maxsize=100_000)
def _content_sha256(path: str, *_: int) -> str:
    return file_sha256(Path(path))


def text_sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


PART, BLOCK = 2**26, 2**20  # a large file is hashed in parts, at once. Each is read block by block


def parts_sha256(path: Path) -> str:
    """SHA-256 of the SHA-256s of a file's parts of `PART` bytes, which all cores make at once; of a file that is one
    part: of its content."""
    size = path.stat().st_size
    if size <= PART:
        return file_sha256(path)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # hashing and reading need no lock of Python's
        parts = pool.map(lambda start: _part_sha256(path, start), range(0, size, PART))
        return hashlib.sha256(b"".join(parts)).hexdigest()


def _part_sha256(path: Path, start: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(start)
        for _ in range(PART // BLOCK):
            digest.update(file.read(BLOCK))
    return digest.digest()


def folder_sha256s(folder: Path, *, without: Iterable[str] = ()) -> dict[str, str]:
    """`parts_sha256` of each file under a folder, by its path relative to the folder."""
    ignored = set(without)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in ignored)
    return {str(path.relative_to(folder)): parts_sha256(path) for path in files}


def differing_files(folder: Path, expected: dict[str, str]) -> list[str]:
    """Which files of a folder are missing or changed since `folder_sha256s`, in words. Extra files are fine."""
    problems = []
    for name, sha256 in expected.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif parts_sha256(path) != sha256:
            problems.append(f"{name} has changed")
    return problems


PROBE_S = 0.5  # `is_locked` of another process holds a folder for a much shorter time


def is_locked(folder: Path) -> bool:
    """Whether a process holds the folder (`locked`). Several processes can ask at once."""
    import fcntl

    try:
        with (folder / ".lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, BlockingIOError) as error:
        return isinstance(error, BlockingIOError)
    return False


@contextmanager
def locked(folder: Path, busy: str | None = None, *, name: str = ".lock", wait_s: float = PROBE_S) -> Iterator[None]:
    """Hold a folder (its file `name`). The lock goes with the process, however it ends.

    Raises:
        BusyError: another process holds it, after `wait_s` too. `busy` is the message.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / name, timeout=wait_s)
    try:
        lock.acquire()
    except Timeout as error:
        raise BusyError(busy or f"{folder} is in use by another process; wait for it, or stop it") from error
    try:
        yield
    finally:
        lock.release()


def write_parquet(table: object, path: Path) -> None:
    """Write a pyarrow table atomically, with a checksum of each page."""
    import pyarrow.parquet as pq

    write_atomically(path, lambda part: pq.write_table(table, part, write_page_checksum=True))


def read_parquet(path: Path, columns: list[str] | None = None) -> Any:
    """A pyarrow table, its checksums verified.

    Raises:
        DamagedFileError: the file is not Parquet, is cut off, unpacks to too much, or a checksum does not fit.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        check_parquet(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DamagedFileError(path, f"not readable as Parquet: {str(error).splitlines()[0]}") from error


def _flush_folder(folder: Path) -> None:
    """Make a rename last through a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
