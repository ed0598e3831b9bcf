"""Commands from functions: the options of a command are its function's parameters, their help is its docstring.

    rlvr compare A B metrics=[avg,pass]      is      rlvr.compare("A", "B", metrics=["avg", "pass"])

Parameters before `*` may stand without their name, those after it are `name=value`, and `**values` takes any other key.
A value has Hydra's grammar and must fit the parameter's annotation.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from textwrap import fill
from types import NoneType
from typing import Any, TypeVar, cast

from evals import suggest
from evals.notebook import Block, Heading, Tabular
from evals.outputs import check
from harness.command.config import parse_overrides
from harness.errors import UsageError, nearest
from rlvr.other_words import renamed

KEY = re.compile(r"[A-Za-z_][\w.]*")
_wrapped = partial(fill, break_long_words=False, break_on_hyphens=False)
F = TypeVar("F", bound=Callable[..., Any])
TEXT = {"str", "PathLike", "Run", "Records", "None"}  # kinds of an annotation whose value stays as it was typed
NAMES = {"str", "PathLike", "list[str]", "list[PathLike]", "None"}
NUMBERS = {"int", "float", "bool", "list[int]", "list[float]", "None"}
COMMAND_LINE: ContextVar[str | None] = ContextVar("COMMAND_LINE", default=None)  # as it was typed; None in Python
WORDS = {  # kind of an annotation -> (what the help shows, what an error expects)
    "int": ("N", "a whole number"),
    "float": ("X", "a number"),
    "bool": ("true", "true or false"),
    "str": ("NAME", "text"),
    "PathLike": ("PATH", "a path"),
    "list[str]": ("NAME,...", "a list of names"),
    "list[int]": ("N,...", "a list of whole numbers"),
    "list[float]": ("X,...", "a list of numbers"),
    "list[PathLike]": ("PATH,...", "a list of paths"),
    "dict[str, str]": ("A:B,C:D", "pairs A:B,C:D"),
}


def options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The options of a function by their names (`import_` is `import`)."""
    return {name.rstrip("_"): parameter for name, parameter in inspect.signature(function).parameters.items()}


def kinds(option: inspect.Parameter) -> list[str]:
    """The parts of its annotation: "str", "list[int]", "Literal['a', 'b']", ..."""
    return re.split(r" \| (?![^\[]*\])", str(option.annotation).replace("Sequence[", "list["))


def called(function: F) -> F:
    """The function as Python calls it by `rlvr.NAME`: as on the command line, one value stands for a list of it where
    the annotation begins with a list. Empty lists, and None for what must be given, are refused by name, and other
    tools' words are translated."""
    taken = inspect.signature(function)
    command = {"evaluate": "eval"}.get(function.__name__, function.__name__.rstrip("_"))

    @wraps(function)
    def call(*args: Any, **values: Any) -> Any:
        for key in values.keys() - taken.parameters.keys():
            if ours := renamed(command, key):
                raise UsageError(f"{key}={values[key]!r}: no such option. Expected {ours}")
        try:
            given = taken.bind(*args, **values)
        except TypeError as error:
            name, takes = function.__name__.rstrip("_"), ", ".join(taken.parameters)
            raise UsageError(f"{name}: {error}. Expected {name}({takes})") from None
        for name, value in given.arguments.items():
            option, key = taken.parameters[name], name.rstrip("_")
            if option.default is option.empty and (
                value is None or (isinstance(value, tuple) and any(one is None for one in value))
            ):
                what = descriptions(function).get(name, "a value").partition(". ")[0].rstrip(".")
                raise UsageError(f"{key}=None: expected {what}")
            if option.default is option.empty or "PathLike" in "".join(kinds(option)):
                _refuse_empty(key, value)
            if NAMES.issuperset(kinds(option)) and not isinstance(value, (str, os.PathLike, Iterable, NoneType)):
                raise UsageError(f"{key}: expected {WORDS[kinds(option)[0]][1]}, got {type(value).__name__}")
            if isinstance(value, str) and NUMBERS.issuperset(kinds(option)):
                wanted = " or ".join(WORDS[kind][1] for kind in kinds(option) if kind in WORDS)
                raise UsageError(f"{key}={value!r}: expected {wanted}")
            if option.kind is option.VAR_POSITIONAL:
                given.arguments[name] = tuple(_flat(value))
            elif isinstance(value, (list, tuple)) and {*kinds(option)} <= {"PathLike", "str", "None"}:
                raise UsageError(f"{key}={value!r}: expected one, got a list of {len(value)}")
            if option.kind is option.VAR_POSITIONAL or "list[" not in "".join(kinds(option)):
                continue
            if isinstance(value, (str, os.PathLike, int, float)) and kinds(option)[0].startswith("list["):
                value = [value]
            if isinstance(value, (list, tuple, dict)) and not value:
                raise UsageError(f"{key}={value}: expected at least one")
            if isinstance(value, (list, tuple)):
                given.arguments[name] = [os.fspath(v) if isinstance(v, os.PathLike) else v for v in value]
        inputs = check(given.arguments)
        result = function(*given.args, **given.kwargs)
        if isinstance(result, Tabular):
            object.__setattr__(result, "inputs", inputs)  # some results are frozen
        return result

    return cast("F", call)


