r"""Several values in one answer, and values with a name: lists, sets, intervals, matrices, `x=1, y=2`, `A(2,-5)`.

How they are read, and the rules on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from evals.grading import Same
from evals.grading.numbers import FUNCTION_NAMES, RELATION, has_symbols, literal, matching, number, split

_NAME = re.compile(
    r"(?:\\(?:sin|cos|tan|cot|sec|csc)\s*(?:\^\s*\{2\}\s*)?(?=[\\A-Za-z]))?"
    r"(?:\\(?:Delta|angle|triangle|overline|overrightarrow|vec|hat|bar|dot|mathbb|mathcal|max|min|text)\s*)*"
    r"(?:[A-Za-z]|\\[A-Za-z]+|[A-Z][A-Za-z]+|[A-Za-z]{4,}|\{[A-Za-z' ]+\}|\|(?:[A-Z]{2}|[a-z])\|"
    r"|\\\|(?:\\(?:vec|text)\s*)?\{?[A-Za-z]\}?\\\|)'*"
    r"(?:\s*_\s*\{?[\w, \\]+\}?|\s*\^\s*\{(?:\*\}|-1\}(?=\s*\()))*'*(?:\s*\([\w\s,\\+\-^{}=<>|]*\))?(?:\s*[A-Z])*"
)
_NO_NAME = re.compile(rf"(?!\\(?:sin|cos|tan|cot|sec|csc)(?![A-Za-z])){FUNCTION_NAMES}")
_LIMIT = re.compile(r"\\(?:lim|sum|prod|i{0,2}int|oint)(?![A-Za-z])(?:[^=<>]|\{[^{}]*\})+", re.DOTALL)
_WORD = re.compile(r"(?:\\text\s*\{)?\s*[A-Z]?[a-z]{2,}\s*\}?")  # one, of small letters
_POINT = re.compile(r"([A-Z]'?)\s*(\([^=<>]*,[^=<>]*\))")


@dataclass(frozen=True)
class Named:
    """`name = value = value`: the sides after the name that are values (in a chain, those without symbols)."""

    name: str
    values: tuple[str, ...]


def named(text: str) -> Named | None:
    """`name = value` or a chain, or the point `A(2,-5)`; else None."""
    if point := _POINT.fullmatch(text):
        return Named(point[1], (point[2],)) if matching(text, point.start(2)) == len(text) - 1 else None
    sides = split(text, "=")
    if len(sides) < 2 or "" in sides or len(split(text, ",;")) > 1:
        return None
    outside = re.sub(r"\([^()]*\)|_\{[^{}]*\}", "", text)
    if RELATION.search(outside) or r"\land" in outside:  # but P(X<1)=0.2 is one, and a limit's value
        return None
    if len(sides) == 2 and number(sides[0]) is not None and is_name(sides[1]):
        sides.reverse()  # 2 = x
    if not is_name(sides[0]):
        return None
    plain = [side for side in sides[1:] if not has_symbols(side)]
    return Named(sides[0], tuple(plain) if len(sides) > 2 and plain else (sides[-1],))


def is_name(text: str) -> bool:
    """One thing that can have a value: a symbol, a function of something, a limit, sum or integral, a segment, a word,
    or a tuple of these."""
    text = text.strip()
    if text.startswith("(") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",")) > 1:
        return all(is_name(part) for part in parts)
    if re.fullmatch(r"\\vec\{?\s*\w+\}?\s*\\cdot\s*\\vec\{?\s*\w+\}?", text.replace("overrightarrow", "vec")):
        return True  # a scalar product
    if re.fullmatch(r"[A-Z](?:\s*\\(?:cap|cup|setminus)\s*[A-Z])+", text):
        return True  # a set made of others
    if re.fullmatch(
        r"d[A-Za-z]/d[A-Za-z]|\\frac\{\s*(d|\\partial)\s*\\?[A-Za-z]+\s*\}\{\s*\1\s*\\?[A-Za-z]+\s*\}", text
    ):
        return True  # a derivative
    if ratio := re.fullmatch(r"\\frac\{\s*([^{}]+)\s*\}\{\s*([^{}]+)\s*\}", text):
        return is_name(ratio[1]) and is_name(ratio[2])
    if len(parts := split(text, ":/")) > 1:
        return all(is_name(part) for part in parts)
    text = re.sub(r"\\text\s*\{([^{}]*)\}", lambda match: re.sub(r"\W", "", match[1]) or "t", text)
    return bool(_LIMIT.fullmatch(text)) or (bool(_NAME.fullmatch(text)) and not re.match(_NO_NAME, text))


_LEIBNIZ = re.compile(r"\\frac\{d([A-Za-z])\}\{d[A-Za-z]\}|d([A-Za-z])/d[A-Za-z]")


def _plain_name(name: str) -> str:
    r"""Without what only decorates it: `\angle A` as A, `|AB|` as AB, `\frac{dy}{dx}` as y', `\frac{a}{b}` as a/b."""
    name = re.sub(r"\\text(?![A-Za-z])|\\(?:measured)?angle(?![A-Za-z])|\s", "", name)
    name = _LEIBNIZ.sub(lambda match: f"{match[1] or match[2]}'", name)
    name = re.sub(r"^\\frac\{([^{}]+)\}\{([^{}]+)\}$", r"\1/\2", name).replace(":", "/")
    return re.sub(r"^\|([A-Z]{2})\|$", r"\1", re.sub(r"[{}]", "", name))


