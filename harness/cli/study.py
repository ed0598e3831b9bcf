"""The command `rlvr study`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.command.config import UsageError, choose, no_more, parse_overrides, take, take_list

PAGES = Path("results") / "study"
STUDY = f"""options:
  run=true               train and evaluate what is not finished yet (resumes; about 900 runs of a minute)
  family=A,B             only these task families (run only; two processes can share the work)
  tier=1|2               only this tier (run only; default: 1, then 2)
  seeds=N                only the first N training seeds (run only; default: all of the design)
  register=true          write the pre-registration (before the first run)
  out=FOLDER             where pages are written, default {PAGES}
Without run or register: what is declared, and how much of it is finished in MLflow."""
_KEYS = ("run", "family", "tier", "seeds", "register", "out")


def do_study(arguments: Any) -> int:
    from harness.study.design import STUDY as DESIGN

    values = parse_overrides(arguments.options)
    run, register = take(values, "run", bool, False), take(values, "register", bool, False)
    families = choose("family", take_list(values, "family"), DESIGN.families)
    tier, seeds = take(values, "tier", int), take(values, "seeds", int)
    out = Path(take(values, "out", str, str(PAGES)))
    no_more(values, _KEYS)
    if tier is not None and tier not in (1, 2):
        raise UsageError(f"tier={tier}: expected 1 or 2")
    if seeds is not None and not 1 <= seeds <= DESIGN.seeds:
        raise UsageError(f"seeds={seeds}: expected 1 to {DESIGN.seeds}")
    if register:
        from harness.study.registration import registration

        out.mkdir(parents=True, exist_ok=True)
        page = out / "preregistration.md"
        page.write_text(registration(DESIGN), encoding="utf-8")
        print(page, file=sys.stderr)
    if run:
        from harness.study.run import of_families, run_study

        command = " ".join(["rlvr", "study", *arguments.options])
        tiers = (tier,) if tier else (1, 2)
        failed = run_study(of_families(DESIGN, families), command, tiers=tiers, seeds=seeds)
        return 1 if failed else 0
    return 0
