"""Every Eval Ever 0.3.0: one JSON record per benchmark, checked against the schema."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evals.files import text_sha256, write_json
from harness import __version__
from harness.errors import UsageError
from harness.exchange.verify import protocol_of, scores_of
from harness.record.run import Run

SCHEMA = Path(__file__).parent / "schemas" / "eee_eval.schema.json"
VERSION = "0.3.0"


def write_records(run: Run, model: str, out: Path, *, organisation: str, relationship: str) -> list[Path]:
    """data/<benchmark>/<developer>/<model>/<uuid>.json under `out`.

    Args:
        model: ORGANISATION/NAME, as hubs call it.
        organisation: who evaluated. relationship: to the model's developer: first_party, third_party, ...
    Raises:
        UsageError: a record does not fit the schema.
    """
    developer, _, name = model.partition("/")
    written = []
    for benchmark in run.benchmarks:
        identity = json.dumps([run.name, run.finished, benchmark, model])
        unique = str(uuid.UUID(text_sha256(identity)[:32], version=4))
        made = record(run, benchmark, model, organisation=organisation, relationship=relationship)
        check(made)
        path = out / "data" / benchmark / developer / name / f"{unique}.json"
        write_json(path, made)
        written.append(path)
    return written


def check(document: Any) -> None:
    """Raise UsageError where a document does not fit the vendored schema."""
    import jsonschema

    try:
        jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(map(str, error.absolute_path)) or "the whole"
        raise UsageError(f"the record does not fit {SCHEMA.name} at {where}: {error.message[:300]}") from error


def record(run: Run, benchmark: str, model: str, *, organisation: str, relationship: str) -> dict[str, Any]:
    """The record of one benchmark: every score with its interval and how many samples it is from."""
    now = str(int(time.time()))
    stamp = {} if run.finished is None else {"evaluation_timestamp": run.finished}
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{benchmark}/{model}/{now}",
        **stamp,
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "rlvr-harness",
            "source_type": "evaluation_run",
            "source_organization_name": organisation,
            "evaluator_relationship": relationship,
            "additional_details": _provenance(run),
        },
        "eval_library": {
            "name": "rlvr-harness",
            "version": __version__,
            "additional_details": {"math-verify": version("math-verify")},
        },
        "model_info": {
            "name": model.partition("/")[2],
            "id": model,
            "developer": model.partition("/")[0],
            "inference_engine": _engine(run, benchmark),
            "additional_details": _model_details(run),
        },
        "evaluation_results": [_result(run, benchmark, s) for s in scores_of(run, benchmark) if s.value is not None],
    }


def _provenance(run: Run) -> dict[str, str]:
    details: dict[str, Any] = {"run": run.name}
    if run.record:
        keys = ("paper", "arm", "scale", "seed", "digest")
        details |= {key: run.record[key] for key in keys if key in run.record}
        details["code_commit"] = run.record.get("environment", {}).get("commit")
    if run.label:
        details["scale_label"] = run.label
    return {key: str(value) for key, value in details.items() if value is not None}


def _model_details(run: Run) -> dict[str, str]:
    trained = run.record and run.record.get("training") is not None
    details = {"deployment_type": "self_deployed", "model_availability": "unknown"}
    if "base_model" in run.record:
        base = run.record["base_model"]
        details["trained_from" if trained else "weights"] = str(base["loaded_from"])
        details["weights_sha256" if not trained else "trained_from_sha256"] = str(base["sha256"])
    return details


def _engine(run: Run, benchmark: str) -> dict[str, str]:
    engine = identity_of(run, benchmark).get("engine") or {}
    name = str(engine.get("name", "unknown"))
    return {"name": name, "version": str(engine.get(name, engine.get("version", "unknown")))}


def _result(run: Run, benchmark: str, score: Any) -> dict[str, Any]:
    share = score.unit == "%"
    unit = {"%": "proportion", "tokens": "tokens", "problems": "problems"}[score.unit]
    details: dict[str, Any] = {
        "problems": score.problems,
        "excluded_problems": score.excluded,
        "samples": score.samples,
        "unscored_samples": score.unscored,
        "score_with_unscored_as_wrong": score.as_wrong,
    }
    score_details: dict[str, Any] = {
        "score": score.value,
        "details": {k: str(v) for k, v in details.items() if v is not None},
    }
    if score.interval is not None:
        method = f"over {score.interval.covers}, clustered by problem (rlvr-harness evals/stats/intervals.py)"
        interval = {"lower": score.interval.low, "upper": score.interval.high, "confidence_level": score.interval.level}
        interval["method"] = method + (", approximate: few problems vary" if score.interval.rough else "")
        score_details["uncertainty"] = {"confidence_interval": interval, "num_samples": score.samples}
    parameters: dict[str, Any] = {} if score.k is None else {"k": score.k}
    bounds = (0, 1) if share else (0, "Infinity")
    decoding = identity_of(run, benchmark).get("decoding") or {}
    arguments: dict[str, Any] = {
        key: decoding[key] for key in ("temperature", "top_p", "max_tokens") if key in decoding
    }
    if run.command:
        arguments["execution_command"] = run.command
    extra = {
        "prompt": (identity_of(run, benchmark).get("prompt") or {}).get("name"),
        "protocol": protocol_of(run).get("name"),
        "sampling_seed": identity_of(run, benchmark).get("seed"),
    }
    return {
        "evaluation_result_id": f"{benchmark}.{score.key}",
        "evaluation_name": benchmark,
        "source_data": source_data(benchmark),
        "metric_config": {
            "evaluation_description": run.label or f"{score.name} on {benchmark}",
            "metric_id": {"pass": "pass_at_k", "avg": "accuracy"}.get(score.metric, f"rlvr-harness.{score.metric}"),
            "metric_name": score.name,
            "metric_kind": {"pass": "pass_rate", "avg": "accuracy", "maj": "accuracy"}.get(score.metric, score.metric),
            "metric_unit": unit,
            "metric_parameters": parameters,
            "lower_is_better": score.metric in ("truncation_rate", "mean_tokens", "unsolvable"),
            "score_type": "continuous",
            "min_score": bounds[0],
            "max_score": bounds[1],
        },
        "score_details": score_details,
        "generation_config": {
            "generation_args": arguments,
            "additional_details": {key: str(value) for key, value in extra.items() if value is not None},
        },
    }


def source_data(benchmark: str) -> dict[str, Any]:
    """Where the problems are from: a dataset of the hub, or ours."""
    from evals.data import benchmarks

    task = benchmarks.task(benchmark) if benchmark in benchmarks.names() else {}
    repo = str(task.get("dataset_path") or "")
    if "/" not in repo:  # made here, or a benchmark that only its run knows
        return {"dataset_name": benchmark, "source_type": "other", "additional_details": {"made_by": "rlvr-harness"}}
    source = {"dataset_name": benchmark, "source_type": "hf_dataset", "hf_repo": repo}
    source |= {"hf_split": task["test_split"], "samples_number": task["metadata"]["rows"]}
    revision = (task.get("dataset_kwargs") or {}).get("revision")
    return source | ({"additional_details": {"revision": revision}} if revision else {})


def identity_of(run: Run, benchmark: str) -> Mapping[str, Any]:
    """What decided the samples, as the manifest has it; {} without one."""
    identity: Mapping[str, Any] = (run.manifest(benchmark) or {}).get("identity", {})
    return identity
