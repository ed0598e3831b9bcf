"""`rlvr grade manifest=FILE`: saved generations of other labs, graded again beside the scores that they reported."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UsageError
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.answer_files.ledger import Entry


def grade_manifest(manifest: Path, claims: Path | None, out: Path) -> Result:
    """Grade the files of a manifest, and write the ledger: README.md, disagreements.csv, pages/ (to send to authors).

    Args:
        manifest: a JSON list; each entry has file, repository, commit, path, benchmark and, where the repository states
            a score, reported_by_the_repository: [{"acc": PERCENT}].
        claims: scores stated elsewhere, a CSV file with path_contains, benchmark, reported, where (default: claims.csv
            in `out`, if it is there).
    Raises:
        UsageError: a file is missing or is not of that form.
    """
    claims = claims if claims is not None or not (out / "claims.csv").is_file() else out / "claims.csv"
    for key, path in (("claims", claims), ("manifest", manifest)):
        if path is not None and not path.is_file():
            raise UsageError(f"{key}: no such file {str(path)!r}")
    from evals.answer_files.ledger import grade_entry, read_claims, read_manifest
    from evals.grading import Grader

    entries = []
    try:
        described = read_manifest(manifest)
        stated = read_claims(claims) if claims is not None else []
        with Grader() as grader:
            for number, entry in enumerate(described, 1):
                print(f"[{number}/{len(described)}] {entry['repository']} {entry['path']}", file=sys.stderr, flush=True)
                entries += grade_entry(entry, manifest.parent, grader, stated)
    except ValueError as error:
        raise UsageError(str(error)) from error
    text = write_ledger(entries, out)
    return Result({"folder": str(out)}, text)


def write_ledger(entries: Sequence[Entry], out: Path) -> str:
    """Write README.md, disagreements.csv and pages/ into a folder; returns the page."""
    from evals.answer_files.differing import letter
    from evals.answer_files.ledger import COMPARED, disagreement_rows, page

    out.mkdir(parents=True, exist_ok=True)
    text = page(entries)
    (out / "README.md").write_text(text, encoding="utf-8")
    for number, e in enumerate(entries, 1):
        if e.disagreements:
            about = f"{e.repository} at {e.commit}, {e.path} ({e.benchmark})"
            name = f"{number:02d}-{e.repository.replace('/', '-')}-{e.benchmark}.md"
            (out / "pages").mkdir(exist_ok=True)
            text_of = letter(e.disagreements, about=about, policy=COMPARED, labelled=e.labelled)
            (out / "pages" / name).write_text(text_of, encoding="utf-8")
    rows = disagreement_rows(entries)
    if rows:
        with (out / "disagreements.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return text
