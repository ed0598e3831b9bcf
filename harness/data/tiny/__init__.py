"""The tiny families: made-up problems, a tokenizer and a base model each. Every method runs on two CPU cores.

chain.py      family "tiny": a chain of small calculations, told forwards or backwards
search.py     family "tiny_search": find the signs of an equation by trying them
problem_family.py  what both share: splits, pairs and rows
tokenizer.py  whole words and whole numbers as tokens, with a chat template
pinned.py     the base models that this repository ships, checked by hash: small Qwen2s, trained on a mixture of good,
              lazy and careless answers

Evaluation tiers (``TIERS``), each written by ``write_benchmarks`` as ``<name>.jsonl`` (id, problem, answer):

tiny_short    two steps, stated in the order of the calculation
tiny_long     four steps, stated in the order of the calculation
tiny_rare     three steps, stated backwards: only the rarer and longer of the two strategies solves them
search_short  one sign to find
search_long   two signs to find. The first is + or -
search_rare   two signs to find. The first is *, which the systematic strategy tries last

``tiny_validation`` and ``search_validation`` contain other problems of their family's tiers, for tuning.

Every report of a number measured here calls it tiny-scale.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.data.tiny.problem_family import Family

FAMILIES = {"tiny": "harness.data.tiny.chain", "tiny_search": "harness.data.tiny.search"}
"""Name of a family, which is also the name of its base model and its training set -> its module."""

TIERS = ("tiny_short", "tiny_long", "tiny_rare", "search_short", "search_long", "search_rare")
MADE = (*TIERS, "tiny_validation", "search_validation")
"""Every benchmark that is made here: the tiers, and the validation sets."""


def family(name: str) -> Family[Any]:
    """A family.

    Raises:
        ValueError: no such family.
    """
    if name not in FAMILIES:
        raise ValueError(f"family: got {name!r}. Expected one of {list(FAMILIES)}")
    loaded: Family[Any] = import_module(FAMILIES[name]).FAMILY
    return loaded


def write_benchmarks(folder: Path) -> None:
    """Write ``<name>.jsonl`` for every tier and validation set of every family into ``folder`` (made if absent)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FAMILIES:
        tiny_family = family(name)
        problems = {tier: tiny_family.eval_problems(tier) for tier in tiny_family.EVAL_SHAPES}
        for benchmark, rows in {**problems, tiny_family.validation: tiny_family.validation_problems()}.items():
            lines = [json.dumps(problem) + "\n" for problem in rows]
            (folder / f"{benchmark}.jsonl").write_text("".join(lines), encoding="utf-8")
