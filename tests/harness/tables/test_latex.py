r"""LaTeX tables of methods x benchmarks: what is bold, and that LaTeX compiles them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from evals.latex import latex_text
from harness.record.find import runs
from harness.spec import catalogue
from harness.tables.latex import latex_tables
from harness.tables.measured import gather
from rlvr.cli import main
from tests.harness.record.folders import SETTINGS, finished

PROBLEMS = {"math500": 500, "aime24": 30}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    correct = {
        "grpo": {"math500": (250, 252, 254), "aime24": (6, 7, 8)},
        "egsw": {"math500": (440, 442, 444), "aime24": (7, 8, 9)},
    }
    for arm, counts_by_benchmark in correct.items():
        for seed in range(3):
            right = {name: counts[seed] for name, counts in counts_by_benchmark.items()}
            finished(tmp_path, right, problems=PROBLEMS, arm=arm, seed=seed, scale="paper", settings=SETTINGS)
    return tmp_path


def test_the_best_is_bold_only_where_its_difference_is_resolved(store: Path) -> None:
    """EGSW solves 442 of 500 problems and GRPO 252, seeds two problems apart: resolved. Those of AIME24, 8 and 7, are
    not."""
    text = latex_tables(catalogue.load("egsw"), gather("egsw", runs()))
    (table,) = text.split(r"\end{table}")[:-1]  # avg@1. No pass@k of one sample
    grpo, egsw = (next(line for line in table.splitlines() if line.startswith(f"{arm} & ")) for arm in ("grpo", "egsw"))
    assert r"\textbf{88.4} {\scriptsize $\sim$[" in egsw and " & 26.7 {" in egsw
    assert " & 50.4 {" in grpo and " & 23.3 {" in grpo and table.count(r"\textbf") == 1
    assert r"\begin{tabular}{@{}lrrr@{}}" in table and r"method & $n \times {}$seeds & math500 & aime24 \\" in table
    assert r"1 $\times$ 3" in egsw and "correction over all 2 pairs of rows" in table
    assert "$\\sim$[" in table and "$\\sim$: approximate" in table  # three seeds


def test_a_checkpoint_is_never_bold(store: Path) -> None:
    """One seed a side says nothing about the methods."""
    single_seed = [run for run in runs() if run.seed == 0]
    assert r"\textbf" not in latex_tables(catalogue.load("egsw"), gather("egsw", single_seed))


def test_the_command_writes_what_latex_compiles(store: Path, tmp_path: Path) -> None:
    right = dict.fromkeys(("amc23", "minerva", "olympiadbench", "gsm8k", "aime25"), 5)  # wider than the text
    finished(store, right, arm="grpo", scale="paper", settings=SETTINGS, digest="0000abcd", overrides={"x": "a_b"})
    made, compared = tmp_path / "table.tex", tmp_path / "compared.tex"
    assert main(["tables", "paper=egsw", f"out={made}"]) == 0
    seeds = (",".join(map(str, sorted(store.glob(f"egsw/paper/tiny-{arm}-000001*")))) for arm in ("egsw", "grpo"))
    assert main(["compare", *seeds, f"out={compared}"]) == 0
    assert made.read_text().startswith("\\begin{table}\n") and compared.read_text().startswith("\\begin{table}\n")
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    head = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    text = "\n".join((head, made.read_text(), compared.read_text(), r"\end{document}"))
    (tmp_path / "page.tex").write_text(text)
    command = ["pdflatex", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Overfull" not in done.stdout, done.stdout[-2000:]


def test_signs_of_latex_are_escaped() -> None:
    assert latex_text(r"a_b 5% {x} ~ \input") == r"a\_b 5\% \{x\} $\sim$ \textbackslash{}input"
