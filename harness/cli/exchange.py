"""The commands `rlvr bundle` and `rlvr verify`, and the formats of `rlvr export run=RUN format=NAME`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.command.config import no_more, parse_overrides, take
from harness.errors import UsageError, choose

FORMATS = ("eee", "hf", "model-index", "inspect")
RELATIONS = ("first_party", "third_party", "collaborative", "other")
BUNDLE = """RUN is a job's folder, the folder of an evaluation, or the MLflow run id of an arm.
options:
  out=NAME               a folder, or a file NAME.zip (default: bundles/RUN.zip)
  responses=true         keep the responses' text
Declaration, record, lock, verdicts, scores, tables, licence and checksums; `rlvr verify` needs nothing else."""
VERIFY = """BUNDLE is what `rlvr bundle` wrote: a folder or a zip.
Checks every file's sum, then computes scores, tables and README again from the verdicts and compares the bytes.
Exit code 0: whole and every number comes back; 1: not, with each difference on stderr."""


def do_bundle(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    responses = take(values, "responses", bool, True)
    out = Path(take(values, "out", str, f"bundles/{Path(arguments.run).name}.zip"))
    no_more(values, ("out", "responses"))
    from harness.exchange.bundle import write_bundle
    from harness.exchange.source import opened

    with opened(arguments.run) as run:
        curve = Path(arguments.run) / "train" / "metrics.jsonl"
        files = write_bundle(run, out, responses=responses, curve=curve)
    print(f"{out}: {len(files)} files; check it with: rlvr verify {out}", file=sys.stderr)
    return 0


def do_verify(arguments: Any) -> int:
    no_more(parse_overrides(arguments.options), ())
    path = Path(arguments.bundle)
    if not path.exists():
        raise UsageError(f"{path}: no such folder or file")
    from harness.exchange.bundle import verify

    wrong = verify(path)
    for line in wrong:
        print(f"{path}: {line}", file=sys.stderr)
    if not wrong:
        print(f"{path}: whole; every number comes back from its verdicts")
    return 1 if wrong else 0


def export_format(arguments: Any) -> int:
    """`rlvr export run=RUN format=NAME`."""
    values = parse_overrides(arguments.options)
    name = take(values, "format", str, required=True)
    choose("format", [name], FORMATS)
    text = take(values, "run", str, required=True)
    model = take(values, "model", str)
    out = Path(take(values, "out", str, f"exports/{Path(text).name}-{name}"))
    data_dir = take(values, "data_dir", str)
    source_url = take(values, "source_url", str)
    organisation = take(values, "organisation", str)
    relationship = take(values, "relationship", str, "other" if name != "eee" else None)
    no_more(values, ("format", "run", "model", "out", "source_url", "organisation", "relationship", "data_dir"))
    wanted = {
        "model": (model, name != "hf", "ORG/NAME, what the model is called"),
        "organisation": (organisation, name == "eee", "NAME, who evaluated"),
        "relationship": (relationship, name == "eee", f"{'|'.join(RELATIONS)}, to the model's developer"),
    }
    if missing := [f"{key}={what}" for key, (value, needed, what) in wanted.items() if needed and value is None]:
        raise UsageError(f"format={name} also needs: {'; '.join(missing)}")
    choose("relationship", [relationship], RELATIONS)
    if name == "eee" and not all(model.partition("/")[::2]):
        raise UsageError(f"model: expected ORGANISATION/NAME, got {model!r}")
    from harness.exchange.source import opened

    with opened(text, data_dir=data_dir, with_problems=name in ("eee", "inspect")) as run:
        if name == "eee":
            from harness.exchange.eee import write_records

            written = write_records(run, model, out, organisation=organisation, relationship=relationship)
        elif name == "inspect":
            from harness.exchange.inspect_log import write_logs

            written = write_logs(run, model, out)
        elif name == "hf":
            from harness.exchange.huggingface import write_eval_results

            written = write_eval_results(run, out, source_url=source_url)
        else:
            from harness.exchange.huggingface import write_model_index

            written = write_model_index(run, model, out, source_url=source_url)
    for path in written:
        print(path)
    return 0
