"""`rlvr new NAME`: write a method, its declaration and its test. They run as they are. Change them step by step."""

from __future__ import annotations

import builtins
import keyword
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from evals.log import logger
from harness.errors import UsageError
from rlvr.results import Result

LONGEST = 24  # characters of a name, so that no line of a generated file becomes too long
TAKEN = ("protocol", "hardware", "placebo", "batch", "stage", "given")  # by the command line and by what is written
TEMPLATES = Path(__file__).parent / "templates"
FOLDERS = ("reproductions", "tests/reproductions")  # folders that a checkout has
READING = ("shaping", "weights", "gates")  # stages whose example reads a signal of the tokens


def new(
    name: str,
    *,
    stage: Literal["shaping", "weights", "gates", "advantage", "objective", "rewards"] = "shaping",
    root: str | os.PathLike[str] | None = None,
) -> Result:
    """Write a new paper: a method, its declaration and its test, ready to run.

    The files work as written, and you change them (docs/tutorials/add-a-method.md). The arms are the base model, GRPO,
    the method and a placebo. The claims say that the method scores higher than GRPO and than the placebo.

    Args:
        name: the paper's key and its method's name: a Python identifier in lower case.
        stage: the value that the method makes: shaping (of the advantage), weights or gates of the tokens, the
            advantage itself, the objective that is maximised, or rewards. `rlvr list what=stages,signals` describes
            each stage, and the values that a method may read. For penalties, see the example in baselines/kl_cov.py.
        root: the checkout to write into (default: the checkout that this command belongs to). In another checkout, this
            option is needed.

    Raises:
        UsageError: a name that cannot be used, or no checkout. Nothing is written then.
    """
    folder = _own_checkout() if root is None else Path(root)
    for needed in FOLDERS:
        if not (folder / needed).is_dir():
            raise UsageError(f"root={folder}: expected a checkout of rlvr-harness, found no folder {needed} in it")
    _check_name(name, folder)
    package, test = folder / "reproductions" / name, folder / "tests" / "reproductions" / f"test_{name}.py"
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True)
    values = {"name": name, "stage": stage, "reads": stage in READING}
    places = {"method.py": package, "paper.py": package, "published.csv": package, "test.py": test.parent}
    package.mkdir()
    paths = [package / "__init__.py"]
    paths[0].touch()
    for file, place in places.items():
        paths.append(place / (test.name if file == "test.py" else file))
        paths[-1].write_text(templates.get_template(f"{file}.jinja").render(values).rstrip() + "\n", encoding="utf-8")
    files = [str(path) for path in paths]
    logger.info("docs/tutorials/add-a-method.md says what to change, in which order")
    steps = f"next: pytest {test.relative_to(folder)}\n      rlvr run paper={name}"
    return Result({"files": files}, "\n".join([*files, steps]), [{"file": file} for file in files])


def _own_checkout() -> Path:
    """The checkout that this command is of. Raises UsageError in another one, which the user may mean."""
    checkout, current = Path(__file__).resolve().parents[1], Path.cwd().resolve()
    for place in (current, *current.parents):
        if place != checkout and all((place / needed).is_dir() for needed in FOLDERS):
            raise UsageError(
                f"root: this rlvr is of {checkout}, and you are in {place}. Type root={checkout}, or root={place} "
                "(whose method only an environment of that checkout runs)"
            )
    return checkout


def _check_name(name: str, root: Path) -> None:
    """Raises UsageError when the name cannot be a package, an equation, an arm and a test, or is in use."""
    from harness.spec import Experiment

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > LONGEST:
        raise UsageError(f"name={name}: expected at most {LONGEST} of a to z, 0 to 9 and _, from a letter on")
    for path in (root / name, root / "reproductions" / name, *root.glob(f"tests/**/test_{name}.py")):
        if path.exists():
            raise UsageError(f"name={name}: expected a name that is not in use, but {path.relative_to(root)} exists")
    if keyword.iskeyword(name) or name in {*dir(builtins), *TAKEN, *Experiment.GROUPS} or find_spec(name) is not None:
        raise UsageError(f"name={name}: expected a name that means nothing else, but Python or the command line has it")
