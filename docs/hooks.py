"""What the site takes from the repository when it is built: pages that live beside the code, equations, the picture.

Runs in the environment of `requirements/docs.txt`, inside mkdocs.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# page of the site -> file of the repository
PAGES = {
    **{f"papers/{path.parent.name}.md": path for path in ROOT.glob("reproductions/*/README.md")},
    "papers/baselines.md": ROOT / "baselines" / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changes.md": ROOT / "CHANGELOG.md",
}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that live beside the code, and the picture of the architecture."""
    sys.path.insert(0, str(ROOT / "docs"))
    from architecture import picture
    from mkdocs.structure.files import File

    for name, path in PAGES.items():
        files.append(File.generated(config, name, content=_links(path)))
    files.append(File.generated(config, "architecture.svg", content=picture(ROOT)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Insert the tables of benchmarks and of rooms; turn TeX between dollar signs into MathML. Code stays."""
    if page.file.src_uri == "benchmarks.md":
        markdown = markdown.replace("BENCHMARK_DATES", _benchmarks())
    if page.file.src_uri == "architecture.md":
        markdown = markdown.replace("ROOM_SIZES", _rooms())
    parts = re.split(r"(```.*?```|`[^`\n]*`)", markdown, flags=re.S)
    return "".join(part if part.startswith("`") else _equations(part) for part in parts)


def _benchmarks() -> str:
    """A row for each task file: problems, and when they were published."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: str(node.value))
    lines = ["| benchmark | problems | published | licence |", "| --- | --- | --- | --- |"]
    for path in sorted((ROOT / "evals" / "data" / "tasks").glob("*/*.yaml")):
        metadata = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)["metadata"]
        published = metadata.get("published") or "not stated in its task file"
        lines.append(f"| `{path.stem}` | {metadata['rows']} | {published} | {metadata['licence']} |")
    return "\n".join(lines)


def _rooms() -> str:
    """A row for each room: its Python files and their lines."""
    lines = ["| room | files | lines |", "| --- | ---: | ---: |"]
    for package in ("rlvr", "reproductions", "baselines", "harness", "evals"):
        rooms = [path for path in sorted((ROOT / package).iterdir()) if (path / "__init__.py").is_file()]
        of_room = {f"{package}/{path.name}/": sorted(path.rglob("*.py")) for path in rooms}
        for name, files in {f"{package}/": sorted((ROOT / package).glob("*.py")), **of_room}.items():
            count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
            lines.append(f"| `{name}` | {len(files)} | {count:,} |")
    return "\n".join(lines)


def _equations(text: str) -> str:
    text = re.sub(
        r"\$\$(.+?)\$\$",  # wider than a phone, it scrolls by itself
        lambda m: f'<div class="equation">{_mathml(m[1], "block")}</div>',
        text,
        flags=re.S,
    )
    # the span keeps an equation at the start of a line inside its paragraph
    return re.sub(r"(?<![\\$\w])\$([^$\n]+?)\$(?!\w)", lambda m: f"<span>{_mathml(m[1], 'inline')}</span>", text)


_GAP = '<mspace width="0.17em"/>'
_BAR = '<mo stretchy="false"{}>&#x0007C;</mo>'


def _mathml(tex: str, display: str) -> str:
    """MathML of an equation, with TeX's spaces around log, and bars that open and close."""
    from latex2mathml.converter import convert

    made = convert(" ".join(tex.split()), display=display)
    made = re.sub(r"(</mi>|</msub>|&#x00029;</mo>|&#x02207;</mo>)<mi>(log|ln)</mi>", rf"\1{_GAP}<mi>\2</mi>", made)
    made = re.sub(r"<mi>(log|ln)</mi>(?=<m[irsu])", rf"<mi>\1</mi>{_GAP}", made)
    opens, closes = _BAR.format(' form="prefix"'), _BAR.format(' form="postfix"')
    return re.sub(f"{_BAR.format('')}(.+?){_BAR.format('')}", rf"{opens}\1{closes}", made)


def _links(path: Path) -> str:
    """The text of a file whose links to other files of the repository are names in code, unless the site has a page."""
    by_file = {file.resolve(): name for name, file in PAGES.items()}
    here = posixpath.dirname(next(name for name, file in PAGES.items() if file == path))

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "://" in target or target.startswith("#"):
            return match[0]
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve()
        if not linked.exists():
            raise ValueError(f"{path.relative_to(ROOT)}: link to {target}, which does not exist")
        if linked in by_file:
            return f"[{words}]({posixpath.relpath(by_file[linked], here or '.')}{'#' + anchor if anchor else ''})"
        return f"`{linked.relative_to(ROOT)}`"

    return re.sub(r"\[([^\]\n]+)\]\(([^)\s]+)\)", link, path.read_text(encoding="utf-8"))
