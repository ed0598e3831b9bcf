r"""Is an answer equal to the gold? `equal` says so, by rules tried in order; the last word is math-verify's.

Each rule is a function of two cleaned answers that answers True or False, or None when it does not apply. The rules
exist where math-verify alone is wrong (it reads `8.7e8` as 8.7e*8, accepts `4=5` for 5, and `5 m` for `5 cm`); each is
about a form of answer. Where a form is in doubt they refuse: a wrong acceptance can be exploited as a reward.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evals.latex import clean, literal, matching, split
from evals.numbers import number, rounds_to, same_number
from evals.units import DEGREE, PERCENT, quantity

LONGEST, DEEPEST = 10_000, 100


class UnscorableError(Exception):
    """The answer is too large to be read safely; the text says in which way."""


def equal(gold: str, answer: str) -> bool:
    """Whether an answer equals the gold.

    May hang or exhaust memory on a hostile answer: call it through `evals.grading.Grader`, which runs it in a process
    that can be killed, unless `quick` already knows.

    Raises:
        UnscorableError: one of them is too long or too deeply nested.
    """
    known = quick(gold, answer)
    return compare(clean(gold), clean(answer)) if known is None else known


def quick(gold: str, answer: str) -> bool | None:
    """The verdict on literally equal answers and on two plain numbers, in microseconds; None when that is not enough.

    Raises:
        UnscorableError: as `equal`.
    """
    if gold.strip() and gold == answer:
        return True
    for text in (gold, answer):
        if len(text) > LONGEST:
            raise UnscorableError(f"size: {len(text)} characters, more than {LONGEST}")
        if _depth(text) > DEEPEST:
            raise UnscorableError(f"size: nested deeper than {DEEPEST}")
    left, right = clean(gold), clean(answer)
    if not left or not right:
        return False
    verdict = same_literal(left, right)
    return verdict if verdict is not None else same_plain_number(left, right)


def compare(gold: str, answer: str) -> bool:
    """The verdict on two cleaned answers by the first rule that applies, else math-verify's."""
    for rule in RULES:
        verdict = rule(gold, answer)
        if verdict is not None:
            return verdict
    from evals.symbolic import same_expression

    return same_expression(gold, answer)


# ---- rules on the form of the whole --------------------------------------------------------------------------------


def same_literal(gold: str, answer: str) -> bool | None:
    """The same signs, spaces aside."""
    return True if literal(gold) == literal(answer) else None


def same_plain_number(gold: str, answer: str) -> bool | None:
    """Two plain numbers: equal exactly, or one the other's rounding. `1,234` may also be a list, so it cannot refuse."""
    left, right = number(gold), number(answer)
    if left is None or right is None:
        return None
    return same_number(left, right) or (None if "," in gold + answer else False)


def malformed(gold: str, answer: str) -> bool | None:
    r"""Refuse doubled signs (`--5`), unmatched braces, digits side by side (`5 5`), primed (`5'`) or left open (`5\ldots`)."""
    if not _balanced(answer):
        return False
    if r"\ldots" in answer and r"\ldots" not in gold:
        return False
    bad = re.search(r"\d'|[-+]\s*[-+]|\\pm\s*\\pm|[-+]\s*$|(?<![A-Za-z}\d])\d+\s+\d+(?!\s*[/\\\d])", answer)
    return False if bad and not re.search(r"matrix|\\text|[A-Za-z]{3}", answer) else None


def same_numeral_in_base(gold: str, answer: str) -> bool | None:
    r"""`4210_7` as gold is met by 4210, whose base the question tells; `5_8` as an answer is not 5, nor any value."""
    form = re.compile(r"(\d[\dA-F]*)\s*_\s*\{(?:[^{}]|\{[^{}]*\})*\}")
    if form.fullmatch(answer):
        return False  # the same digits in the same base are literally equal
    match = form.fullmatch(gold)
    return literal(answer) == match[1] if match else None


