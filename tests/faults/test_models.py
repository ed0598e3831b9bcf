"""Broken models, and a machine without memory: a true verdict, or an error that names the fault."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest

from tests.faults.commands import EVAL, SAVE_OFTEN, ending, job_folder, run
from tests.faults.conftest import Undisturbed


@pytest.fixture
def model(undisturbed: Undisturbed, tmp_path: Path) -> Path:
    """A copy of a trained model."""
    return Path(shutil.copytree(job_folder(undisturbed.home) / "train" / "final", tmp_path / "model"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from harness.data.tiny import write_benchmarks

    folder = tmp_path_factory.mktemp("data")
    write_benchmarks(folder)
    return folder


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_weights_that_are_not_finite_are_refused(value: str, model: Path, data: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    next(iter(weights.values())).view(-1)[0] = float(value)
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    out = tmp_path / "out"
    run([*EVAL, f"model={model}", f"data_dir={data}", f"out={out}"], tmp_path / "h").refused("NaN or infinite")
    assert not list(out.rglob("verdicts.parquet"))


@pytest.mark.parametrize(("temperature", "n"), [(1, 2), (0, 1)])
def test_finite_weights_that_overflow_give_no_verdict(
    temperature: int, n: int, model: Path, data: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    weights["model.norm.weight"] *= 1e38
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    out = tmp_path / "out"
    options = [option for option in EVAL if option != "n=2"] + [f"n={n}", f"temperature={temperature}"]
    ended = run([*options, f"model={model}", f"data_dir={data}", f"out={out}"], tmp_path / "h")
    assert ended.code == 1 and "Traceback" not in ended.err and "NaN or infinite at token 1" in ended.err, ended
    assert not list(out.rglob("verdicts.parquet"))


def test_out_of_memory_is_said_and_costs_nothing(undisturbed: Undisturbed, tmp_path: Path) -> None:
    codes = []
    for extra_mib in (5, 40, 300):  # beyond what the process has when the command starts
        home = tmp_path / str(extra_mib)
        ended = run(SAVE_OFTEN, home, environment={"EXTRA_MIB": str(extra_mib)}, call=with_little_memory)
        codes.append(ended.code)
        assert ended.code == 0 or "memory" in ended.err.lower() or "allocate" in ended.err.lower(), ended
        assert run(SAVE_OFTEN, home).code == 0
        assert ending(home) == undisturbed.ending
    assert any(codes)  # memory did run out


def with_little_memory(_: list[str]) -> int:
    from rlvr.__main__ import main  # a thread without memory ends it

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + int(os.environ["EXTRA_MIB"]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return main()