def _refuse_empty(key: str, value: object) -> None:
    """Raise UsageError if a name or a path, or one in a list of them, is empty or no text of a file system."""
    for text in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(text, str) and (not text.strip() or "\0" in text):
            raise UsageError(f"{key}={text}: this text names nothing. Type a name or a path after {key}=")


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Values of which some may be lists of them, as audit([a, b]) for audit(a, b). A list of rows is one value."""
    for value in values:
        several = isinstance(value, (list, tuple)) and not any(isinstance(one, Mapping) for one in value)
        yield from value if several else (value,)


def choices(option: inspect.Parameter) -> list[str]:
    """The values that its annotation lists, and true and false of a bool."""
    listed = [kind[8:-1] for kind in kinds(option) if kind.startswith("Literal[")]
    values = [str(value) for text in listed for value in ast.literal_eval(f"[{text}]")]
    return ["true", "false"] if "bool" in kinds(option) else values


def bind(function: Callable[..., Any], words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The positional and the named arguments that the words of a command line say.

    Raises:
        UsageError: a word that cannot be read, an option that there is not, that is given twice or missing, or whose
            value does not fit.
    """
    known = options(function)
    several = any(option.kind is option.VAR_POSITIONAL for option in known.values())
    any_key = any(option.kind is option.VAR_KEYWORD for option in known.values())
    named = {name: o for name, o in known.items() if o.kind not in (o.VAR_POSITIONAL, o.VAR_KEYWORD)}
    unnamed = [name for name, option in named.items() if option.kind is option.POSITIONAL_OR_KEYWORD]
    positional: list[str] = []
    given: dict[str, Any] = {}
    last = ""  # that took a word without key=
    for place, word in enumerate(words):
        key, equals, text = word.partition("=")
        if key.startswith("--"):
            value = text or next((after for after in words[place + 1 :][:1] if "=" not in after), "...")
            raise UsageError(f"{word}: expected key=value, as in {key[2:].replace('-', '_')}={value}")
        plain = key.replace("-", "_")
        if (
            equals
            and plain != key
            and (plain in known or any_key)
            and KEY.fullmatch(plain)
            and not os.path.exists(word)
        ):
            raise UsageError(f"{word}: expected {plain}={text}")
        if not equals or not KEY.fullmatch(key):
            if several:
                positional.append(word)
                continue
            if not unnamed and last and kinds(named[last])[0].startswith("list["):  # page A B is page [A,B]
                given[last] = [*_listed(given[last]), *_listed(_word(last, named[last], word))]
                continue
            if not unnamed:
                raise UsageError(f"cannot read {word!r}: expected key=value")
            last = unnamed.pop(0)
            given[last] = _word(last, named[last], word)
            continue
        if key in given:
            split = f"; a shell makes two words of {{a,b}}: {key}='{{...}}' is one" if ":" in text else ""
            raise UsageError(f"{key}: given twice ({given[key]} and {text}){split}")
        if key not in named and not any_key:
            raise UsageError(f"{key}={text}: no such key. {nearest(key, named)}")
        given[key] = read(key, named[key], text) if key in named else parse_overrides([f"{key}={text}"])[key]
        unnamed = [name for name in unnamed if name != key]
    for key, option in named.items():
        if option.default is option.empty and key not in given:
            what = descriptions(function).get(option.name, "a value").partition(". ")[0].rstrip(".")
            for typed in given.keys() - named.keys():  # a misspelt name of this option was taken for another key
                if close := suggest.nearest(typed, [key]):
                    raise UsageError(f"{typed}={given[typed]}: no such key. Did you mean {close}={given[typed]}?")
            raise UsageError(f"{key} is missing. Type {key}=... ({what}).")
    return positional, {known[key].name if key in known else key: value for key, value in given.items()}


