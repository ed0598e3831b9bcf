"""The command `rlvr ledger`: saved generations of other labs, graded again beside the scores that they reported."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.terminal import narrow
from harness.command.config import no_more, parse_overrides, take
from harness.errors import UsageError

if TYPE_CHECKING:
    from evals.answer_files.ledger import Entry

LEDGER = """options:
  manifest=FILE          required: a JSON list; each entry has file, repository, commit, path, benchmark and, where
                         the repository states a score, reported_by_the_repository: [{"acc": PERCENT}]
  claims=FILE.csv        scores stated elsewhere: path_contains, benchmark, reported, where (default:
                         claims.csv in out=, if it is there)
  out=FOLDER             default results/ledger; README.md, disagreements.csv, pages/ (to send to authors)
Files are recognised by their content: evaluations by Qwen2.5-Math and SimpleRL, lm-eval, lighteval, inspect, veRL."""


def do_ledger(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    manifest = Path(take(values, "manifest", str, required=True))
    out = Path(take(values, "out", str, "results/ledger"))
    default = out / "claims.csv"
    stated = take(values, "claims", str, str(default) if default.is_file() else "")
    no_more(values, ("manifest", "out", "claims"))
    if stated and not Path(stated).is_file():
        raise UsageError(f"claims: no such file {stated!r}")
    if not manifest.is_file():
        raise UsageError(f"manifest: no such file {str(manifest)!r}")
    from evals.answer_files.ledger import grade_entry, read_claims, read_manifest
    from evals.grading import Grader

    entries = []
    try:
        described = read_manifest(manifest)
        claims = read_claims(Path(stated)) if stated else []
        with Grader() as grader:
            for number, entry in enumerate(described, 1):
                print(f"[{number}/{len(described)}] {entry['repository']} {entry['path']}", file=sys.stderr, flush=True)
                entries += grade_entry(entry, manifest.parent, grader, claims)
    except ValueError as error:
        raise UsageError(str(error)) from error
    text = write_ledger(entries, out)
    print(narrow(text) if sys.stdout.isatty() else text)
    return 0


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
            labelled = round(len(e.disagreements) / (1 - e.agreement)) if e.agreement is not None else e.samples
            text_of = letter(e.disagreements, about=about, policy=COMPARED, labelled=labelled)
            (out / "pages" / name).write_text(text_of, encoding="utf-8")
    rows = disagreement_rows(entries)
    if rows:
        with (out / "disagreements.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return text