def same_choice(gold: str, answer: str) -> bool | None:
    r"""`C`, `(C)`, `\text{(C)}` and `C. x = 42` name the same choice."""
    left, right = _choice(gold), _choice(answer)
    if left is None or right is None or not (left[1] or right[1]):
        return None
    return left[0] == right[0]


def same_words(gold: str, answer: str) -> bool | None:
    r"""`\text{odd}`, `Odd`, `the odd`: words are compared as words, and a word is never an expression."""
    left, right = _words(gold), _words(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        spelled = (_NUMBER_WORDS.get(left or ""), _NUMBER_WORDS.get(right or ""))
        if left in _NUMBER_WORDS or right in _NUMBER_WORDS:
            return compare(spelled[0] or gold, spelled[1] or answer)
        plain = _plain(gold if left is None else answer)
        return plain == (left or right) if plain else False
    return left == right


def without_condition(gold: str, answer: str) -> bool | None:
    r"""`f(x)=x \text{ for all } x`: what follows "for", "where", "if" is dropped when only one of them says it."""
    left, right = _CONDITION.sub("", gold), _CONDITION.sub("", answer)
    return compare(left, right) if left and right and (left == gold) != (right == answer) else None


def approximation(gold: str, answer: str) -> bool | None:
    r"""`\sqrt{2} \approx 1.41`: either side may be meant when the two agree to one per cent; `x \approx 11` is 11."""
    if r"\approx" not in gold + answer:
        return None
    return any(compare(left, right) for left in _approximated(gold) for right in _approximated(answer))


# ---- rules on equations and relations ------------------------------------------------------------------------------


def named_value(gold: str, answer: str) -> bool | None:
    r"""`x=5`, `f(x)=2x`, `(p,q)=(3,2)`, `|AB|=1` against the value alone, or the same name.

    Every number in a chain must be the gold (`x=2+3=5`, but neither `4=5` nor `1=2=5`). Two different names are two
    different answers, except that `y` may be called `f(x)` and `f(x)` `f(t)`.
    """
    left, right = _named(gold), _named(answer)
    if left is None and right is None:
        return None
    if left is None or right is None:
        named, other = (left, answer) if left else (right, gold)
        assert named is not None
        if _relations(other):
            return None
        return all(compare(side, answer) if left else compare(gold, side) for side in named.values)
    value = _renamed(right, left)
    return value is not None and compare(left.values[-1], value)


def numeric_chain(gold: str, answer: str) -> bool | None:
    """`2+3=5` is 5 when every side is; `4=5` is nothing."""
    sides = split(answer, "=")
    if (
        len(sides) < 2
        or len(split(answer, ",;")) > 1
        or _relations(gold)
        or any(re.search(r"[<>]|\\(?:le|ge|neq|in)(?![A-Za-z])", s) for s in sides)
    ):
        return None
    return all(not _symbols(side) and compare(gold, side) for side in sides)


def value_of_expression(gold: str, answer: str) -> bool | None:
    r"""`a+b=5`, `x^2+y^2=5` against 5: what several symbols come to. With one symbol (`x^2=5`) it is an unsolved equation."""
    sides = split(answer, "=")
    if len(sides) != 2 or _relations(gold) or _RELATION.search(answer) or len(split(answer, ",;")) > 1:
        return None
    letters = set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", sides[0])))
    return compare(gold, sides[1]) if len(letters) > 1 else None


def relation_or_value(gold: str, answer: str) -> bool | None:
    r"""`\neq 5`, `\ge 5` and `x>5` are not 5; an inequality may be an interval (`-1<x\le 2`, `x \in (-1, 2]`, `\{x|...\}`)."""
    if len(split(gold, ",;")) > 1 or len(split(answer, ",;")) > 1:
        return None  # lists are compared item by item
    left, right = _set_form(gold), _set_form(answer)
    if left is None or right is None or (left == gold and right == answer):
        return False if bool(_relations(gold)) != bool(_relations(answer)) else None
    if _relations(gold) and _relations(answer) and _variable(gold) != _variable(answer):
        return False
    return compare(left, right)


# ---- rules on several values ---------------------------------------------------------------------------------------


def same_collection(gold: str, answer: str) -> bool | None:
    r"""Lists, sets, tuples, intervals, matrices, unions, `a \pm b`.

    Bare lists and sets are unordered; a value that is written twice counts once where the gold has several different
    ones (`5,5` is not 5). Tuples, intervals and vectors are ordered and keep their brackets; a tuple may be given
    without them, in order; a set is not a tuple.
    """
    left, right = _collection(gold), _collection(answer)
    if left is None and right is None:
        return None
    left, right = left or Collection("one", (gold,)), right or Collection("one", (answer,))
    if left.kind in _UNORDERED and right.kind in _UNORDERED and len(left.items) > 1:
        right = Collection(right.kind, tuple({literal(item): item for item in right.items}.values()))
        left = Collection(left.kind, tuple({literal(item): item for item in left.items}.values()))
    if len(left.items) != len(right.items):
        return False
    if not (left.kind == right.kind or frozenset((left.kind, right.kind)) in _COMPARABLE):
        return False
    if {left.kind, right.kind} <= _UNORDERED:
        return _same_unordered(left.items, right.items)
    return all(compare(a, b) for a, b in zip(left.items, right.items, strict=True))


def same_ratio(gold: str, answer: str) -> bool | None:
    """`1:2`, `12:00`: part by part; a ratio of two is also their quotient."""
    left, right = split(gold, ":"), split(answer, ":")
    if len(left) < 2 and len(right) < 2:
        return None
    if {len(left), len(right)} == {1, 2}:
        return compare(
            *(parts[0] if len(parts) == 1 else rf"\frac{{{parts[0]}}}{{{parts[1]}}}" for parts in (left, right))
        )
    return len(left) == len(right) and all(
        a != "" and b != "" and compare(a, b) for a, b in zip(left, right, strict=True)
    )


# ---- rules on quantities -------------------------------------------------------------------------------------------


def same_quantity(gold: str, answer: str) -> bool | None:
    r"""The number decides when a unit is missing or unknown; two known units must be the same (`5 cm` is not `5 m`).

    `28\%` is 28 and 0.28; `135^\circ` is 135 and 3\pi/4.
    """
    left, right = quantity(gold), quantity(answer)
    if left is None and right is None:
        return None
    bodies = (left.body if left else gold, right.body if right else answer)
    units = [q.unit for q in (left, right) if q and q.unit]
    if len(units) == 2:
        return units[0] == units[1] and compare(*bodies)
    if compare(*bodies):
        return True
    for unit, factor in ((PERCENT, r"\frac{{{}}}{{100}}"), (DEGREE, r"\frac{{({})\pi}}{{180}}")):
        if units == [((unit, 1),)]:
            scaled = [
                factor.format(q.body) if q and q.unit else body for q, body in zip((left, right), bodies, strict=True)
            ]
            return compare(*scaled)
    return False


def degrees_inside(gold: str, answer: str) -> bool | None:
    r"""`\sin(90^\circ-x)`: a degree inside an expression is \pi/180."""
    if r"^{\circ}" not in gold + answer:
        return None
    return compare(*(text.replace(r"^{\circ}", r"\cdot\frac{\pi}{180}") for text in (gold, answer)))


def mixed_number(gold: str, answer: str) -> bool | None:
    r"""`1\frac{1}{2}` is one and a half; math-verify multiplies."""
    form = re.compile(r"(?<![\w}^_.{])(\d+)\s*\\frac\{(\d+)\}\{(\d+)\}(?![\w{^!])")
    left, right = (form.sub(r"(\1+\\frac{\2}{\3})", text) for text in (gold, answer))
    return compare(left, right) if (left, right) != (gold, answer) else None


def rounded_value(gold: str, answer: str) -> bool | None:
    r"""`2\sqrt{13}` against `7.2111`: a decimal that rounds the exact value, with enough digits."""
    for short, exact in ((number(answer), gold), (number(gold), answer)):
        if short is not None and short.last is not None and number(exact) is None and not _symbols(exact):
            from evals.symbolic import value

            found = value(exact)
            return found is not None and (
                found == short.value or rounds_to(found, short) or abs(found - short.value) <= abs(found) / 10**12
            )
    return None


RULES: tuple[Callable[[str, str], bool | None], ...] = (
    same_literal,
    same_plain_number,
    malformed,
    same_numeral_in_base,
    same_choice,
    same_words,
    without_condition,
    approximation,
    named_value,
    value_of_expression,
    numeric_chain,
    relation_or_value,
    same_quantity,
    same_collection,
    same_ratio,
    degrees_inside,
    mixed_number,
    rounded_value,
)

# ---- reading forms -------------------------------------------------------------------------------------------------

_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen twenty".split()
    )
}
_CONDITION = re.compile(
    r"[\s,]*\\?(?:\\text\s*\{\s*)?[\s,]*\b(?:for (?:some|all|any|every|each)|where|if|when|with)\b.*$", re.DOTALL
)
_RELATION = re.compile(r"[<>]|\\(?:le|ge|neq|in|subset|equiv)(?![A-Za-z])")
_FUNCTION_NAMES = r"\\(?:frac|sqrt|pi|cdot|times|div|pm|mp|infty|sin|cos|tan|cot|sec|csc|log|ln|exp|arcsin|arccos|arctan|circ|binom)(?![A-Za-z])"
_NAME = re.compile(
    r"(?:\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar|dot|mathbb|mathcal|max|min|text)\s*)*"
    r"(?:[A-Za-z]|\\[A-Za-z]+|[A-Z][A-Za-z]+|[A-Za-z]{4,}|\{[A-Za-z' ]+\}|\|[A-Z]{2}\|)'*"
    r"(?:\s*_\s*\{?[\w, ]+\}?|\s*\^\s*\{\*\})*'*(?:\s*\([\w\s,\\+\-^{}=<>|]*\))?(?:\s*[A-Z]+)*"
)
_COMPARABLE = {
    frozenset(pair)
    for pair in [("list", "set"), ("list", "one"), ("list", "()"), ("set", "one"), ("column", "()"), ("column", "[]"), ("list", "names"),
                 ("names", "()"), ("names", "names"), ("union", "one")]
}  # fmt: skip


