"""Commands from functions: the options of a command are its function's parameters, their help is its docstring.

    rlvr compare A B metrics=[avg,pass]      is      rlvr.compare("A", "B", metrics=["avg", "pass"])

Parameters before `*` may stand without their name, those after it are `name=value`, and `**values` takes any other key.
A value has Hydra's grammar and must fit the parameter's annotation.
"""

from __future__ import annotations

import builtins
import inspect
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from pathlib import Path
from textwrap import fill
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from evals import suggest
from evals.notebook import Block, Heading, Tabular
from evals.outputs import check
from harness.command.config import parse_overrides
from harness.errors import UsageError, nearest
from rlvr.other_words import renamed

KEY = re.compile(r"[A-Za-z_][\w.]*")
_wrapped = partial(fill, break_long_words=False, break_on_hyphens=False)
F = TypeVar("F", bound=Callable[..., object])
NAMES = {str, Path, list[str], list[Path], NoneType}
NUMBERS = {int, float, bool, list[int], list[float], NoneType}
COMMAND_LINE: ContextVar[str | None] = ContextVar("COMMAND_LINE", default=None)  # as it was typed. None in Python
WORDS: dict[object, tuple[str, str]] = {  # kind of a value -> (what the help shows, what an error expects)
    int: ("N", "a whole number"),
    float: ("X", "a number"),
    bool: ("true", "true or false"),
    str: ("NAME", "text"),
    Path: ("PATH", "a path"),
    list[str]: ("NAME,...", "a list of names"),
    list[int]: ("N,...", "a list of whole numbers"),
    list[float]: ("X,...", "a list of numbers"),
    list[Path]: ("PATH,...", "a list of paths"),
    dict[str, str]: ("A:B,C:D", "pairs A:B,C:D"),
}


