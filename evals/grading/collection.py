r"""Several values in one answer, and values with a name: lists, sets, intervals, matrices, `x=1, y=2`, `A(2,-5)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from evals.grading import Same
from evals.grading.numbers import RELATION, has_symbols, literal, matching, number, split, without_separators

_NAME = re.compile(
    r"(?:\\(?:sin|cos|tan|cot|sec|csc)\s*(?:\^\s*\{2\}\s*)?(?=[\\A-Za-z]))?"
    r"(?:\\(?:Delta|angle|triangle|overline|overrightarrow|vec|hat|bar|dot|mathbb|mathcal|max|min|text)\s*)*"
    r"(?:[A-Za-z]|\\[A-Za-z]+|[A-Z][A-Za-z]+|[A-Za-z]{4,}|\{[A-Za-z' ]+\}|\|[A-Za-z\\_{}\d\s]+\||\\?\#\s*[A-Z]"
    r"|\\\|(?:\\(?:vec|text)\s*)?\{?[A-Za-z]\}?\\\|)'*"
    r"(?:\s*_\s*\{?[\w, \\]+\}?|\s*\^\s*\{(?:\*\}|-1\}(?=\s*\()))*'*"
    r"(?:\s*[(\[][\w\s,\\+\-^{}=<>|/.]*[)\]])?(?:\s*[A-Z])*"
)
_NO_NAME = re.compile(
    r"\\(?:frac|sqrt|pi|cdot|times|div|bmod|pm|mp|infty|circ|binom|log|ln|exp|arcsin|arccos|arctan|sinh|cosh|tanh|coth"
    r"|sech|csch)(?![A-Za-z])"
)
_OPERATION = re.compile(  # one that the problem defines
    r"[\w().]+\s*\\(?:star|ast|oplus|otimes|ominus|odot|diamond|bigstar|heartsuit|clubsuit|spadesuit|square|bullet"
    r"|triangle|nabla|dagger)(?![A-Za-z])\s*[\w().]+"
)
_LIMIT = re.compile(r"\\(?:lim|sum|prod|i{0,2}int|oint)(?![A-Za-z])(?:[^=<>]|\{[^{}]*\})+", re.DOTALL)
_DERIVATIVE = re.compile(r"d[A-Za-z]/d[A-Za-z]|\\frac\{\s*(d|\\partial)\s*\\?[A-Za-z]+\s*\}\{\s*\1\s*\\?[A-Za-z]+\s*\}")


@dataclass(frozen=True)
class Named:
    """`name = value = value`: the sides after the name that are values (in a chain, those without symbols)."""

    name: str
    values: tuple[str, ...]


def named(text: str) -> Named | None:
    """`name = value` or a chain, else None."""
    sides = split(text, "=")
    if len(sides) < 2 or "" in sides or re.search(r"\bfor\b", "".join(sides[1:-1])) or len(split(text, ",;")) > 1:
        return None
    outside = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|_\{[^{}]*\}", "", text)
    if RELATION.search(outside) or r"\land" in outside:  # but P(X<1)=0.2 is one, and a limit's value
        return None
    if not is_name(sides[0]):
        return None
    constants = [side for side in sides[1:] if not has_symbols(side)]
    return Named(sides[0], tuple(constants) if len(sides) > 2 and constants else (sides[-1],))


def is_name(text: str) -> bool:
    """One thing that can have a value: a symbol, a function of something, a limit, sum or integral, a segment, a word,
    or a tuple or ratio of these."""
    text = text.strip()
    if text.startswith("(") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",")) > 1:
        return all(map(is_name, parts))
    if _DERIVATIVE.fullmatch(text):
        return True
    if ratio := re.fullmatch(r"\\frac\{\s*([^{}]+)\s*\}\{\s*([^{}]+)\s*\}", text):
        return is_name(ratio[1]) and (is_name(ratio[2]) or ratio[2].strip() == r"\pi")
    if _OPERATION.fullmatch(text):
        return True
    if len(parts := split(text, ":/")) > 1:
        return all(map(is_name, parts))
    text = re.sub(r"\\text\s*\{([^{}]*)\}", lambda match: re.sub(r"\W", "", match[1]) or "t", text)
    return bool(_LIMIT.fullmatch(text)) or (bool(_NAME.fullmatch(text)) and not _NO_NAME.match(text))


def _plain_name(name: str) -> str:
    r"""Without what only decorates it: `\angle A` as A, `|AB|` as AB, `\frac{a}{b}` as a/b."""
    name = re.sub(r"\\text(?![A-Za-z])|\\(?:measured)?angle(?![A-Za-z])|\s", "", name)
    name = re.sub(r"^\\frac\{([^{}]+)\}\{([^{}]+)\}$", r"\1/\2", name).replace(":", "/")
    return re.sub(r"^\|([A-Z]{2})\|$", r"\1", re.sub(r"[{}]", "", name))


def renamed(form: Named, target: Named) -> str | None:
    """A value in terms of the other's name, or None if the names stand for different things."""
    names = [_plain_name(side.name) for side in (form, target)]
    heads = [re.split(r"[(\[]|_(?!\d)", name)[0] for name in names]
    if names[0] == names[1] or heads[0] == names[1] or names[0] == heads[1]:
        return form.values[-1]  # P(X=2)=1/4 and P=1/4, S_{ABC}=6 and S=6
    derivatives = [re.sub(r"^d([a-z])/d[a-z]$", r"\1'", name) for name in names]
    if derivatives[0] == derivatives[1] and derivatives[0] in names:
        return form.values[-1]  # dy/dx and y'
    functions = [re.fullmatch(r"([A-Za-z](?:\^-1)?)\(([a-z])\)", name) for name in names]
    if any(functions) and "y" in names:
        return form.values[-1]
    if functions[0] and functions[1] and functions[0][1] == functions[1][1]:
        old, new = (rf"(?<![\\A-Za-z]){function[2]}(?![A-Za-z])" for function in functions if function)
        # f(y)=x is not f(x)=x
        return None if re.search(new, form.values[-1]) else re.sub(old, functions[1][2], form.values[-1])
    return None