_UNORDERED = {"list", "set", "one", "union"}


@dataclass(frozen=True)
class Collection:
    """Several values: kind is list, set, union, names (a list of x=1, y=2), a matrix's shape, or the two brackets."""

    kind: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    """`name = value = value`: the sides after the name that are values (in a chain, those without symbols)."""

    name: str
    values: tuple[str, ...]


def _collection(text: str) -> Collection | None:
    if matrix := re.fullmatch(r"\\begin\{([pb]?matrix)\}(.*?)\\end\{\1\}", text, re.DOTALL):
        rows = [[cell.strip() for cell in row.split("&")] for row in re.split(r"\\\\", matrix[2]) if row.strip()]
        kind = (
            "column" if all(len(row) == 1 for row in rows) or len(rows) == 1 else f"matrix {[len(row) for row in rows]}"
        )
        return Collection(kind, tuple(cell for row in rows for cell in row))
    if r"\cup" in text and len(parts := split(text.replace(r"\cup", "\0"), "\0")) > 1:
        return Collection("union", tuple(parts))
    items = split(text, ",;")
    if len(items) > 1:
        return _list(items)
    if text.startswith(r"\{") and text.endswith(r"\}") and matching(text, 1) == len(text) - 1:
        return Collection("set", _expanded(split(text[2:-2], ",;")))
    if text[:1] in ("(", "[") and matching(text, 0) == len(text) - 1:
        inside = split(text[1:-1], ",;")
        if len(inside) > 1:
            return Collection(text[0] + text[-1], tuple(inside))
    if re.search(r"\\[pm][pm](?![A-Za-z])", text) and r"\pm" in text:
        return _list([text])
    return None


