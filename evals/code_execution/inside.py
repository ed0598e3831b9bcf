"""The program in both sandboxes of `evals.code_execution.sandbox`: a model's function in one, its tests in the other.

It uses only the standard library: the project is not visible inside. Standard input holds the job and its limits as
JSON. The two talk in lines of JSON whose values are Python literals: numbers, text, None, and lists, tuples, sets and
dictionaries of these. Nothing else crosses: an object that equals everything arrives as an `Opaque`, equal to nothing.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import sys
from typing import Any

LONGEST = 32 * 2**20  # bytes of one message


class Opaque:
    """Something that is not plain data."""


class FailedError(Exception):
    """The model's function gave no value."""


def literal(value: object) -> str:
    """The value as a Python literal, by its type's own methods: a subclass's could say something else."""
    if value is None or value is True or value is False:
        return str(value)
    if isinstance(value, int):
        return int.__format__(value, "#x")
    if isinstance(value, float):
        return float.__repr__(value).replace("inf", "1e999") if value == value else "..."
    for simple in (str, bytes, complex):
        if isinstance(value, simple):
            return simple.__repr__(value)  # type: ignore[arg-type]
    if isinstance(value, dict):
        pairs = ",".join(f"{literal(key)}:{literal(item)}" for key, item in dict.items(value))
        return "{" + pairs + "}"
    collections: tuple[tuple[Any, str], ...] = ((list, "[]"), (tuple, "()"), (set, "{}"), (frozenset, "{}"))
    for kind, brackets in collections:
        if isinstance(value, kind):
            items = "".join(f"{literal(item)}," for item in kind.__iter__(value))
            return "set()" if brackets == "{}" and not items else f"{brackets[0]}{items}{brackets[1]}"
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", (1,)):
        return literal(value.item())
    return "..."


def plain(text: str) -> Any:
    """The value of a literal."""
    return _without_ellipsis(ast.literal_eval(text)) if "..." in text else ast.literal_eval(text)


def _without_ellipsis(value: object) -> object:
    if value is ...:
        return Opaque()
    if isinstance(value, dict):
        return {_without_ellipsis(key): _without_ellipsis(item) for key, item in value.items()}
    return type(value)(map(_without_ellipsis, value)) if isinstance(value, (list, tuple, set)) else value


def send(descriptor: int, message: dict[str, object]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


class Lines:
    """Messages from a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.buffer = descriptor, b""

    def next(self) -> dict[str, Any] | None:
        """The next message, or None when the other side has exited or wrote no valid message."""
        while b"\n" not in self.buffer:
            data = os.read(self.descriptor, 2**16)
            self.buffer += data
            if not data or len(self.buffer) > LONGEST:
                return None
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None


def candidate(job: dict[str, Any], calls: int, out: int) -> None:
    """The model's program: it answers calls of its function and sees no test."""
    lines = Lines(calls)
    send(out, {"ready": True})
    try:
        space: dict[str, Any] = {"__name__": "candidate"}
        exec(compile(job["program"], "candidate", "exec"), space)
        function = space[job["entry_point"]]
    except BaseException as error:  # report whatever the program raises
        send(out, {"error": type(error).__name__})
        return
    while (call := lines.next()) is not None:
        try:
            arguments, named = plain(call["call"])
            result = literal(function(*arguments, **named))
        except BaseException as error:
            send(out, {"error": type(error).__name__})
        else:
            send(out, {"value": result})


def tester(job: dict[str, Any], calls: int, replies: int) -> dict[str, object]:
    """The tests: they call the model's function in the other sandbox. Returns the verdict."""
    lines = Lines(replies)
    first = lines.next()
    if first is None or "ready" not in first:
        return {"sandbox": "the candidate's sandbox did not start"}

    def function(*arguments: object, **named: object) -> object:
        try:
            send(calls, {"call": literal([arguments, named])})
        except OSError:
            raise FailedError("the program ended") from None
        reply = lines.next()
        if reply is None:
            raise FailedError("the program ended, or said too much")
        if "value" not in reply:
            raise FailedError(str(reply.get("error"))[:100])
        return plain(reply["value"])

    space: dict[str, Any] = {"__name__": "tests"}
    try:
        exec(compile(job["prompt"], "prompt", "exec"), space)
        space[job["entry_point"]] = function
        exec(compile(job["tests"], "tests", "exec"), space)
        check = space.get("check")  # as HumanEval's tests define it. MBPP's are the statements themselves
        if check is not None and check is not function:
            check(function)
    except BaseException as error:  # a failed assertion, or an error from an incorrect value
        return {"passed": False, "why": f"{type(error).__name__}: {str(error)[:200]}"}
    return {"passed": True}


def main() -> None:
    """Set the limits, then play the role that the job names."""
    config = json.load(sys.stdin)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)  # until here, an error was bubblewrap's
    resource.setrlimit(resource.RLIMIT_CPU, (config["cpu_s"], config["cpu_s"] + 1))  # SIGXCPU, then SIGKILL
    for limit, value in {
        resource.RLIMIT_AS: config["memory_mb"] * 2**20,
        resource.RLIMIT_FSIZE: config["disk_mb"] * 2**20,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_CORE: 0,
    }.items():
        resource.setrlimit(limit, (value, value))
    if config["role"] == "candidate":
        candidate(config["job"], config["calls"], config["out"])
    else:
        send(config["out"], tester(config["job"], config["calls"], config["replies"]))


if __name__ == "__main__":
    main()
