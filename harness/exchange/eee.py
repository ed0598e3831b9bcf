"""Every Eval Ever 0.3.0: one JSON record per benchmark, checked against the schema, and its samples as JSON Lines."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evals.files import text_sha256, write_text
from evals.grading.verdicts import Verdict
from harness import __version__
from harness.errors import UsageError
from harness.exchange.source import (
    Problems,
    dataset_of,
    decoding_of,
    identity_of,
    protocol_of,
    question,
    scores_of,
)
from harness.record.run import Run

SCHEMAS = Path(__file__).parent / "schemas"
VERSION = "0.3.0"


def write_records(
    run: Run, model: str, out: Path, *, organisation: str, relationship: str, problems: Problems | None = None
) -> list[Path]:
    """data/<benchmark>/<developer>/<model>/<uuid>.json and, of its samples, <uuid>_samples.jsonl, under `out`.

    Args:
        model: ORGANISATION/NAME, as hubs call it.
        organisation: who evaluated. relationship: to the model's developer: first_party, third_party, ...
        problems: their texts (`harness.exchange.source.problems_of`); without one, its id stands for it.
    Returns:
        the records (not the samples).
    Raises:
        UsageError: a record does not fit the schema.
    """
    developer, _, name = model.partition("/")
    written = []
    for benchmark in run.benchmarks:
        identity = json.dumps([run.name, run.finished, benchmark, model])
        unique = str(uuid.UUID(text_sha256(identity)[:32], version=4))
        folder = Path("data") / benchmark / developer / name
        samples = folder / f"{unique}_samples.jsonl"
        made = record(run, benchmark, model, organisation=organisation, relationship=relationship)
        rows = list(instances(run, benchmark, model, made, problems or {}))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if rows:
            made["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": str(samples),
                "hash_algorithm": "sha256",
                "checksum": text_sha256(text),
                "total_rows": len(rows),
            }
        check(made, "eee_eval")
        for row in rows:
            check(row, "eee_instance")
        (out / folder).mkdir(parents=True, exist_ok=True)
        if rows:
            write_text(out / samples, text)
        target = out / folder / f"{unique}.json"
        write_text(target, json.dumps(made, indent=2, ensure_ascii=False) + "\n")
        written.append(target)
    return written


def check(document: Any, schema: str) -> None:
    """Raise UsageError where a document does not fit one of the vendored schemas."""
    import jsonschema

    try:
        jsonschema.validate(document, json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8")))
    except jsonschema.ValidationError as error:
        where = "/".join(map(str, error.absolute_path)) or "the whole"
        raise UsageError(f"the record does not fit {schema}.schema.json at {where}: {error.message[:300]}") from error


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
    decoding = decoding_of(run, benchmark)
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
    dataset = dataset_of(benchmark)
    if "hf_repo" not in dataset:
        return {"dataset_name": benchmark, "source_type": "other", "additional_details": {"made_by": "rlvr-harness"}}
    source = {"dataset_name": benchmark, "source_type": "hf_dataset", "hf_repo": dataset["hf_repo"]}
    source |= {"hf_split": dataset["split"], "samples_number": dataset["rows"]}
    return source | ({"additional_details": {"revision": dataset["revision"]}} if "revision" in dataset else {})


def instances(
    run: Run, benchmark: str, model: str, made: dict[str, Any], problems: Problems
) -> Iterator[dict[str, Any]]:
    """One row per scored sample, with its accuracy; none for a run without responses."""
    accuracy = next(
        (r for r in made["evaluation_results"] if r["evaluation_result_id"].startswith(f"{benchmark}.avg")), None
    )
    if accuracy is None:
        return
    for row in run.rows(benchmark):
        if row["verdict"] == Verdict.UNSCORED or not row.get("response"):
            continue  # the schema has no unknown scores
        correct = row["verdict"] == Verdict.CORRECT
        problem = question(problems, benchmark, row)
        attribution = [] if row["answer"] is None else [
            {"turn_idx": 0, "source": "output.raw", "extracted_value": row["answer"],
             "extraction_method": "rlvr-harness", "is_terminal": True}
        ]  # fmt: skip
        yield {
            "schema_version": VERSION,
            "evaluation_id": made["evaluation_id"],
            "model_id": model,
            "evaluation_name": benchmark,
            "evaluation_result_id": accuracy["evaluation_result_id"],
            "sample_id": f"{row['problem_id']}#{row['sample']}",
            "sample_hash": text_sha256(problem + row["gold"]),
            "interaction_type": "single_turn",
            "input": {"raw": problem, "reference": [row["gold"]]},
            "output": {"raw": [row["response"]]},
            "answer_attribution": attribution,
            "evaluation": {"score": float(correct), "is_correct": correct},
            "metadata": {"verdict": row["verdict"], "sample": str(row["sample"])},
        }
