"""One process per checkout: its environment, and what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.pages import ROOT
from benchmarks.released.batches import Drawn


@dataclass
class CaseResult:
    """The result of one case.

    Args:
        gradients: (name of the batch, forward passes) -> the released gradient, flat.
        error: the end of the trace if the code raised, "" otherwise.
        stubs: replaced packages and names. called: stubs that the update step called. refused: what the guard refused.
        values: of the configuration, as they reached the update step.
    """

    gradients: dict[tuple[str, int], Tensor] = field(default_factory=dict)
    error: str = ""
    stubs: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def environment(scratch: Path) -> dict[str, str]:
    """No GPU, no network use by libraries, and every temporary file in `scratch`."""
    kept = {
        name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "RLVR_HOME", "LD_LIBRARY_PATH") if name in os.environ
    }
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }


def released(module: str, keys: Sequence[str], folder: Path, batches: Sequence[Drawn]) -> dict[str, CaseResult]:
    """Run `python -m module KEY,KEY folder ...`, which drives cases of one checkout, in one process.

    Args:
        module: benchmarks.released.child, or a test's.
    Raises:
        RuntimeError: the process ended without a result. An error of the checkout is a finding, and no error here.
    """
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        drawn, results = scratch / "batches.pt", scratch / "result"
        torch.save([batch.as_dict() for batch in batches], drawn)
        command = [sys.executable, "-m", module, ",".join(keys), str(folder), str(drawn), str(results)]
        process = subprocess.run(command, env=environment(scratch), cwd=scratch, capture_output=True, text=True)
        written = {key: Path(f"{results}-{key}") for key in keys}
        for key, path in written.items():
            if not path.exists():
                raise RuntimeError(f"{key}: the process ended with {process.returncode}:\n{process.stderr[-3000:]}")
        return {key: _read(path) for key, path in written.items()}


def _read(path: Path) -> CaseResult:
    fields = torch.load(path, weights_only=True)
    split = (tuple(name.rsplit("/", 1)) for name in fields["gradients"])
    gradients = {(batch, int(passes)): fields["gradients"][f"{batch}/{passes}"] for batch, passes in split}
    return CaseResult(**{**fields, "gradients": gradients})