def options(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The options of a function by their names (`import_` is `import`), with their annotations as types."""
    names = _Names(inspect.unwrap(function).__globals__)
    taken = inspect.signature(function, eval_str=True, locals=names).parameters
    return {name.rstrip("_"): parameter for name, parameter in taken.items()}


class OfPython:
    """Stands for a class that is imported for annotations alone. No word of a command line is a value of it."""


class _Names(dict[str, type]):
    """The names that a module does not have when it runs. To import their classes would take longer than to answer."""

    def __init__(self, module: Mapping[str, object]) -> None:
        self._module = module

    def __missing__(self, name: str) -> type:
        if name in self._module or hasattr(builtins, name):
            raise KeyError(name)  # Python looks there next
        return OfPython


def kinds(option: inspect.Parameter) -> list[object]:
    """The types that its value may have, in order. A Sequence is a list, and text that may be a path is a Path."""
    return _kinds(option.annotation)


def _kinds(hint: object) -> list[object]:
    parts = get_args(hint) if get_origin(hint) in (UnionType, Union) else [hint]
    kinds = dict.fromkeys(map(_kind, parts))
    if Path in kinds:
        kinds.pop(str, None)
    return list(kinds)


def _kind(hint: object) -> object:
    if get_origin(hint) is os.PathLike:
        return Path
    if get_origin(hint) in (list, Sequence):
        return GenericAlias(list, (_kinds(get_args(hint)[0])[0],))
    return NoneType if hint is None else hint


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list


def _is_text(kind: object) -> bool:
    """Whether the text of a command line is a value of it as it was typed."""
    return kind in (str, Path, NoneType, OfPython) or get_origin(kind) is Iterable


def called(function: F) -> F:
    """The function as Python calls it by `rlvr.NAME`: as on the command line, one value stands for a list of it where
    the annotation begins with a list. Empty lists, and None for what must be given, are refused by name, and other
    tools' words are translated."""
    known = options(function)
    taken = inspect.signature(function)
    command = {"evaluate": "eval"}.get(function.__name__, function.__name__.rstrip("_"))

    @wraps(function)
    def call(*args: object, **values: object) -> object:
        for key in values.keys() - taken.parameters.keys():
            if our_name := renamed(command, key):
                raise UsageError(f"{key}={values[key]!r}: no such option. Expected {our_name}")
        try:
            given = taken.bind(*args, **values)
        except TypeError as error:
            name, takes = function.__name__.rstrip("_"), ", ".join(taken.parameters)
            raise UsageError(f"{name}: {error}. Expected {name}({takes})") from None
        for name, value in given.arguments.items():
            option = known[name.rstrip("_")]
            _refuse_none(function, option, value)
            _refuse_kind(option, value)
            given.arguments[name] = _in_form(option, value)
        inputs = check(given.arguments)
        result = function(*given.args, **given.kwargs)
        if isinstance(result, Tabular):
            object.__setattr__(result, "inputs", inputs)  # some results are frozen
        return result

    return cast("F", call)


def _refuse_none(function: Callable[..., object], option: inspect.Parameter, value: object) -> None:
    """Raise UsageError for None, also among several values, where a value must be given."""
    if option.default is not option.empty:
        return
    if value is None or (isinstance(value, tuple) and any(item is None for item in value)):
        raise UsageError(f"{option.name.rstrip('_')}=None: expected {_what(function, option)}")


def _refuse_kind(option: inspect.Parameter, value: object) -> None:
    """Raise UsageError for an empty name, a number in place of a name, and text in place of a number."""
    key, allowed = option.name.rstrip("_"), kinds(option)
    if option.default is option.empty or {Path, list[Path]} & {*allowed}:
        _refuse_empty(key, value)
    if NAMES.issuperset(allowed) and not isinstance(value, (str, os.PathLike, Iterable, NoneType)):
        raise UsageError(f"{key}: expected {WORDS[allowed[0]][1]}, got {type(value).__name__}")
    if isinstance(value, str) and NUMBERS.issuperset(allowed):
        raise UsageError(f"{key}={value!r}: expected {_expected(allowed)}")


def _in_form(option: inspect.Parameter, value: object) -> object:
    """The value in the form that the function takes: a list where one value stands for it, and texts of paths in it.

    Raises:
        UsageError: a list where one value is expected, or an empty list.
    """
    key, allowed = option.name.rstrip("_"), kinds(option)
    if option.kind is option.VAR_POSITIONAL:
        return tuple(_flat(cast("tuple[object, ...]", value)))
    if isinstance(value, (list, tuple)) and {*allowed} <= {Path, str, NoneType}:
        raise UsageError(f"{key}={value!r}: expected one, got a list of {len(value)}")
    if not any(map(_is_list, allowed)):
        return value
    if isinstance(value, (str, os.PathLike, int, float)) and _is_list(allowed[0]):
        value = [value]
    if isinstance(value, (list, tuple, dict)) and not value:
        raise UsageError(f"{key}={value}: expected at least one")
    if isinstance(value, (list, tuple)):
        return [os.fspath(v) if isinstance(v, os.PathLike) else v for v in value]
    return value


def _what(function: Callable[..., object], option: inspect.Parameter) -> str:
    """The first sentence of an option's description."""
    return descriptions(function).get(option.name, "a value").partition(". ")[0].rstrip(".")


def _expected(allowed: Iterable[object]) -> str:
    return " or ".join(WORDS[kind][1] for kind in allowed if kind in WORDS)


def _refuse_empty(key: str, value: object) -> None:
    """Raise UsageError if a name or a path, or one in a list of them, is empty or no text of a file system."""
    for text in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(text, str) and (not text.strip() or "\0" in text):
            raise UsageError(f"{key}={text}: this text names nothing. Type a name or a path after {key}=")


def _flat(values: Iterable[object]) -> Iterator[object]:
    """Values of which some may be lists of them, as audit([a, b]) for audit(a, b). A list of rows is one value."""
    for value in values:
        if isinstance(value, (list, tuple)) and not any(isinstance(item, Mapping) for item in value):
            yield from value
        else:
            yield value


def choices(option: inspect.Parameter) -> list[str]:
    """The values that its annotation lists, and true and false of a bool."""
    if bool in kinds(option):
        return ["true", "false"]
    return [str(value) for kind in kinds(option) if get_origin(kind) is Literal for value in get_args(kind)]


def bind(function: Callable[..., object], words: Sequence[str]) -> tuple[list[str], dict[str, object]]:
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
    given: dict[str, object] = {}
    last = ""  # that took a word without key=
    for place, word in enumerate(words):
        key, equals, text = word.partition("=")
        _refuse_dashes(word, words[place + 1 :], known.keys(), any_key)
        if equals and KEY.fullmatch(key):
            _refuse_key(key, text, given, () if any_key else named)
            given[key] = read(key, named[key], text) if key in named else parse_overrides([f"{key}={text}"])[key]
            unnamed = [name for name in unnamed if name != key]
        elif several:
            positional.append(word)
        elif unnamed:
            last = unnamed.pop(0)
            given[last] = _word(last, named[last], word)
        elif last and _is_list(kinds(named[last])[0]):  # page A B is page [A,B]
            given[last] = [*_listed(given[last]), *_listed(_word(last, named[last], word))]
        else:
            raise UsageError(f"cannot read {word!r}: expected key=value")
    _refuse_missing(function, named, given)
    return positional, {known[key].name if key in known else key: value for key, value in given.items()}


def _refuse_dashes(word: str, after: Sequence[str], known: Collection[str], any_key: bool) -> None:
    """Raise UsageError for --key, and for key-name=value where key_name is an option."""
    key, equals, text = word.partition("=")
    if key.startswith("--"):
        value = text or next((other for other in after[:1] if "=" not in other), "...")
        raise UsageError(f"{word}: expected key=value, as in {key[2:].replace('-', '_')}={value}")
    plain = key.replace("-", "_")
    is_key = plain != key and (plain in known or any_key) and KEY.fullmatch(plain)
    if equals and is_key and not os.path.exists(word):
        raise UsageError(f"{word}: expected {plain}={text}")


def _refuse_key(key: str, text: str, given: Mapping[str, object], named: Collection[str]) -> None:
    """Raise UsageError for a key that was given, or is none of those there are (empty: any key is one)."""
    if key in given:
        split = f"; a shell makes two words of {{a,b}}: {key}='{{...}}' is one" if ":" in text else ""
        raise UsageError(f"{key}: given twice ({given[key]} and {text}){split}")
    if named and key not in named:
        raise UsageError(f"{key}={text}: no such key. {nearest(key, named)}")


def _refuse_missing(
    function: Callable[..., object], named: Mapping[str, inspect.Parameter], given: Mapping[str, object]
) -> None:
    """Raise UsageError for an option that must be given and is not, or that was misspelt."""
    for key, option in named.items():
        if option.default is not option.empty or key in given:
            continue
        for typed in given.keys() - named.keys():  # a misspelt name of this option was taken for another key
            if close := suggest.nearest(typed, [key]):
                raise UsageError(f"{typed}={given[typed]}: no such key. Did you mean {close}={given[typed]}?")
        raise UsageError(f"{key} is missing. Type {key}=... ({_what(function, option)}).")


def _word(key: str, option: inspect.Parameter, word: str) -> object:
    """The value of a word without its key. Among runs it is one of them: its commas join training seeds."""
    several = key == "runs" and _is_list(kinds(option)[0])
    return [word] if several and not word.startswith("[") else read(key, option, word)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def read(key: str, option: inspect.Parameter, text: str) -> object:
    """The value of a text as the option's annotation has it.

    Raises:
        UsageError: it does not fit.
    """
    allowed = kinds(option)
    if float in allowed and re.fullmatch(r"-?\d+,\d+", text):
        raise UsageError(f"{key}={text}: expected a decimal point, as {key}={text.replace(',', '.')}")
    if all(map(_is_text, allowed)) and not text.startswith(("'", '"')):
        return text
    value = parse_overrides([f"{key}={text}"])[key]
    for kind in allowed:
        try:
            return _as(kind, value, text)
        except LookupError:
            continue
    if listed := choices(option):
        raise UsageError(f"{key}={text}: no such {key}. {nearest(text, listed)}")
    raise UsageError(f"{key}: expected {_expected(allowed)}, got {value!r}")


def _as(kind: object, value: object, text: str) -> object:
    """The value as one kind has it. LookupError if it does not fit. A text stays what it is, also if it is a number."""
    if kind in (Any, object) or (kind in (int, bool) and type(value) is kind):
        return value
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind in (str, Path) and not isinstance(value, (list, dict)):
        return value if isinstance(value, str) else text
    if get_origin(kind) is Literal and value in get_args(kind):
        return value
    if kind == dict[str, str]:
        return _pairs(value, text)
    if _is_list(kind) and value is not None:
        [inner] = get_args(kind)
        return [_as(inner, item, str(item)) for item in value] if isinstance(value, list) else [_as(inner, value, text)]
    raise LookupError(kind)


def _pairs(value: object, text: str) -> dict[str, str]:
    """`A:B,C:D`, or an object of texts. LookupError for all else."""
    if isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair):
        return value
    composed = unicodedata.normalize("NFC", text)  # as in the header of a CSV file (evals.data.rows)
    pairs = [part.partition(":") for part in composed.strip("{}'\"").split(",")]
    if all(column and source for column, _, source in pairs):
        return {column.strip(): source.strip() for column, _, source in pairs}
    raise LookupError(text)


