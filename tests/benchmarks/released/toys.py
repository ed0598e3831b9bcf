"""Three small checkouts, and the child process that drives them: a right one, one whose mask never arrives, one that
needs a stub. Each is a loss on the tokens with the highest entropies, as released code writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

from benchmarks.released import child
from benchmarks.released.cases import Case, Place
from benchmarks.released.drivers import Function

RIGHT = """
import torch

def top_share(entropy, mask, share):
    kept = torch.zeros_like(entropy)
    kept[mask] = (entropy[mask] >= entropy[mask].quantile(1 - share)).to(entropy.dtype)
    return kept

def policy_loss(log_prob, old_log_prob, advantages, mask, entropy, share=None):
    ratio = torch.exp(log_prob - old_log_prob)
    loss = torch.maximum(-advantages * ratio, -advantages * torch.clamp(ratio, 0.8, 1.28))
    kept = mask.to(loss.dtype) if share is None else top_share(entropy, mask, share)
    return (loss * kept).sum() / kept.sum(), {"kept": float(kept.sum())}
"""
NEVER = RIGHT.replace("top_share(entropy, mask, share)\n    return (loss", "mask.to(loss.dtype)\n    return (loss")
STUBBED = (
    """
from absent_package import timer
from absent_package.parts import Base
from torch import a_name_that_torch_lacks

class Worker(Base):
    pass

@timer("loss", level=3)
def unused(value: "Base | None") -> Base:
    return value
"""
    + RIGHT
)
WRITES = RIGHT.replace("    ratio =", "    open('/tmp/rlvr-released-toy', 'w')\n    ratio =")
BROKEN = RIGHT.replace("torch.exp(", "torch.exp(undefined_name * ")
SOURCES = {"right": RIGHT, "never": NEVER, "stubbed": STUBBED, "writes": WRITES, "broken": BROKEN}

GIVEN = (
    *(("log_prob", "logp"), ("old_log_prob", "old_logp"), ("advantages", "advantages")),
    *(("mask", "mask"), ("entropy", "entropies")),
)
CASES = {
    name: Case(
        *(name, "2506.01939", f"somebody/{name}", "0" * 8, "none stated"),
        Function("losses", "policy_loss", GIVEN, values=(("share", 0.2),)),
        (Place("losses.py", "def policy_loss"),),
        (),
    )
    for name in SOURCES
}


def checkouts(folder: Path) -> None:
    """Write all of them."""
    for name, source in SOURCES.items():
        (folder / CASES[name].folder).mkdir()
        (folder / CASES[name].folder / "losses.py").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    with mock.patch("benchmarks.released.cases.CASES", CASES):
        child.main(sys.argv[1:])
