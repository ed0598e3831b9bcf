"""`python -m benchmarks.coverage [--runs 1000] [--write]`: prints the document; --write makes results/coverage.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.coverage.document import document

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated evaluations of a case (default 1000)")
    parser.add_argument("--write", action="store_true", help="write results/coverage.md as well")
    asked = parser.parse_args()
    text = "\n".join(document(asked.runs))
    print(text)
    if asked.write:
        (ROOT / "results" / "coverage.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
