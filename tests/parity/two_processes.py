"""One step of every method on the processes that torchrun started: `torchrun ... two_processes.py MODEL FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.needs_verl import need_verl

need_verl()


def main(model: Path, folder: Path) -> None:
    import torch
    from transformers import AutoConfig

    from tests.harness.backends.test_trl_trainer import declared_with, rollout
    from tests.harness.cases import CASES
    from tests.parity.local_verl import make_worker, step
    from tests.parity.rows import VERL, verl_rows

    worker = make_worker(model)
    rank, processes = torch.distributed.get_rank(), torch.distributed.get_world_size()
    measured = {}
    for name in VERL:
        declared = declared_with(CASES[name])
        rows = verl_rows(rollout(AutoConfig.from_pretrained(model).vocab_size, declared))
        out = folder / f"{processes}-{rank}-{name}"
        out.mkdir()
        # 12 sequences in forward passes of 2: with two processes a pass holds the same numbers on both
        metrics = step(declared, rows, worker, model, number=1, micro_batch=2, out=out)["metrics"]
        keys = ("train/loss", "train/grad_norm", "train/entropy", "train/clip_fraction", "train/kl")
        measured[name] = {key: metrics[key] for key in keys if key in metrics}  # without clipping there is no share
    if rank == 0:
        (folder / f"{processes}.json").write_text(json.dumps(measured))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
