"""The examples run as they are shown."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import Command

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


def script(arguments: list[str]) -> int:
    """A script in a process of its own that does not import the trainer again."""
    os.chdir(os.environ["PWD"])
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


def test_the_script_grade_and_compare_runs(tmp_path: Path):
    printed = run("grade_and_compare.py", str(tmp_path / "out"), cwd=tmp_path)
    # new: 4 + 3 + 2 of 12 samples are correct, old: 2 + 1 + 1; the means over three problems of four samples each
    assert "avg@4 0.4166" in printed  # 9/12 - 4/12
    assert "95 % interval" in printed
    assert "  by " in printed and "verdict    correct" in printed
    assert (tmp_path / "out" / "difference.svg").read_text().startswith("<?xml")


def test_the_script_declare_and_run_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    started = Command([str(EXAMPLES / "declare_and_run.py"), "1"], {**os.environ, "PWD": str(tmp_path)}, script)
    printed, err = started.communicate(timeout=300)
    assert started.returncode == 0, err
    assert "user: declared in Python" in printed and "paper: section 3.1" in printed
    assert "model/entropy_advantage" in printed and "pass@2" in printed


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "front_door.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # outputs are not committed
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in data for data in shown) == 6  # papers, grades, a score, scores, difference, experiment
    assert sum("image/svg+xml" in data for data in shown) == 1
