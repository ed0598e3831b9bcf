r"""Parse an unambiguous part of LaTeX arithmetic into a tree: numbers, symbols, `+ - * / ^ !`, roots, functions.

Ambiguous expressions are not parsed: `1/2x`, `\sin x(y+1)`, `f(x)`, `5 5`, `x2`. A number is a factor behind a closed
factor (`(n+2)2`, `\sqrt{3}2`), and behind a letter where it has a power (`n2^{n-1}`).

The tree is nested tuples, the operation first: `\frac{x}{2}` is `("/", ("symbol", "x"), ("number", Fraction(2)))`. A
node that binds a variable has its name second and its term last: `("sum", "k", first, last, term)`, also `prod` and
`int`, and `("lim", "x", place, term)`, with `lim+`, `lim-` from above and below.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

Node = tuple[Any, ...]
_MOST_TOKENS, _MOST_GROUPS = 200, 50  # the tree is read by recursion
_TOKEN = re.compile(
    r"\s*(?:((?:\d+\.\d*|\.\d+)[eE][-+]?\d{1,3}|\d+(?:\.\d*)?|\.\d+)|\\([A-Za-z]+)|([A-Za-z])|(\\[{}|])|(.))"
)
_LETTERS = """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho varrho
sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar"""
_TRIGONOMETRIC = frozenset(["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch"])
_FUNCTIONS = _TRIGONOMETRIC | {f"arc{name}" for name in _TRIGONOMETRIC} | {"ln", "lg", "log", "exp", "abs", "cis"}
_GREEK = frozenset(_LETTERS.split())
_ACCENTS = frozenset(["vec", "hat", "bar", "tilde", "overrightarrow", "dot", "ddot"])
_OPENING = {"(": ")", "[": "]", "{": "}", "|": "|", "lfloor": "rfloor", "lceil": "rceil"}
_OPERATORS = {"cdot": "*", "times": "*", "*": "*", "/": "/", "div": "/"}
_CHOOSING = frozenset(["max", "min", "gcd", "lcm"])  # functions of several arguments, in any order
_CLOSED = frozenset([")", "]", "}", "|", "!", "pi", "rfloor", "rceil"])  # nothing behind it is an index
BINDING = frozenset(["sum", "prod", "int", "lim", "lim+", "lim-"])
INFINITY: Node = ("infinity",)
_NOT_A_FACTOR = frozenset(["+", "-", ")", "]", "}", "\\}", "|", "rfloor", "rceil", "=", ",", "bmod", *_OPERATORS])
_D_ABOVE = re.compile(r"\\frac\s*\{\s*d\s*([a-z])\s*\}\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})")
DERIVATIVE = re.compile(
    r"\\frac\s*\{\s*d(?:\^\{(\d)\})?\s*(\\[A-Za-z]+|[A-Za-z])\s*\}\s*\{\s*d\s*([A-Za-z])(?:\s*\^\{\d\})?\s*\}"
)


class UnsupportedError(ValueError):
    """The expression is ambiguous, or holds something else."""


@lru_cache(maxsize=8192)
def parse(text: str) -> Node:
    """The tree of a cleaned expression.

    Raises:
        UnsupportedError: it is not one of these expressions.
    """
    parser = _Parser(DERIVATIVE.sub(r"{\2_{d\1\3}}", text))
    tree = parser.sum()
    if parser.next is not None:
        raise UnsupportedError(f"{parser.next!r} is unexpected")
    return tree


@lru_cache(maxsize=8192)
def symbols(tree: Node) -> frozenset[str]:
    """The names of the symbols in a tree."""
    if tree[0] == "symbol":
        return frozenset([tree[1]])
    if tree[0] in BINDING:
        _, name, *ends, term = tree
        return frozenset().union(*map(symbols, ends), symbols(term) - {name})  # the index is not free
    return frozenset().union(*(symbols(part) for part in tree[1:] if isinstance(part, tuple)))


class _Parser:
    """Recursive descent. `next` is the next token: a number as a Fraction, a name, a sign, or None at the end."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"/([A-Za-z]{2,3})(?!\s*[A-Za-z\d({\\^_'])", r"/{\1}", text)  # t/RC, as physics writes it
        if re.search(r"[A-Za-z]{4}(?!\^)", re.sub(r"\\[A-Za-z]+", " ", text)):
            raise UnsupportedError("a word")
        if re.search(r"(?<![\d.])\d+[eE][-+]?\d", text):
            raise UnsupportedError("2e3 can be read in two ways")
        if r"\int" in text:
            text = _D_ABOVE.sub(r"\\frac{1}\2 d \1 ", text)  # `\int\frac{dx}{x}`
        if re.search(r"\\frac\s*\{\s*(?:d|\\partial)", text):
            raise UnsupportedError("a derivative")
        self._tokens: list[Any] = []
        self._at = 0
        self._bars = self._groups = 0
        for match in _TOKEN.finditer(text.rstrip()):
            number, command, letter, escaped, sign = match.groups()
            if number is not None:
                self._tokens.append(Fraction(number.rstrip(".")))
            elif command is not None:
                self._tokens.append(command if len(command) > 1 else f"\\{command}")
            else:
                self._tokens.append(letter or escaped or sign)
        if len(self._tokens) > _MOST_TOKENS:
            raise UnsupportedError("too long")

    @property
    def next(self) -> Any:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def take(self) -> Any:
        token = self.next
        if token is None:
            raise UnsupportedError("the expression ends too early")
        self._at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise UnsupportedError(f"expected {token!r}")

    def sum(self) -> Node:
        sign = self.take() if self.next in ("+", "-") else "+"
        tree = self.product()
        if sign == "-":
            tree = ("negative", tree)
        if self.next == "bmod" and tree[0] != "negative":
            self.take()
            return ("bmod", tree, self.product())
        while self.next in ("+", "-"):
            tree = (self.take(), tree, self.product())
        return tree

    def product(self) -> Node:
        first = self.next
        tree = last = self.factor()
        divided = False
        while True:
            token = self.next
            if token in _OPERATORS:
                self.take()
                if last[0] == "symbol" and last[1].startswith(("vec ", "overrightarrow ")):
                    raise UnsupportedError("a product of vectors")
                negative = self.next == "-" and self.take()
                first, last = self.next, self.factor()
                last = ("negative", last) if negative else last
                tree, divided = (_OPERATORS[token], tree, last), _OPERATORS[token] != "*"
            elif self.starts_a_factor():
                if divided or (isinstance(token, Fraction) and not self.takes_a_number(first, last)):
                    raise UnsupportedError("1/2x and x 2 can be read in two ways")
                first, last = token, self.factor()
                tree = ("*", tree, last)
            else:
                return tree

    def takes_a_number(self, first: object, last: Node) -> bool:
        """Whether the number that comes next multiplies the last factor, which began with the token `first`."""
        if last[0] in ("^", "!") or last == ("symbol", "i"):
            return True
        before, behind = self._tokens[self._at - 1], self._tokens[self._at + 1 : self._at + 2]
        if isinstance(first, Fraction) or last[0] == "number" or (before == ")" and last[0] == "symbol"):
            return False  # 5 5, a mixed number. Parts (1) and (b)
        return behind == ["^"] or before in _CLOSED

    def starts_a_factor(self) -> bool:
        token = self.next
        if token is None or (token == "|" and self._bars):
            return False
        return isinstance(token, Fraction) or token not in _NOT_A_FACTOR

    def factor(self) -> Node:
        """An atom with its powers and factorials."""
        token = self.next
        if token in _FUNCTIONS:
            return self.function()
        tree = self.atom()
        if self.next == "(" and tree[0] == "symbol" and tree[1] != "i":
            tree = self.application(tree[1]) or tree
        elif isinstance(token, Fraction) and token.denominator == 1 and self.next == "frac":
            part = self.atom()  # 1\frac{1}{2} is one and a half
            tree = ("+" if all(side[0] == "number" for side in part[1:]) else "*", tree, part)
        return self.powers(tree)

    def application(self, name: str) -> Node | None:
        """`x(0)`, a letter with a number in brackets, and `f(t)` are symbols of their own: neither is a product."""
        start = self._at
        argument = self.group()
        if name == "Gamma":
            return ("!", ("-", argument, ("number", Fraction(1))))
        if not symbols(argument) or name[0] in "fghFGHPQ" or (argument == ("symbol", "t") and name in _GREEK):
            return ("symbol", f"{name}({argument})")
        self._at = start
        return None

    def powers(self, tree: Node) -> Node:
        while self.next == "!":
            self.take()
            tree = ("!!", tree) if self.next == "!" and self.take() else ("!", tree)
        if self.next == "^":
            self.take()
            tree = ("^", tree, self.argument())
        return tree

    def argument(self) -> Node:
        """The argument of a power or a command: a group in braces, or one sign."""
        token = self.next
        if token == "{":
            return self.group()
        if isinstance(token, Fraction) and token.denominator == 1 and token < 10:
            return ("number", self.take())
        if isinstance(token, str) and ((len(token) == 1 and token.isalpha()) or token in _GREEK or token == "pi"):
            return self.symbol(index=False)
        raise UnsupportedError("an argument without braces")

    def group(self) -> Node:
        opening = self.take()
        closing = _OPENING[opening]
        self._bars += opening == "|"
        self._groups += 1
        if self._groups > _MOST_GROUPS:
            raise UnsupportedError("nested too deeply")
        tree = self.sum()
        self._groups -= 1
        self._bars -= opening == "|"
        self.expect(closing)
        return tree

    def atom(self) -> Node:
        token = self.next
        if isinstance(token, Fraction):
            return ("number", self.take())
        if token == "|":
            return ("abs", self.group())
        if token in ("lfloor", "lceil"):
            return ("floor" if token == "lfloor" else "ceil", self.group())
        if token in ("(", "[", "{"):
            return self.group()
        if token in ("frac", "binom"):
            self.take()
            return ("/" if token == "frac" else "binomial", self.argument(), self.argument())
        if token in ("sum", "prod"):
            return self.over_an_index()
        if token == "int":
            return self.integral()
        if token == "lim":
            return self.limit()
        if token in _CHOOSING:
            return self.choosing()
        if token == "sqrt":
            self.take()
            degree: Node = ("number", Fraction(2))
            if self.next == "[":
                degree = self.group()
            return ("root", degree, self.argument())
        return self.symbol()

    def symbol(self, index: bool = True) -> Node:
        token = self.take()
        if token in _ACCENTS:
            token = f"{token} {self.index()}"
        elif token == "pi":
            return ("pi",)
        elif token == "e" and not (index and self.next == "_"):
            return ("e",)
        elif not isinstance(token, str) or not (token in _GREEK or re.fullmatch("[A-Za-z]", token)):
            raise UnsupportedError(f"{token!r} is unknown")
        if index and self.next == "_":
            self.take()
            token += f"_{self.index()}"
        while index and self.next == "'":
            token += self.take()
        return ("symbol", token)

    def index(self) -> str:
        """The text of an index: `_1`, `_{n+1}`, `_{max}`."""
        if self.next != "{":
            return str(self.take())
        parts, depth = [], 0
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            parts.append(str(token))
            if not depth:
                return "".join(parts[1:-1])

    def function(self) -> Node:
        name = self.take()
        base: Node | None = None
        power: Node | None = None
        while self.next in ("_", "^"):
            if self.take() == "_":
                if name != "log" or base is not None:
                    raise UnsupportedError("an index on a function")
                base = self.argument()
            elif power is not None:
                raise UnsupportedError("a double superscript")
            else:
                power = self.argument()
        argument = self.group() if self.next in ("(", "[", "{") else self.bare_argument()
        if power == ("negative", ("number", Fraction(1))):
            if name not in _TRIGONOMETRIC:
                raise UnsupportedError("an inverse function")
            return (f"arc{name}", argument)
        if name == "exp" and power is not None:
            raise UnsupportedError("a power of exp")
        tree = (name, argument) if base is None else (name, base, argument)
        if name == "cis":
            tree = ("^", ("e",), ("*", ("symbol", "i"), argument))
        return self.powers(tree if power is None else ("^", tree, power))

    def over_an_index(self) -> Node:
        r"""`\sum_{k=1}^{n} k^2`: the product behind it."""
        kind = self.take()
        self.expect("_")
        self.expect("{")
        name = self.variable()
        self.expect("=")
        start = self.sum()
        self.expect("}")
        self.expect("^")
        end = self.end()
        return (kind, name, start, end, _with_value(self.product(), name))

    def limit(self) -> Node:
        r"""`\lim_{x\to 0^+} \frac{\sin x}{x}`: the product behind it."""
        self.take()
        self.expect("_")
        self.expect("{")
        name = self.variable()
        self.expect("to")
        start = self._at
        while self.next not in ("}", "^", None):
            self.take()
        end, side = self._at, self.side()
        if not side:
            self._at = start
        place = self.part(start, end) if side else self.bound()
        self.expect("}")
        return (f"lim{side}", name, place, _with_value(self.product(), name))

    def side(self) -> str:
        """The sign in the power of a place in a limit."""
        for form in (["^", "+"], ["^", "-"], ["^", "{", "+", "}"], ["^", "{", "-", "}"]):
            if self._tokens[self._at : self._at + len(form)] == form:
                self._at += len(form)
                return "+" if "+" in form else "-"
        return ""

    def integral(self) -> Node:
        r"""`\int_{0}^{1} x^2 dx`, up to its own `dx`."""
        self.take()
        self.expect("_")
        low = self.end()
        self.expect("^")
        high = self.end()
        start, open_ = self._at, 1
        while open_:
            token = self.take()
            open_ += (token == "int") - (token == "d")
        term = self.part(start, self._at - 1)
        name = self.variable()
        return ("int", name, low, high, _with_value(term, name))

    def choosing(self) -> Node:
        kind, opening = self.take(), self.take()
        if opening not in ("(", "\\{"):
            raise UnsupportedError("arguments in brackets")
        arguments = [self.sum()]
        while self.next == ",":
            self.take()
            arguments.append(self.sum())
        self.expect(")" if opening == "(" else "\\}")
        return (kind, *arguments)

    def part(self, start: int, end: int) -> Node:
        """The tokens between two places, read as an expression of their own."""
        inner = _Parser("")
        inner._tokens = self._tokens[start:end]
        inner._groups = self._groups + 1
        if inner._groups > _MOST_GROUPS:
            raise UnsupportedError("nested too deeply")
        tree = inner.bound()
        if inner.next is not None:
            raise UnsupportedError(f"{inner.next!r} is unexpected")
        return tree

    def variable(self) -> str:
        name = self.symbol(index=False)
        if name[0] != "symbol":
            raise UnsupportedError("a variable is a letter")
        return str(name[1])

    def end(self) -> Node:
        """The end of a sum or an integral: one sign or a group in braces, which may be infinite."""
        if self.next == "infty":
            return self.bound()
        if self.next != "{":
            return self.argument()
        self.take()
        tree = self.bound()
        self.expect("}")
        return tree

    def bound(self) -> Node:
        signs = [self.take()] if self.next in ("+", "-") else []
        if self.next == "infty":
            self.take()
            return ("negative", INFINITY) if signs == ["-"] else INFINITY
        self._at -= len(signs)
        return self.sum()

    def bare_argument(self) -> Node:
        r"""The argument of `\sin 2x`: a product up to the next sign, function or bracket."""
        if self.next in _FUNCTIONS:
            return self.function()
        if self.next in _OPENING and self.next not in ("|",):
            raise UnsupportedError("a bracket")
        tree = self.powers(self.atom())
        while self.starts_a_factor() and self.next not in _FUNCTIONS:
            if self.next in _OPENING or isinstance(self.next, Fraction):
                raise UnsupportedError("a function of a product")
            tree = ("*", tree, self.powers(self.atom()))
        if self.next == "/":
            raise UnsupportedError("a function before a slash")
        return tree


def _with_value(term: Node, name: str) -> Node:
    """The term of a sum. Marked where it has no value of its own, as x_k and f(x) have none."""
    unknown = any(re.search(rf"[_(].*(?<![A-Za-z]){name}(?![A-Za-z])", symbol) for symbol in symbols(term))
    return ("terms of", term) if unknown else term
