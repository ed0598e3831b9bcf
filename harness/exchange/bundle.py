"""A run as one folder or zip: `rlvr export format=bundle` writes it, `rlvr import verify=true` computes it again.

    README.md                    what the run is, and its numbers
    bundle.json                  format, run, whether responses are in it
    declaration.json             every value of the run with its source
    record.json                  the run's record; absent for an evaluation by `rlvr eval`
    requirements.lock            the packages, if this checkout has the lock that the record names
    metrics.jsonl                the training curve, if one was kept
    <benchmark>/verdicts.parquet, manifest.json
    scores.json                  every score, computed from the verdicts
    tables.csv, tables.md, tables.tex
    LICENSE
    SHA256SUMS                   of all other files

Verifying computes scores, tables and README again from the verdicts and compares the bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.files import DamagedFileError, file_sha256, write_atomically
from evals.stats.score import score_text
from harness import __version__
from harness.errors import UsageError
from harness.exchange.source import Exported, opened
from harness.jobs.records import read_record
from harness.runs.record import ROOT
from harness.tables.grid import Grid

FORMAT = 1
SUMS = "SHA256SUMS"
DIGITS = 10  # decimals to compare: beyond them, the order of a sum may differ between processors
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_bundle(run: Exported, out: Path, *, responses: bool = True, curve: Path | None = None) -> list[str]:
    """Write a bundle: a folder, or a file where `out` ends in .zip. Returns the names of its files.

    Args:
        responses: keep the responses' text in the verdict tables.
        curve: train/metrics.jsonl of the job.
    Raises:
        UsageError: `out` exists already.
    """
    if out.exists():
        raise UsageError(f"out: {str(out)!r} exists already; remove it, or give another")
    files = {**_given(run, responses, curve)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _unfold(files, folder)
        files |= computed(folder)
    files[SUMS] = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".zip":
        write_atomically(out, lambda part: _write_zip(part, files))
    else:
        part = out.with_name(f".{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        _unfold(files, part)
        part.replace(out)
    return sorted(files)


def verify(path: Path) -> list[str]:
    """The faults of a bundle; none if it is complete and every number follows from its verdicts.

    Raises:
        UsageError: not a bundle. DamagedFileError: a zip that cannot be read.
    """
    with _unpacked(path) as folder:
        if not (folder / SUMS).is_file() or not (folder / "bundle.json").is_file():
            raise UsageError(f"{path}: expected a bundle (a folder or zip with bundle.json and {SUMS})")
        if wrong := _wrong_sums(folder):
            return wrong  # numbers of damaged verdicts mean nothing
        document = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
        if document.get("format") != FORMAT:
            return [f"bundle.json: format is {document.get('format')!r}; this version of rlvr reads {FORMAT}"]
        wrong = _wrong_record(folder, document)
        try:
            return [*wrong, *_wrong_numbers(folder)]
        except (ValueError, KeyError) as error:  # verdicts that contradict themselves, a table without a column
            return [*wrong, f"no numbers follow from the verdicts: {error}"]


def _wrong_sums(folder: Path) -> list[str]:
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    expected = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SUMS}
    wrong = [f"{name}: missing" for name in sorted(expected.keys() - there)]
    wrong += [f"{name}: not in {SUMS}" for name in sorted(there - expected.keys())]
    for name in sorted(expected.keys() & there):
        if (actual := file_sha256(folder / name)) != expected[name]:
            wrong.append(f"{name}: its sha256 is {actual[:12]}, expected {expected[name][:12]}")
    return wrong


def _wrong_record(folder: Path, document: Mapping[str, Any]) -> list[str]:
    """Check that the record is unchanged and was made from these verdicts."""
    if not (folder / "record.json").is_file():
        return []
    try:
        record = read_record(folder / "record.json") or {}
    except DamagedFileError as error:
        return [str(error)]
    wrong = []
    if document["responses"]:
        for name, digest in record.get("files", {}).items():
            path = folder / Path(name).parent.name / Path(name).name
            if path.suffix == ".parquet" and (not path.is_file() or file_sha256(path) != digest):
                wrong.append(f"{path.relative_to(folder)}: not the verdicts that record.json was made from")
    now = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    for benchmark, scores in record.get("scores", {}).items():
        for key, score in scores.items():
            own = now.get(benchmark, {}).get(key)
            if own is not None and own["value"] != _rounded(score["value"]):
                wrong.append(f"{benchmark} {key}: record.json says {score['value']}, the verdicts give {own['value']}")
    return wrong


def _wrong_numbers(folder: Path) -> list[str]:
    return [
        f"{name}: not what the verdicts give"
        for name, data in computed(folder).items()
        if (folder / name).read_bytes() != data
    ]


def computed(folder: Path) -> dict[str, bytes]:
    """The files of a bundle that are computed from the others."""
    record = json.loads((folder / "record.json").read_bytes()) if (folder / "record.json").is_file() else None
    document = json.loads((folder / "bundle.json").read_bytes())
    tables = {path.parent.name: path for path in sorted(folder.glob("*/verdicts.parquet"))}
    manifests = {
        name: json.loads(path.with_name("manifest.json").read_bytes())
        for name, path in tables.items()
        if path.with_name("manifest.json").is_file()
    }
    run = Exported(document["run"], record, tables, manifests)
    scores = {benchmark: run.scores(benchmark) for benchmark in tables}
    grids = [
        Grid(
            f"{document['run']}: {benchmark}",
            ("metric", "value"),
            tuple((score.name, score_text(score)) for score in own),
            (f"Percent, but tokens. {run.label}".strip(),),
        )
        for benchmark, own in scores.items()
    ]
    markdown = "\n".join(grid.markdown() for grid in grids)
    numbers = {
        b: {s.key: _rounded(asdict(s)) | {"name": s.name, "unit": s.unit} for s in own} for b, own in scores.items()
    }
    return {
        "scores.json": _json(numbers),
        "tables.csv": _csv(scores).encode(),
        "tables.md": markdown.encode(),
        "tables.tex": "\n".join(grid.latex() for grid in grids).encode(),
        "README.md": _readme(run, document, markdown).encode(),
    }


def _given(run: Exported, responses: bool, curve: Path | None) -> dict[str, bytes]:
    """The source files of a bundle."""
    files: dict[str, bytes] = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    lock = None
    if run.record is not None:
        files["record.json"] = _json(run.record)
        wanted = run.record["environment"].get("lock_sha256")
        lock = next((p for p in sorted((ROOT / "requirements").glob("*.lock")) if file_sha256(p) == wanted), None)
        if lock is not None:
            files["requirements.lock"] = lock.read_bytes()
    settings = run.record["settings"] if run.record is not None else dict(run.protocol())
    files["declaration.json"] = _json(settings)
    if curve is not None and curve.is_file():
        files["metrics.jsonl"] = curve.read_bytes()
    for benchmark, path in run.tables.items():
        files[f"{benchmark}/verdicts.parquet"] = path.read_bytes() if responses else _without_responses(path)
        if benchmark in run.manifests:
            files[f"{benchmark}/manifest.json"] = _json(run.manifests[benchmark])
    about = {"format": FORMAT, "run": _name(run), "responses": responses, "made_by": f"rlvr-harness {__version__}"}
    about["lock"] = "requirements.lock" if lock is not None else "not in this checkout: record.json names its sha256"
    files["bundle.json"] = _json(about)
    return files


def _name(run: Exported) -> str:
    if run.record is None:
        return run.name
    return "{paper} {model}/{arm}, seed {seed}, digest {digest}".format(**run.record)


def _without_responses(path: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evals.files import read_parquet

    table = read_parquet(path)
    empty = pa.array([""] * len(table), pa.string())
    table = table.set_column(table.schema.get_field_index("response"), table.schema.field("response"), empty)
    out = io.BytesIO()
    pq.write_table(table, out, write_page_checksum=True)
    return out.getvalue()


def _csv(scores: Mapping[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ("benchmark", "metric", "value", "low", "high", "covers", "unit", "problems", "samples", "unscored")
    )
    for benchmark, own in scores.items():
        for s in own:
            ends = (
                ("", "", "")
                if s.interval is None
                else (_rounded(s.interval.low), _rounded(s.interval.high), s.interval.covers)
            )
            writer.writerow((benchmark, s.name, _rounded(s.value), *ends, s.unit, s.problems, s.samples, s.unscored))
    return out.getvalue()


def _readme(run: Exported, document: Mapping[str, Any], tables: str) -> str:
    lines = [f"# {document['run']}", ""]
    if run.label:
        lines += [f"{run.label[0].upper()}{run.label[1:]}.", ""]
    if run.record is not None:
        environment = run.record["environment"]
        lines += [
            f"Made on {run.finished} by `{environment.get('command')}` with code at {environment.get('commit')}.",
            "",
        ]
    lines += [
        "Every number below follows from the verdicts in this bundle: `rlvr import verify=true` computes them again.",
        "",
    ]
    if not document["responses"]:
        lines += ["The responses' text is not in it.", ""]
    return "\n".join([*lines, tables])


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(own) for key, own in value.items()}
    return value


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _unfold(files: Mapping[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _write_zip(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name], zipfile.ZIP_DEFLATED, 9)


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as scratch:
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(scratch)
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise DamagedFileError(path, f"not a whole zip file: {error}", "get it again") from error
        yield Path(scratch)


__all__ = ["computed", "opened", "verify", "write_bundle"]
