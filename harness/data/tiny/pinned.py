"""The tiny base models that this repository ships, so that every machine starts from the same weights.

Floating-point sums depend on the CPU's instruction set, so training the base model on another type of CPU gives another
model (an outside review measured pass@1 of tiny_rare: 21.5 % here, 19.9 % on another CPU). The code that trained these
models is `harness/data/tiny/base.py` at commit 254b451. It took about four minutes of two cores.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

MODELS = Path(__file__).parent / "models"

PINNED = {
    "tiny": "8e04757ed4d0e093b8952c817c2f7ae149ab82fa7bbe676dabe21483a51745c2",
    "tiny_search": "88ec4fb740d1fd7ccde91c938472f4217ac8b27ba1181df11c2f2bba589662bc",
}
"""Base model -> fingerprint (`evals.fingerprint.model_fingerprint`) of its folder in `models/`."""


@cache
def pinned(name: str) -> Path:
    """The checkpoint folder of a pinned base model. Checks its content once per process.

    Raises:
        ValueError: no such model.
        RuntimeError: the files differ from the pinned ones.
    """
    from evals.fingerprint import model_fingerprint

    if name not in PINNED:
        raise ValueError(f"base model: got {name!r}. Expected one of {list(PINNED)}")
    folder = MODELS / name
    if (actual := model_fingerprint(folder)) != PINNED[name]:
        raise RuntimeError(
            f"{folder}: expected the pinned base model {PINNED[name][:12]}, got {actual[:12]}. Restore the files "
            f"(git checkout -- {folder})"
        )
    return folder
