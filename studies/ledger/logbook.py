"""`python -m studies.ledger.logbook FOLDER`: each printed score as a cell of a Trackio logbook, a page a repository.

A logbook is Markdown files with marked cells (docs/source/logbooks.md of gradio-app/trackio at 2a02752). There is no
published schema; `trackio logbook sync` in the folder writes the rest of it, `trackio logbook serve` shows it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from evals.files import text_sha256, write_text
from studies.ledger.__main__ import OUT


def cell(claim: dict[Any, Any]) -> str:
    """A printed score, what its file holds, ours, the verdict and its reason."""
    where = "/".join(str(claim[key]) for key in ("repository", "recipe", "benchmark"))
    title = f"{claim['recipe']}, {claim['benchmark']}: {claim['verdict']}"
    marker = json.dumps({"type": "markdown", "id": f"cell_{text_sha256(where)[:12]}", "title": title})
    scores = {"Its file": claim["file"], "Our verdicts on the same samples": claim["ours"]}
    lines = [f"Printed: {claim['printed']} ({claim['where']})", *([f"Why: {claim['why']}"] if claim["why"] else [])]
    lines += [f"{name}: {score:.1f}" for name, score in scores.items() if not pd.isna(score)]
    return f"\n\n---\n<!-- trackio-cell\n{marker}\n-->\n" + "".join(f"- {line}\n" for line in lines)


def main() -> None:
    """Write the pages."""
    pages = Path(sys.argv[1]) / ".trackio" / "logbook" / "pages"
    if pages.exists():
        sys.exit(f"{pages}: expected a folder without a logbook, there is one")
    claims = pd.read_csv(OUT / "claims.csv", dtype={"printed": str}).fillna({"why": ""})
    index = "# Printed scores, and what their files say\n\n## Pages\n\n| Page |\n| --- |\n"
    for name, commit in dict.fromkeys(zip(claims["repository"], claims["commit"], strict=True)):
        of = claims[(claims["repository"] == name) & (claims["commit"] == commit)]
        slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {commit[:4]}".lower())
        index += f"| [{name}](#/{slug}) |\n"
        head = f"# {name}\n\nhttps://github.com/{name}/tree/{commit}\n"
        write_text(pages / slug / "page.md", head + "".join(map(cell, of.to_dict("records"))))
    write_text(pages / "index.md", index)


if __name__ == "__main__":
    main()