_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})*,0\d\d(?:,\d{3})*")  # no item of a list begins with 0
_UNORDERED = {"list", "set", "one", "union"}
_COMPARABLE = [  # different kinds that may be equal
    *({"list", "set"}, {"list", "one"}, {"set", "one"}, {"union", "one"}, {"list", "()"}, {"list", "names"}),
    *({"names", "()"}, {"column", "()"}, {"column", "[]"}, {"row", "()"}, {"row", "[]"}),
]


@dataclass(frozen=True)
class Collection:
    """Several values: kind is list, set, union, names (x=1, y=2), row, column, a matrix's shape, or two brackets.

    `names` are those of the items, for that kind, in alphabetical order, and `stated` the items in their written order.
    For a list `names` is the one name of all items, if it has one.
    """

    kind: str
    items: tuple[str, ...]
    names: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()


_MATRIX = re.compile(
    r"(?P<before>(?:-|[-+]?[^-+=,;&]*?)\s*)(?:\\cdot\s*)?\\begin\{(?P<kind>[pb]?matrix)\}(?P<rows>(?:(?!\\begin).)*)\\end\{(?P=kind)\}"
    r"(?:\s*(?:\\cdot|\\times)\s*(?P<after>[^-+=,;&\\]*|\\frac\{\d+\}\{\d+\}))?\s*",
    re.DOTALL,
)


