"""The files of verdicts: their benchmarks and columns, and whether they belong where they lie."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evals.errors import DamagedFileError
from evals.files import json_lines, read_parquet
from harness.errors import UsageError
from harness.record.record import RESTORE

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("benchmark", "problem_id", "sample", "gold", "verdict")  # what every table of verdicts has


def benchmarks_of(path: Path) -> list[str]:
    """The benchmarks of a file of verdicts.

    Raises:
        UsageError: it names none.
    """
    rows = rows_of(path) if path.suffix == ".jsonl" else read_parquet(path, ["benchmark"]).to_pandas()
    if "benchmark" not in rows or rows.empty:
        raise UsageError(f"{path}: expected rows with the name of their benchmark, got none")
    return [str(name) for name in dict.fromkeys(rows["benchmark"])]


def columns_of(path: Path) -> list[str]:
    """The columns of a file of verdicts or other rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".jsonl":
        return list(rows_of(path).columns)
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, f"not readable as Parquet: {str(error).splitlines()[0]}", RESTORE) from error


def check_columns(path: Path, names: Collection[str]) -> None:
    if missing := [name for name in NEEDED if name not in names]:
        raise UsageError(f"{path}: the verdict table lacks the column(s) {', '.join(missing)}")


def check_owner(path: Path, metadata: Mapping[bytes, bytes], manifest: Mapping[str, object] | None) -> None:
    """Raise DamagedFileError if a file of verdicts is not of the samples that the manifest beside it describes.

    Archives from before 2026-11-23 have no owner in the file and no run in the manifest: their hashes in run.json
    are all that protects them.
    """
    from evals.sampling.store import OWNER, owner_of

    text = metadata.get(OWNER.encode())
    if manifest is None or text is None:
        return
    inside, expected = json.loads(text), owner_of(manifest)
    if differing := [key for key, value in expected.items() if inside.get(key) != value]:
        raise DamagedFileError(path, f"it has another {differing[0]} than manifest.json beside it", RESTORE)


def rows_of(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.DataFrame([json.loads(line) for line in json_lines(path)])
    except ValueError as error:
        raise UsageError(f"{path}: expected JSON Lines of verdicts ({error})") from error
