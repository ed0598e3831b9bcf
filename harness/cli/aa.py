"""The command `rlvr aa`: does a method differ from itself?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from harness.command.config import no_more, parse_overrides, take, take_list, take_numbers
from harness.errors import UsageError, choose

AA = """options:
  paper=KEY              required
  arm=A,B                required; trained arms with many seeds in the store (20 or more: rlvr run ... seeds=20)
  scale=tiny  model=KEY  which runs (default: tiny; the model that has most seeds)
  sizes=[1,3,5,10]       training seeds on each side
  splits=200             about how many splits for each size
  seed=0                 of the random splits
  out=FOLDER             default results; the page is FOLDER/KEY/aa.md"""


def do_aa(arguments: Any) -> int:
    from evals.stats.aa import SIZES
    from harness.spec.catalogue import papers
    from harness.spec.scales import SCALES

    values = parse_overrides(arguments.options)
    paper = take(values, "paper", str)
    if paper is None:
        raise UsageError("paper: missing; give paper=KEY")
    (paper,) = choose("paper", [paper], papers())
    arms = take_list(values, "arm")
    if not arms:
        raise UsageError("arm: missing; give arm=A,B")
    (scale,) = choose("scale", [take(values, "scale", str, "tiny")], SCALES)
    sizes = take_numbers(values, "sizes", int) or list(SIZES)
    splits, seed = take(values, "splits", int, 200), take(values, "seed", int, 0)
    if min(sizes) < 1 or splits < 1:
        raise UsageError(f"sizes={sizes}, splits={splits}: expected whole numbers of at least 1")
    model, out = take(values, "model", str), Path(take(values, "out", str, "results"))
    no_more(values, ("paper", "arm", "scale", "model", "sizes", "splits", "seed", "out"))
    from harness.runs.track import Tracker
    from harness.tables.aa import aa_of, page, pick
    from harness.tables.measured import gather

    chosen = pick(gather(paper, Tracker.open(), arms=arms), scale=scale, model=model, arms=arms)
    tests = [(m, aa_of(m, sizes=sizes, splits=splits, seed=seed)) for m in chosen]
    command = " ".join(["rlvr aa", *arguments.options])
    path = out / paper / "aa.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(paper, command, tests), encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
    document = {"paper": paper, "arms": [{"arm": m.arm, "runs": len(m.seeds), "rates": t.as_json()} for m, t in tests]}
    print(json.dumps(document, indent=2) if arguments.json else path.read_text(encoding="utf-8"))
    return 0