def _word(key: str, option: inspect.Parameter, word: str) -> Any:
    """The value of a word without its key. Among runs it is one of them: its commas join training seeds."""
    several = key == "runs" and kinds(option)[0].startswith("list[")
    return [word] if several and not word.startswith("[") else read(key, option, word)


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def read(key: str, option: inspect.Parameter, text: str) -> Any:
    """The value of a text as the option's annotation has it.

    Raises:
        UsageError: it does not fit.
    """
    allowed = kinds(option)
    if "float" in allowed and re.fullmatch(r"-?\d+,\d+", text):
        raise UsageError(f"{key}={text}: expected a decimal point, as {key}={text.replace(',', '.')}")
    if TEXT.issuperset(allowed) and not text.startswith(("'", '"')):
        return text
    value = parse_overrides([f"{key}={text}"])[key]
    for kind in allowed:
        try:
            return _as(kind, value, text)
        except LookupError:
            continue
    if listed := choices(option):
        raise UsageError(f"{key}={text}: no such {key}. {nearest(text, listed)}")
    raise UsageError(f"{key}: expected {' or '.join(WORDS[k][1] for k in allowed if k in WORDS)}, got {value!r}")


def _as(kind: str, value: Any, text: str) -> Any:
    """The value as one kind has it; LookupError if it does not fit. A text stays what it is, also if it is a number."""
    if kind == "Any" or (kind in ("int", "bool") and type(value).__name__ == kind):
        return value
    if kind == "float" and type(value) in (int, float):
        return float(value)
    if kind in ("str", "PathLike") and not isinstance(value, (list, dict)):
        return value if isinstance(value, str) else text
    if kind.startswith("Literal[") and value in ast.literal_eval(f"[{kind[8:-1]}]"):
        return value
    if kind == "dict[str, str]":
        if isinstance(value, dict) and all(isinstance(of, str) for pair in value.items() for of in pair):
            return value
        composed = unicodedata.normalize("NFC", text)  # as in the header of a CSV file (evals.data.rows)
        pairs = [part.partition(":") for part in composed.strip("{}'\"").split(",")]
        if all(ours and theirs for ours, _, theirs in pairs):
            return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}
    if kind.startswith("list[") and value is not None:
        return (
            [_as(kind[5:-1], v, str(v)) for v in value] if isinstance(value, list) else [_as(kind[5:-1], value, text)]
        )
    raise LookupError(kind)


def descriptions(of: Callable[..., Any]) -> dict[str, str]:
    """Parameter of a function, or field of a class -> its description in the docstring."""
    arguments = inspect.cleandoc(of.__doc__ or "").partition("\nArgs:\n")[2]
    arguments = re.split(r"\n(?:Returns|Raises):\n", arguments)[0]
    found = re.findall(r"^    \**(\w+): (.*(?:\n {8,}.*)*)", arguments, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0].split())


def usage(name: str, function: Callable[..., Any], more: Mapping[str, str], width: int) -> list[Block]:
    """The help of a command: the docstring without what only Python's caller needs, and every option.

    Args:
        more: options of every command, with their descriptions.
    """
    doc = re.split(r"\n(?:Returns|Raises):\n", inspect.cleandoc(function.__doc__ or ""))[0]
    body, described = doc.partition("\nArgs:\n")[0], descriptions(function)
    words, entries = [], {}
    for key, option in options(function).items():
        text = described[option.name]
        if option.kind is option.VAR_KEYWORD:
            entries["KEY=VALUE"] = text
            continue
        if option.kind is option.VAR_POSITIONAL:
            words.append(f"{key.upper()} ...")
            entries[key.upper()] = text
            continue
        if option.kind is option.POSITIONAL_OR_KEYWORD:
            words.append(key.upper() if option.default is option.empty else f"[{key.upper()}]")
        lists = [WORDS[kind][0] for kind in kinds(option) if kind.startswith("list[int")]
        number_first = sorted(kinds(option), key=lambda kind: kind != "float")
        metavar = next((WORDS[kind][0] for kind in number_first if kind in WORDS), "NAME")
        listed = [*lists, *choices(option)] if "bool" not in kinds(option) and choices(option) else []
        if option.default is True:
            metavar = "false"
        elif option.default not in (None, False, "", option.empty):
            text += f" Default: {option.default}." if text.endswith(".") else f" (default: {option.default})"
        entries[f"{key}={'|'.join(listed) or metavar}"] = text
    paragraphs = [part if part.startswith(" ") else _wrapped(part, width) for part in body.strip().split("\n\n")]
    shown = []
    more = dict(more)
    if own := next((head for head in entries if head.startswith("out=")), None):  # what else `out=` takes
        entries[own] += f" Or out=FILE.csv: {more.pop('out=FILE.csv')}."
    for head, text in (entries | more).items():
        if len(head) > 22:  # on a line of its own
            shown.append(f"  {head}")
            head = ""
        shown.append(_wrapped(f"{head:<22} {text}", initial_indent="  ", subsequent_indent=" " * 25, width=width))
    usage = f"usage: rlvr {' '.join([name, *words])} [key=value ...]"
    return [*(line for part in (usage, *paragraphs) for line in (part, "")), Heading("options:"), *shown]
