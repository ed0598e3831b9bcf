"""Declare an experiment in ten lines, look at every value's source, train it at tiny scale.

python examples/declare_and_run.py [STEPS]
"""

from __future__ import annotations

import sys

import rlvr
from reproductions.entropy_advantage.method import entropy_advantage


def main(steps: int) -> None:
    declared = rlvr.experiment(
        base_model=rlvr.paper("Qwen/Qwen2.5-7B", "section 3.1"),
        learning_rate=3e-6,
        kl_beta=rlvr.assumed(0.0, "the paper gives none"),
        equations=[rlvr.use(entropy_advantage, alpha=rlvr.paper(0.4, "section 3.1"), kappa=2.0)],
    )
    for key, value in declared.settings().items():
        print(f"{key:<24} {value.value!r:<32} {value.origin}: {value.note}")
    # tiny scale replaces the model, the data and the sizes. Its numbers show that the method trains, nothing else
    small = {"max_steps": steps, "protocol.n": 2, "protocol.ks": [1, 2], "protocol.benchmarks": ["tiny_short"]}
    trained = rlvr.run(declared, arm="entropy_advantage", scale="tiny", hardware={"device": "cpu"}, **small)
    run = trained.runs["tiny/entropy_advantage"]
    print(run.name)
    print(run.scores(ks=[1, 2]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
