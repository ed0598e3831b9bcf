"""Which settings of a CPU change the last bits: one forward pass and three optimiser steps of the tiny base model.

    python -m benchmarks.bits            prints a Markdown table: settings, hash of the logits, hash of the weights

Each row runs in its own process, because the libraries read their settings once. Equal hashes mean equal bits.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

SETTINGS: tuple[dict[str, str], ...] = (
    {"THREADS": "2"},
    {"THREADS": "1"},
    {"THREADS": "4"},
    {"THREADS": "2", "ATEN_CPU_CAPABILITY": "avx2"},
    {"THREADS": "2", "ATEN_CPU_CAPABILITY": "default"},
    {"THREADS": "2", "MKL_CBWR": "AVX2"},
    {"THREADS": "2", "MKL_CBWR": "COMPATIBLE"},
    {"THREADS": "2", "MKL_CBWR": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    {"THREADS": "2", "MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "avx2"},
    {"THREADS": "1", "MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "avx2"},
    {"THREADS": "2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
)


def hashes() -> tuple[str, str]:
    """Hashes of (logits of fixed tokens, weights after three AdamW steps), with this process's settings."""
    import torch
    from transformers import AutoModelForCausalLM

    from harness.data.tiny.pinned import pinned

    torch.set_num_threads(int(os.environ["THREADS"]))
    model = AutoModelForCausalLM.from_pretrained(pinned("tiny")).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(5, 200, (64, 60), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits = model(input_ids=ids).logits
    for _ in range(3):
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    return _short(logits.numpy().tobytes()), _short(weights)


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def main() -> None:
    if "THREADS" in os.environ:
        print(*hashes())
        return
    print("| settings | logits | weights after three steps |\n| --- | --- | --- |")
    for settings in SETTINGS:
        environment = {**os.environ, **settings}
        command = [sys.executable, "-m", "benchmarks.bits"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        logits, weights = done.stdout.split()[-2:]
        print(f"| {' '.join(f'{k}={v}' for k, v in settings.items())} | {logits} | {weights} |", flush=True)


if __name__ == "__main__":
    main()
