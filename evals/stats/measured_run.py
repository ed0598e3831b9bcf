"""A measured run on disk: the verdict tables of its benchmarks, and how they were measured.

read_run([Path("evaluations/a")])                      # a folder of evaluate(): <benchmark>/verdicts.parquet
read_run([Path("seed0"), Path("seed1"), Path("seed2")])  # the training seeds of one method
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import read_json
from evals.provenance import differing_fields
from evals.stats.verdict_table import VerdictTable

if TYPE_CHECKING:
    import pandas as pd

Conditions = Mapping[str, Any]

_READ = (
    "benchmark", "problem_id", "sample", "gold", "verdict", "answer_class", "boxed", "tokens", "finish_reason",
    "train_seed",
)  # fmt: skip
_DECIDE = (
    "prompt",
    "decoding",
    "data",
)  # of the manifest's identity: changing one makes another measurement


@dataclass(frozen=True)
class MeasuredRun:
    """The verdicts of one method, one or several training seeds (column `train_seed`): rows, or a `VerdictTable` where
    no rows are needed.

    `conditions`, by benchmark, decides the measurement: protocol name, prompt, decoding, data; and `engine` and
    `model`, which may change a sample but not the measured quantity. None without a manifest beside the verdicts.
    `trained`: False for a base model that was not trained, which has no training seeds.
    """

    name: str
    tables: Mapping[str, Any]
    conditions: Mapping[str, Conditions | None]
    trained: bool = True

    def held(self, benchmark: str) -> VerdictTable:
        """The verdicts of one benchmark, checked and counted once for all comparisons.

        Raises:
            ValueError: as `VerdictTable`.
        """
        tables: dict[str, VerdictTable] = self.__dict__.setdefault("_held", {})
        if benchmark not in tables:
            rows: Any = self.tables[benchmark]
            tables[benchmark] = rows if isinstance(rows, VerdictTable) else VerdictTable(rows)
        return tables[benchmark]


def read_run(sources: Sequence[Path], name: str | None = None, *, responses: bool = False) -> MeasuredRun:
    """The run in a verdict file, in a folder with one, or in a folder with one for each benchmark.

    Args:
        sources: one of these for each training seed, in order.
        name: for readers; by default the sources as given.
        responses: read all columns, the responses' text included.
    Raises:
        ValueError: nothing there, a table without benchmark, several training seeds in a part of several, or parts that
            were measured on other benchmarks or in another way.
    """
    import pandas as pd

    name = name or ",".join(map(str, sources))
    parts = [_tables(source, responses) for source in sources]
    if others := [s for s, part in zip(sources, parts, strict=True) if part.keys() != parts[0].keys()]:
        raise ValueError(f"{others[0]} was not measured on the benchmarks of {sources[0]}: {', '.join(parts[0])}")
    tables, conditions = {}, {}
    for benchmark in parts[0]:
        frames = [frame for frame, _ in (part[benchmark] for part in parts)]
        if len(parts) > 1:
            if "train_seed" in frames[0]:
                raise ValueError(f"{sources[0]} holds the column train_seed: give it alone, or files of one seed each")
            frames = [frame.assign(train_seed=seed) for seed, frame in enumerate(frames)]
        every = [conditions for _, conditions in (part[benchmark] for part in parts)]
        for source, other in zip(sources, every, strict=True):
            for field, first, now in decisive_differences(every[0], other):
                raise ValueError(
                    f"{source} is no other seed of {sources[0]}: on {benchmark}, {field} is {now!r} and not {first!r}"
                )
        tables[benchmark], conditions[benchmark] = pd.concat(frames, ignore_index=True), every[0]
    return MeasuredRun(name, tables, conditions, trained=any(map(_was_trained, sources)))


def _was_trained(source: Path) -> bool:
    """False if the run's record (beside its verdicts or above them) holds no training; True without a record."""
    for folder in (source, *source.parents[:3]):
        if (record := read_json(folder / "record.json")) is not None:
            return bool(record.get("training") or record.get("diverged"))
    return True


def decisive_differences(a: Conditions | None, b: Conditions | None) -> list[tuple[str, Any, Any]]:
    """(field, value in a, value in b) of every difference in the measurement; empty if either side is unknown."""
    if a is None or b is None:
        return []
    return [field for key in ("protocol", *_DECIDE) for field in differing_fields(a.get(key), b.get(key), key)]


def _tables(source: Path, responses: bool) -> dict[str, tuple[pd.DataFrame, Conditions | None]]:
    if source.is_file():
        files = [source]
    elif (source / "verdicts.parquet").is_file():
        files = [source / "verdicts.parquet"]
    else:
        files = sorted(source.glob("*/verdicts.parquet"))
    if not files:
        raise ValueError(f"{source}: expected a verdicts.parquet, or a folder with one or with <benchmark>/ ones")
    by_benchmark: dict[str, tuple[pd.DataFrame, Conditions | None]] = {}
    for path in files:
        frame = _read(path, responses)
        names = frame["benchmark"].unique()
        if len(names) != 1:
            raise ValueError(f"{path}: expected the rows of one benchmark, got {', '.join(map(str, names)) or 'none'}")
        by_benchmark[str(names[0])] = frame, _conditions(path.with_name("manifest.json"))
    return by_benchmark


def _read(path: Path, responses: bool) -> pd.DataFrame:
    frame = _json_lines(path) if path.suffix == ".jsonl" else _parquet(path, responses)
    needed = ("benchmark", "problem_id", "sample", "gold", "verdict", *(("response",) if responses else ()))
    if missing := [c for c in needed if c not in frame]:
        raise ValueError(f"{path}: the verdict table lacks the column(s) {', '.join(missing)}")
    frame = frame if responses else frame[[c for c in _READ if c in frame]]
    # graded answers have the ids of their file, which may lack lengths and finish reasons
    unknown = dict.fromkeys(name for name in ("tokens", "finish_reason") if name not in frame)
    return frame.assign(**unknown, problem_id=frame["problem_id"].astype(str))


def _parquet(path: Path, responses: bool) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        there = pq.read_schema(path).names
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: expected a Parquet file of verdicts ({error})") from error
    frame: pd.DataFrame = pq.read_table(
        path, columns=None if responses else [c for c in _READ if c in there]
    ).to_pandas()
    return frame


def _json_lines(path: Path) -> pd.DataFrame:
    import pandas as pd

    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        return pd.DataFrame([json.loads(line) for line in lines if line.strip()])
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON Lines of verdicts ({error})") from error


def _conditions(manifest: Path) -> Conditions | None:
    if not manifest.is_file():
        return None
    document = json.loads(manifest.read_text(encoding="utf-8"))
    identity, protocol = document["identity"], document["record"].get("protocol") or {}
    return {"protocol": protocol.get("name"), **{key: identity.get(key) for key in (*_DECIDE, "engine", "model")}}
