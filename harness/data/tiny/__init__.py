"""The tiny world: a problem family, a tokenizer and a base model, made here, on which every method runs on 2 CPU cores.

problems.py   the procedural family: a problem, the strategies that answer it, the train / supervised / evaluation split
tokenizer.py  whole words and whole numbers as tokens, with a chat template
base.py       ``build_base``: a small Qwen2 trained from scratch on a mixture of good, lazy and sloppy answers, cached

Evaluation tiers (``TIERS``), each written by ``problems.write_benchmarks`` as ``<name>.jsonl`` (id, problem, answer):

tiny_short    two steps, told in the order in which they are worked
tiny_long     four steps, told in the order in which they are worked
tiny_rare     three steps, told backwards: only the rarer and longer of the two right strategies solves them

Whatever reports a number measured here calls it tiny-scale.
"""

from __future__ import annotations

TIERS = ("tiny_short", "tiny_long", "tiny_rare")
