"""Finished runs as one file, to commit or to send: the folders of `harness.record.run`, under the names of RLVR_HOME.

    <paper>/<scale>/<run>/run.json, metrics.jsonl, curve.jsonl, eval/<benchmark>/{verdicts.parquet,manifest.json}

An archive holds the runs without responses and models; equal runs give equal bytes. A bundle is an archive of one run,
with its responses if they are to go along, its page (README.md), its lock and the licence. Both are .tar.xz: compressed
as a whole, because the files of runs resemble each other (a zip, which compresses each alone, is five times larger).
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from evals.files import DamagedFileError, file_sha256, write_atomically
from evals.sampling.engines.base import sample_seed
from harness.record.run import RECORD, RESTORE, Run, folder_name, with_sha256
from harness.runs.track import cache_dir

SUFFIX = ".tar.xz"
KEPT = ("metrics.jsonl", "curve.jsonl")  # beside run.json, the verdicts and their manifests
LARGEST = 1 << 30  # bytes that an archive may always unpack to; beyond, at most RATIO times its own size
RATIO = 100
_PRESET = 9 | lzma.PRESET_EXTREME


def write_archive(
    runs: Iterable[Run], path: Path, *, responses: bool = False, beside: Mapping[str, bytes] | None = None
) -> int:
    """Write finished runs as one file. Returns how many.

    Args:
        responses: keep their text in the verdicts.
        beside: other files of the archive, by name.
    Raises:
        DamagedFileError: a file of a run is missing or damaged.
    """
    files = dict(beside or {})
    count = 0
    for run in runs:
        folder = f"{run.paper}/{run.scale}/{folder_name(run.record)}"
        files |= {f"{folder}/{name}": data for name, data in _files(run, responses)}
        count += 1
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: _write_tar(part, files))
    return count


def read_archive(path: Path) -> list[Run]:
    """The runs of an archive, unpacked into the cache once.

    Raises:
        DamagedFileError: it is not such an archive, or holds what no archive of runs does.
    """
    folder = unpacked(path)
    return [Run(record.parent) for record in sorted(folder.glob(f"*/*/*/{RECORD}"))]


def unpacked(path: Path) -> Path:
    """The folder in the cache with the content of an archive.

    Raises:
        DamagedFileError: as `read_archive`.
    """
    folder = cache_dir() / "archives" / file_sha256(path)[:32]
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(dir=folder.parent, prefix=".part-"))
        try:
            _extract(path, part)
            if not any(part.glob(f"*/*/*/{RECORD}")):
                raise DamagedFileError(path, f"no run in it (<paper>/<scale>/<run>/{RECORD})", RESTORE)
            if not folder.is_dir():  # another process may have been faster
                part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def _extract(path: Path, folder: Path) -> None:
    """Unpack regular files with plain relative names, and no more of them than an honest archive has."""
    most = max(LARGEST, RATIO * path.stat().st_size)
    size = 0
    try:
        with tarfile.open(path, "r:xz") as archive:
            for member in archive:
                size += member.size
                name = PurePosixPath(member.name)
                if not member.isreg() or name.is_absolute() or ".." in name.parts:
                    raise DamagedFileError(path, f"{member.name!r} is no plain file in it", "do not use it")
                if size > most:
                    raise DamagedFileError(path, f"it unpacks to more than {most / 2**30:.1f} GB", "do not use it")
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None  # of a regular file
                with content, target.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeError) as error:
        raise DamagedFileError(path, f"not a whole {SUFFIX} file: {error}", RESTORE) from error


def _files(run: Run, responses: bool) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the files of one run that go into an archive, run.json with their hashes last."""
    files: dict[str, bytes] = {}
    for name in run.record["files"]:
        if name in KEPT or (name.endswith("/manifest.json") and name.startswith("eval/")):
            files[name] = run.file(name).read_bytes()
    for benchmark in run.benchmarks:
        path = run.table_file(benchmark)
        kept = path.read_bytes() if responses else without_responses(path, run.seed)
        files[path.relative_to(run.folder).as_posix()] = kept
    yield from sorted(files.items())
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    record = {**run.record, "files": hashes}
    if not responses:
        record["responses"] = "not kept"
    yield RECORD, (json.dumps(with_sha256(record), indent=1, ensure_ascii=False) + "\n").encode()


def without_responses(path: Path, seed: int) -> bytes:
    """A verdict file without the responses, and without the samples' seeds where they are those of the run `seed`
    (random numbers do not compress). Not compressed itself: the archive is, as a whole."""
    import pyarrow.parquet as pq

    from evals.files import read_parquet

    table = read_parquet(path)
    table = table.drop_columns([name for name in ("response",) if name in table.column_names])
    if "seed" in table.column_names:
        rows = zip(*(table[name].to_pylist() for name in ("benchmark", "problem_id", "sample")), strict=True)
        if table["seed"].to_pylist() == [sample_seed(seed, b, (problem, sample)) for b, problem, sample in rows]:
            table = table.drop_columns(["seed"])
    out = io.BytesIO()
    pq.write_table(table, out, compression="none")
    return out.getvalue()


def _write_tar(path: Path, files: Mapping[str, bytes]) -> None:
    """The files in an order that puts those of one kind together, which compress each other; no times, no owners."""
    names = sorted(files, key=lambda name: (PurePosixPath(name).name, name))
    with (
        lzma.open(path, "wb", preset=_PRESET) as out,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]))
