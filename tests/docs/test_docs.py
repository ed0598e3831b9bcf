"""The site's pages: their snippets run, their commands parse, their links lead somewhere, the picture is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.cli.main import parse

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
NAMES = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
SNIPPETS = [
    (name, block)
    for name, page in zip(NAMES, PAGES, strict=True)
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
]


def runs_at_once(block: str) -> bool:
    """Not those that read a run of the reader's or train one."""
    return "read_run" not in block and "run_arm" not in block


@pytest.mark.parametrize(("name", "block"), [s for s in SNIPPETS if runs_at_once(s[1])])
def test_python_snippets_of_the_docs_run(name: str, block: str) -> None:
    exec(compile(block if "import rlvr" in block else f"import rlvr\n{block}", name, "exec"), {})


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_the_docs_exist(name: str) -> None:
    page = (ROOT / "docs" / name).read_text()
    blocks = re.findall(r"```\n(.*?)```", page, flags=re.S)
    for line in (line for block in blocks for line in block.splitlines() if line.startswith("rlvr ")):
        words = re.split(r" {3,}|#", line)[0].split()[1:]
        assert parse(words).command == words[0]


def test_every_page_is_in_the_navigation_and_every_entry_exists() -> None:
    import yaml

    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())

    def entries(value: object) -> list[str]:
        if isinstance(value, str):
            return [value]
        values = value.values() if isinstance(value, dict) else value
        return [entry for own in values for entry in entries(own)]  # type: ignore[union-attr]

    built = {"contributing.md", "changes.md", "papers/baselines.md"}
    built |= {f"papers/{path.parent.name}.md" for path in ROOT.glob("reproductions/*/README.md")}
    assert set(entries(config["nav"])) == built | set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_pages(name: str) -> None:
    page = ROOT / "docs" / name
    built = {"contributing.md", "changes.md", "architecture.svg"}
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" in target:
            continue
        linked = (page.parent / target).resolve()
        paper = linked.parent.name == "papers" and (
            (ROOT / "reproductions" / linked.stem).is_dir() or linked.stem == "baselines"
        )
        assert linked.is_file() or linked.name in built or paper, target
