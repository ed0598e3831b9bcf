"""Dr. GRPO (Understanding R1-Zero-Like Training, arXiv 2503.20783) as a declared stack: no std, no length in the mean.

TRL's `scale_rewards="none"` and `loss_type="dr_grpo"` are these two. Ours are used so that methods stack on them.
"""

from __future__ import annotations

from baselines.grpo import grpo
from harness.spec import Method, assumed, paper, use

METHOD = Method(
    advantage=use(
        grpo,
        std=paper("none", "Dr. GRPO (arXiv 2503.20783), section 3.2: the standard deviation is removed"),
        epsilon=assumed(0.0, "no effect: nothing is divided"),
    ),
    aggregation=paper(
        "fixed_length",
        "Dr. GRPO (arXiv 2503.20783), section 3.2 and listing 1: divided by a constant, the length limit",
    ),
)
