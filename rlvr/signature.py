"""Commands from functions: the options of a command are its function's parameters, their help is its docstring.

    rlvr compare A B metrics=[avg,pass]      is      rlvr.compare("A", "B", metrics=["avg", "pass"])

Parameters before `*` may stand without their name, those after it are `name=value` (or `--name value`), and `**values`
takes any other key. A value has Hydra's grammar and must fit the parameter's annotation.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

from harness.command.config import parse_overrides
from harness.errors import UsageError, nearest

KEY = re.compile(r"[A-Za-z_][\w.]*")
FLAGS = ("json", "debug", "help")
PATHS = ("str", "PathLike")
COMMAND_LINE: ContextVar[str | None] = ContextVar("COMMAND_LINE", default=None)  # as it was typed; None in Python


@dataclass
class Words:
    """The words of a command line: positional ones, `key=value` with the text of each value, and flags."""

    positional: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Option:
    """One parameter of a function.

    Args:
        kinds: the parts of its annotation: "str", "list[int]", "Literal['a', 'b']", ...
    """

    name: str
    kinds: tuple[str, ...]
    default: Any
    positional: bool
    several: bool  # *files
    any_key: bool  # **values

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty and not self.several and not self.any_key

    @property
    def choices(self) -> list[Any]:
        """The values that the annotation lists."""
        literals = [kind for kind in self.kinds if kind.startswith("Literal[")]
        return [value for kind in literals for value in ast.literal_eval(f"[{kind[8:-1]}]")]

    def read(self, text: str) -> Any:
        """The value of a text in Hydra's grammar; an option that is text or a path keeps it as it was typed."""
        parsed = ("int", "float", "bool", "Any", "list[", "dict[", "Literal[")
        if not any(kind.startswith(parsed) for kind in self.kinds) and not text.startswith(("'", '"')):
            return text
        return parse_overrides([f"{self.name}={text}"])[self.name]

    def convert(self, value: Any, text: str) -> Any:
        """The value as the annotation has it.

        Args:
            value: as Hydra's grammar reads it. text: as it was typed; a text stays what it is, also if it is a number.
        Raises:
            UsageError: it does not fit.
        """
        for kind in self.kinds:
            found, result = _as(kind, value, text)
            if found:
                return result
        if self.choices:
            known = [str(choice) for choice in self.choices]
            raise UsageError(f"{self.name}={text}: no such {self.name}; {nearest(text, known)}")
        expected = " or ".join(_NAMES.get(kind, kind) for kind in self.kinds if kind in _NAMES) or "another value"
        raise UsageError(f"{self.name}: expected {expected}, got {value!r}")


_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "PathLike": "a path",
    "list[str]": "a list of names",
    "list[int]": "a list of whole numbers",
    "list[float]": "a list of numbers",
    "dict[str, str]": "pairs A:B,C:D",
}
_NOT = (False, None)


def _as(kind: str, value: Any, text: str) -> tuple[bool, Any]:
    """(whether the value is of that kind, the value)."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "Any":
        return True, value
    if kind == "None":
        return value is None, None
    if kind == "bool":
        return isinstance(value, bool), value
    if kind == "int":
        return number and isinstance(value, int), value
    if kind == "float":
        return (True, float(value)) if number else _NOT
    if kind in PATHS:
        return (True, value if isinstance(value, str) else text) if not isinstance(value, (list, dict)) else _NOT
    if kind.startswith("Literal["):
        return value in ast.literal_eval(f"[{kind[8:-1]}]"), value
    if kind.startswith("list["):
        parts = value if isinstance(value, list) else [value]
        single = text if not isinstance(value, list) else ""
        converted = [_as(kind[5:-1], part, single or str(part)) for part in parts]
        return all(fits for fits, _ in converted) and value is not None, [part for _, part in converted]
    if kind == "dict[str, str]":
        if isinstance(value, dict):
            return True, {str(k): str(v) for k, v in value.items()}
        pairs = [str(part).partition(":") for part in (value if isinstance(value, list) else [text])]
        return all(a and colon and b for a, colon, b in pairs), {a: b for a, _, b in pairs}
    return _NOT


def options(function: Callable[..., Any]) -> list[Option]:
    """The options of a function, in its order."""
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        found.append(
            Option(
                name.rstrip("_"),
                tuple(re.split(r" \| (?![^\[]*\])", str(parameter.annotation))),
                parameter.default,
                parameter.kind is not parameter.KEYWORD_ONLY,
                parameter.kind is parameter.VAR_POSITIONAL,
                parameter.kind is parameter.VAR_KEYWORD,
            )
        )
    return found


def split(words: Sequence[str], known: Sequence[Option]) -> Words:
    """Sort the words of a command line after its command.

    Raises:
        UsageError: a word that does not parse, or a key that is given twice.
    """
    names = {option.name: option for option in known if not (option.several or option.any_key)}
    any_key = any(option.any_key for option in known)
    result, rest = Words(), list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            result.flags.add("help")
            continue
        if word.startswith("--"):
            key, equals, text = word[2:].partition("=")
            key = key if key in names or any_key else key.replace("-", "_")
            if key in FLAGS and key not in names:
                result.flags.add(key)
                continue
            if not equals and key in names and "bool" in names[key].kinds:
                text = "true"
            elif not equals:
                if not rest:
                    raise UsageError(f"--{key}: expected a value after it")
                text = rest.pop(0)
        else:
            key, equals, text = word.partition("=")
            path = Path(word).exists() and key not in names
            if not equals or not KEY.fullmatch(key) or path:
                result.positional.append(word)
                continue
        if key in result.values:
            raise UsageError(f"{key}: given twice ({result.texts[key]} and {text})")
        result.values[key] = names[key].read(text) if key in names else parse_overrides([f"{key}={text}"])[key]
        result.texts[key] = text
    return result


def bind(function: Callable[..., Any], given: Words) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call.

    Raises:
        UsageError: an option that there is not, that is missing, or whose value does not fit.
    """
    known = options(function)
    named = {option.name: option for option in known if not (option.several or option.any_key)}
    first = [option for option in known if option.positional and not (option.several or option.any_key)]
    rest = next((option for option in known if option.several), None)
    positional, keywords = [], {}
    for number, word in enumerate(given.positional):
        if number < len(first):
            option = first[number]
            if option.name in given.values:
                raise UsageError(f"{option.name}: given twice ({word} and {given.texts[option.name]})")
            keywords[option.name] = option.convert(option.read(word), word)
        elif rest is not None:
            positional.append(word)
        else:
            raise UsageError(f"cannot read {word!r}: expected key=value")
    if positional and first:  # Python takes the named ones by position then
        positional = [keywords.pop(option.name) for option in first] + positional
    for key, value in given.values.items():
        if key in named:
            keywords[key] = named[key].convert(value, given.texts[key])
        elif any(option.any_key for option in known):
            keywords[key] = value
        else:
            raise UsageError(f"{key}={given.texts[key]}: no such key; {nearest(key, named)}")
    for option in known:
        if option.required and option.name not in keywords and not positional:
            raise UsageError(f"{option.name}: missing; give {option.name}=...")
    taken = inspect.signature(function).parameters
    return positional, {f"{key}_" if f"{key}_" in taken else key: value for key, value in keywords.items()}


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join(_doc(function).partition("\n\n")[0].split())


