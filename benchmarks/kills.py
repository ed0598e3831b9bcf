"""Kill a real evaluation at random moments until it is done, several times, and compare with an uninterrupted one.

    python -m benchmarks.kills [--kills 20] [--seed 0]

Each attempt is a separate process (a random model, the transformers engine, concurrent grading) that receives SIGKILL
at a random moment over the length of an uninterrupted run, imports excluded. Exit code 1 if a verdict file differs or
a sample is lost or doubled. Takes minutes, so it is not a test.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from tests.evals.conftest import make_model

ROOT = Path(__file__).resolve().parents[1]
N = 24
CHILD = """
import sys
from pathlib import Path
import torch
import transformers
torch.set_num_threads(1)
from evals.sampling.engines.transformers import TransformersEngine
from evals.sampling.evaluate import evaluate
from tests.evals.sampling.toy import protocol, set_up
if __name__ == "__main__":
    place = set_up(Path(sys.argv[1]), Path(sys.argv[2]))
    engine = TransformersEngine(sys.argv[2], device="cpu", batch_rows=4)
    print("ready", flush=True)
    place["out_dir"] = Path(sys.argv[3])
    evaluate(protocol=protocol(int(sys.argv[4]), max_tokens=160), engine=engine, **place)
"""


class Life:
    """One process of the evaluation, past its imports."""

    def __init__(self, root: Path, model: Path, out: Path) -> None:
        command = [sys.executable, "-c", CHILD, str(root), str(model), str(out), str(N)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

    def end(self, after_s: float | None) -> bool:
        """Kill it after `after_s` seconds; returns whether it was still running."""
        try:
            _, said = self.process.communicate(timeout=after_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return True
        assert self.process.returncode == 0, said
        return False


def samples(out: Path) -> Counter[tuple[str, int]]:
    """How often each sample is on disk."""
    counts: Counter[tuple[str, int]] = Counter()
    for path in (out / "toy" / "shards").glob("*.parquet"):
        counts.update((row["problem_id"], row["sample"]) for row in pq.read_table(path).to_pylist())
    return counts


def main(kills: int, seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    with TemporaryDirectory(prefix="rlvr-kills-") as folder:
        root = Path(folder)
        model = make_model(root / "model")
        begin = time.monotonic()
        whole = Life(root, model, root / "whole")
        loaded = time.monotonic()
        assert not whole.end(None)
        length = time.monotonic() - loaded
        expected = (root / "whole" / "toy" / "verdicts.parquet").read_bytes()
        once = samples(root / "whole")
        assert set(once.values()) == {1}
        done: list[float] = []
        evaluations = 0
        while len(done) < kills:
            out = root / f"broken{evaluations}"
            while True:
                moment = rng.uniform(0, length)
                if not Life(root, model, out).end(moment if len(done) < kills else None):
                    break
                done.append(round(moment, 2))
            evaluations += 1
            if (out / "toy" / "verdicts.parquet").read_bytes() != expected:
                raise SystemExit(f"seed {seed}: the verdict file differs after kills at {done}")
            if samples(out) != once:
                raise SystemExit(f"seed {seed}: samples lost or doubled after kills at {done}")
        return {
            "kills": len(done), "evaluations": evaluations, "samples_each": sum(once.values()), "lost": 0, "doubled": 0,
            "unbroken_s": round(length, 2), "moments_s": done, "wall_s": round(time.monotonic() - begin, 1),
        }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(main(options.kills, options.seed), indent=1))
