"""Rules on equations, inequalities and other relations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evals.grading import Same, evaluation
from evals.grading.collection import named, renamed
from evals.grading.numbers import RELATION, has_symbols, is_relation, literal, split

_INFINITY = r"\infty"
_VARIABLE = re.compile(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\(\w\))?")
_BOUND = re.compile(r"\\(le|ge)(?![A-Za-z])|([<>])")

_REALS = r"\\mathbb\s*\{?\s*R\s*\}?"
_BUILDER = re.compile(rf"\\\{{\s*[a-zA-Z](?:\s*\\in\s*{_REALS})?\s*[|:](.*)\\\}}", re.DOTALL)
_BARE_BUILDER = re.compile(  # plain braces are taken for a group, and are gone
    rf"[a-zA-Z](?:\s*\\in\s*{_REALS})?\s*\|([^|]*(?:[<>]|\\[lg]e(?![A-Za-z]))[^|]*)"
)
_MEMBER = re.compile(
    r"(?:\\?[A-Za-z]+(?:_\{?\w+\}?)?|\([A-Za-z](?:_\{\w+\})?(?:\s*,\s*[A-Za-z](?:_\{\w+\})?)+\))\s*\\in(?![A-Za-z])(.*)",
    re.DOTALL,
)


def set_form(text: str) -> str | None:
    r"""An inequality in one variable as an interval or a union. `x \in S` as S. Other texts unchanged.

    None where a relation has no such form.
    """
    text = text.strip()
    if builder := _BUILDER.fullmatch(text) or _BARE_BUILDER.fullmatch(text):
        return set_form(builder[1].strip())
    if member := _MEMBER.fullmatch(text):
        return member[1].strip()
    if not is_relation(text):
        return text
    if r"\land" in text:
        parts = text.split(r"\land")
        return _intersection([set_form(part) for part in parts]) if len(set(map(_symbol, parts))) == 1 else None
    relations = split(text, ",;")
    return _interval(text) if len(relations) == 1 else _union(relations)


def _bracket(sign: str, strict_or_not: str) -> str:
    """The first bracket for < and >, the second for signs that include the end."""
    return strict_or_not[sign not in "<>"]


def _intersection(sides: Sequence[str | None]) -> str | None:
    """The interval between a half-line upwards and one downwards."""
    above = [side for side in sides if side and side.endswith(f"{_INFINITY})")]
    below = [side for side in sides if side and side.startswith(f"(-{_INFINITY},")]
    if len(sides) != 2 or len(above) != 1 or len(below) != 1:
        return None
    return above[0].removesuffix(f"{_INFINITY})") + below[0].removeprefix(f"(-{_INFINITY},")


def _union(relations: Sequence[str]) -> str | None:
    """The union of inequalities in the same variable that stand in a list: either holds."""
    intervals = [_interval(relation) for relation in relations]
    if not any(intervals) or len(set(map(_symbol, relations))) > 1:
        return None  # x=1 or x=2: a list
    points = [re.sub(rf"^{_VARIABLE.pattern}\s*=([^=]+)$", r"\\{\1\\}", relation) for relation in relations]
    sides = [side or point for side, point in zip(intervals, points, strict=True)]
    return None if any(map(is_relation, sides)) else r"\cup".join(sides)


def _interval(text: str) -> str | None:
    r"""`a<x\le b` and the like, with one variable at an end or in the middle."""
    parts = [part.strip() for part in _BOUND.sub("\0", text).split("\0")]
    signs = [match[0] for match in _BOUND.finditer(text)]
    if "=" in text or not 1 <= len(signs) < 3 or "" in parts:
        return None
    rising = {sign in ("<", r"\le") for sign in signs}
    if rising == {False}:
        parts, signs = parts[::-1], signs[::-1]
    free = [bool(_VARIABLE.fullmatch(part)) and part != _INFINITY for part in parts]
    if len(rising) == 1 and free == [False, True, False]:
        return f"{_bracket(signs[0], '([')}{parts[0]},{parts[2]}{_bracket(signs[1], ')]')}"
    if free == [True, False]:
        return f"(-{_INFINITY},{parts[1]}{_bracket(signs[0], ')]')}"
    return f"{_bracket(signs[0], '([')}{parts[0]},{_INFINITY})" if free == [False, True] else None


def _symbol(text: str) -> str:
    """The first symbol in an answer, or nothing."""
    letters = re.findall(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", text)
    return letters[0] if letters else ""


def named_value(gold: str, answer: str, same: Same) -> bool | None:
    left, right = named(gold), named(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        if is_relation(answer if left else gold):
            return None
        if left is not None:
            return all(same(value, answer) for value in left.values)
        return right is not None and all(same(gold, value) for value in right.values)
    value = renamed(right, left)
    if value is None and all(
        form.name in set(re.findall(r"[A-Za-z]", side.values[-1])) for form, side in ((left, right), (right, left))
    ):
        return None  # x=2y and y=x/2: one equation
    return value is not None and same(left.values[-1], value)


_CALL = re.compile(r"\\[A-Za-z]+|[A-Za-z]'*\s*\([^()]*\)|_\{[^{}]*\}")
_OF_A_LINE = re.compile(r"(?:^|[-+(]\s*)\d[^-+]*[-+]|[-+]\s*\d")  # several terms, and a number before or beside them


def chain(gold: str, answer: str, same: Same) -> bool | None:
    rows = [split(text, "=") for text in (gold, answer)]
    if any(len(split(text, ",;")) > 1 or RELATION.search(text) for text in (gold, answer)):
        return None
    if any("" in row or (len(row) > 1 and r"\text" in "".join(row)) for row in rows):
        return None
    if len(rows[0]) > 1:
        if any(map(has_symbols, rows[0])):
            return None if len(rows[1]) == 1 or any(map(has_symbols, rows[1])) else False  # 1=2
        gold = rows[0][0]
    if len(rows[1]) == 1:
        return same(gold, answer) if len(rows[0]) > 1 else None
    return _states(rows[1], gold, same)


def _states(sides: list[str], gold: str, same: Same) -> bool | None:
    """Whether an equation or a longer chain states the gold's value. None: not decided here."""
    first, last = sides[0], sides[-1]
    constants = [side for side in sides if not has_symbols(side)]
    if len(constants) == len(sides):  # 2+3=5, but 0=0 says nothing
        return len(set(map(literal, constants))) > 1 and all(same(gold, side) for side in constants)
    symbols = set(re.findall(r"[fghFGP]\([^()]*\)|[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", first)))
    if len(symbols) < 2 or (literal(last) == "0" and _OF_A_LINE.search(first)):
        return False if len(symbols) > 1 else None  # the equation of a line is not 0
    if has_symbols(last):
        several = re.search(r"[\w})]\s*[-+]", first) and len(set(re.findall("[A-Za-z]", _CALL.sub("", first)))) > 1
        return False if several or len(sides) > 2 else same(gold, last)
    return all(same(gold, side) for side in constants)  # m+n=13+29=42


