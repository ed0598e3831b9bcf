"""The licences of all packages installed with the project: `python -m benchmarks.licences [--write]`.

Reads the metadata of the packages that requirements/cpu.lock pins, as installed here, and checks that they fit each
other (as `pip check` does: every requirement of every package is met). It asks no advisory database, because the
machine of the project cannot reach one; elsewhere, `pip-audit -r requirements/cpu.lock` does.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.pages import main

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "cpu.lock"
PAGE = ROOT / "docs" / "licences.md"


def pinned(lock: Path) -> dict[str, str]:
    """Name -> version of each `name==version` line."""
    pins = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(sorted(pins, key=lambda item: item[0].lower()))


def licence(package: Distribution) -> str:
    """A package's stated licence: an SPDX expression, else classifiers, else the first line of its text."""
    data = package.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    classified = [c.rpartition(" :: ")[2] for c in data.get_all("Classifier") or () if c.startswith("License ::")]
    named = [name for name in classified if name != "OSI Approved"]
    first = str(data.get("License") or "").strip().splitlines()
    return "; ".join(named) or (first[0][:80] if first else "not stated")


def unmet(package: Distribution) -> list[str]:
    """The requirements of a package that the installed packages do not meet."""
    conflicts = []
    for text in package.requires or ():
        asked = Requirement(text)
        if asked.marker is not None and not asked.marker.evaluate({"extra": ""}):
            continue
        try:
            version = distribution(asked.name).version
        except PackageNotFoundError:
            conflicts.append(f"{package.metadata['Name']} needs {asked}, which is not installed")
            continue
        if not asked.specifier.contains(version, prereleases=True):
            conflicts.append(f"{package.metadata['Name']} needs {asked}, {version} is installed")
    return conflicts


def page() -> str:
    rows, missing, broken = [], [], []
    for name, version in pinned(LOCK).items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            missing.append(f"{name} {version}")
            continue
        rows.append((name, package.version, licence(package)))
        broken += unmet(package)
    counts = Counter(text for _, _, text in rows)
    lines = [
        "# Licences",
        "",
        "Written by `python -m benchmarks.licences --write` from the metadata of the installed packages; not edited by "
        f"hand. The project's own licence is Apache-2.0. `{LOCK.relative_to(ROOT)}` pins {len(rows) + len(missing)} "
        f"packages; {len(missing)} of them are not installed here{': ' + ', '.join(missing) if missing else ''}.",
        "",
        f"Requirements that are not met among them: {len(broken)}" + "".join(f"\n\n- {text}" for text in broken),
        "",
        "Known vulnerabilities: **not checked**, because this machine cannot reach an advisory database. Where one "
        "can be reached, `pip-audit -r requirements/cpu.lock` checks it.",
        "",
        "| licence, as stated | packages |",
        "| --- | --- |",
        *(f"| {text.replace('|', '/')} | {count} |" for text, count in counts.most_common()),
        "",
        "| package | version | licence, as stated |",
        "| --- | --- | --- |",
        *(f"| {name} | {version} | {text.replace('|', '/')} |" for name, version, text in rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(__doc__, PAGE, page)
