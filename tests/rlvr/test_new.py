"""`rlvr new` in a copy of the checkout, and then the tutorial "Add your method", step by step."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from harness.spec.catalogue import Published
from rlvr import new
from rlvr.cli import main
from rlvr.scaffold import LONGEST
from tests.experiments import save_random_model
from tests.forked import Command
from tests.sizes import WORDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("rlvr", "harness", "evals", "baselines", "reproductions", "tests")
WRITTEN = [
    "reproductions/my_method/__init__.py",
    "reproductions/my_method/method.py",
    "reproductions/my_method/paper.py",
    "reproductions/my_method/published.csv",
    "tests/reproductions/test_my_method.py",
]
STAGES = ("shaping", "weights", "gates", "advantage", "objective", "rewards")
SMALL = ["max_steps=2", "seeds=1", *WORDS, "hardware.device=cpu"]


def copy_of_the_checkout(folder: Path) -> Path:
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "noxfile.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def module_of_a_copy(arguments: list[str]) -> int:
    """`python -m ...` in a process that has imported the modules of this checkout: they are imported from the copy."""
    copy = os.environ["PYTHONPATH"]
    for imported in list(sys.modules):  # test modules have no package
        if imported.partition(".")[0] in COPIED or imported.startswith(("test_", "conftest")):
            del sys.modules[imported]
    sys.path.insert(0, copy)
    os.chdir(copy)
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    return 0


def inside(checkout: Path, *arguments: str, code: int = 0, **more: str) -> str:
    """The standard output of `python -m ...` in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **more}
    environment.pop("MLFLOW_TRACKING_URI", None)
    command = Command(arguments, environment, module_of_a_copy)
    out, err = command.communicate(timeout=500)
    assert command.returncode == code, out + err
    return out


def rlvr(checkout: Path, *arguments: str, **more: str) -> str:
    return inside(checkout, "rlvr", *arguments, **more)


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def skeleton(folder: Path) -> Path:
    """The least that `new` takes for a checkout."""
    for name in ("reproductions", "tests/reproductions"):
        (folder / name).mkdir(parents=True)
    return folder


def page() -> str:
    return (ROOT / "docs" / "tutorials" / "add-a-method.md").read_text()


def commands(program: str) -> list[list[str]]:
    """The page's commands of one program, without its name."""
    lines = [line.split() for line in page().splitlines() if line.startswith("    ") and line.split()]
    return [words[1:] for words in lines if words[0] == program]


