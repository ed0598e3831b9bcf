"""Ten minutes on one GPU: real optimiser steps, the token pass, the cost of methods, tiny arms, determinism.

python -m benchmarks.gpu [--out FILE] [--only steps,tokens,methods,tiny,determinism]
python -m benchmarks.gpu --dry-run      only checks that the code runs, on a CPU with a few thousand weights

Needs torch with CUDA, transformers, accelerate, peft and trl; no vLLM, no hub, no checkpoint: models are random. Each
measurement is one line of JSON on stdout (and in FILE), written at once, so that an interrupted run keeps its finished
measurements. Times are medians after a warm-up; memory is torch's peak, beside the plan's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu.bench import DRY, FULL, Bench
from benchmarks.gpu.scoring import methods, tokens
from benchmarks.gpu.tiny import tiny
from benchmarks.gpu.training import determinism, steps

PARTS: dict[str, Callable[[Bench], Iterator[dict[str, Any]]]] = {
    "steps": steps,
    "tokens": tokens,
    "methods": methods,
    "tiny": tiny,
    "determinism": determinism,
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="on a CPU, with a few thousand weights")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, help="append the lines to this file too")
    arguments = parser.parse_args(argv)
    chosen = arguments.only.split(",")
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"--only: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    import torch

    if not arguments.dry_run and not torch.cuda.is_available():
        print("benchmarks.gpu: torch sees no GPU; --dry-run runs the code on a CPU", file=sys.stderr)
        return 2
    bench = Bench("cpu", DRY) if arguments.dry_run else Bench("cuda", FULL)
    failed = 0
    for row in measure(bench, chosen):
        failed += "error" in row
        line = json.dumps({**row, "dry_run": arguments.dry_run})
        print(line, flush=True)
        if arguments.out:
            with arguments.out.open("a") as file:
                file.write(line + "\n")
    return 1 if failed else 0


def measure(bench: Bench, chosen: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of the chosen parts; a part that fails gives a row with its error, and the next one runs."""
    yield {"part": "machine", **machine()}
    for name in chosen:
        try:
            for row in PARTS[name](bench):
                yield {"part": name, **row}
        except Exception as error:  # becomes a row; the other parts are still measured
            yield {"part": name, "error": f"{type(error).__name__}: {error}"[:500]}


def machine() -> dict[str, Any]:
    """The machine and the versions."""
    import platform

    import accelerate
    import torch
    import transformers
    import trl

    versions = {m.__name__: m.__version__ for m in (torch, transformers, accelerate, trl)}
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"gpu": gpu, "cpu": platform.processor() or platform.machine(), "versions": versions}


if __name__ == "__main__":
    sys.exit(main())