_SOLVED_FOR = ("y", "r", r"\rho", "z")  # what one solves for, unless told otherwise


_MODULO = re.compile(
    r"(?:(?P<name>[^=<>,]+?)\s*\\equiv(?![A-Za-z]))?\s*(?P<rests>-?\d+(?:\s*,\s*-?\d+)*)\s*[,(]?\s*"
    r"\\?(?:\\text\s*\{\s*\(?\s*mod(?:ulo)?\s*|p?mod|bmod|(?<=\()\\bmod)\s*[{(]?\s*(?P<modulus>\d+)[\s)}]*"
)


_MULTIPLES = re.compile(
    r"(?P<name>[A-Za-z]\s*=)?\s*(?P<first>\d+(?=\s*[-+]))?\s*(?P<sign>[-+]?)\s*(?P<modulus>\d+)\s*[a-z](?:\s*(?P<rest>[-+]\s*\d+))?"
    r"(?:[\s,(]*(?:\\text\s*\{[\s,]*(?:for|where)?(?:\s*(?:any|all|some|an))?(?:\s*integers?)?\s*\}\s*)?[a-z]"
    r"(?:\s*\\in\s*\\mathbb\s*\{?\s*Z\s*\}?)?[\s)]*)?"
)


def _as_residue(text: str) -> str:
    """`n=7k+3, k\\in\\mathbb Z` as `n\\equiv 3\\pmod 7`. Other texts unchanged."""
    match = _MULTIPLES.fullmatch(text)
    if match is None or bool(match["first"]) == bool(match["rest"]) or (match["sign"] and not match["first"]):
        return text
    name = rf"{match['name'].rstrip('= ')}\equiv " if match["name"] else ""
    return rf"{name}{(match['first'] or match['rest']).replace(' ', '').lstrip('+')}\pmod {match['modulus']}"