def renamed(one: Named, other: Named) -> str | None:
    """The value of `one` in terms of the other's name, or None if the names stand for different things."""
    names = [_plain_name(form.name) for form in (one, other)]
    if names[0] == names[1]:
        return one.values[-1]
    if any(re.split(r"\(|_(?!\d)", names[side])[0] == names[1 - side] for side in (0, 1)):
        return one.values[-1]  # P(X=2)=1/4 and P=1/4, S_{ABC}=6 and S=6
    words = [_WORD.fullmatch(form.name.strip()) for form in (one, other)]
    if bool(words[0]) != bool(words[1]) and "(" not in "".join(names):
        return one.values[-1]  # Area = 5 and S = 5
    if names[0].count("'") == names[1].count("'"):
        names = [name.replace("'", "") for name in names]
    functions = [re.fullmatch(r"([A-Za-z](?:\^-1)?)\(([a-z])\)", name) for name in names]
    if any(functions) and "y" in names:
        return one.values[-1]
    if functions[0] and functions[1] and functions[0][1] == functions[1][1]:
        old, new = (rf"(?<![\\A-Za-z]){function[2]}(?![A-Za-z])" for function in functions if function)
        if re.search(new, one.values[-1]):
            return None  # f(y)=x is not f(x)=x
        return re.sub(old, functions[1][2], one.values[-1])
    return None


_MEMBER = re.compile(r"(?:[A-Za-z]|\([A-Za-z,\s]+\))\s*\\in(?![A-Za-z])\s*(\\\{.*\\\})", re.DOTALL)
UNORDERED = {"list", "set", "one", "union"}
# different kinds that may be equal
COMPARABLE = {
    frozenset(pair.split())
    for pair in (
        *("list set", "list one", "set one", "union one", "list ()", "list names", "names ()"),
        *("column ()", "column []", "row ()", "row []"),
    )
}


@dataclass(frozen=True)
class Collection:
    """Several values: kind is list, set, union, names (x=1, y=2), row, column, a matrix's shape, or two brackets.

    `names` are those of the items, for that kind, in alphabetical order, and `stated` the items in their written order;
    for a list `names` is the one name of all items, if it has one.
    """

    kind: str
    items: tuple[str, ...]
    names: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()


def collection(text: str) -> Collection | None:
    """The collection that an answer is, or None when it is one value."""
    if re.fullmatch(r"\\begin\{([pb]?matrix)\}(?:(?!\\begin).)*\\end\{\1\}", text, re.DOTALL):
        return _matrix(_rows(text))
    if r"\begin{" in text and (combined := matrix_value(text)) is not None:
        return combined
    if nested := _nested(text):
        return nested
    if member := _MEMBER.fullmatch(text):
        inside = collection(member[1])
        return inside if inside is not None and inside.kind == "set" else None
    if r"\cup" in text and len(parts := split(text.replace(r"\cup", "\0"), "\0")) > 1:
        return Collection("union", tuple(parts))
    items = split(text, ",;")
    if len(items) > 1 and not _THOUSANDS.fullmatch(text):
        return _list(items)
    if text.startswith(r"\{") and text.endswith(r"\}") and matching(text, 1) == len(text) - 1:
        return Collection("set", expanded(split(text[2:-2], ",;")))
    if text[:1] in ("(", "[") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",;")) > 1:
        if r"\pm" in text and text[0] + text[-1] == "()":
            return _list([text])
        return Collection(text[0] + text[-1], tuple(parts))
    if re.search(r"\\[pm][pm](?![A-Za-z])", text) and r"\pm" in text:
        return _list([text])
    return None