def blocks() -> list[str]:
    """The page's fenced blocks: equation, imports of the case, its entry, declaration, published row."""
    return re.findall(r"^```\w+\n(.*?)^```$", page(), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which the page's first command was given."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("checkout"))
    first, *_ = commands("rlvr")
    assert first == ["new", "my_method"]
    printed = rlvr(folder, *first)
    for stage in STAGES:
        rlvr(folder, "new", f"by_{stage}", f"stage={stage}")
    *files, test, run = printed.splitlines()
    assert files == [str(folder / path) for path in WRITTEN]
    assert (test, run.strip()) == (f"next: pytest {WRITTEN[-1]}", "rlvr run paper=my_method")
    return folder


@pytest.fixture(scope="module")
def followed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which the page's other steps were done too, with a second case that is wrong."""
    folder = tmp_path_factory.mktemp("followed")
    shutil.copytree(checkout, folder, dirs_exist_ok=True)
    cases, declaration = folder / "tests" / "harness" / "cases.py", folder / WRITTEN[2]
    text, entry = cases.read_text(), blocks()[2]
    assert text.count("from reproductions.egsw") == 1 and text.endswith("\n}\n")
    wrong = entry.replace(", slow_my_method", ", lambda b, alpha: slow_my_method(b, 0.5)").replace(
        '"my_', '"wrong my_', 1
    )
    assert wrong.count("wrong") == 1 and "0.5" in wrong
    imports, entries = blocks()[1], entry + wrong
    for stage in STAGES:
        imports += blocks()[1].replace("my_method", f"by_{stage}")
        entries += entry.replace("my_method", f"by_{stage}").replace("shaping", stage)
    cases.write_text(
        text.replace("from reproductions.egsw", imports + "from reproductions.egsw")[:-2] + entries + "}\n"
    )
    text = declaration.read_text().replace("Reproduction, assumed, use", "Reproduction, assumed, code, paper, use")
    for line in blocks()[3].splitlines():
        text, count = re.subn(rf"^    {line.split('=')[0].strip()}=.*$", line, text, flags=re.MULTILINE)
        assert count == 1, line
    declaration.write_text(text)
    with (folder / WRITTEN[3]).open("a") as published:
        published.write(blocks()[4])
    return folder


NAMES = ["my_method", *(f"by_{stage}" for stage in STAGES)]
TESTS = [f"tests/reproductions/test_{name}.py" for name in NAMES]


def test_what_is_written_and_the_case_of_the_page_pass_their_tests(followed: Path) -> None:
    ((trainer, *options),) = [words for words in commands("pytest") if "-k" in words]
    assert options == ["-k", "my_method"]
    shared = ("tests/harness/step/test_invariance.py", "tests/harness/spec/test_sources.py")
    files = [*TESTS, trainer, "tests/harness/spec/test_spec.py", *shared]
    words = ["-rA", "--hypothesis-profile=few", "-k", "my_method or by_", *files]
    out = inside(followed, "pytest", *words, code=1)  # one of them is wrong
    outcomes = re.findall(r"^(PASSED|FAILED) (\S+?\.py)::(.*?)(?: - .*)?$", out, flags=re.MULTILINE)
    assert {file for _, file, _ in outcomes} == set(files), out
    assert {outcome for outcome, _, name in outcomes if "wrong" not in name} == {"PASSED"}, outcomes
    assert "FAILED" in {outcome for outcome, _, name in outcomes if "wrong" in name}, outcomes


def test_what_is_written_passes_the_linters(checkout: Path, followed: Path) -> None:
    python = [*(f"reproductions/{name}" for name in NAMES), *TESTS]
    inside(checkout, "ruff", "check", "--no-cache", *python)
    inside(checkout, "ruff", "format", "--no-cache", "--check", *python)
    packages = [word for name in NAMES for word in ("-p", f"reproductions.{name}")]
    inside(checkout, "mypy", "--no-site-packages", "--cache-dir", os.devnull, *packages)
    inside(followed, "ruff", "check", "--no-cache", WRITTEN[2])


def test_the_catalogue_holds_it_and_every_value_says_that_it_is_the_templates(checkout: Path) -> None:
    listed = json.loads(rlvr(checkout, "list", "--json"))["papers"]["my_method"]
    assert listed["arms"] == {"7b": ["base", "grpo", "my_method", "placebo"]}
    planned = rlvr(checkout, "plan", "paper=my_method", "scale=paper")
    line, *_ = [line for line in planned.splitlines() if line.strip().startswith("my_method.alpha")]
    assert "0.4" in line and "assumed: the value of the template" in line


def test_the_new_paper_trains(checkout: Path, tmp_path: Path) -> None:
    model = save_random_model(tmp_path / "model")
    (plain,) = [words for words in commands("rlvr") if words == ["run", "paper=my_method"]]
    # a random model earns no reward: the decay moves its weights, so that the runs are no trainings of nothing
    more = [*SMALL, f"base_model={model}", "weight_decay=0.1"]
    printed = rlvr(checkout, *plain, "arm=my_method,grpo,placebo", *more, RLVR_HOME=str(tmp_path / "runs"))
    assert "my_method at tiny scale: 3 runs finished" in printed and "Does my_method score higher than grpo" in printed
    (record,) = (tmp_path / "runs").glob("my_method/tiny/*-my_method-*/run.json")
    assert json.loads(record.read_text())["training"]["steps"] == 2
    compare = ["compare", "paper=my_method", "arm=my_method,grpo", "--json"]
    compared = json.loads(rlvr(checkout, *compare, RLVR_HOME=str(tmp_path / "runs")))
    assert [line["benchmark"] for line in compared["lines"]][:1] == ["tiny_short"]


def test_the_page_shows_the_equation_that_is_written(checkout: Path) -> None:
    assert (checkout / WRITTEN[1]).read_text().endswith("\n\n" + blocks()[0])


def test_the_declaration_and_the_published_row_of_the_page(followed: Path) -> None:
    planned = rlvr(followed, "plan", "paper=my_method", "scale=paper")
    for words in ("paper: section 4.1", "code: train.sh, clip_ratio_high", "assumed: not stated; veRL's default"):
        assert words in planned
    (followed / "read.py").write_text("from harness.spec import catalogue; print(*catalogue.published('my_method'))")
    read = inside(followed, "read")
    cell = Published("Table 1", "7b", "my_method", "GRPO + ours", "math500", "MATH-500", "avg", "74.1", "%")
    assert read == f"{cell}\n"


@pytest.mark.parametrize(
    "name",
    [
        *("My_method", "2nd", "a-b", "../up", "été", "lambda", "a" * (LONGEST + 1), "egsw"),
        *("loss", "evals", "stage", "float", "placebo"),  # test_loss.py exists. Others mean something else
        *("os", "re", "this", "torch", "numpy", "trl", "threading"),  # modules of Python and of packages
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((ROOT / "reproductions").iterdir())
    assert main(["new", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and f"name={name}" in captured.err
    assert sorted((ROOT / "reproductions").iterdir()) == before


def test_another_checkout_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who stands in a second checkout means that one. This environment would write into, and run, the first."""
    root = skeleton(tmp_path)
    before = sorted((ROOT / "reproductions").iterdir())
    for place in (root, root / "reproductions", root / "tests" / "reproductions"):
        monkeypatch.chdir(place)
        assert main(["new", "ours"]) == 2
        message = capsys.readouterr().err
        assert f"this rlvr is of {ROOT}, and you are in {root}" in message and f"root={ROOT}" in message
    assert sorted((ROOT / "reproductions").iterdir()) == before and not (root / "reproductions" / "ours").exists()
    assert main(["new", "ours", f"root={root}"]) == 0
    assert (root / "reproductions" / "ours" / "method.py").is_file()


def test_existing_files_are_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = skeleton(tmp_path)
    assert main(["new", "ours", f"root={root}"]) == 0
    before = everything(root)
    assert main(["new", "ours", f"root={root}"]) == 2
    shutil.rmtree(root / "reproductions" / "ours")
    assert main(["new", "ours", f"root={root}"]) == 2  # its test alone
    assert "tests/reproductions/test_ours.py exists" in capsys.readouterr().err
    assert everything(root) == {path: text for path, text in before.items() if "ours" not in path.parts}


def test_the_longest_name_is_formatted(checkout: Path, tmp_path: Path) -> None:
    root = shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    files = [path for path in new("a" * LONGEST, root=root)["files"] if path.endswith(".py")]
    inside(root, "ruff", "check", "--no-cache", *files)
    inside(root, "ruff", "format", "--no-cache", "--check", *files)
