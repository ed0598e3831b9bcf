"""What a run of somebody else needs beside whole files and true scores before its numbers stand beside the published
ones: code that everybody has, and the values that are declared here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from evals.provenance import Origin
from harness.command.resolve import resolve
from harness.record.run import Run
from harness.runs.record import ROOT


def obstacles(run: Run) -> list[str]:
    """Why a run cannot be taken over, each in a sentence; [] if it can.

    A value that the command line replaced is no obstacle: tables show it. One that differs from the declaration of
    today without having been replaced is.
    """
    if run.record.get("kind") != "arm":
        return ["expected a run of a paper's arm (rlvr export paper=KEY)"]
    return [*_of_who(run), *_of_the_code(run), *_of_the_values(run)]


def _of_who(run: Run) -> Iterator[str]:
    if not run.record.get("by"):
        yield "by: missing; export it with by=NAME"
    if run.record.get("own_files"):
        yield f"files or equations of your own decide it: {', '.join(run.record['own_files'])}"


def _of_the_code(run: Run) -> Iterator[str]:
    environment = run.record["environment"]
    commit = environment.get("commit")
    if not commit:
        yield "commit: unknown; the run was not started from a checkout"
        return
    if environment.get("uncommitted_changes"):
        yield f"commit: {commit[:10]} with uncommitted changes; expected a run of committed code"
    known = subprocess.run(
        ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True, check=False
    )
    if known.returncode != 0:
        yield f"commit: {commit[:10]} is not in the history of {ROOT}"


def _of_the_values(run: Run) -> Iterator[str]:
    record = run.record
    try:
        (job,) = resolve(
            run.paper,
            models=[run.model],
            arms=[run.arm],
            scale=run.scale,
            backend=run.backend,
            seeds=[run.seed],
            overrides=record["overrides"],
        )
    except ValueError as error:
        yield f"its command line does not resolve here: {error}"
        return
    declared = {key: _plain(sourced.value) for key, sourced in job.settings().items()}
    for key, sourced in record["settings"].items():
        if sourced["origin"] == Origin.USER:
            continue
        if key not in declared:
            yield f"{key}={sourced['value']!r}: not declared here"
        elif declared[key] != sourced["value"]:
            yield f"{key}={sourced['value']!r}: {declared[key]!r} is declared here"


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return json.loads(json.dumps(value))