_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})*,0\d\d(?:,\d{3})*")  # no item of a list begins with 0


_MATRIX = re.compile(r"\\begin\{([pb]?matrix)\}.*?\\end\{\1\}", re.DOTALL)
_MOST_CELLS = 36
_Rows = list[list[str]]


def matrix_value(text: str) -> Collection | None:
    r"""Sums, differences and products of matrices and numbers (`2A-B`, `AB`), cell by cell; None for other texts."""
    matrices = [_rows(match[0]) for match in _MATRIX.finditer(text)]
    rest = re.sub(r"\\(?:cdot|times)(?![A-Za-z])|\*", " ", _MATRIX.sub("\0", text))
    if not matrices or rest.strip() == "\0" or "^" in rest or sum(map(len, matrices)) > _MOST_CELLS:
        return None
    total: _Rows | None = None
    for sign, term in re.findall(r"([-+]?)\s*([^-+]+)", rest):
        factors: _Rows | None = None
        factor = "-1" if sign == "-" else "1"
        for part in re.split("(\0)", term):
            if part == "\0":
                factors = matrices.pop(0) if factors is None else _product(factors, matrices.pop(0))
                if factors is None:
                    return None
            elif part.strip():
                factor += rf" \cdot ({part.strip()})"
        if factors is None or (total is not None and list(map(len, total)) != list(map(len, factors))):
            return None
        scaled = [[rf"({factor} \cdot ({cell}))" for cell in row] for row in factors]
        total = scaled if total is None else _sum(total, scaled)
    return None if total is None else _matrix(total)


def _rows(matrix: str) -> _Rows:
    inside = re.sub(r"\\(?:begin|end)\{[pb]?matrix\}", "", matrix)
    return [[cell.strip() for cell in row.split("&")] for row in re.split(r"\\\\", inside) if row.strip()]


def _product(left: _Rows, right: _Rows) -> _Rows | None:
    if any(len(row) != len(right) for row in left) or len(set(map(len, right))) != 1:
        return None
    columns = list(zip(*right, strict=True))
    return [
        ["+".join(rf"({a}) \cdot ({b})" for a, b in zip(row, column, strict=True)) for column in columns]
        for row in left
    ]


