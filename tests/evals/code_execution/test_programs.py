"""One right program in the spellings that chat models give it, and which policy finds it in which."""

from __future__ import annotations

from typing import Any

import pytest

from evals.code_execution.programs import POLICIES, fenced, find

CODE = "def f(x):\n    return x + 1\n"
FENCED_DOC = 'def f(x):\n    """Adds one.\n\n    ```\n    >>> f(1)\n    ```\n    """\n    return x + 1\n'
ALL = {"program", "program_fenced", "program_first", "program_definitions"}
UNCLOSED = ALL - {"program_fenced"}
BARE = {"program", "program_definitions"}
SPELLINGS: dict[str, tuple[str, set[str]]] = {
    "closed": (f"```python\n{CODE}```", ALL),
    "of no language": (f"```\n{CODE}```", ALL),
    "capital": (f"```Python3\n{CODE}```", ALL),
    "in braces": (f"```{{.python}}\n{CODE}```", ALL),
    "with a title": (f'```python title="a.py"\n{CODE}```', ALL),
    "tildes": (f"~~~python\n{CODE}~~~", ALL),
    "four": (f"````python\n{CODE}````", ALL),
    "white space after the fences": (f"```python   \n{CODE}```  ", ALL),
    "tabs": ("```python\ndef f(x):\n\treturn x + 1\n```", ALL),
    "CRLF": (f"```python\n{CODE}```".replace("\n", "\r\n"), ALL),
    "CR": (f"```python\n{CODE}```".replace("\n", "\r"), ALL),
    "in a numbered list": ("1. Code:\n\n   ```python\n   def f(x):\n       return x + 1\n   ```\n2. Done", ALL),
    "in a bullet": ("- ```python\n  def f(x):\n      return x + 1\n  ```", ALL),
    "in a quote": ("> ```python\n> def f(x):\n>     return x + 1\n> ```", ALL),
    "after words": (f"Here: ```python\n{CODE}```", ALL),
    "a fence in the docstring": (f"```python\n{FENCED_DOC}```", ALL),
    "with its test in a block": (f"```python\n{CODE}```\n```python\nassert f(1) == 2\n```", ALL),
    "never closed": (f"Sure:\n```python\n{CODE}", UNCLOSED),
    "never closed, a fence in the docstring": (f"```python\n{FENCED_DOC}", UNCLOSED),
    "opened by the prompt": (f"{CODE}```\nThis adds one.", UNCLOSED),
    "opened by the prompt, then its use": (f"{CODE}```\nUse:\n```python\nprint(f(1))\n```", UNCLOSED),
    "opened by the prompt, a fence in the docstring": (f"{FENCED_DOC}```\ndone", UNCLOSED),
    "no fence": (CODE, BARE | {"program_whole"}),
    "no fence, a fence in the docstring": (FENCED_DOC, BARE | {"program_whole"}),
    "no fence, in prose": (f"Here is the function.\n\n{CODE}\nThis adds one to x.", BARE),
    "no fence, with an import": (f"Sure!\nimport math\n\n{CODE}", BARE),
    "body": ("    return x + 1\n", BARE | {"program_completion"}),
    "body, then prose": ("    return x + 1\n\nThis adds one.", BARE),
    "body in a fence": ("```python\n    return x + 1\n```", BARE),
    "none": ("I cannot do that.", set()),
    "another language": ("```bash\npip install x\n```", set()),
    "another function": ("```python\ndef ff(x): return x + 1\n```", set()),
    "empty": ("", set()),
}


def runs(response: str, policy: str) -> bool:
    """Whether the program found adds one. (The policies that take everything may find what is no program.)"""
    code = find(response, "f", policy)
    if code is None:
        return False
    space: dict[str, Any] = {}
    try:
        exec(("def f(x):\n" if code.continues else "") + code.text, space)
    except SyntaxError:
        return False
    return "f" in space and space["f"](1) == 2


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_which_policies_find_the_program(spelling: str) -> None:
    response, expected = SPELLINGS[spelling]
    assert {policy for policy in POLICIES if runs(response, policy)} == expected


def test_the_last_block_that_defines_the_function_or_the_first_of_all() -> None:
    two = (
        "```py\ndef f(x): return 1\n```\nor better\n```\ndef f(x): return 2\n```\nRun it:\n```python\nprint(f(1))\n```"
    )
    texts = {policy: code.text for policy in sorted(ALL) if (code := find(two, "f", policy))}
    assert texts == {
        "program": "def f(x): return 2\n",
        "program_definitions": "def f(x):\n    return 2\n",
        "program_fenced": "def f(x): return 2\n",
        "program_first": "def f(x): return 1\n",
    }


def test_definitions_drop_what_runs_at_the_end() -> None:
    code = "import math\nN = 1\ndef f(x):\n    return x + N\nassert f(1) == 3\nif N:\n    print(f(1))\n"
    program = find(f"```python\n{code}```", "f", "program_definitions")
    assert program is not None and program.text == "import math\nN = 1\ndef f(x):\n    return x + N\n"
    broken = find("```python\ndef f(x):\n    return (\n```", "f", "program_definitions")
    assert broken is not None and broken.text == "def f(x):\n    return (\n", "code that does not parse stays as it is"


def test_an_open_fence_may_have_been_cut() -> None:
    whole, cut, after = (
        find(t, "f") for t in (f"```python\n{CODE}```", f"```python\n{CODE}", f"{CODE}\nThis adds one.")
    )
    assert whole is not None and cut is not None and after is not None
    assert (whole.closed, cut.closed, after.closed) == (True, False, True)


def test_blocks_are_counted_and_unknown_policies_refused() -> None:
    assert [fenced(text) for text in (f"```python\n{CODE}", f"~~~\n{CODE}~~~", CODE, "a ``` b", "")] == [
        True, True, False, False, False
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"policy='programme'\. Expected one of program, program_fenced"):
        find(CODE, "f", "programme")


def test_long_responses_of_odd_forms_are_read() -> None:
    for text in ("```\n" * 3000, '"""\n```\n' * 2000, "x = (\n" * 20000, "> " * 20000 + "```", "def f(x):\n" * 5000):
        for policy in POLICIES:
            find(text, "f", policy)
