"""`python -m benchmarks.coverage [--runs 1000] [--write] [--only TITLE]`: prints the document.

--write makes results/coverage.md; --only simulates again the sections whose title matches, and keeps the others.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.coverage.document import document

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated evaluations per case (default 1000)")
    parser.add_argument("--write", action="store_true", help="write results/coverage.md as well")
    parser.add_argument("--only", default="", help="a regular expression: the titles of the sections to simulate again")
    asked = parser.parse_args()
    page = ROOT / "results" / "coverage.md"
    text = "\n".join(document(asked.runs, asked.only, page.read_text(encoding="utf-8") if asked.only else ""))
    print(text)
    if asked.write:
        page.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
