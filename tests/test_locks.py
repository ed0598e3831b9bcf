"""The locks that cannot be installed here: their pins satisfy the project's metadata, and each other's as far as it is
at hand (the packages of the same version that are installed in this environment)."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"trl": ("vllm", "deepspeed"), "verl": ("vllm",)}  # extras of a package that a lock is for
# a CUDA machine, whatever this one is
MACHINE = {**default_environment(), "platform_system": "Linux", "sys_platform": "linux", "platform_machine": "x86_64"}
MACHINE |= {"python_version": "3.11", "python_full_version": "3.11.7"}


def pins(lock: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / lock).read_text().splitlines()
    pins = [re.match(r"([\w.\-]+)(?:\[[\w,]+\])?==([^\s;]+)", line) for line in lines if line and line[0] not in "#-"]
    assert all(pins), [line for line, match in zip(lines, pins, strict=False) if match is None]
    return {canonicalize_name(match[1]): match[2] for match in pins if match}


def unmet(requirements: list[str], locked: dict[str, str], extras: tuple[str, ...]) -> list[str]:
    """The requirements that apply on that machine and that no pin satisfies."""
    wrong = []
    for text in requirements:
        wanted = Requirement(text)
        environments = [{**MACHINE, "extra": extra} for extra in ("", *extras)]
        if wanted.marker is not None and not any(wanted.marker.evaluate(e) for e in environments):
            continue
        version = locked.get(canonicalize_name(wanted.name))
        if version is None or not wanted.specifier.contains(version.partition("+")[0], prereleases=True):
            wrong.append(f"{text}: the lock has {version}")
    return wrong


@pytest.mark.parametrize(("lock", "extra"), [("trl-gpu.lock", "gpu"), ("verl-gpu.lock", "verl")])
def test_the_pins_satisfy_the_project(lock: str, extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["ui"], *extras["train"], *extras[extra]]
    assert unmet([line for line in lines if not line.startswith("rlvr-harness[")], pins(lock), ()) == []


def test_the_pins_of_trl_satisfy_each_other_as_far_as_their_metadata_are_at_hand() -> None:
    locked = pins("trl-gpu.lock")
    checked = 0
    for name, version in locked.items():
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if distribution.version.partition("+")[0] == version:
            checked += 1
            assert unmet(list(distribution.requires or ()), locked, EXTRAS.get(name, ())) == [], f"{name}=={version}"
    assert checked > 100  # most of them are in this environment too
    assert unmet(["torch", "vllm>=0.22,<=0.31", "deepspeed>=0.18.6"], locked, ()) == []
