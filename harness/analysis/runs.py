"""The runs of `rlvr analyze` and `rlvr report`: their responses, models and training curves.

A run is a job's folder, a folder of an evaluation, a file of answers, or an MLflow run id; the training seeds of one
method are joined by commas. Analyses that need a model (teacher-forced passes, interventions) use the first seed, and
say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.analysis.subjects import Subject, read_subject
from evals.answer_files.reading import NOTHING_SAID, Reading
from evals.data import prompts
from evals.data.prompts import Prompt
from evals.files import read_json, read_jsonl, text_sha256
from evals.redaction import redact
from evals.sampling.engines.base import Decoding
from harness.errors import UsageError
from harness.jobs.watching import CURVE, flat
from harness.runs.answers import graded, holds_verdicts
from harness.runs.find import EXPECTED, RUN_ID
from harness.runs.track import Tracker, home, tracking_uri
from harness.tables.measured import as_typed

if TYPE_CHECKING:
    import pandas as pd

TAGS = ("paper", "model", "arm", "scale", "backend", "seed")


@dataclass(frozen=True)
class Source:
    """One training seed of a run, as read from disk or MLflow."""

    verdicts: Path  # the folder of the evaluation
    model: str | None  # a folder or hub id; None where it is not on this machine
    curves: pd.DataFrame | None  # `step` and one column per metric; None without a training or its curves
    tags: Mapping[str, str] = field(default_factory=dict)  # of TAGS, those that are known
    run_id: str | None = None  # in MLflow
    made: str = ""  # the command that trained and measured it, and the commit; "" if unknown
    checkpoints: Mapping[int, str] = field(default_factory=dict)  # optimiser step -> folder, before the last step
    steps: Mapping[int, Path] = field(default_factory=dict)  # optimiser step -> verdicts of an evaluation then


@dataclass(frozen=True)
class Analysed:
    """One model of an analysis.

    `subject` holds all training seeds; `readable` the first seed with its model and prompts, or None, with the reason
    in `unread`.
    """

    subject: Subject
    readable: Subject | None
    unread: str
    sources: tuple[Source, ...]

    @property
    def name(self) -> str:
        return self.subject.name

    @property
    def curves(self) -> pd.DataFrame | None:
        """Of all seeds that have some: the mean of each step and metric, with its band (`over_seeds`)."""
        from evals.analysis.evaluation import with_average
        from evals.analysis.training_curves import over_seeds

        known = [s.curves for s in self.sources if s.curves is not None]
        return over_seeds([with_average(c) for c in known]) if known else None

    def conditions(self, benchmark: str) -> dict[str, Any]:
        """What the first seed's responses to a benchmark were sampled with (`evals.sampling.evaluate`'s identity of
        samples).

        Raises:
            ValueError: no manifest beside the verdicts.
        """
        folder = self.sources[0].verdicts
        places = (folder / benchmark / "manifest.json", folder / "manifest.json")
        manifest = next((read_json(path) for path in places if path.is_file()), None)
        if manifest is None:
            raise ValueError(f"{self.name}, {benchmark}: expected manifest.json beside the verdicts, found none")
        identity: dict[str, Any] = manifest["identity"]
        return identity

    def sampling(self, benchmark: str) -> tuple[Decoding, Prompt]:
        """Decoding and prompt of the first seed's responses to a benchmark.

        Raises:
            ValueError: as `conditions`.
        """
        identity = self.conditions(benchmark)
        return Decoding(**identity["decoding"]), prompts.get(identity["prompt"]["name"])

    @property
    def tags(self) -> dict[str, str]:
        """Each tag's values over the seeds, joined by commas."""
        values = {key: dict.fromkeys(s.tags[key] for s in self.sources if key in s.tags) for key in TAGS}
        return {key: ",".join(own) for key, own in values.items() if own}


def check_names(texts: Sequence[str], key: str = "runs") -> None:
    """Before heavy imports, refuse texts that are neither a folder nor a run id."""
    for part in (part for text in texts for part in text.split(",") if part):
        if not Path(part).exists() and not RUN_ID.fullmatch(part):
            raise UsageError(f"{key}: {part}: {EXPECTED}")


