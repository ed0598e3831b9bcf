"""The arguments that a released shell script gives to its training command. The script is read, never run."""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Mapping

ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)")
ARGUMENT = re.compile(r"(?m)(?:^|\s)(\+*~?[A-Za-z_][\w.@/]*)=|(?:^|\s)--([A-Za-z][\w-]*)")
NAME = re.compile(r"\$([A-Za-z_]\w*)")
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv}


def arguments(text: str, entry: str) -> list[str]:
    """The words after `entry` in the first command that has it, with the script's own assignments filled in.

    Values that only a shell could know (a command's output, a variable of the machine) stay as written, `$` and all.
    Branches of an `if` are not followed: the last assignment above the command counts.

    Args:
        text: of the script. entry: the module or file that the command runs, such as "recipe.dapo.main_dapo".
    Raises:
        ValueError: there is no such command, or fewer arguments came out than are written. Otherwise a wrong reading
            would look like the authors' defaults.
    """
    lines = text.replace("\\\r\n", "\\\n").split("\n")
    values: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            continue
        assignment = ASSIGNMENT.match(line)
        if entry in line and not (assignment and entry not in line.split(None, 1)[-1]):
            return _words(_command(lines, number).split(entry, 1)[1], values, entry)
        if assignment:
            values[assignment[1]] = _assigned(assignment[2], values)
    raise ValueError(f"the script has no command with {entry}")


def _command(lines: list[str], number: int) -> str:
    end = number
    while end + 1 < len(lines) and lines[end].rstrip().endswith("\\"):
        end += 1
    kept = [line for line in lines[number : end + 1] if not line.lstrip().startswith("#")]
    return "\n".join(line.rstrip().removesuffix("\\") for line in kept)


def _words(command: str, values: Mapping[str, str], entry: str) -> list[str]:
    written = [a or b for a, b in ARGUMENT.findall(_without_quoted(command))]
    words = [word for word in shlex.split(expand(command, values), comments=True) if word not in ("$@", "${@:1}")]
    names = [word.split("=", 1)[0].removeprefix("--") for word in words if "=" in word or word.startswith("--")]
    missing = [name for name in written if name not in names]
    if not words or missing:
        raise ValueError(f"{entry}: the script writes {len(written)} arguments, and these were not read: {missing}")
    return words


def _without_quoted(command: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", command)


def _assigned(right: str, values: Mapping[str, str]) -> str:
    """The value of one assignment: its first word, if the shell would split it."""
    try:
        words = shlex.split(expand(right, values), comments=True)
    except ValueError:  # a quote that ends on a later line
        return right
    return words[0] if words else ""


def expand(text: str, values: Mapping[str, str]) -> str:
    """$NAME, ${NAME}, ${NAME:-default} and $((arithmetic)) filled in. Single quotes protect."""
    out, at = "", 0
    while at < len(text):
        if text[at] == "'" and (end := text.find("'", at + 1)) > 0 and out.count('"') % 2 == 0:
            out, at = out + text[at : end + 1], end + 1
        elif text.startswith("$((", at) and (end := text.find("))", at)) > 0:
            out, at = out + _arithmetic(text[at + 3 : end], values), end + 2
        elif text.startswith("${", at):
            end = _closing(text, at + 1)
            out, at = out + _parameter(text[at + 2 : end], values), end + 1
        elif match := NAME.match(text, at):
            out, at = out + values.get(match[1], match[0]), match.end()
        else:
            out, at = out + text[at], at + 1
    return out


def _closing(text: str, opened: int) -> int:
    depth = 0
    for at in range(opened, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"a brace does not close: {text[opened - 1 : opened + 40]}")


def _parameter(inside: str, values: Mapping[str, str]) -> str:
    name, _, default = inside.partition(":-")
    if name in values:
        return values[name]
    return expand(default, values).replace('"', "") if default else "${" + inside + "}"


def _arithmetic(expression: str, values: Mapping[str, str]) -> str:
    """+ - * / on whole numbers. Left as written if something in it is not known."""
    filled = expand(re.sub(r"(?<![\w${])([A-Za-z_]\w*)", r"${\1}", expression), values)

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            return int(ARITHMETIC[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        raise ValueError(expression)

    try:
        return str(value(ast.parse(filled.strip(), mode="eval").body))
    except (SyntaxError, ValueError):
        return f"$(({expression}))"
