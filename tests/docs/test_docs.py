"""The site's pages: their snippets run, their commands parse, their links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import logging
import posixpath
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from evals.log import logger
from harness.launch.prepare import planned
from harness.spec.catalogue import papers
from rlvr.cli import parse
from tests.options import options_of

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
    return "read_run" not in block and "rlvr.run(" not in block


@pytest.mark.parametrize(("name", "block"), [s for s in SNIPPETS if runs_at_once(s[1])])
def test_python_snippets_of_the_docs_run(name: str, block: str) -> None:
    try:
        exec(compile(block if "import rlvr" in block else f"import rlvr\n{block}", name, "exec"), {})
    finally:
        logger.setLevel(logging.INFO)  # one block silences it


def commands() -> list[tuple[str, str]]:
    """(file, command line) of every `rlvr ...` line in a block of our pages, and of every inline one with options."""
    pattern = "README.md", "CONTRIBUTING.md", "docs/**/*.md", "results/**/README.md", "reproductions/*/README.md"
    command_lines = []
    for page in sorted({page for glob in pattern for page in ROOT.glob(glob)}):
        text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
        lines = re.findall(r"^ {4}(\S.*)$", text, flags=re.M)
        for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.S | re.M):
            lines += block.splitlines()
        lines = [line.strip().removeprefix("$ ") for line in lines]
        if page.name != "commands.md":  # the help names parts of commands in its sentences
            lines += re.findall(r"`(rlvr [^`\n]*)`", text)
        command_lines += [(str(page.relative_to(ROOT)), line) for line in lines if re.match(r"rlvr [a-z]", line)]
    return list(dict.fromkeys(command_lines))


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_of_the_pages_exist(page: str, line: str) -> None:
    words = shlex.split(re.split(r" {2,}|#", line)[0].replace("...", ""))[1:]
    shown = [word for word in words if "KEY=VALUE" not in word]
    if len(words) < 2 or "--help" in words or words[0] == "help":  # a command alone is its name in a sentence
        return
    name, _, (_, given), _ = parse(shown)
    if name in ("run", "plan") and given["paper"] in papers():  # what would be trained can be
        plan = planned(*options_of(shown[1:]))
        if any(word.startswith("hardware=") for word in shown):  # and on the named machine
            needs = [arm.memory for arm in plan.arms if arm.memory is not None]
            assert needs and all(memory.fit.fits for memory in needs)


def load_hooks() -> Any:
    """docs/hooks.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None and spec.loader is not None
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks


def test_every_page_is_in_the_navigation_and_every_link_leads_somewhere() -> None:
    import yaml

    def entries(value: Any) -> list[str]:
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [value] if isinstance(value, str) else [entry for inside in values for entry in entries(inside)]

    hooks = load_hooks()
    pages = hooks.PAGES | {name: ROOT / "docs" / name for name in NAMES}
    assert set(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])) == set(pages)
    for name, path in pages.items():
        text = hooks.linked(name, path, path.read_text(encoding="utf-8"))  # raises for a link that leads nowhere
        assert "](../../" not in text, name  # mkdocs refuses it: the site has no page above its first folder


@pytest.mark.parametrize("old", [name for name in load_hooks().MOVED if "#" not in name])
def test_an_old_address_leads_to_a_page_that_is_there(old: str) -> None:
    hooks = load_hooks()
    assert old not in NAMES  # a page there would be written over
    text, address = hooks.redirect(old), "/" + old.removesuffix(".md") + "/"
    (link,) = re.findall(r'<a href="([^"]+)">', text)
    places = {name.partition("#")[2]: page for name, page in hooks.MOVED.items() if name.startswith(f"{old}#")}
    leads = {"": link, **json.loads(re.findall(r"\(\((\{.*?\})\[", text)[0])}
    targets = {
        place: posixpath.normpath(posixpath.join(address, to)).lstrip("/") + ".md" for place, to in leads.items()
    }
    assert targets == {"": hooks.MOVED[old], **places}
    assert set(targets.values()) <= set(NAMES)


def test_the_example_of_the_intervals_is_the_output_of_the_tutorial() -> None:
    """tests/docs/test_tutorials.py types the tutorial, so these numbers are measured."""
    page, tutorial = (ROOT / "docs" / name for name in ("explanation/intervals.md", "tutorials/evaluate.md"))
    (example,) = re.findall(r"```text\n(.*?)```", page.read_text(), flags=re.S)
    assert set(example.splitlines()) <= set(tutorial.read_text().splitlines())


def test_links_of_the_front_page_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / name).read_text(encoding="utf-8")):
            assert "://" in target or (ROOT / target).exists(), f"{name}: {target}"
