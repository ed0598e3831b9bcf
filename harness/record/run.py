"""A run: one folder, and the one class that reads it. A file of verdicts alone is a run without a record.

    <run>/run.json                           what it is: paper, model, arm, scale, backend, seed; every value with its
                                             source; base model, environment, training, scores; the SHA-256 of its files
    <run>/metrics.jsonl                      the training curve, a line a step
    <run>/train/final/                       the trained model
    <run>/eval/<benchmark>/verdicts.parquet  a row a response; manifest.json beside it says how it was sampled
    <run>/curve.jsonl, curve/step-<k>/       evaluations while it trained, with files as under eval/

In the folder of an evaluation (`rlvr eval`) the benchmarks are at the top. MLflow and archives hold the same files
under the same names, so that this class reads them too. Every file is checked when it is read: one that is missing,
cut, changed, or of another run is a `DamagedFileError` that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.errors import DamagedFileError
from evals.files import content_sha256, read_jsonl, read_object, read_parquet
from evals.provenance import described
from harness.errors import UsageError
from harness.record.names import JOB_FOLDER, as_typed, base_of, short_names
from harness.record.record import (
    AGAIN,
    CURVE,
    CURVES,
    FINAL,
    LINK,
    RECORD,
    RESTORE,
    TRAINING_LOG,
    read_record,
    run_identity,
)
from harness.record.verdict_files import NEEDED, benchmarks_of, check_columns, check_owner, columns_of, rows_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from evals.stats.measured_run import Conditions
    from evals.stats.verdict_table import VerdictTable

Points = Sequence[tuple[int, float]]
"""(optimiser step, value)."""


class Run:
    """One run, read lazily from its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    # -- what it is ----------------------------------------------------------------------------------------------

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """The content of run.json, or {} for an evaluation that has none.

        Raises:
            DamagedFileError: it is missing where a run was trained, unreadable, changed, or of another run.
        """
        path = self.folder / RECORD
        record = read_record(path)
        if record is None:
            parts = any((self.folder / part).is_dir() for part in ("eval", "train"))
            if (parts and JOB_FOLDER.search(self.folder.name)) or (self.folder / LINK).is_file():
                raise DamagedFileError(path, "it is missing", RESTORE)
            return {}
        if match := JOB_FOLDER.search(self.folder.name):
            if missing := [key for key in ("digest", "base_model", "seed") if key not in record]:
                raise DamagedFileError(path, f"{missing[0]} is missing, as where its folder was deleted in mid-run")
            inside = (record["digest"], record["base_model"]["sha256"][:6], str(record["seed"]))
            if inside != match.groups():
                raise DamagedFileError(path, f"it is of another run, {'-'.join(inside)}")
        return record

    @property
    def name(self) -> str:
        """The name in tables and legends: the arm, or the folder's name."""
        return str(self.record.get("arm") or self.folder.name)

    @property
    def paper(self) -> str:
        return str(self.record["paper"])

    @property
    def model(self) -> str:
        return str(self.record["model"])

    @property
    def base(self) -> str:
        """The base model that was trained, for people: `model` unless the scale or the user replaced the paper's."""
        return base_of(self.record)

    @property
    def arm(self) -> str:
        return str(self.record["arm"])

    @property
    def scale(self) -> str:
        return str(self.record["scale"])

    @property
    def backend(self) -> str:
        return str(self.record["backend"])

    @property
    def seed(self) -> int:
        return int(self.record["seed"])

    @property
    def digest(self) -> str:
        """The digest of everything that decides the result, except the seed and the code: `Job.digest`, then the base
        model's."""
        return f"{self.record['digest']}-{self.record['base_model']['sha256'][:6]}"

    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Every declared value: key -> {value, origin, note, was}."""
        settings: Mapping[str, Mapping[str, Any]] = self.record["settings"]
        return settings

    @property
    def overrides(self) -> str:
        """The values that the command line replaced in this arm: "key=value key=value", sorted."""
        return " ".join(self.replaced)

    @property
    def replaced(self) -> tuple[str, ...]:
        """`overrides`, each."""
        return tuple(short_names(f"{key}={value}") for key, value in sorted(self.record["overrides"].items()))

    @property
    def is_finished(self) -> bool:
        """Whether its result is complete (a training that diverged is)."""
        return self.record.get("state") == "finished"

    @property
    def finished(self) -> str | None:
        """When it ended, as ISO 8601, or None for a run that has not, and for an evaluation without a record."""
        return None if self.record.get("finished") is None else str(self.record["finished"])

    @property
    def diverged(self) -> Mapping[str, Any] | None:
        """{step, quantity, value} of a training that diverged."""
        return self.record.get("diverged")

    @property
    def overlap(self) -> Mapping[str, str]:
        """Benchmark -> how many of its problems it was trained on, in words. Only those with such problems."""
        counts: Mapping[str, Mapping[str, int]] = self.record.get("overlap") or {}
        return {
            name: f"{count['shared']:,} of the {count['problems']:,} problems of {name} are training problems"
            for name, count in counts.items()
            if count["shared"]
        }

    @property
    def trained_nothing(self) -> bool:
        """Whether every weight of a training equals the base model's, which only the control `no_update` intends. False
        where the record does not say how far they moved."""
        change = (self.record.get("training") or {}).get("moved")
        return change is not None and not change["changed"] and not self.arm.endswith("+no_update")

    @property
    def so_far(self) -> str | None:
        """How far a training came whose time is over (`minutes=`). None of every other run."""
        return None if self.record.get("so_far") is None else str(self.record["so_far"])

    @property
    def trained(self) -> bool:
        """Whether it was trained. False for a base model, which has no training seeds. True where nothing says so."""
        if "settings" not in self.record:
            return True
        return any(not key.startswith("protocol.") and key != "base_model" for key in self.record["settings"])

    @property
    def command(self) -> str:
        """The command that made it, without the folder of its program, or "" if unknown."""
        return short_names(as_typed(str(self.record.get("environment", {}).get("command") or "")))

    @property
    def by(self) -> str:
        """Who measured it, if that was said when it was exported, else empty."""
        return str(self.record.get("by") or "")

    @property
    def machine(self) -> str:
        """The machine that trained it: "8 x NVIDIA H100 80GB HBM3", or the type of the CPU."""
        gpus = self.record.get("hardware", {}).get("gpus") or []
        counts = {name: gpus.count(name) for name in dict.fromkeys(gpus)}
        named = " and ".join(f"{n} x {name}" if n > 1 else name for name, n in counts.items())
        return named or str(self.record.get("environment", {}).get("cpu") or "an unknown machine")

    @property
    def commit(self) -> str:
        """The first ten digits of the code's commit, and whether files differed from it. "None" outside a checkout."""
        environment = self.record.get("environment", {})
        changed = " with uncommitted changes" if environment.get("uncommitted_changes") else ""
        return f"{str(environment.get('commit'))[:10]}{changed}"

    # -- files ---------------------------------------------------------------------------------------------------

    def file(self, name: str) -> Path:
        """The path of one of the run's files, after its content was checked against the record.

        Args:
            name: relative to the run's folder, with "/".
        Raises:
            DamagedFileError: it is missing, changed, or of another run.
        """
        path = self.folder / name
        expected = self.record.get("files", {}).get(name)
        remedy = AGAIN if self.record.get("kind") == "evaluation" else RESTORE
        if not path.is_file():
            raise DamagedFileError(path, "it is missing", remedy)
        if expected is not None and (actual := content_sha256(path)) != expected:
            raise DamagedFileError(path, f"its sha256 is {actual[:12]}, {RECORD} has {expected[:12]}", remedy)
        if expected is None and self.record.get("files") and self.is_finished:
            raise DamagedFileError(path, f"{RECORD} does not list it", remedy)
        return path

    def damage(self, under: str = "") -> list[str]:
        """The faults of the files whose names begin with `under`, each in words, or [] if all are whole."""
        wrong = []
        for name in self.record.get("files", {}):
            if name.startswith(under):
                try:
                    self.file(name)
                except DamagedFileError as error:
                    wrong.append(f"{name}: {error.why}")
        return wrong

    @property
    def model_folder(self) -> str | None:
        """The trained model, or an untrained run's base model: a folder or hub id, or None where it is not at hand.

        Raises:
            DamagedFileError: a file of the trained model is missing or changed.
        """
        if (self.folder / FINAL).is_dir():
            for name in self.record.get("files", {}):
                if name.startswith(f"{FINAL}/"):
                    self.file(name)
            return str(self.folder / FINAL)
        if "settings" not in self.record:  # an evaluation
            return _named_model([self.manifest(name) for name in self.benchmarks])
        if self.trained or "base_model" not in self.record:
            return None
        return str(self.record["base_model"]["loaded_from"])

    # -- the training --------------------------------------------------------------------------------------------

    @cached_property
    def curve(self) -> Mapping[int, Mapping[str, float]]:
        """Optimiser step -> metric -> value, or {} without a training.

        Raises:
            DamagedFileError: metrics.jsonl is damaged, or lacks steps.
        """
        path = self.folder / TRAINING_LOG
        if TRAINING_LOG not in self.record.get("files", {}) and not path.is_file():
            return {}
        if self.is_finished:
            path = self.file(TRAINING_LOG)
        steps: dict[int, dict[str, float]] = {}
        for row in read_jsonl(path, "step", "metrics"):
            steps.setdefault(int(row["step"]), {}).update(row["metrics"])
        trained = sorted(step for step, values in steps.items() if any(key.startswith("train/") for key in values))
        if trained and trained != list(range(1, trained[-1] + 1)) and self.record.get("kind") != CURVES:
            lost = min(set(range(1, trained[-1] + 1)) - set(trained))
            raise DamagedFileError(path, f"step {lost} is missing", RESTORE)
        return dict(sorted(steps.items()))

    def metrics(self, name: str) -> Points:
        """(step, value) of one metric, by step. Empty if it was never logged."""
        return [(step, values[name]) for step, values in self.curve.items() if name in values]

    @property
    def evaluated_steps(self) -> list[int]:
        """The optimiser steps of evaluations while it trained (`eval.every`)."""
        listed = CURVE in self.record.get("files", {})
        return [row["step"] for row in read_jsonl(self.file(CURVE) if listed else self.folder / CURVE, "step")]

    # -- the evaluation ------------------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> Mapping[str, Path]:
        """Benchmark -> its file of verdicts. Not read yet.

        Raises:
            DamagedFileError: there are other benchmarks than the record lists.
        """
        place = self.folder / "eval" if self.record.get("arm") or (self.folder / "eval").is_dir() else self.folder
        if (place / "verdicts.parquet").is_file():  # one benchmark's folder
            return dict.fromkeys(benchmarks_of(place / "verdicts.parquet"), place / "verdicts.parquet")
        tables = {path.parent.name: path for path in sorted(place.glob("*/verdicts.parquet"))}
        if not self.record:  # any folder: the folder of a benchmark has its verdicts
            tables = {name: path for name, path in tables.items() if name in benchmarks_of(path)}
        if not self.is_finished:
            return tables
        prefix = "" if place == self.folder else "eval/"
        benchmarks = self.record.get("scores") or self.record.get("benchmarks", ())
        listed = {b: self.folder / f"{prefix}{b}/verdicts.parquet" for b in benchmarks}
        if strange := sorted(tables.keys() - listed.keys()):
            raise DamagedFileError(tables[strange[0]], f"{RECORD} does not list it", RESTORE)
        return listed

    @property
    def benchmarks(self) -> list[str]:
        return list(self.tables)

    def rows(self, benchmark: str, columns: Sequence[str] | None = None) -> pa.Table | pd.DataFrame:
        """A row for each problem and sample, with the columns of `evals.grading.verdicts.schema`: an Arrow table, or a
        frame of JSON Lines.

        Args:
            columns: of these, those that the file has are read. None: all.
        Raises:
            ValueError: it was not measured on that benchmark, or a column is missing that every file has.
            DamagedFileError: as `file`.
        """
        import pyarrow.compute as pc

        if benchmark not in self.tables:
            raise ValueError(f"{self.name} was not measured on {benchmark!r}, expected: {', '.join(self.tables)}")
        path = self.tables[benchmark]
        self.file(path.relative_to(self.folder).as_posix())
        if path.suffix == ".jsonl":
            frame = rows_of(path)
            check_columns(path, frame.columns)
            return frame[frame["benchmark"] == benchmark].reset_index(drop=True)
        table = read_parquet(path, None if columns is None else [*NEEDED, *columns])
        check_columns(path, table.column_names)
        check_owner(path, table.schema.metadata or {}, self.manifest(benchmark))
        names = table["benchmark"].unique().to_pylist()
        if names != [benchmark] and self.record:
            raise DamagedFileError(path, f"it has rows of {', '.join(map(str, names))}", RESTORE)
        return table if names == [benchmark] else table.filter(pc.equal(table["benchmark"], benchmark))

    def verdicts(self, benchmark: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """`rows` as a frame, with text for problem_id, and None for lengths that nobody knows."""
        import pyarrow as pa

        rows: Any = self.rows(benchmark, columns)
        frame: pd.DataFrame = rows.to_pandas() if isinstance(rows, pa.Table) else rows
        unknown = {name: None for name in ("tokens", "finish_reason") if name not in frame}  # answers of others
        our_columns = (
            {"answer": frame["extracted"]} if "extracted" in frame else {}
        )  # the answers that `rlvr grade` extracted, beside the file's own
        return frame.assign(**unknown, **our_columns, problem_id=frame["problem_id"].astype(str))

    @property
    def keeps_responses(self) -> bool:
        """Whether the verdicts have the responses beside them. An archive's have not."""
        return all("response" in columns_of(path) for path in self.tables.values())

    def samples(self, benchmark: str) -> pd.DataFrame:
        """`verdicts`, with the responses.

        Raises:
            ValueError: as `verdicts`, or the verdicts were kept without the responses (an archive's are).
        """
        frame = self.verdicts(benchmark)
        if "response" not in columns_of(self.tables[benchmark]):
            raise ValueError(f"{self.name}: the verdicts of {benchmark} were kept without the responses")
        return frame

    def counts(self, benchmark: str) -> VerdictTable:
        """The counted `verdicts`, from which every score is computed: of this run's training seed, or of those in a
        column `train_seed`."""
        return counted({self.record.get("seed", 0): self}, benchmark)

    def samples_at(self, step: int, benchmark: str) -> pd.DataFrame | None:
        """The verdicts of an evaluation while it trained, with the responses, or None where it was not made."""
        name = f"curve/step-{step:06d}/{benchmark}/verdicts.parquet"
        if not (self.folder / name).is_file() and name not in self.record.get("files", {}):
            return None
        frame: pd.DataFrame = read_parquet(self.file(name)).to_pandas()
        return frame

    def manifest(self, benchmark: str) -> Mapping[str, Any] | None:
        """How the samples of a benchmark were made, or None for graded answers of others, which have no manifest.

        Raises:
            DamagedFileError: as `file`, or it is of another benchmark.
        """
        path = self.tables[benchmark].with_name("manifest.json")
        name = path.relative_to(self.folder).as_posix()
        if path.is_file() or name in self.record.get("files", {}):
            path = self.file(name)
        manifest = read_object(path, "identity", "record")
        if manifest is not None and manifest["identity"].get("benchmark", benchmark) != benchmark:
            raise DamagedFileError(path, f"it is of {manifest['identity']['benchmark']}", RESTORE)
        if manifest is not None and "run" in manifest and self.record.get("kind") == "arm":
            differing = [key for key, value in run_identity(self.record).items() if manifest["run"].get(key) != value]
            if differing:
                raise DamagedFileError(path, f"it is of a run with another {differing[0]}", RESTORE)
        return manifest

    def ks(self, benchmark: str) -> list[int]:
        """The k of the protocol that measured a benchmark; of graded answers of others, none."""
        from evals.data.protocols import recorded_value

        manifest = self.manifest(benchmark)
        return [] if manifest is None else [int(k) for k in recorded_value(manifest, "ks") or ()]

    def policy(self, benchmark: str) -> str | None:
        """The extraction policy that decided the verdicts of a benchmark, or None if it is not known, or not one."""
        words = self.graded_by(benchmark)
        return None if words is None or ";" in words else words.split(",")[0].removeprefix("policy ")

    def graded_by(self, benchmark: str) -> str | None:
        """How answers were read, in words that are equal where it is (`evals.answer_files.own.graded_by`), or None if
        it is not known.

        Raises:
            ValueError, DamagedFileError: as `rows`.
        """
        from evals.answer_files.own import graded_by
        from evals.data.protocols import recorded_policy, recorded_value

        if (manifest := self.manifest(benchmark)) is None:
            if self.tables[benchmark].suffix != ".jsonl" or "graded_by" not in (rows := self.rows(benchmark)):
                return None
            return "; ".join(dict.fromkeys(map(str, rows["graded_by"])))
        policy = recorded_policy(manifest)
        return None if policy is None else graded_by(policy, recorded_value(manifest, "reasoning") or "whole")

    def measured_by(self, benchmark: str) -> dict[str, object]:
        """How a benchmark was measured, as `rlvr show` prints it; of graded answers of others, the policy."""
        from evals.data.protocols import beyond_n, recorded_value

        if (manifest := self.manifest(benchmark)) is None:
            return {} if (words := self.graded_by(benchmark)) is None else {"policy": words.removeprefix("policy ")}
        identity, record = manifest["identity"], manifest["record"]
        facts = {"protocol": described(record.get("protocol") or {}), "model": record.get("model_path")}
        facts |= {"prompt": identity["prompt"]["name"]}
        facts |= {"system": identity["prompt"]["system"]} if "system" in identity["prompt"] else {}
        facts |= {"examples": len(identity["prompt"]["examples"])} if "examples" in identity["prompt"] else {}
        facts |= {} if (policy := self.policy(benchmark)) is None else {"policy": policy}
        facts |= {"n": recorded_value(manifest, "n") or max(manifest.get("grown") or [None])}
        facts |= {} if (rows := recorded_value(manifest, "rows")) is None else {"rows": rows}
        if beyond := beyond_n(manifest):
            facts |= {"not reported": f"{', '.join(f'pass@{k}, maj@{k}' for k in beyond)} (n is smaller)"}
        facts |= {**identity["decoding"], "seed": identity.get("seed")}
        return facts | ({"data": "changed"} if identity["data"]["changed"] else {})

    def title(self, benchmark: str) -> str:
        """A benchmark's name in tables, with a mark if other rows than the pinned ones were measured."""
        return f"{benchmark} (changed data)" if "data" in self.measured_by(benchmark) else benchmark

    def conditions(self, benchmark: str) -> Conditions | None:
        """The conditions that decide a measurement (protocol, prompt, decoding, data), the engine and the model, or
        None without a manifest."""
        manifest = self.manifest(benchmark)
        if manifest is None:
            return None
        identity, protocol = manifest["identity"], manifest["record"].get("protocol") or {}
        fields = ("prompt", "decoding", "data", "engine", "model")
        return {"protocol": protocol.get("name"), **{key: identity.get(key) for key in fields}}


class VerdictFile(Run):
    """A run that is one file of verdicts alone, without a record: `verdicts.parquet`, or what `rlvr grade out=` wrote.

    Raises:
        UsageError: the file names no benchmark.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.path = path
        self.tables = dict.fromkeys(benchmarks_of(path), path)

    def __repr__(self) -> str:
        return f"VerdictFile({str(self.path)!r})"

    @cached_property
    def record(self) -> Mapping[str, Any]:
        return {}

    @property
    def name(self) -> str:
        return self.path.name.partition(".")[0]


def counted(runs: Mapping[int, Run], benchmark: str) -> VerdictTable:
    """The counted verdicts of a method's training seeds, counted together.

    Args:
        runs: by training seed. A single one may hold several in a column `train_seed`.
    Raises:
        UsageError: one of several holds several. DamagedFileError: as `Run.file`.
    """
    import pandas as pd
    import pyarrow as pa

    from evals.stats.counted import COLUMNS
    from evals.stats.verdict_table import VerdictTable

    parts: list[pd.DataFrame | pa.Table] = [run.rows(benchmark, COLUMNS) for run in runs.values()]
    columns = [part.column_names if isinstance(part, pa.Table) else part.columns for part in parts]
    pairs = zip(runs.values(), columns, strict=True)
    several = [run.folder for run, names in pairs if "train_seed" in names and not run.record]
    if several and len(runs) > 1:
        raise UsageError(f"{several[0]} holds the column train_seed: give it alone, or files of one seed each")
    if all(isinstance(part, pa.Table) and part.schema.equals(parts[0].schema) for part in parts):
        rows = pa.concat_tables(parts).to_pandas()
    else:  # files of others
        rows = pd.concat([part.to_pandas() if isinstance(part, pa.Table) else part for part in parts])
    if not several:
        rows = rows.assign(train_seed=[seed for seed, part in zip(runs, parts, strict=True) for _ in range(len(part))])
    return VerdictTable.of_rows(rows)


def _named_model(manifests: Sequence[Mapping[str, Any] | None]) -> str | None:
    """The model that a manifest names, where it is a folder that is still there, or a hub id."""
    model = next((m["record"].get("model_path") for m in manifests if m is not None), None)
    if model is None or (Path(model).is_absolute() and not Path(model).is_dir()):
        return None
    return str(model)