def read_runs(
    texts: Sequence[str],
    names: Sequence[str] | None,
    *,
    data_dir: str | None,
    cache: Path,
    reading: Reading = NOTHING_SAID,
    policy: str | None = None,
) -> list[Analysed]:
    """Every run that the command line names, in its order.

    Args:
        names: what legends call them; None takes the arms' names (with the paper where two are the same).
        data_dir: where the benchmarks are, for the prompts; None: the hub, and for the tiny tiers, which are made here,
            the folder that `rlvr run` made them in.
        cache: where the artifacts of MLflow runs, and the verdicts on files of answers, are put.
        reading, policy: for files of answers (as in `rlvr grade`): what they do not state, and how to extract answers.
    Raises:
        UsageError: no such run, or one without responses; names that are not one a run, or not distinct.
    """
    check_names(texts)
    read = [[_source(part, cache, reading, policy) for part in text.split(",") if part] for text in texts]
    if any(not sources for sources in read):
        raise UsageError("runs: expected a folder or a run id, got an empty one")
    names = list(names) if names is not None else _names(read)
    if len(names) != len(read) or len(set(names)) != len(names):
        raise UsageError(f"names: expected {len(read)} different ones (one a run), got {', '.join(names)}")
    return [analysed(name, sources, data_dir=data_dir) for name, sources in zip(names, read, strict=True)]


def analysed(name: str, sources: Sequence[Source], *, data_dir: str | None) -> Analysed:
    """One model from its seeds.

    Raises:
        UsageError: the seeds cannot be read together.
    """
    paths = [source.verdicts for source in sources]
    try:
        subject = read_subject(name, paths)
    except (ValueError, OSError) as error:
        raise UsageError(f"runs: {error}") from error
    if without := [benchmark for benchmark, table in subject.tables.items() if "response" not in table]:
        raise UsageError(f"runs: {name}: the verdicts of {', '.join(without)} were kept without the responses")
    if sources[0].model is None:
        return Analysed(subject, None, f"{name}: its model is not on this machine", tuple(sources))
    data_dir = data_dir or tiny_benchmarks(subject.tables)
    try:
        readable = read_subject(name, paths[:1], model_path=sources[0].model, data_dir=data_dir)
    except (ValueError, OSError) as error:  # another model, other problems, a prompt that has changed
        return Analysed(subject, None, str(error), tuple(sources))
    return Analysed(subject, readable, "", tuple(sources))


def tiny_benchmarks(names: Iterable[str]) -> str | None:
    """The folder of the benchmarks that are made here, written where it is missing (as `rlvr run` does); None where one
    of these benchmarks is not made here."""
    from harness.data.tiny import MADE, write_benchmarks

    if not set(names) <= set(MADE):
        return None
    folder = home() / "tiny-benchmarks"
    if not folder.is_dir():
        write_benchmarks(folder)
    return str(folder)


def _names(read: Sequence[Sequence[Source]]) -> list[str]:
    """The arm of each run, else its folder or file; with the paper, then a number, where that is not enough."""
    arms = [s[0].tags.get("arm") or _stem(s[0].verdicts.resolve()) for s in read]
    if len(set(arms)) == len(arms):
        return arms
    longer = [f"{s[0].tags['paper']}/{a}" if "paper" in s[0].tags else a for s, a in zip(read, arms, strict=True)]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{a} ({i})" for i, a in enumerate(longer, 1)]


def _stem(path: Path) -> str:
    return path.stem if path.is_file() else path.name


def _source(part: str, cache: Path, reading: Reading, policy: str | None) -> Source:
    path = Path(part)
    if path.is_file() and holds_verdicts(path):
        return Source(path, None, None)
    if path.is_file():
        target = cache / f"answers-{text_sha256(f'{path.resolve()} {reading} {policy}')[:12]}"
        try:
            graded(path, target, reading, policy)  # always graded again: a file may have changed
        except (ValueError, OSError) as error:
            raise UsageError(f"runs: {error}") from error
        return Source(target, None, None, {"arm": path.name.partition(".")[0]})
    if not path.is_dir():
        return _from_mlflow(part, cache)
    job = path.parent if path.name == "eval" and (path.parent / "record.json").is_file() else path
    record = read_json(job / "record.json")
    if record is not None:
        return _from_job(job, record)
    return Source(path, _model_of(path), None)


def _from_job(job: Path, record: Mapping[str, Any]) -> Source:
    link = read_json(job / "mlflow.json") or {}
    tags = {key: str(record[key]) for key in TAGS if key in record}
    made = _made(record)
    curves = kept_curves(job)
    kept, steps = checkpoints(job, curves), evaluated_steps(job)
    return Source(job / "eval", _trained(job, record), curves, tags, link.get("run_id"), made, kept, steps)