def _list(items: Sequence[str]) -> Collection:
    """A bare list. With different names (x=1, y=2) its order is theirs; the same name again and again says nothing."""
    named = [_named(item) for item in items]
    names = [literal(name.name) for name in named if name is not None]
    if len(names) == len(items):
        values = tuple(name.values[-1] for name in named if name is not None)
        if len({re.sub(r"_.*", "", name) for name in names}) == 1:
            return Collection("list", _expanded(values))
        if len(set(names)) == len(names):
            ordered = sorted(zip(names, values, strict=True))
            return Collection("names", tuple(value for _, value in ordered))
    if named[0] is not None and not any("=" in item for item in items[1:]):  # x = 1, 2, 3
        items = [named[0].values[-1], *items[1:]]
    return Collection("list", _expanded(items))


def _expanded(items: Sequence[str]) -> tuple[str, ...]:
    r"""`a \pm b` as its two values."""
    expanded: list[str] = []
    for item in items:
        if r"\pm" in item:
            expanded += [item.replace(r"\pm", "+").replace(r"\mp", "-"), item.replace(r"\pm", "-").replace(r"\mp", "+")]
        elif item:
            expanded.append(item)
    return tuple(re.sub(r"^\s*\+\s*", "", item) for item in expanded)


def _same_unordered(left: Sequence[str], right: Sequence[str]) -> bool:
    remaining = list(right)
    for item in left:
        match = next((index for index, other in enumerate(remaining) if compare(item, other)), None)
        if match is None:
            return False
        del remaining[match]
    return not remaining


