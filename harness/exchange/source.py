"""A run for export: its verdicts, how they were sampled, and its record, if any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.files import read_json, read_parquet
from harness.errors import UsageError
from harness.runs.find import find_verdicts

if TYPE_CHECKING:
    from evals.stats.score import Score

METRICS = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")


@dataclass(frozen=True)
class Exported:
    """`record` is the job's record.json, None for an evaluation by `rlvr eval`; the others are by benchmark: verdict
    tables, manifests, and problem_id -> text where the problems are at hand."""

    name: str
    record: Mapping[str, Any] | None
    tables: Mapping[str, Path]
    manifests: Mapping[str, Mapping[str, Any]]
    problems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def question(self, benchmark: str, row: Mapping[str, Any]) -> str:
        """The problem's text, or its id if the text is missing."""
        return str(row.get("problem") or self.problems.get(benchmark, {}).get(row["problem_id"]) or row["problem_id"])

    def decoding(self, benchmark: str) -> dict[str, Any]:
        """temperature, top_p, max_tokens, as the manifest has them; {} without one."""
        return dict(self.manifests.get(benchmark, {}).get("identity", {}).get("decoding") or {})

    def prompt(self, benchmark: str) -> str | None:
        """The name of the prompt."""
        prompt = self.manifests.get(benchmark, {}).get("identity", {}).get("prompt") or {}
        return None if "name" not in prompt else str(prompt["name"])

    def protocol(self) -> Mapping[str, Any]:
        """The protocol's values with their sources, as a manifest has them."""
        return next((m["record"].get("protocol") or {} for m in self.manifests.values()), {})

    def ks(self, benchmark: str) -> list[int]:
        """The k of pass@k and maj@k that the protocol asks for."""
        value: Any = (self.protocol().get("ks") or {}).get("value") or [1]
        value = value.get(benchmark, value.get("default", [1])) if isinstance(value, dict) else value
        return [int(k) for k in value]

    def scores(self, benchmark: str) -> list[Score]:
        """The scores, computed from the verdicts."""
        from evals.stats.score import score

        table = read_parquet(self.tables[benchmark])
        fewest = min(table.group_by("problem_id").aggregate([("sample", "count")])["sample_count"].to_pylist())
        return score(table, ks=[k for k in self.ks(benchmark) if k <= fewest], metrics=METRICS)

    @property
    def label(self) -> str:
        """The label of numbers at a scale other than the paper's."""
        return "" if self.record is None or self.record["scale"] == "paper" else str(self.record["scale_label"])

    @property
    def finished(self) -> str | None:
        """The time of its end, as ISO 8601; None for an evaluation without a record."""
        return None if self.record is None else str(self.record["finished"])

    @property
    def command(self) -> str | None:
        return None if self.record is None else self.record["environment"].get("command")


@contextmanager
def opened(text: str, *, data_dir: str | None = None, with_problems: bool = False) -> Iterator[Exported]:
    """The run of a path or an MLflow run id, inside the block.

    Args:
        data_dir: where the benchmarks are, for the problems' texts; None: those of the tiny scale are made here, and
            of others only the ids are known. with_problems: whether to read the texts.

    Raises:
        UsageError: no such run, or one without verdicts.
    """
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        folder = find_verdicts(text, Path(scratch))
        tables = {path.parent.name: path for path in sorted(folder.glob("*/verdicts.parquet"))}
        if not tables:
            raise UsageError(f"{text}: expected a run with <benchmark>/verdicts.parquet, found none")
        record = read_json(folder.parent / "record.json") or read_json(folder / "record.json")
        manifests = {name: read_json(path.with_name("manifest.json")) or {} for name, path in tables.items()}
        name = Path(text).name if Path(text).exists() else text
        kept = {k: m for k, m in manifests.items() if m}
        problems = {b: _texts(b, kept.get(b, {}), data_dir) for b in tables} if with_problems else {}
        yield Exported(name, record, tables, kept, problems)


def _texts(benchmark: str, manifest: Mapping[str, Any], data_dir: str | None) -> dict[str, str]:
    from evals.data import benchmarks
    from harness.analysis.runs import tiny_benchmarks

    data_dir = data_dir or tiny_benchmarks([benchmark])
    if data_dir is None or benchmark not in benchmarks.names():
        return {}
    changed = bool(((manifest.get("identity") or {}).get("data") or {}).get("changed"))
    return {p.id: p.problem for p in benchmarks.load(benchmark, data_dir=data_dir, allow_changed_data=changed).problems}


def dataset_of(benchmark: str) -> dict[str, Any]:
    """hub id, revision, split and rows of a benchmark of ours; {} for any other name."""
    from evals.data import benchmarks

    if benchmark not in benchmarks.names():
        return {}
    task = benchmarks.task(benchmark)
    fields = {"hf_repo": task.get("dataset_path"), "revision": (task.get("dataset_kwargs") or {}).get("revision")}
    fields |= {"split": task.get("test_split"), "rows": task["metadata"].get("rows")}
    if fields["hf_repo"] and "/" not in str(fields["hf_repo"]):  # a generated one
        fields["hf_repo"] = None
    return {key: value for key, value in fields.items() if value is not None}
