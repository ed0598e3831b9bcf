"""Finished runs as one file, to commit or to send: the folders of `harness.record.run`, under the names of RLVR_HOME.

    <paper>/<scale>/<run>/run.json, metrics.jsonl, curve.jsonl, eval/<benchmark>/{verdicts.parquet,manifest.json}

An archive holds the runs without models, and without responses unless they are to go along. Equal runs give equal
bytes. It is a .tar.xz: compressed as a whole, because the files of runs resemble each other (a zip, which compresses
each alone, is five times larger).
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any

from evals.errors import DamagedFileError
from evals.files import file_sha256, read_object, rename_folder, write_atomically
from evals.log import logger
from evals.sampling.engines.base import sample_seed
from evals.unpacked import Unpacked
from harness.record.evaluations import NAME
from harness.record.mirror import sync
from harness.record.names import folder_name, folder_of
from harness.record.record import CURVES, LINK, RECORD, with_sha256
from harness.record.run import Run
from harness.record.write import Recorder
from harness.runs.track import cache_dir, home

SUFFIX = ".tar.xz"
KEPT = ("metrics.jsonl", "curve.jsonl")  # beside run.json, the verdicts and their manifests
MOST_FILES = 1_000_000
NOT_PLAIN = (FileExistsError, NotADirectoryError, IsADirectoryError)  # a name that comes twice, or is a folder's too
AGAIN = "get it again (a committed one: git checkout)"
_PRESET = 9 | lzma.PRESET_EXTREME


def write_archive(runs: Iterable[Run], path: Path, *, responses: bool = False, by: str | None = None) -> int:
    """Write finished runs as one file. Returns how many.

    Args:
        responses: keep their text in the verdicts. by: who measured them, for their records.
    Raises:
        DamagedFileError: a file of a run is missing or damaged.
    """
    files: dict[str, bytes] = {}
    count = 0
    for run in runs:
        folder = _place(run)
        files |= {f"{folder}/{name}": data for name, data in _files(run, responses, by)}
        count += 1
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda part: _write_tar(part, files))
    return count


def read_archive(path: Path, *, again: bool = False) -> list[Run]:
    """The runs of an archive, unpacked into the cache once.

    Args:
        again: unpack it in place of what the cache has of it, where somebody may have changed a file.
    Raises:
        DamagedFileError: it is not such an archive, or holds what no archive of runs does.
    """
    folder = unpacked(path, again=again)
    return [Run(record.parent) for record in sorted(folder.glob(f"*/*/*/{RECORD}"))]


def import_archive(path: Path) -> tuple[int, int, int]:
    """Put the runs of a verified archive (`harness.record.verify`) into RLVR_HOME, and trained ones from there into
    MLflow. A run that is there already gets responses where it came without, and who measured it where nobody is named.
    Returns how many were added, completed so, and skipped.

    Raises:
        DamagedFileError: it is no archive. RefusedError: MLflow's store cannot be used.
    """
    added, completed, arms, packed = 0, 0, [], read_archive(path)
    for run in packed:
        folder = _place_at_home(run, unpacked(path))
        existing = Run(folder) if (folder / RECORD).is_file() else None
        same = existing is not None and existing.record.get("id") == run.record.get("id")
        by = (existing.by if existing is not None and same else "") or run.by
        copied = existing is None or (same and _lacks_responses(existing) and not _lacks_responses(run))
        if copied:
            _copy(run.folder, folder)
        named = (copied or same) and by != Run(folder).by
        if named:
            Recorder(folder).update(by=by)
        added += existing is None
        completed += existing is not None and (copied or named)
        arms += [folder] if run.record.get("kind") == "arm" and (copied or named) else []
    if arms:
        logger.info(f"writing {len(arms)} runs of {path} to MLflow")
        sync(arms)
    return added, completed, len(packed) - added - completed


def _place_at_home(run: Run, archive: Path) -> Path:
    """The folder in RLVR_HOME of a run of an unpacked archive."""
    kind = run.record.get("kind")
    if kind == "arm":
        return folder_of(home() / run.folder.parent.relative_to(archive), run.record)
    return home() / (CURVES if kind == CURVES else NAME) / run.folder.name


def _copy(source: Path, folder: Path) -> None:
    """Put a copy of a run's folder in place of `folder`, with what is not the program's there."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part)
    if not folder.exists():
        rename_folder(part, folder)
        return
    rename_folder(folder, before := folder.with_name(f".{folder.name}.before"))
    rename_folder(part, folder)
    _keep_others(before, folder)
    shutil.rmtree(before)


