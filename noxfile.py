"""Every task of the project: `nox -s quickstart`, `nox -s tests`, one session a paper, and so on (`nox -l`).

All sessions share one environment, `.nox/rlvr`, built from the lock file; it is rebuilt only when the lock changes.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".nox" / "rlvr"
LOCK = ROOT / "requirements" / "cpu.lock"
PYTHON = ENVIRONMENT / "bin" / "python"
PAPERS = sorted(path.parent.name for path in ROOT.glob("reproductions/*/paper.py"))

nox.options.sessions = ["lint", "tests"]


def environment(session: nox.Session) -> None:
    """Make the shared environment match the lock file and the project's metadata."""
    wanted = hashlib.sha256(LOCK.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = ENVIRONMENT / "lock.sha256"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    session.log("installing the environment (about 2.5 GB, a few minutes)")
    if not PYTHON.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    session.run(*install, "-r", str(LOCK), external=True)
    session.run(*install, "--no-deps", "-e", str(ROOT), external=True)
    stamp.write_text(wanted)


def rlvr(session: nox.Session, *arguments: str) -> None:
    environment(session)
    session.run(str(PYTHON), "-m", "harness.cli", *arguments, external=True)


@nox.session(venv_backend="none")
def quickstart(session: nox.Session) -> None:
    """The tiny EGSW reproduction: base, GRPO and GRPO + EGSW, one seed, evaluated, logged, tabulated."""
    rlvr(session, "run", "paper=egsw", "arm=base,grpo,egsw", "seeds=1", *session.posargs)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """All tests; arguments go to pytest."""
    environment(session)
    session.run(str(PYTHON), "-m", "pytest", *session.posargs, external=True)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Formatting, lint and types."""
    environment(session)
    session.run(str(PYTHON), "-m", "ruff", "check", ".", external=True)
    session.run(str(PYTHON), "-m", "ruff", "format", "--check", ".", external=True)
    session.run(str(PYTHON), "-m", "mypy", external=True)


@nox.session(venv_backend="none")
def tables(session: nox.Session) -> None:
    """Regenerate the papers' tables from MLflow into results/."""
    rlvr(session, "tables", *session.posargs)


@nox.session(venv_backend="none")
def ui(session: nox.Session) -> None:
    """MLflow's web interface on the runs."""
    rlvr(session, "ui", *session.posargs)


def reproduce(key: str) -> None:
    """One session a paper, tiny by default: `nox -s egsw -- scale=paper` is the real thing."""

    def session(session: nox.Session) -> None:
        rlvr(session, "run", f"paper={key}", *session.posargs)

    session.__doc__ = f"Reproduce {key}; arguments go to `rlvr run`, as in `nox -s {key} -- scale=paper`."
    nox.session(session, venv_backend="none", name=key)


for paper in PAPERS:
    reproduce(paper)
