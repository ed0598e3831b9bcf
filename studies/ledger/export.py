"""`python -m studies.ledger.export FOLDER`: each printed score as a record of Every Eval Ever, a file each, and as a
cell of a Trackio logbook, a page a repository.

A logbook is Markdown files with marked cells (docs/source/logbooks.md of gradio-app/trackio at 2a02752. It has no
schema). `trackio logbook sync` in the folder writes the rest of it, `trackio logbook serve` shows it.
"""

from __future__ import annotations

import json
import re
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd

from evals.files import text_sha256, write_json, write_text
from evals.stats.intervals import MIN_SEEDS
from harness import __version__
from studies.ledger.__main__ import OUT

SCHEMA = Path(__file__).parent / "eee_eval.schema.json"
VERSION = "0.3.0"

Claim = dict[Any, Any]  # a row of claims.csv, as pandas reads it


def record(claim: Claim) -> dict[str, object]:
    """A printed score by the authors' verdicts and by ours, with the verdict of `rlvr audit` beside them.

    The number of training seeds is a detail of the model: the schema has no field for it.
    """
    now = str(int(time.time()))
    owner = claim["repository"].partition("/")[0]
    model = f"{owner}/{claim['recipe'].replace(':', '.')}"  # a name that its validator takes for a file
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
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "training_seeds": str(claim["seeds"]),
            },
        },
        "evaluation_results": [
            _result(claim, column, words) for column, words in SCORES.items() if not pd.isna(claim[column])
        ],
    }


SCORES = {"file": "the authors' verdicts, last checkpoint", "ours": "verdicts of rlvr-harness on the same samples"}


def _result(claim: Claim, column: str, words: str) -> dict[str, object]:
    score: dict[str, object] = {"score": claim[column] / 100}
    if column == "file" and not pd.isna(claim["low"]):
        bounds = {"lower": claim["low"] / 100, "upper": claim["high"] / 100, "confidence_level": 0.95}
        score["uncertainty"] = {"confidence_interval": {**bounds, "method": _covers(claim)}}
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


def _covers(claim: Claim) -> str:
    """The cover of the interval, as results/ledger/README.md says."""
    if claim["seeds"] < MIN_SEEDS:
        return "over problems"
    return f"over {claim['seeds']} training seeds, and over problems where verdicts are public"


def _key(claim: Claim) -> str:
    return text_sha256("/".join(str(claim[key]) for key in ("repository", "recipe", "benchmark")))


def cell(claim: Claim) -> str:
    """A printed score, what its file holds, ours, the verdict and its reason."""
    title = f"{claim['recipe']}, {claim['benchmark']}: {claim['verdict']}"
    marker = json.dumps({"type": "markdown", "id": f"cell_{_key(claim)[:12]}", "title": title})
    scores = {"Its file": claim["file"], "Our verdicts on the same samples": claim["ours"]}
    lines = [f"Printed: {claim['printed']} ({claim['where']})", f"Why: {claim['why']}"]
    lines += [f"{name}: {score:.1f}" for name, score in scores.items() if not pd.isna(score)]
    return f"\n\n---\n<!-- trackio-cell\n{marker}\n-->\n" + "".join(f"- {line}\n" for line in lines)


def logbook(claims: pd.DataFrame, pages: Path) -> None:
    """Write the pages of a Trackio logbook, one a repository, and their index."""
    index = "# Printed scores, and what their files say\n\n## Pages\n\n| Page |\n| --- |\n"
    for name, commit in dict.fromkeys(zip(claims["repository"], claims["commit"], strict=True)):
        rows_of_commit = claims[(claims["repository"] == name) & (claims["commit"] == commit)]
        slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {commit[:4]}".lower())
        index += f"| [{name}](#/{slug}) |\n"
        head = f"# {name}\n\nhttps://github.com/{name}/tree/{commit}\n"
        write_text(pages / slug / "page.md", head + "".join(map(cell, rows_of_commit.to_dict("records"))))
    write_text(pages / "index.md", index)


def main() -> None:
    """Write both."""
    out = Path(sys.argv[1])
    if (pages := out / ".trackio" / "logbook" / "pages").exists():
        sys.exit(f"{pages}: expected a folder without a logbook, there is one")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    claims = pd.read_csv(OUT / "claims.csv", dtype={"printed": str})
    logbook(claims, pages)
    for claim in claims.dropna(subset="file").to_dict("records"):  # a record has a score
        document = record(claim)
        jsonschema.validate(document, schema)
        write_json(out / f"{uuid.UUID(_key(claim)[:32], version=4)}.json", document)  # its validator wants version 4


if __name__ == "__main__":
    main()
