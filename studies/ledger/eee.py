"""Printed scores as records of Every Eval Ever: `python -m studies.ledger.eee FOLDER`, a file a row of claims.csv."""

from __future__ import annotations

import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd

from evals.files import text_sha256, write_json
from harness import __version__
from studies.ledger.__main__ import OUT

SCHEMA = Path(__file__).parent / "eee_eval.schema.json"
VERSION = "0.3.0"


def record(claim: dict[Any, Any]) -> dict[str, Any]:
    """A printed score by the authors' verdicts and by ours, with the verdict of `rlvr audit` beside them."""
    now = str(int(time.time()))
    owner = claim["repository"].partition("/")[0]
    model = f"{owner}/{claim['recipe']}"
    audited = {key: claim[key] for key in ("printed", "where", "verdict", "why", "seeds", "largest_of_equal", "chance")}
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{claim['benchmark']}/{model}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": f"{claim['repository']} at {claim['commit']}",
            "source_type": "documentation",
            "source_organization_name": owner,
            "source_organization_url": f"https://github.com/{claim['repository']}/tree/{claim['commit']}",
            "evaluator_relationship": "third_party",
            "additional_details": {key: str(value) for key, value in audited.items() if not pd.isna(value)},
        },
        "eval_library": {"name": "rlvr-harness", "version": __version__},
        "model_info": {
            "name": claim["recipe"],
            "id": model,
            "developer": owner,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [
            _result(claim, column, words) for column, words in SCORES.items() if not pd.isna(claim[column])
        ],
    }


SCORES = {"file": "the authors' verdicts, last checkpoint", "ours": "verdicts of rlvr-harness on the same samples"}


def _result(claim: dict[Any, Any], column: str, words: str) -> dict[str, Any]:
    score: dict[str, Any] = {"score": claim[column] / 100}
    if column == "file" and not pd.isna(claim["low"]):
        bounds = {"lower": claim["low"] / 100, "upper": claim["high"] / 100, "confidence_level": 0.95}
        score["uncertainty"] = {"confidence_interval": {**bounds, "method": "over problems, or over seeds"}}
    return {
        "evaluation_result_id": f"{claim['benchmark']}.{column}",
        "evaluation_name": claim["benchmark"],
        "source_data": {"dataset_name": claim["benchmark"], "source_type": "other"},
        "metric_config": {
            "evaluation_description": words,
            "metric_id": "accuracy",
            "metric_name": "accuracy",
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": score,
    }


def main() -> None:
    """Write the records."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    claims = pd.read_csv(OUT / "claims.csv", dtype={"printed": str})
    for claim in claims.dropna(subset="file").to_dict("records"):  # a record has a score
        made = record(claim)
        jsonschema.validate(made, schema)
        name = uuid.UUID(text_sha256("/".join(str(claim[key]) for key in ("repository", "recipe", "benchmark")))[:32])
        write_json(out / f"{name}.json", made)


if __name__ == "__main__":
    main()