def collection(text: str) -> Collection | None:
    """The collection that an answer is, or None when it is one value."""
    if matrix := _MATRIX.fullmatch(text):
        return _written_matrix(matrix)
    if r"\cup" in text and len(parts := split(text.replace(r"\cup", "\0"), "\0")) > 1:
        return Collection("union", tuple(parts))
    if named_values := _named_tuple(text):
        return _list(named_values)
    items = split(text, ",;")
    if len(items) > 1 and not _THOUSANDS.fullmatch(text):
        return _list(items)
    if text.strip() == r"\emptyset":
        return Collection("set", ())
    if text.startswith(r"\{") and text.endswith(r"\}") and matching(text, 1) == len(text) - 1:
        return Collection("set", expanded(split(text[2:-2], ",;")))
    if text[:1] in ("(", "[") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",;")) > 1:
        if r"\pm" in text and text[0] + text[-1] == "()":
            return _list([text])
        return Collection(
            "()" if len(parts) > 2 and text[0] + text[-1] in ("()", "[]") else text[0] + text[-1], tuple(parts)
        )
    return _list([text]) if re.search(r"\\pm(?![A-Za-z])", text) else None


def _written_matrix(match: re.Match[str]) -> Collection | None:
    """The matrix, with the factor before or after it, or None with both."""
    before, after = match["before"].strip(), match["after"]
    if before and after:
        return None
    rows = [row.split("&") for row in re.split(r"\\\\(?:\s*\[[\d.]+\s*[a-z]{2}\])?", match["rows"]) if row.strip()]
    return _matrix(rows, "-1" if before == "-" else before or after or "")


def _named_tuple(text: str) -> list[str]:
    """`(x,y)=(1,2)` as x=1 and y=2. [] of other text."""
    sides = split(text, "=")
    if len(sides) != 2 or not all(side[:1] == "(" and matching(side, 0) == len(side) - 1 for side in sides):
        return []
    names, values = (split(side[1:-1], ",;") for side in sides)
    if not len(names) == len(values) > 1 or not all(map(is_name, names)):
        return []
    return [f"{name}={value}" for name, value in zip(names, values, strict=True)]


def _matrix(rows: Sequence[Sequence[str]], factor: str = "") -> Collection:
    """With a factor that stands beside it in every entry."""
    if factor:
        rows = [[rf"({factor})\cdot({cell.strip()})" for cell in row] for row in rows]
    widths = [len(row) for row in rows]
    kind = "row" if len(rows) == 1 else "column" if set(widths) == {1} else f"matrix {widths}"
    return Collection(kind, tuple(cell.strip() for row in rows for cell in row))


def _list(items: Sequence[str]) -> Collection:
    """A bare list. Different names (x=1, y=2) define its order. A repeated name defines none."""
    forms = [named(item) for item in items]
    names = [literal(form.name) for form in forms if form is not None]
    if len(names) == len(items):
        values = tuple(form.values[-1] for form in forms if form is not None)
        if len({re.sub(r"_.*", "", name) for name in names}) == 1:
            return Collection("list", expanded(values), (re.sub(r"_.*", "", names[0]),))
        if len(set(names)) == len(names):
            ordered = sorted(zip((name.lstrip("\\") for name in names), values, strict=True))
            return Collection("names", tuple(value for _, value in ordered), tuple(name for name, _ in ordered), values)
    if forms[0] is not None and not any("=" in item for item in items[1:]):  # x = 1, 2, 3
        return Collection("list", expanded([forms[0].values[-1], *items[1:]]), (names[0],))
    return Collection("list", expanded(items))


def expanded(items: Sequence[str]) -> tuple[str, ...]:
    r"""`a \pm b` as its two values."""
    values: list[str] = []
    for item in items:
        if r"\pm" in item and item[:1] == "(" and 1 < len(parts := split(item[1:-1], ",")) <= 4:  # 16 tuples at most
            choices = [expanded([part]) if r"\mp" not in item else (part,) for part in parts]
            values += [f"({','.join(chosen)})" for chosen in product(*choices)]  # each sign on its own
        elif r"\pm" in item:
            values += [item.replace(r"\pm", "+").replace(r"\mp", "-"), item.replace(r"\pm", "-").replace(r"\mp", "+")]
        elif item:
            values.append(item)
    return tuple(re.sub(r"^\s*\+\s*", "", item) for item in values)


