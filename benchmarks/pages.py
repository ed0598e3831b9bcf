"""A generated page of docs/ or results/: printed, or written with --write."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def main(description: str | None, path: Path, page: Callable[[], str]) -> None:
    """The command line of a module that writes one page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {path.name}")
    write = parser.parse_args().write  # first: --help and errors answer at once
    text = page()
    if write:
        path.write_text(text, encoding="utf-8")
    print(text, end="")