def _sum(left: _Rows, right: _Rows) -> _Rows:
    return [[f"{a}+{b}" for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def _matrix(rows: _Rows) -> Collection:
    widths = [len(row) for row in rows]
    kind = "row" if len(rows) == 1 else "column" if set(widths) == {1} else f"matrix {widths}"
    return Collection(kind, tuple(cell for row in rows for cell in row))


def has_names(text: str) -> bool:
    """Whether an answer is of the form `x=1, y=2`."""
    items = collection(text) if "=" in text else None
    return items is not None and items.kind == "names"


def one_by_one(form: Named) -> str | None:
    """`(a,b)=(3,5)` as `a=3, b=5`; None where the name is no tuple, or the value not one of as many."""
    sides = [collection(side.strip()) for side in (form.name, form.values[-1])]
    if any(side is None or side.kind != "()" for side in sides):
        return None
    parts = [side.items for side in sides if side is not None]
    if len(parts[0]) != len(parts[1]):
        return None
    return ", ".join(f"{name}={value}" for name, value in zip(*parts, strict=True))


def _nested(text: str) -> Collection | None:
    """`[[1,2],[3,4]]` as a matrix."""
    if not (text.startswith("[[") and text.endswith("]]") and matching(text, 0) == len(text) - 1):
        return None
    cells = [split(row.strip()[1:-1], ",") for row in split(text[1:-1], ",")]
    return Collection(f"matrix {[len(row) for row in cells]}", tuple(cell for row in cells for cell in row))


def _list(items: Sequence[str]) -> Collection:
    """A bare list. Different names (x=1, y=2) define its order; a repeated name defines none."""
    forms = [named(item) for item in items]
    names = [literal(form.name) for form in forms if form is not None]
    if len(names) == len(items):
        values = tuple(form.values[-1] for form in forms if form is not None)
        if len({re.sub(r"_.*", "", name) for name in names}) == 1:
            return Collection("list", expanded(values), (re.sub(r"_.*", "", names[0]),))
        period = names.index(names[0], 1) if names[0] in names[1:] else len(names)
        if 1 < period < len(names) and names == names[:period] * (len(names) // period):
            return _list_of_tuples(names[:period], values)  # x=1, y=2, x=3, y=4
        if len(set(names)) == len(names):
            ordered = sorted(zip((name.lstrip("\\") for name in names), values, strict=True))
            return Collection("names", tuple(value for _, value in ordered), tuple(name for name, _ in ordered), values)
    if forms[0] is not None and not any("=" in item for item in items[1:]):  # x = 1, 2, 3
        return Collection("list", expanded([forms[0].values[-1], *items[1:]]), (names[0],))
    return Collection("list", expanded(items))


def _list_of_tuples(names: Sequence[str], values: Sequence[str]) -> Collection:
    """Solutions that are given one after the other, each as a tuple in the alphabetical order of the names."""
    order = sorted(range(len(names)), key=lambda index: names[index].lstrip("\\"))
    rows = [values[start : start + len(names)] for start in range(0, len(values), len(names))]
    return Collection("list", tuple(f"({','.join(row[index] for index in order)})" for row in rows))


_MOST_SIGNS, _MOST_TERMS = 4, 1000


def _without_dots(items: Sequence[str]) -> Sequence[str]:
    r"""`1,2,\ldots,10` in full, and `1,2,3,\ldots,n` with two terms, where the terms have equal distances."""
    dots = [index for index, item in enumerate(items) if item == r"\ldots"]
    if len(dots) != 1 or not 1 < dots[0] == len(items) - 2:
        return items
    terms = [number(item) for item in items]
    first, *others = [term.value for term in terms[: dots[0]] if term]
    steps = {b - a for a, b in pairwise([first, *others])}
    if len(others) != dots[0] - 1 or len(steps) != 1 or not (step := steps.pop()):
        return items
    if (last := terms[-1]) is None:
        return [*items[:2], *items[-2:]]
    count = (last.value - first) / step
    whole = count.denominator == 1 and dots[0] <= count < _MOST_TERMS
    return [str(first + step * index) for index in range(int(count) + 1)] if whole else items


def expanded(items: Sequence[str]) -> tuple[str, ...]:
    r"""`a \pm b` as its two values."""
    values: list[str] = []
    for item in _without_dots(items):
        if r"\pm" in item and item[:1] == "(" and 1 < len(parts := split(item[1:-1], ",")) <= _MOST_SIGNS:
            choices = [expanded([part]) if r"\mp" not in item else (part,) for part in parts]
            values += [f"({','.join(chosen)})" for chosen in product(*choices)]  # each sign on its own
        elif r"\pm" in item:
            values += [item.replace(r"\pm", "+").replace(r"\mp", "-"), item.replace(r"\pm", "-").replace(r"\mp", "+")]
        elif item:
            values.append(item)
    return tuple(re.sub(r"^\s*\+\s*", "", item) for item in values)


def same_collection(gold: str, answer: str, same: Same) -> bool | None:
    r"""Lists, sets, tuples, intervals, matrices, unions, `a \pm b`.

    Bare lists and sets are unordered. A value that an answer repeats counts once where the gold has several different
    ones and repeats none (`5,5` is not 5, and `16,3,1` is not `16,3,1,1`). Tuples, intervals and vectors are ordered
    and keep their brackets; a tuple may be given without them, in order; a set is not a tuple.
    """
    left, right = collection(gold), collection(answer)
    if left is None and right is None:
        return None
    if left is None and right is not None and right.kind == "list" and len(right.items) > 1:
        # the same value written in different ways (`\\frac{3}{4}, 0.75`) is that value; `5, 5` is not 5
        return len(set(map(literal, right.items))) == len(right.items) and all(same(gold, x) for x in right.items)
    left, right = _binomial_column(gold, left, right), _binomial_column(answer, right, left)
    if left and right and left.kind == "union" and right.kind == "list" and _INTERVAL.search(answer):
        right = replace(right, kind="union")  # x<-1 or x>2, as intervals
    if any(side and side.kind == "()" and number(text) for side, text in ((left, answer), (right, gold))):
        return False  # (1,234) is not 1,234
    left, right = left or Collection("one", (gold,)), right or Collection("one", (answer,))
    if left.kind == "names" and right.kind == "[]":  # x=2, y=1 is no interval
        right = replace(right, kind="()")
    if len(left.items) > 2 < len(right.items):  # an interval has two ends
        right = _in_order(left, right)
        left, right = _in_plain_brackets(left, right), _in_plain_brackets(right, left)
    if (verdict := _same_in_braces((left, gold), (right, answer), same)) is not None:
        return verdict
    if left.kind in UNORDERED and right.kind in UNORDERED and len(left.items) > 1:
        right = right if _without_repeats(left) != left else _without_repeats(right)
    if len(left.items) != len(right.items) or _other_names(left, right):
        return False
    if not (left.kind == right.kind or frozenset((left.kind, right.kind)) in COMPARABLE):
        return False
    if {left.kind, right.kind} <= UNORDERED:
        return _same_unordered(left.items, right.items, same)
    # x=-5, p=2 stands for (-5,2), in the order stated, or for (2,-5), in the alphabetical order of symbols
    orders = [(left.items, right.items)]
    if (left.kind == "names") != (right.kind == "names"):
        if any(re.fullmatch(r"[A-Za-z]{3,}", name) for name in (*left.names, *right.names)):
            orders = []  # words have no such order
        orders.append((left.stated or left.items, right.stated or right.items))
    return any(all(same(a, b) for a, b in zip(*order, strict=True)) for order in orders)


_INTERVAL = re.compile(r"\\infty|\[|\]")
_BINOMIAL = re.compile(r"\\binom\{([^{}]*)\}\{([^{}]*)\}")


def _binomial_column(text: str, one: Collection | None, other: Collection | None) -> Collection | None:
    r"""`\binom{-2}{7}` beside a column is one too."""
    column = _BINOMIAL.fullmatch(text) if one is None and other is not None and other.kind == "column" else None
    return Collection("column", (column[1], column[2])) if column else one


def _in_plain_brackets(one: Collection, other: Collection) -> Collection:
    """`[3,5,7]` as the list or the tuple that the other is, or as values of its names."""
    return replace(one, kind=other.kind) if one.kind == "[]" and other.kind in ("list", "()") else one


def _in_order(gold: Collection, answer: Collection) -> Collection:
    """The list `3,2,1` beside a gold in brackets, whose order counts."""
    return replace(answer, kind="[]") if gold.kind == "[]" and answer.kind == "list" else answer


def _same_in_braces(gold: tuple[Collection, str], answer: tuple[Collection, str], same: Same) -> bool | None:
    r"""`\{5\}` is 5 and `\{(1,2)\}` is (1,2); but a set that holds a set is not that set."""
    sides = (gold, answer)
    sets = [items.kind == "set" for items, _ in sides]
    alone = [items.kind == "set" and len(items.items) == 1 for items, _ in sides]
    if not any(alone) or (all(sets) and not all(alone)):
        return None
    inside = [items.items[0] if one else text for (items, text), one in zip(sides, alone, strict=True)]
    held = [item.startswith((r"\{", r"\emptyset")) for item in inside]
    return (held[0] == held[1] if all(sets) else not any(held)) and same(*inside)


def _without_repeats(collection: Collection) -> Collection:
    return replace(collection, items=tuple({literal(item): item for item in collection.items}.values()))


def _other_names(left: Collection, right: Collection) -> bool:
    """Whether both have names, and different ones; f(x) and y may be the same thing."""
    if not (left.names and right.names and left.kind == right.kind):
        return False
    return left.names != right.names and not any("(" in name for name in (*left.names, *right.names))


def _same_unordered(left: Sequence[str], right: Sequence[str], same: Same) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if same(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining
