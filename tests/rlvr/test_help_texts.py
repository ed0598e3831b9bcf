"""Help and messages can be read: each option alone, each message in whole sentences without semicolons."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.code_execution import programs
from evals.grading import extraction
from harness.command.resolve import BACKENDS
from harness.plan.machine import backend
from rlvr import signature
from rlvr.commands import COMMANDS, command
from rlvr.listing import list_

ROOT = Path(__file__).parents[2]
LONGEST = 45  # words of a sentence in the help, where an option lists its values
# An option's text begins with a noun or a verb, or with an article before a noun. It never begins with these.
OPENERS = re.findall(
    r"\w+",
    "of as likewise where those that these this it its they their some which what how who whose whether also in on by "
    "from with if when only instead and or but because since for to at",
)


def options() -> Iterator[tuple[str, str, str]]:
    """(command, option, text) of all options."""
    for name in COMMANDS:
        for option, text in signature.descriptions(command(name)).items():
            yield name, option, text


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!])\s+|\n\n", text)


def faults(text: str) -> list[str]:
    """The changes that a help text needs."""
    bare = "\n\n".join(part for part in text.split("\n\n") if not part.startswith("        "))  # examples
    bare = re.sub(r"`[^`]*`", "CODE", bare)
    long = [sentence for sentence in sentences(bare) if len(sentence.split()) > LONGEST]
    to_change = [f"over {LONGEST} words, split it: {sentence}" for sentence in long]
    to_change += ["a semicolon, write two sentences"] * (";" in bare)
    return to_change + ["'likewise', repeat the noun"] * ("likewise" in bare.lower())


@pytest.mark.parametrize(("name", "option", "text"), list(options()))
def test_an_option_can_be_read_alone(name: str, option: str, text: str) -> None:
    first = re.split(r"\W", text, maxsplit=1)[0]
    assert first.lower() not in OPENERS, f"rlvr help {name}, {option}=: begin with a noun or a verb, not {first!r}"
    assert not faults(text), f"rlvr help {name}, {option}=: {faults(text)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_begins_with_a_verb_and_has_short_sentences(name: str) -> None:
    text = (command(name).__doc__ or "").partition("Args:")[0]
    assert not faults(text), f"rlvr help {name}: {faults(text)}"
    first = text.split()[0]
    assert first.istitle() and first not in ("The", "A", "An", "What", "How", "Any"), f"rlvr help {name}: {first}"


@pytest.mark.parametrize("group", ["signals", "stages", "policies", "prompts", "methods", "scales"])
def test_a_line_of_a_list_can_be_read_alone(group: str) -> None:
    lines: dict[str, str] = list_([group]).document[group]
    to_change = [f"{name}: {text}" for name, text in lines.items() if faults(text) or "the same as" in text]
    assert not to_change, f"rlvr list what={group}, write whole sentences:\n" + "\n".join(to_change)


def test_every_extraction_policy_says_what_it_takes() -> None:
    for module in (extraction, programs):
        assert [*module.MEANING] == [*module.POLICIES]


def test_a_hardware_option_can_be_read_alone() -> None:
    texts = {key: text for name in BACKENDS for key, text in backend(name).hardware.help().items()}
    to_change = [f"{key}: {text}" for key, text in texts.items() if faults(text) or text.split()[0].lower() in OPENERS]
    assert len(texts) > 25 and not to_change, "begin with a noun or a verb, and write two sentences:\n" + "\n".join(
        to_change
    )


def literal(node: ast.AST) -> str:
    """The text of an expression: placeholders are {}."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(literal(part) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.BinOp(left=left, right=right):
            return literal(left) + literal(right)
        case ast.IfExp(body=body, orelse=orelse):
            return f"{literal(body)} {literal(orelse)}"
    return ""


def messages() -> Iterator[tuple[str, str]]:
    """(place, text) of every error that a line of the source raises."""
    for top in ("rlvr", "harness", "evals", "baselines", "benchmarks", "studies"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                    for text in filter(None, map(literal, node.exc.args)):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def test_messages_are_sentences_without_semicolons() -> None:
    texts = [*messages()]
    assert len(texts) > 700  # the search finds them
    bad = [f"{place}: {text}" for place, text in texts if ";" in re.sub(r"`[^`]*`", "", text) or "likewise" in text]
    assert not bad, "write two sentences, as `key=VALUE: what is wrong. Type key=...`:\n" + "\n".join(bad)
