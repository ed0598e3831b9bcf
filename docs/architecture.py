"""The picture of the architecture, from the import graph: folders as boxes in their layers, imports as lines.

python docs/architecture.py > docs/architecture.svg
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

Folder = str
ROOT = Path(__file__).resolve().parent.parent
BOX, HEIGHT, GAP, ROW = 128, 34, 16, 74
WIDTH = 7 * (BOX + GAP) + GAP
PACKAGES = ("rlvr", "evals", "harness", "baselines", "reproductions")
STAGGER = (0.0, -1.7, 1.7)  # of folders alone in their layer, in boxes: lines can be told apart


def folders_of(root: Path) -> tuple[list[tuple[str, list[list[Folder]]]], dict[tuple[Folder, Folder], int]]:
    """(package -> its layers of folders from the top; how many imports lead from a folder to another)."""
    import grimp

    sys.path.insert(0, str(root))
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    imports: dict[tuple[Folder, Folder], int] = {}
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = (folder(module), folder(other))
            if pair[0] != pair[1]:
                imports[pair] = imports.get(pair, 0) + 1
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {c["containers"][0]: c["layers"] for c in contracts if "containers" in c}
    packages: list[tuple[str, list[list[Folder]]]] = [("", [["rlvr"], ["reproductions"], ["baselines"]])]
    for package in ("harness", "evals"):
        rows = [
            [folder(f"{package}.{name.strip()}") for name in layer.replace("|", ":").split(":")]
            for layer in layers[package]
        ]
        packages.append((package, [list(dict.fromkeys(row)) for row in rows]))
    return packages, imports


def folder(module: str) -> Folder:
    """evals.stats.score -> evals.stats; a package without folders, and the helpers of evals, are one folder."""
    parts = module.split(".")
    if parts[0] not in ("evals", "harness") or len(parts) == 1:
        return parts[0]
    if not (ROOT / parts[0] / parts[1]).is_dir():  # a small file beside the folders
        return f"{parts[0]}.helpers"
    return ".".join(parts[:2])


def picture(root: Path) -> str:
    """The SVG.

    Raises:
        ValueError: an import leads upwards, which import-linter would refuse as well.
    """
    packages, imports = folders_of(root)
    places: dict[Folder, tuple[float, float]] = {}
    parts: list[str] = []
    y, alone = 20.0, 0
    for package, layers in packages:
        top = y
        for layer in layers:
            width = len(layer) * (BOX + GAP) - GAP
            shift = 0.0
            if len(layer) == 1:
                shift = STAGGER[alone % len(STAGGER)] * (BOX + GAP)
                alone += 1
            for i, name in enumerate(layer):
                places[name] = ((WIDTH - width) / 2 + i * (BOX + GAP) + shift, y)
            y += ROW
        if package:
            box = f'<rect x="6" y="{top - 14}" width="{WIDTH - 12}" height="{y - top - ROW + HEIGHT + 28}" rx="8"'
            parts.append(
                f'{box} fill="#8884" stroke="none"/><text x="16" y="{top + 4}" font-weight="bold">{package}/</text>'
            )
        y += 10
    lines = []
    for (a, b), count in sorted(imports.items()):
        if a not in places or b not in places or places[a][1] > places[b][1]:
            if a in places and b in places:
                raise ValueError(f"{a} imports {b}, which is above it")
            continue
        (x1, y1), (x2, y2) = places[a], places[b]
        same = y1 == y2
        start, end = (x1 + BOX / 2, y1 + HEIGHT), (x2 + BOX / 2, y2 + (HEIGHT if same else 0))
        bend = (
            f"Q {(start[0] + end[0]) / 2} {y1 + HEIGHT + 26}"
            if same
            else f"C {start[0]} {start[1] + 30} {end[0]} {end[1] - 30}"
        )
        path = f"M {start[0]} {start[1]} {bend} {end[0]} {end[1]}"
        line = f'<path d="{path}" stroke-width="{min(3.0, 0.5 + count / 8):.1f}">'
        lines.append(f"{line}<title>{a} imports {b}: {count}</title></path>")
    boxes = []
    for name, (x, top) in places.items():
        label = escape(name.partition(".")[2] or name)
        boxes += [
            f'<rect x="{x}" y="{top}" width="{BOX}" height="{HEIGHT}" rx="5" fill="#eef2ff" stroke="#3949ab"/>',
            f'<text x="{x + BOX / 2}" y="{top + 22}" text-anchor="middle" fill="#111">{label}</text>',
        ]
    style = 'font-family="sans-serif" font-size="13" fill="#3949ab"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" {style}>',
        *parts,
        '<g fill="none" stroke="#607d8b" stroke-opacity="0.55">', *lines, "</g>",
        *boxes,
        "</svg>",
    ])  # fmt: skip


if __name__ == "__main__":
    print(picture(ROOT))