def _named(text: str) -> Named | None:
    sides = split(text, "=")
    if len(sides) < 2 or "" in sides or _RELATION.search(re.sub(r"\([^()]*\)", "", text)) or len(split(text, ",;")) > 1:
        return None
    if len(sides) == 2 and number(sides[0]) is not None and _is_name(sides[1]):
        sides.reverse()  # 2 = x
    if not _is_name(sides[0]):
        return None
    plain = [side for side in sides[1:] if not _symbols(side)]
    return Named(sides[0], tuple(plain) if len(sides) > 2 and plain else (sides[-1],))


def _is_name(text: str) -> bool:
    """One thing that can be called something: a symbol, a function of something, a segment, a word, or a tuple of these."""
    text = text.strip()
    if text.startswith("(") and matching(text, 0) == len(text) - 1 and len(parts := split(text[1:-1], ",")) > 1:
        return all(_is_name(part) for part in parts)
    if ratio := re.fullmatch(r"\\frac\{\s*([^{}]+)\s*\}\{\s*([^{}]+)\s*\}", text):
        return _is_name(ratio[1]) and _is_name(ratio[2])
    text = re.sub(r"\\text\s*\{([^{}]*)\}", lambda match: re.sub(r"\W", "", match[1]) or "t", text)
    return bool(_NAME.fullmatch(text)) and not re.match(_FUNCTION_NAMES, text)


def _renamed(one: Named, other: Named) -> str | None:
    """The value of `one` in terms of the other's name, or None when their names are of different things."""
    names = [re.sub(r"\\text|[{}\s]", "", named.name) for named in (one, other)]
    if names[0] == names[1]:
        return one.values[-1]
    functions = [re.fullmatch(r"([A-Za-z])\(([a-z])\)", name) for name in names]
    if any(functions) and "y" in names:
        return one.values[-1]
    if functions[0] and functions[1] and functions[0][1] == functions[1][1]:
        letter = rf"(?<![\\A-Za-z]){functions[0][2]}(?![A-Za-z])"
        return re.sub(letter, functions[1][2], one.values[-1])
    return None


def _relations(text: str) -> bool:
    return bool(_RELATION.search(text)) or len(split(text, "=")) > 1


def _symbols(text: str) -> bool:
    """Whether letters other than LaTeX commands (and e, i) are in an expression."""
    rest = re.sub(r"\\(?:text|begin|end)\s*\{[^{}]*\}", "", text)
    return bool(
        re.search(
            r"[A-DF-Za-df-hj-z]|\\(?:alpha|beta|gamma|theta|lambda|omega|phi|mu|sigma|rho)",
            re.sub(_FUNCTION_NAMES, "", rest),
        )
    )