def usage(name: str, function: Callable[..., Any], width: int) -> str:
    """The help of a command: the docstring without what only Python's caller needs, and every option."""
    body, _, sections = _doc(function).partition("\nArgs:\n")
    arguments, *_ = re.split(r"^(?:Returns|Raises|Yields):$", sections, flags=re.MULTILINE)
    described = dict(re.findall(r"^    (\**\w+): (.*(?:\n {8,}.*)*)", arguments, flags=re.MULTILINE))
    body = re.split(r"^(?:Returns|Raises):$", body, flags=re.MULTILINE)[0]
    known = options(function)
    words = []
    for option in known:
        if option.positional and not option.any_key:
            word = option.name.upper() + (" ..." if option.several else "")
            words.append(word if option.required else f"[{word}]")
    lines = [f"usage: rlvr {' '.join([name, *words])} [key=value ...]", "", *_paragraphs(body, width), "", "options:"]
    for option in known:
        mark = "*" * option.several + "**" * option.any_key
        text = " ".join(str(described.get(f"{mark}{option.name}", "")).split())
        head = f"{option.name}={_metavar(option)}"
        if option.any_key or option.several:
            head = "KEY=VALUE" if option.any_key else option.name.upper()
        if not (option.any_key or option.several or option.required) and option.default not in (None, False, ()):
            text += f" (default {_shown(option.default)})"
        lines.append(_entry(head, text, width))
    lines += [
        _entry("--json", "one JSON document on stdout and nothing else", width),
        _entry("--debug", "the traceback of an error", width),
    ]
    return "\n".join(lines)


def _doc(function: Callable[..., Any]) -> str:
    return inspect.cleandoc(function.__doc__ or "")


def _paragraphs(text: str, width: int) -> list[str]:
    """The paragraphs in that width; indented ones (examples) as they are."""
    lines: list[str] = []
    for part in text.strip().split("\n\n"):
        lines += ["", part.rstrip() if part.startswith(" ") else fill(part, width, break_on_hyphens=False)]
    return lines[1:]


def _metavar(option: Option) -> str:
    if option.choices:
        return "|".join(map(str, option.choices))
    kind = next((kind for kind in option.kinds if kind in _NAMES), "")
    several = any(kind.startswith("list[") for kind in option.kinds)
    metavar = _METAVARS.get(kind.removeprefix("list[").removesuffix("]"), "NAME")
    return f"{metavar},..." if several else metavar


_METAVARS = {"bool": "true", "int": "N", "float": "X", "PathLike": "PATH", "dict[str, str]": "A:B,C:D"}


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _entry(head: str, text: str, width: int, indent: int = 24) -> str:
    pad = " " * indent
    start = f"  {head}".ljust(indent) if len(head) + 4 <= indent else f"  {head}\n{pad}"
    return start + fill(text, max(width - indent, 30), break_on_hyphens=False, break_long_words=False).replace(
        "\n", f"\n{pad}"
    )