def congruence(gold: str, answer: str, same: Same) -> bool | None:
    """Residues by one modulus: `n\\equiv 10\\pmod 7` for `n\\equiv 3\\pmod 7`."""
    if "mod" not in gold + answer:
        return None
    left, right = _MODULO.fullmatch(_as_residue(gold)), _MODULO.fullmatch(_as_residue(answer))
    if left is None:
        return None
    if right is None:
        return False if "mod" in gold else None
    names = [literal(side["name"] or "") for side in (left, right)]
    if left["modulus"] != right["modulus"] or (all(names) and names[0] != names[1]):
        return False
    modulus = int(left["modulus"])
    if not modulus:
        return False
    rests = [{int(rest) % modulus for rest in side["rests"].split(",")} for side in (left, right)]
    return rests[0] == rests[1]


def same_equation(gold: str, answer: str, same: Same) -> bool | None:
    left, right = split(gold, "="), split(answer, "=")
    if len(left) != 2 or "" in left + right or RELATION.search(gold + answer) or "," in gold + answer:
        return None
    if r"\text" in answer and r"\text" not in gold:  # 0\text{ out of 8} is no 0
        return None
    if len(right) == 1:
        letters = [set(re.findall(r"\\[A-Za-z]+|[A-Za-z]", text)) for text in (gold, answer)]
        unknown = next((name for name in _SOLVED_FOR if name in letters[0] - letters[1]), "")
        return evaluation.same_equation((left[0], left[1]), (unknown, answer), unknown.strip("\\")) or None
    if len(right) != 2:
        return None
    if literal(left[0]) == literal(right[0]) and same(left[1], right[1]):
        return True  # a-b=1.732 and a-b=\sqrt{3}
    return evaluation.same_equation((left[0], left[1]), (right[0], right[1]))


_INEQUALITY = re.compile(r"([<>]|\\[lg]e(?![A-Za-z]))")
_MIRRORED = {">": "<", "<": ">", r"\ge": r"\le", r"\le": r"\ge"}


def same_inequality(gold: str, answer: str, same: Same) -> bool | None:
    rows = [_INEQUALITY.split(text) for text in (gold, answer)]
    if len(rows[0]) < 3 or len(rows[0]) != len(rows[1]) or "=" in gold + answer or "," in gold + answer:
        return None
    rows = [row if row[1] in ("<", r"\le") else [_MIRRORED.get(part, part) for part in row[::-1]] for row in rows]
    (left, signs), (right, other_signs) = ((row[::2], row[1::2]) for row in rows)
    if signs != other_signs or any(not side or side.count("(") != side.count(")") for side in left + right):
        return None
    if all(same(a, b) for a, b in zip(left, right, strict=True)):
        return True
    return (len(left) == 2 and evaluation.same_equation(left, right, positive=True)) or None


def relation_or_value(gold: str, answer: str, same: Same) -> bool | None:
    left, right = set_form(gold), set_form(answer)
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        # a list is compared item by item, but one of inequalities is the union of what they hold for
        return same(left, right) if left and right and (left, right) != (gold, answer) else None
    if left is None or right is None or (left == gold and right == answer):
        return False if is_relation(gold) != is_relation(answer) else None
    if is_relation(gold) and is_relation(answer) and _symbol(gold) != _symbol(answer):
        return False
    return same(left, right)