_INFINITY = r"\infty"
_BOUND = re.compile(r"\\(le|ge)(?![A-Za-z])|([<>])")


def _set_form(text: str) -> str | None:
    r"""An inequality in one variable as an interval; `x \in S` as S; anything that is not a relation as it is."""
    text = text.strip()
    if builder := re.fullmatch(r"\\\{\s*[a-zA-Z](?:\s*\\in\s*\\mathbb\{?R\}?)?\s*[|:](.*)\\\}", text, re.DOTALL):
        return _set_form(builder[1].strip())
    if member := re.fullmatch(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*\\in(?![A-Za-z])(.*)", text, re.DOTALL):
        return member[1].strip()
    if not _relations(text):
        return text
    parts = [part.strip() for part in _BOUND.sub("\0", text).split("\0")]
    signs = [match[1] or match[2] for match in _BOUND.finditer(text)]
    if "=" in text or len(split(text, ",;")) > 1 or not signs or "" in parts:
        return None
    rising = [sign in ("<", "le") for sign in signs]
    if not all(rising):
        if any(rising):
            return None
        parts, signs = parts[::-1], signs[::-1]
    strict = [sign in "<>" for sign in signs]
    variable = [
        bool(re.fullmatch(r"\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\(\w\))?", part)) and part != _INFINITY for part in parts
    ]
    if variable == [False, True, False]:
        return f"{'[('[strict[0]]}{parts[0]},{parts[2]}{'])'[strict[1]]}"
    if variable == [True, False]:
        return f"(-{_INFINITY},{parts[1]}{'])'[strict[0]]}"
    if variable == [False, True]:
        return f"{'[('[strict[0]]}{parts[0]},{_INFINITY})"
    return None


def _variable(text: str) -> str:
    found = re.findall(r"(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", text)
    return found[0] if found else ""


def _approximated(text: str) -> list[str]:
    sides = [side.strip() for side in text.split(r"\approx")]
    if len(sides) == 1:
        return sides
    sides = [side for side in sides if side and not (_is_name(side) or not side)]
    if len(sides) == 2:
        from evals.symbolic import value

        first, last = (value(split(side, "=")[-1]) for side in sides)
        if first is not None and last is not None and abs(first - last) > abs(first) / 100:
            return []
    return sides


def _choice(text: str) -> tuple[str, bool] | None:
    """The letter of a multiple choice and whether it is marked as one (parentheses, or text after `C.`)."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip()
    if match := re.fullmatch(r"(\()?\s*([A-Za-z])\s*(\))?\s*(?:([.:)])\s*(.+))?", text, re.DOTALL):
        if bool(match[1]) == bool(match[3]):
            return match[2].upper() if match[1] else match[2], bool(match[1] or match[4])
    return None


def _words(text: str) -> str | None:
    r"""The words of an answer that is only words, in one spelling, or None. Short bare words (`xy`, `abc`) are symbols."""
    explicit = r"\text" in text
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text).strip()
    words = re.findall(r"[A-Za-z]+", bare)
    if not words or not re.fullmatch(r"[A-Za-z\s.,;:'\"()\-!?]+", bare):
        return None
    if not explicit and max(map(len, words)) < 4:
        return None
    if explicit and len(bare) == 1:
        return None
    parts = [re.findall(r"[a-z]+", part.lower()) for part in re.split("[,;]", bare)]
    return ", ".join(sorted(" ".join(word for word in part if word not in ("the", "a", "an")) for part in parts))


def _plain(text: str) -> str | None:
    """Bare letters as a word, for comparison with `\text{...}`."""
    return text.lower() if re.fullmatch(r"[A-Za-z]+", text) else None


def _balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"\\.|[{}]", text):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "({[":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")}]":
            depth = max(0, depth - 1)
    return deepest