_POINT = re.compile(r"[A-Z]\s*(?=\([^()]*,[^()]*\)$)")  # P(2,-3)


def same_collection(gold: str, answer: str, same: Same) -> bool | None:
    gold, answer = _bare_points(gold, answer)
    left, right = collection(gold), collection(answer)
    if left is None and right is None:
        return None
    for bare, listed, text in ((left, right, answer), (right, left, gold)):
        if bare is None and listed is not None and (whole := without_separators(text)) != text and "," in text:
            return same(gold, whole) if text is answer else same(whole, answer)  # 479,001,600 for 12!
    if left is None and right is not None and right.kind == "list" and len(right.items) > 1:
        return _all_are(right.items, gold, same)
    if any(side and side.kind == "()" and number(text) for side, text in ((left, answer), (right, gold))):
        return False  # (1,234) is not 1,234
    return _same_items(left or Collection("one", (gold,)), right or Collection("one", (answer,)), same)


def _all_are(items: Sequence[str], gold: str, same: Same) -> bool:
    r"""The same value written in different ways (`\frac{3}{4}, 0.75`) is that value. `5, 5` is not 5."""
    return len(set(map(literal, items))) == len(items) and all(same(gold, item) for item in items)


def _bare_points(gold: str, answer: str) -> tuple[str, str]:
    """Both without the name of a point that one side has: O(1,3) is the point (1,3), but no list 1,3."""
    if bool(_POINT.match(gold)) == bool(_POINT.match(answer)) or not (_POINT.match(gold) or gold.startswith("(")):
        return gold, answer
    return _POINT.sub("", gold), _POINT.sub("", answer)


def _same_items(left: Collection, right: Collection, same: Same) -> bool:
    if "set" in (left.kind, right.kind) and _in_brackets(left.items) != _in_brackets(right.items):
        return False
    unordered = {left.kind, right.kind} <= _UNORDERED
    if unordered and len(left.items) > 1 and len(_distinct(left.items)) == len(left.items):
        right = replace(right, items=_distinct(right.items))
    if len(left.items) != len(right.items) or _other_names(left, right):
        return False
    if left.kind != right.kind and {left.kind, right.kind} not in _COMPARABLE:
        return False
    if unordered:
        return _same_unordered(left.items, right.items, same)
    # x=-5, p=2 stands for (-5,2), in the order stated, or for (2,-5), in the alphabetical order of symbols
    orders = [(left.items, right.items)]
    if (left.kind == "names") != (right.kind == "names"):
        orders.append((left.stated or left.items, right.stated or right.items))
    return any(all(_same_item(a, b, same) for a, b in zip(*order, strict=True)) for order in orders)


def _is_set(item: str) -> bool:
    return item.startswith((r"\{", r"\emptyset"))


def _in_brackets(items: Sequence[str]) -> bool:
    """`(1),(2)`: parts or references, and no numbers."""
    return len(items) > 1 and all(re.fullmatch(r"\(\s*\d+\s*\)", item) for item in items)


def _same_item(left: str, right: str, same: Same) -> bool:
    r"""A set inside a collection is met by a set only: `\{1\},\{2\}` is not `1,2`."""
    return _is_set(left) == _is_set(right) and same(left, right)


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    return tuple({literal(item): item for item in items}.values())


def _other_names(left: Collection, right: Collection) -> bool:
    """Whether both have names, and different ones. f(x) and y may be the same thing."""
    if not (left.names and right.names) or left.names == right.names:
        return False
    names = {*left.names, *right.names}
    return not ("y" in names and all(name == "y" or re.fullmatch(r"[A-Za-z]\([a-z]\)", name) for name in names))


def _same_unordered(left: Sequence[str], right: Sequence[str], same: Same) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, candidate in enumerate(remaining) if _same_item(item, candidate, same)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
