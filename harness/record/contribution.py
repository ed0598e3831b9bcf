"""The needs of somebody else's run beside whole files and true scores before its numbers stand beside the published
ones: code that everybody has, the values that are declared here, and for an equation or data of its own their source.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

from evals.provenance import Origin
from harness.command.resolve import resolve
from harness.data.pinned import is_public
from harness.record.run import Run
from harness.runs.record import ROOT
from harness.spec.job import Job

EQUATION = "equation "  # how `Job.own_files` names one


def obstacles(run: Run) -> list[str]:
    """Why a run cannot be taken over, each in a sentence, or [] if it can.

    A value that the command line replaced is no obstacle: tables show it. One that differs from the declaration of
    today without having been replaced is.
    """
    if run.record.get("kind") != "arm":
        return ["expected a run of a paper's arm (rlvr export paper=KEY)"]
    sentences = [*_of_who(run), *_of_the_code(run)]
    try:
        job = _declared(run)
    except ValueError as error:
        return [*sentences, f"its command line does not resolve here: {error}"]
    return [*sentences, *_of_own_files(run, job), *_of_the_values(run, job)]


def _of_who(run: Run) -> Iterator[str]:
    if not run.record.get("by"):
        yield "by: missing; export it with by=NAME"


def _of_own_files(run: Run, job: Job) -> Iterator[str]:
    """An equation of one's own counts if its source is here with the hash of the run. A file counts if everybody can
    make it."""
    hashes = job.own_files()
    for name, sha256 in (run.record.get("own_files") or {}).items():
        if name.startswith(EQUATION):
            if name not in hashes:
                yield f"{name}: its source is not here. Commit reproductions/{run.paper} in the same pull request"
            elif hashes[name] != sha256:
                yield (
                    f"{name}: its source here has SHA-256 {hashes[name][:12]}, and the run was trained with "
                    f"{sha256[:12]}. Commit the source that was trained"
                )
        elif not is_public(sha256):
            yield f"{name}: a file that only you have decides it. Use public data, such as GSM8K's pinned file"


def _of_the_code(run: Run) -> Iterator[str]:
    environment = run.record["environment"]
    commit = environment.get("commit")
    if not commit:
        yield "commit: unknown; the run was not started from a checkout"
        return
    if environment.get("uncommitted_changes"):
        yield f"commit: {commit[:10]} with uncommitted changes. Expected a run of committed code"
    known = subprocess.run(
        ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True, check=False
    )
    if known.returncode != 0:
        yield f"commit: {commit[:10]} is not in the history of {ROOT}"


def _declared(run: Run) -> Job:
    """The run's job as it is declared here. Raises ValueError for names or values that do not resolve."""
    arm, overrides = {"models": [run.model], "arms": [run.arm]}, run.record["overrides"]
    (job,) = resolve(run.paper, **arm, scale=run.scale, backend=run.backend, seeds=[run.seed], overrides=overrides)
    return job


def _of_the_values(run: Run, job: Job) -> Iterator[str]:
    record = run.record
    declared = {key: _plain(sourced.value) for key, sourced in job.settings().items()}
    for key, sourced in record["settings"].items():
        if sourced["origin"] == Origin.USER:
            continue
        if key not in declared:
            yield f"{key}={sourced['value']!r}: not declared here"
        elif declared[key] != sourced["value"]:
            yield f"{key}={sourced['value']!r}: {declared[key]!r} is declared here"


def _plain(value: object) -> object:
    """A value as JSON has it."""
    return json.loads(json.dumps(value))