def evaluated_steps(job: Path) -> dict[int, Path]:
    """Optimiser step -> folder of the verdicts of an evaluation while a job trained."""
    return {row["step"]: job / "curve" / f"step-{row['step']:06d}" for row in read_jsonl(job / CURVE)}


def checkpoints(job: Path, curves: pd.DataFrame | None) -> dict[int, str]:
    """Optimiser step -> folder of the whole models that TRL's trainer keeps in a job's folder (the last two), those of
    steps before the training's last."""
    if curves is None:
        return {}
    by_step = {int(mark.parent.name.partition("-")[2]): mark.parent for mark in job.glob("train/checkpoint-*/whole")}
    last = int(curves["step"].max())
    return {
        step: str(path) for step, path in sorted(by_step.items()) if step < last and (path / "config.json").is_file()
    }


def _made(record: Mapping[str, Any]) -> str:
    environment = record.get("environment", {})
    command, commit = environment.get("command"), str(environment.get("commit"))[:10]
    return f"`{as_typed(command)}` with code at {commit}" if command else ""


def _trained(job: Path, record: Mapping[str, Any]) -> str | None:
    if (job / "train" / "final").is_dir():
        return str(job / "train" / "final")
    if record.get("training") is not None or "base_model" not in record:
        return None
    return str(record["base_model"]["loaded_from"])


def kept_curves(job: Path) -> pd.DataFrame | None:
    """The training metrics in a job folder, and scores of evaluations while it trained (`curve/...`), by step."""
    import pandas as pd

    path = job / "train" / "metrics.jsonl"
    if not path.is_file():
        return None
    steps = {s["step"]: s["metrics"] for s in map(json.loads, path.read_text().splitlines())}  # a step's last try
    for row in read_jsonl(job / CURVE):
        scores = {f"curve/{name}": value for name, value in flat(row["scores"]).items()}
        steps[row["step"]] = steps.get(row["step"], {}) | scores
    return pd.DataFrame([{"step": step, **metrics} for step, metrics in sorted(steps.items())])


def _model_of(folder: Path) -> str | None:
    """The model that a manifest names, where it is a folder that is still there, or a hub id."""
    manifests = [folder / "manifest.json", *sorted(folder.glob("*/manifest.json"))]
    manifest = next((read_json(path) for path in manifests if path.is_file()), None)
    model = (manifest or {}).get("record", {}).get("model_path")
    if model is None or (Path(model).is_absolute() and not Path(model).is_dir()):
        return None
    return str(model)


def _from_mlflow(run_id: str, cache: Path) -> Source:
    store = tracking_uri()
    if store.startswith("sqlite:///") and not Path(store.removeprefix("sqlite:///")).is_file():
        raise UsageError(f"runs: {run_id}: no MLflow store at {redact(store)}; set RLVR_HOME or MLFLOW_TRACKING_URI")
    from mlflow.exceptions import MlflowException

    tracker = Tracker.open()
    folder = cache / run_id
    try:
        run = tracker.client.get_run(run_id)
        if not (folder / "record.json").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            tracker.download(run_id, "verdicts", folder)
            tracker.download(run_id, "record.json", folder)  # written last: if it exists, all files exist
    except (MlflowException, OSError) as error:
        raise UsageError(
            f"runs: {run_id}: no finished arm with verdicts in {redact(store)} ({redact(str(error))})"
        ) from error
    record = read_json(folder / "record.json")
    tags = {key: run.data.tags[f"rlvr.{key}"] for key in TAGS if f"rlvr.{key}" in run.data.tags}
    job = home() / tags["paper"] / tags["scale"]
    job /= f"{tags['model']}-{tags['arm']}-{run.data.tags['rlvr.digest']}-seed{tags['seed']}"
    curves = kept_curves(job)
    if curves is None:
        curves = _logged_curves(tracker, run_id, run.data.metrics)
    kept, steps = checkpoints(job, curves), evaluated_steps(job)
    return Source(folder / "verdicts", _trained(job, record), curves, tags, run_id, _made(record), kept, steps)


def _logged_curves(tracker: Tracker, run_id: str, metrics: Mapping[str, float]) -> pd.DataFrame | None:
    import pandas as pd

    steps: dict[int, dict[str, float]] = {}
    for name in metrics:
        if name.startswith(("train/", "curve/")):
            for point in tracker.client.get_metric_history(run_id, name):
                steps.setdefault(point.step, {})[name] = point.value
    if not steps:
        return None
    return pd.DataFrame([{"step": step, **values} for step, values in sorted(steps.items())])
