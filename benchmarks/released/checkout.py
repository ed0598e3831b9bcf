"""A checkout in the user's folder: is it there, are its files those of the commit, and where is a line?"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from benchmarks.released.cases import Case, Place
from benchmarks.released.trl_loss import TrlLoss


def root(case: Case, folder: Path) -> Path:
    """The root of a case's files: its checkout, or the folder of the installed packages."""
    if isinstance(case.driver, TrlLoss):
        spec = importlib.util.find_spec("trl")
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError("trl is not installed here. Use the environment of `nox -s tests`.")
        return Path(spec.origin).parents[1]
    return folder / case.folder


def commands(case: Case) -> str:
    """The commands that bring the checkout."""
    if isinstance(case.driver, TrlLoss):
        return f"pip install trl=={case.commit}"
    if "." in case.commit:
        name = case.repository.split("/")[1]
        return (
            f"pip download --no-deps {name}=={case.commit} && unzip {name}-{case.commit}*.whl -d FOLDER/{case.folder}"
        )
    url = f"https://github.com/{case.repository}"
    return f"git clone {url} FOLDER/{case.folder} && git -C FOLDER/{case.folder} checkout {case.commit}"


def blob(path: Path) -> str:
    """git's number of a file's content, the same in every checkout and archive of a commit."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def missing(case: Case, folder: Path) -> str:
    """Why the case cannot be measured from this folder, or "" if it can."""
    where = root(case, folder)
    if not where.is_dir():
        return f"FOLDER has no {case.folder}"
    for path, number in case.blobs:
        if not (where / path).is_file():
            return f"{case.folder} has no {path}"
        if not blob(where / path).startswith(number):
            return f"{path} of {case.folder} is not the file of commit {case.commit}"
    if isinstance(case.driver, TrlLoss):
        from importlib.metadata import version

        if version("trl") != case.commit:
            return f"trl {version('trl')} is installed, and the table has {case.commit}"
    return ""


def line(place: Place, where: Path) -> str:
    """path:number of the first line with the place's text.

    Raises:
        ValueError: no line has it.
    """
    lines = (where / place.path).read_text(encoding="utf-8").splitlines()
    for number, text in enumerate(lines, 1):
        if place.text in text:
            return f"{place.path.removeprefix('../')}:{number}"
    raise ValueError(f"{where / place.path} has no line with {place.text!r}")
