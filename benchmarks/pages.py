"""The generated pages of results/: from a clean checkout only, with the command that makes them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def made_by(command: str) -> str:
    """The first sentence of a page. Raises RuntimeError where tracked files have uncommitted changes."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    if changed := git("status", "--porcelain", "--untracked-files=no").splitlines():
        raise RuntimeError(f"uncommitted changes in {len(changed)} files. A page is made from a commit")
    commit = git("rev-parse", "--short=10", "HEAD").strip()
    return f"Made by `{command} --write` at commit {commit} on {time.strftime('%Y-%m-%d')}. It is not edited by hand."


def write(path: Path, text: str) -> None:
    path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
