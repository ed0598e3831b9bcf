"""`rlvr new NAME`: write a method, its declaration and its test. They run as they are; change them step by step."""

from __future__ import annotations

import builtins
import io
import keyword
import os
import re
import shutil
import sys
import tempfile
import tokenize
from pathlib import Path
from typing import Literal

from harness.errors import UsageError
from rlvr.results import Result

LONGEST = 24  # characters of a name, so that no line of a generated file becomes too long
NEEDED = ("reproductions", "tests/reproductions")
TEMPLATES = Path(__file__).parent / "templates"
READING = ("shaping", "weights", "gates")  # stages whose example reads a signal of the tokens


def new(
    name: str,
    *,
    stage: Literal["shaping", "weights", "gates", "advantage", "objective", "rewards"] = "shaping",
    root: str | os.PathLike[str] | None = None,
) -> Result:
    """Write a new paper: a method, its declaration and its test, ready to run.

    What is written works and is there to be changed: CONTRIBUTING.md, "Add a paper". Its arms are the base model, GRPO,
    the method and a placebo; its claims say that the method scores higher than GRPO and than the placebo.

    Args:
        name: the paper's key and its method's name: a Python identifier in lower case.
        stage: what the method makes: shaping (of the advantage; the default), weights or gates of the tokens, the
            advantage itself, the objective that is maximised, or rewards. It may read entropies, logp, old_logp,
            ref_logp, rollout_logp, advantages and values of every token, and rewards, groups and mask.
        root: the checkout to write into (default: the one that this command is of).
    Raises:
        UsageError: a name that cannot be used, or no checkout. Nothing is written then.
    """
    folder = Path(__file__).resolve().parents[1] if root is None else Path(root)
    files = [str(path) for path in write(name, folder, stage)]
    print(
        f'it runs as it is: rlvr run paper={name}\nCONTRIBUTING.md, "Add a paper", says what to change, in which order',
        file=sys.stderr,
    )
    return Result({"files": files}, "\n".join(files), [{"file": file} for file in files])


def write(name: str, root: Path, stage: str = "shaping") -> list[Path]:
    """Write `reproductions/NAME/` and its test into a checkout; all of them or none. Returns the files.

    Raises:
        UsageError: a name that cannot be used (see `check_name`), or `root` is no checkout. Nothing is written then.
    """
    check_root(root)
    check_name(name, root, stage)
    files, test = _contents(name, stage)
    folder, test_file = root / "reproductions" / name, _test_file(name, root)
    # written beside their places under names that Python and pytest ignore, then renamed: no file is ever partial
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    try:
        package, waiting = making / name, making / test_file.name
        package.mkdir()
        for path, text in files.items():
            (package / path).write_text(text, encoding="utf-8")
        waiting.write_text(test, encoding="utf-8")
        waiting.rename(test_file)
        try:
            package.rename(folder)
        except OSError:
            test_file.unlink()
            raise
    finally:
        shutil.rmtree(making)
    return [*(folder / path for path in files), test_file]


def check_root(root: Path) -> None:
    """Raises UsageError unless the folder is a checkout of this project."""
    for needed in NEEDED:
        if not (root / needed).is_dir():
            raise UsageError(f"root={root}: expected a checkout of rlvr-harness, found no folder {needed} in it")


def check_name(name: str, root: Path, stage: str) -> None:
    """Raises UsageError when the name cannot be a package, an equation, an arm and a test, or is in use."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"name={name}: expected a Python identifier in lower case (a to z, 0 to 9, _) that is no keyword"
        )
    if len(name) > LONGEST:
        raise UsageError(f"name={name}: expected at most {LONGEST} characters, got {len(name)}")
    for path in (root / name, root / "reproductions" / name, *root.glob(f"tests/**/test_{name}.py")):
        if path.exists():
            raise UsageError(f"name={name}: expected a name that is not in use, but {path.relative_to(root)} exists")
    from harness.spec import Experiment

    if name in _words(stage) | _sessions(root) | {"protocol", "hardware", "placebo", *Experiment.GROUPS}:
        raise UsageError(
            f"name={name}: expected a name that means nothing else, but Python, the generated files, "
            "the command line or a nox session uses it"
        )


def _test_file(name: str, root: Path) -> Path:
    return root / "tests" / "reproductions" / f"test_{name}.py"


def _contents(name: str, stage: str) -> tuple[dict[str, str], str]:
    """(the package's files, its test)."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True)
    values = {"name": name, "stage": stage, "reads": stage in READING}
    files, test = ("method.py", "paper.py", "published.csv"), "test.py"
    made = {file: templates.get_template(f"{file}.jinja").render(values).rstrip() + "\n" for file in (*files, test)}
    return {"__init__.py": "", **{file: made[file] for file in files}}, made[test]


def _words(stage: str) -> set[str]:
    """Python's own names, and all names and strings of the generated files: a method of that name would hide one."""
    files, test = _contents("_", stage)
    texts = (files["method.py"], files["paper.py"], test)
    tokens = (token for text in texts for token in tokenize.generate_tokens(io.StringIO(text).readline))
    kinds = (tokenize.NAME, tokenize.STRING)
    return {*dir(builtins), *(token.string.strip("\"'") for token in tokens if token.type in kinds)}


def _sessions(root: Path) -> set[str]:
    """The nox sessions of the checkout: a paper has one of its own name."""
    noxfile = root / "noxfile.py"
    text = noxfile.read_text(encoding="utf-8") if noxfile.is_file() else ""
    return set(re.findall(r"^@nox\.session.*\ndef (\w+)", text, flags=re.MULTILINE))