def descriptions(function: Callable[..., object]) -> dict[str, str]:
    """Parameter of a function, or field of a class -> its description in the docstring."""
    arguments = inspect.cleandoc(function.__doc__ or "").partition("\nArgs:\n")[2]
    arguments = re.split(r"\n(?:Returns|Raises):\n", arguments)[0]
    entries = re.findall(r"^    \**(\w+): (.*(?:\n {8,}.*)*)", arguments, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def summary(function: Callable[..., object]) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join(inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0].split())


def usage(name: str, function: Callable[..., object], more: Mapping[str, str], width: int) -> list[Block]:
    """The help of a command: the docstring without what only Python's caller needs, and every option.

    Args:
        more: options of every command, with their descriptions.
    """
    doc = re.split(r"\n(?:Returns|Raises):\n", inspect.cleandoc(function.__doc__ or ""))[0]
    body, described = doc.partition("\nArgs:\n")[0], descriptions(function)
    known = options(function)
    entries = {_head(key, option): _text(option, described[option.name]) for key, option in known.items()}
    more = dict(more)
    if out_entry := next((head for head in entries if head.startswith("out=")), None):  # what else `out=` takes
        entries[out_entry] += f" Or out=FILE.csv: {more.pop('out=FILE.csv')}."
    words = filter(None, (_positional(key, option) for key, option in known.items()))
    paragraphs = [part if part.startswith(" ") else _wrapped(part, width) for part in body.strip().split("\n\n")]
    shown = [line for head, text in (entries | more).items() for line in _entry(head, text, width)]
    usage = f"usage: rlvr {' '.join([name, *words])} [key=value ...]"
    return [*(line for part in (usage, *paragraphs) for line in (part, "")), Heading("options:"), *shown]


