"""The examples run as they are shown."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

from tests.forked import Command

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def script(arguments: list[str]) -> int:
    """A script in a process of its own that does not import the trainer again."""
    os.chdir(os.environ["PWD"])
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


def test_the_script_declare_and_run_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    started = Command([str(EXAMPLES / "declare_and_run.py"), "1"], {**os.environ, "PWD": str(tmp_path)}, script)
    printed, err = started.communicate(timeout=300)
    assert started.returncode == 0, err
    assert "user: declared in Python" in printed and "paper: section 3.1" in printed
    assert "tiny/entropy_advantage" in printed and "pass@2" in printed


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "front_door.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # outputs are not committed
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in data for data in shown) == 6  # papers, grades, a score, scores, difference, experiment
    assert sum("image/svg+xml" in data for data in shown) == 1