def _keep_others(before: Path, folder: Path) -> None:
    """Move what is not the program's from a run's folder before to the folder that replaces it."""
    listed = {RECORD, LINK, *(read_object(before / RECORD) or {}).get("files", {})}
    for path in sorted(before.rglob("*")):
        name = path.relative_to(before)
        if (path.is_symlink() or not path.is_dir()) and name.as_posix() not in listed and not (folder / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            path.rename(folder / name)


def _lacks_responses(run: Run) -> bool:
    """Whether it is of an archive that was written without them."""
    return run.record.get("responses") == "not kept"


def newest(runs: Iterable[Run]) -> list[Run]:
    """The finished arms among the runs, sorted; of several with one digest and seed the one that ended last."""
    arms = [run for run in runs if run.record.get("kind") == "arm" and run.is_finished]
    by_identity = {(run.digest, run.seed): run for run in sorted(arms, key=lambda run: run.finished or "")}
    return [by_identity[identity] for identity in sorted(by_identity)]


def unpacked(path: Path, *, again: bool = False) -> Path:
    """The folder in the cache with the content of an archive.

    Args:
        again: as `read_archive`.
    Raises:
        DamagedFileError: as `read_archive`.
    """
    folder = cache_dir() / "archives" / file_sha256(path)[:32]
    if again or not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(dir=folder.parent, prefix=".part-"))
        old = part.with_suffix(".old")
        try:
            _extract(path, part)
            if not any(part.glob(f"*/*/*/{RECORD}")):
                raise DamagedFileError(path, f"no run in it (<paper>/<scale>/<run>/{RECORD})", AGAIN)
            if lost := [run.name for run in sorted(part.glob("*/*/*")) if not (run / RECORD).is_file()]:
                raise DamagedFileError(path, f"{lost[0]} in it has no {RECORD}", AGAIN)
            if again:
                with suppress(FileNotFoundError):  # by a rename, so that another process that reads it misses no file
                    folder.rename(old)
            if not folder.is_dir():  # another process may have been faster
                part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _extract(path: Path, folder: Path) -> None:
    """Unpack regular files with plain relative names, and no more of them than an honest archive has."""
    try:
        with lzma.open(path) as packed:
            stream: Any = Unpacked(packed, path)  # has what tarfile reads with
            for number, member in enumerate(archive := tarfile.TarFile.open(fileobj=stream, mode="r|")):
                name = PurePosixPath(member.name)
                plain = member.isreg() and not member.issparse() and number < MOST_FILES
                if not plain or name.is_absolute() or ".." in name.parts:
                    raise DamagedFileError(path, f"{member.name!r:.100} is no plain file in it", "do not use it")
                target, content = folder / name, archive.extractfile(member)
                target.parent.mkdir(parents=True, exist_ok=True)
                assert content is not None
                with target.open("xb") as out:
                    shutil.copyfileobj(content, out)
            while stream.read(1 << 20):  # to the end of the file, whose checksum is there
                pass
    except DamagedFileError:
        raise
    except (tarfile.TarError, lzma.LZMAError, EOFError, ValueError, *NOT_PLAIN) as error:
        raise DamagedFileError(path, f"not a whole {SUFFIX} file: {error}", AGAIN) from error


def _place(run: Run) -> str:
    if run.record.get("kind") == "arm":
        return f"{run.paper}/{run.scale}/{folder_name(run.record)}"
    return f"evaluations/{run.record.get('kind', 'evaluation')}/{run.folder.name}"


def _files(run: Run, responses: bool, by: str | None) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the files of one run that go into an archive, run.json with their hashes last."""
    files = {name: run.file(name).read_bytes() for name in KEPT if name in run.record.get("files", {})}
    for benchmark in run.benchmarks:
        run.rows(benchmark, ())  # raises if the file is damaged
        path = run.tables[benchmark]
        name = path.relative_to(run.folder).as_posix()
        files[name] = path.read_bytes() if responses else without_responses(path, run.record.get("seed"))
        if run.manifest(benchmark) is not None:
            files[name.replace("verdicts.parquet", "manifest.json")] = path.with_name("manifest.json").read_bytes()
    yield from sorted(files.items())
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    evaluation = {"kind": "evaluation", "state": "finished", "benchmarks": run.benchmarks}
    record = {**evaluation, **run.record, "files": hashes}
    if not responses:
        record["responses"] = "not kept"
    if by is not None:
        record["by"] = by
    yield RECORD, (json.dumps(with_sha256(record), indent=1, ensure_ascii=False) + "\n").encode()


def without_responses(path: Path, seed: int | None) -> bytes:
    """A verdict file without questions, responses and the samples' seeds where they are those of the run `seed`
    (random numbers do not compress). Not compressed itself: the archive is, as a whole."""
    import pyarrow.parquet as pq

    from evals.files import read_parquet

    table = read_parquet(path)
    table = table.drop_columns([name for name in ("response", "problem") if name in table.column_names])
    if "seed" in table.column_names and seed is not None:
        rows = zip(*(table[name].to_pylist() for name in ("benchmark", "problem_id", "sample")), strict=True)
        if table["seed"].to_pylist() == [sample_seed(seed, b, (problem, sample)) for b, problem, sample in rows]:
            table = table.drop_columns(["seed"])
    out = io.BytesIO()
    pq.write_table(table, out, compression="none")
    return out.getvalue()


def _write_tar(path: Path, files: Mapping[str, bytes]) -> None:
    """The files in an order that puts those of one kind together, which compress each other. No times, no owners."""
    names = sorted(files, key=lambda name: (PurePosixPath(name).name, name))
    with (
        lzma.open(path, "wb", preset=_PRESET) as out,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]))