def _positional(key: str, option: inspect.Parameter) -> str:
    """How the first line of the help shows an option that needs no name, or "" for one that needs it."""
    if option.kind is option.VAR_POSITIONAL:
        return f"{key.upper()} ..."
    if option.kind is not option.POSITIONAL_OR_KEYWORD:
        return ""
    return key.upper() if option.default is option.empty else f"[{key.upper()}]"


def _head(key: str, option: inspect.Parameter) -> str:
    """An option as it is typed: `n=N`."""
    if option.kind is option.VAR_KEYWORD:
        return "KEY=VALUE"
    if option.kind is option.VAR_POSITIONAL:
        return key.upper()
    if option.default is True:
        return f"{key}=false"
    allowed = kinds(option)
    if bool not in allowed and (listed := choices(option)):
        return f"{key}={'|'.join([*(WORDS[kind][0] for kind in allowed if kind == list[int]), *listed])}"
    number_first = sorted(allowed, key=lambda kind: kind is not float)
    return f"{key}={next((WORDS[kind][0] for kind in number_first if kind in WORDS), 'NAME')}"


def _text(option: inspect.Parameter, text: str) -> str:
    """The description of an option, with its default."""
    if option.default is True or option.default in (None, False, "", option.empty):
        return text
    return text + (f" Default: {option.default}." if text.endswith(".") else f" (default: {option.default})")


def _entry(head: str, text: str, width: int) -> list[str]:
    """The lines of an option: its description beside it, or below it where it is long."""
    own_line = [f"  {head}"] if len(head) > 22 else []
    beside = f"{'' if own_line else head:<22} {text}"
    return [*own_line, _wrapped(beside, initial_indent="  ", subsequent_indent=" " * 25, width=width)]
