r"""The normal form: one spelling for equivalent notations, before any comparison.

`clean` unifies notation (`\dfrac`, `\left(`, `\,`, `$...$`, `np.arcsin`, full-width signs) and keeps the meaning. Pure
string work, standard library only, in this order: Unicode signs, the wrapping (a box, `$...$`), code, commands with
another name, then the table of rewrites. Each rewrite has a name, and a test of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from evals.grading.numbers import matching, split

END = r"(?![A-Za-z])"  # the end of a command's name
_FUNCTIONS = "arcsinh|arccosh|arctanh|arcsin|arccos|arctan|arccot|arcsec|arccsc|sinh|cosh|tanh|coth|sech|csch"
_FUNCTIONS += "|sin|cos|tan|cot|sec|csc|cis|log|ln|exp"
_OPERATORS = "gcd|lcm|max|min|det|tr|rank|dim|ker|deg|arg|Re|Im|mod|sgn|proj|ord|Pr"

_SAME_COMMANDS = {
    r"\frac": "dfrac tfrac cfrac nicefrac sfrac",
    r"\binom": "dbinom tbinom",
    r"\le ": "leq leqslant leqq",
    r"\ge ": "geq geqslant geqq",
    "<": "lt",
    ">": "gt",
    r"\neq ": "ne",
    r"\to ": "rightarrow longrightarrow",
    r"\Rightarrow ": "implies Longrightarrow",
    r"\land ": "wedge",
    ",": "vee lor",
    r"\cup ": "bigcup",
    r"\ldots ": "dots cdots dotsc dotsb",
    "|": "mid vert lvert rvert",
    ":": "colon",
    "(": "langle",
    ")": "rangle",
    r"\{": "lbrace",
    r"\}": "rbrace",
    r"\emptyset ": "varnothing",
    r"\bmod ": "mod",
    r"\hat": "widehat",
    r"\epsilon ": "varepsilon",
    r"\phi ": "varphi",
    r"\theta ": "vartheta",
    r"^{\circ}": "degree textdegree",
    r"\text": "mathrm mathbf mathit mathsf mathtt textbf textit textrm textsf textnormal mbox hbox",
    " ": "quad qquad enspace thinspace",
    "£": "pounds",
    r"\pi ": "uppi",
    "": "left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle scriptstyle limits"
    " rm bf it sf tt bfseries itshape boldmath hline tiny small normalsize large Large LARGE huge Huge"
    " boldsymbol bm pmb mathcal uline underline checkmark blacksquare",
}
_COMMANDS = {name: spelling for spelling, names in _SAME_COMMANDS.items() for name in names.split()}
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_GREEK = "alpha beta gamma delta epsilon theta lambda rho sigma tau phi psi omega"
_LOST_SPACE = re.compile(rf"({_GREEK.replace(' ', '|')}|pi|Delta|Omega)([A-Za-z]{{1,2}})")  # `2\cos(\pit)`


def _same_commands(text: str) -> str:
    """Commands by one name each, and those of look alone gone. Digits beside one stay apart, letters after one too."""

    def spelled(command: re.Match[str]) -> str:
        if lost := _LOST_SPACE.fullmatch(command[1]):
            return rf"\{lost[1]} {lost[2]}"
        spelling = _COMMANDS.get(command[1])
        if spelling is None:
            return command[0]
        between = text[: command.start()][-1:].isdigit() and text[command.end() :].lstrip(" {")[:1].isdigit()
        return " " if not spelling and between else spelling

    return _COMMAND.sub(spelled, text)


_UPRIGHT = r"(?:mathrm|operatorname\*?|textrm|mathup|symup|symrm|mathnormal)"
_BOLD = r"(?:mathbf|boldsymbol|bm|pmb|mathit|mathsf|textbf|textit|underline|uline)"
_FONT = re.compile(rf"\\({_UPRIGHT}|{_BOLD}|text|mbox|hbox|textnormal)(?![A-Za-z])\s*(\{{|[A-Za-z]|\\[A-Za-z]+)")
_CONSTANTS = re.compile(r"\s*(?:[ei]|\\(?:pi|[a-z]+))\s*")  # upright: constants, and Greek letters
_BEFORE_A_VARIABLE = re.compile(r"\s*\}?\s*(?:[A-Za-z](?![A-Za-z])|\\(?:theta|phi|tau|alpha|mathrm|rm)|\^|\}\s*\{)")
_ONLY_LOOK = re.compile(r"\\(?:[a-z]*text[a-z]*|mathrm|cdot|circ|quad|Omega|mu|AA|degree|[,;:! %$])")
_VECTOR = re.compile(
    r"((?:\\(?:mathbf|boldsymbol|bm|pmb|vec|hat|widehat|overrightarrow|mathrm|textbf)\s*\{?\s*){1,3})"
    r"([ijk]|\\[ij]math)(?![A-Za-z])((?:\s*\}){0,3})"
)


def _fonts(text: str) -> str:
    """Mathematics without the font that it is in. Words, names and units keep theirs.

    Upright `e`, `i` and a `d` before a variable are the constants and the differential. Bold or marked i, j, k are
    unit vectors.
    """
    upright_vectors = len(set(re.findall(r"\\mathrm\s*\{?\s*([ijk])(?![A-Za-z])", text))) > 1

    def vector(match: re.Match[str]) -> str:
        opened, closed = match[1].count("{"), match[3].count("}")
        if opened > closed or (not upright_vectors and re.fullmatch(r"\\mathrm\s*\{?\s*", match[1])):
            return match[0]
        return rf"\hat{{{match[2].strip(chr(92))[0]}}}" + "}" * (closed - opened)

    text = _VECTOR.sub(vector, text)
    if "mathrm" in text or "rm" in text:
        text = re.sub(r"\{\s*\\rm\s+([^{}]*)\}", r"\\mathrm{\1}", text)
    place = 0
    for _ in range(_MOST_FONTS):
        font = _FONT.search(text, place)
        if font is None:
            break
        place = font.end()
        if font[2] != "{":
            if font[1] in ("text", "mbox", "hbox"):
                continue
            inside, end = font[2], font.end()
        else:
            end = matching(text, font.end() - 1) + 1
            inside = text[font.end() : end - 1]
            if not end:
                break
        unwrapped = _without_font(font[1], inside, text[end : end + 20])
        if unwrapped is not None:
            text = f"{text[: font.start()]}{unwrapped}{text[end:]}"
            place = font.start() + (0 if "$" in inside else 1)
        elif font[2] != "{":
            text = f"{text[: font.start()]}\\text{{{inside}}}{text[end:]}"
    return text


def _without_font(font: str, inside: str, after: str) -> str | None:
    """The mathematics in a font, or None where it is text."""
    parts = re.split(r"(?<!\\)\$", inside)
    if len(parts) > 1:  # mathematics between dollar signs, and words
        parts[::2] = [rf"\text{{{part}}}" if part.strip(" .,") else part for part in parts[::2]]
        return "".join(parts) if len(parts) % 2 else None
    if _is_upright(font, inside.strip(), after):
        return f" {inside.strip()} "
    if font == "mathbf" and re.fullmatch(r"\s*[RNZQC]\s*", inside):
        return rf"\mathbb{{{inside.strip()}}}"
    bold = bool(re.fullmatch(_BOLD, font))
    words = re.search(r"(?<![\\A-Za-z])[A-Za-z]{2,}", inside)
    if (
        bold
        and not words
        and (len(inside.strip()) != 1 or font == "mathbf")
        and not re.fullmatch(r"[\s(]*[A-J][\s).]*", inside)
    ):
        return f"{{{inside}}}" if re.search(r"\w", inside) and after.lstrip()[:1] in ("^", "_") else f" {inside} "
    if "\\" in _ONLY_LOOK.sub(" ", inside) and not words:
        return f"{{{inside}}}"
    return None


def _is_upright(font: str, sign: str, after: str) -> bool:
    """Whether an upright sign is a constant, or the d of a differential."""
    if not re.fullmatch(_UPRIGHT, font) and (font != "text" or sign not in ("e", "i")):
        return False
    return bool(_CONSTANTS.fullmatch(sign) or (sign == "d" and _BEFORE_A_VARIABLE.match(after)))


_MOST_FONTS = 50


class Rewrite(NamedTuple):
    """Replace one notation by an equivalent one."""

    name: str
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]

    def __call__(self, text: str) -> str:
        return self.pattern.sub(self.replacement, text)


_SIGN = re.compile(rf"[<>]|\\[lg]e{END}")
_AND = re.compile(r"(?:\s*,)?\s*(?:\\text\s*\{\s*and\s*\}|(?<![A-Za-z])and(?![A-Za-z]))\s*")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "₹": "rupee", "¥": "yuan"}


def _both_hold(whole: re.Match[str]) -> str:
    """Two inequalities with "and" between them. Any other "and" stands between the values of a list."""
    sides = _AND.split(whole[0])
    return r"\land ".join(sides) if len(sides) == 2 and all(map(_SIGN.search, sides)) else whole[0]


_SOUGHT = (
    "answer|result|value|solution|probability|number|area|volume|perimeter|sum|product|total|distance|length|ratio"
)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def _scaled(amount: re.Match[str]) -> str:
    """`36\\text{ thousand dollars}` as 36000 dollars."""
    value = Fraction(amount[1]) * _SCALES[amount[2]]
    return rf"{value}\text{{ {amount[3]}}}" if value.denominator == 1 else amount[0]


def _operator(name: re.Match[str]) -> str:
    """A function, but minutes after a number."""
    minutes = name[1] == "min" and re.search(r"[\d}](?:[\s~]|\\[,; ])*$", name.string[: name.start()][-6:])
    return r"\text{ min}" if minutes else rf"\{name[1]} "


def _money(amount: re.Match[str]) -> str:
    """The amount with its currency after it, like any other unit."""
    number = re.sub(r"\s*\\text\s*\{\s*([a-z]+)\s*\}", r" \1", amount[2])
    return rf"{number}\text{{ {_CURRENCIES[amount[1][-1]]}}}"


_TEXT, _OPEN, _CLOSE = r"(?:\\text\s*\{\s*)", r"(?i)^\s*(?:\\text\s*\{\s*)?", r"\s*\}?\.?\s*"
_SCALED = r"\d+(?:,\d{3})*(?:\.\d+)?(?:\s*(?:\\text\s*\{\s*)?(?:thousand|million|billion|trillion)(?:\s*\})?)?"
_CELL = r"((?:(?!\\\\|&|\\begin).)*)"
_DETERMINANT = rf"(?:\\det\s*)?\\begin\{{vmatrix\}}{_CELL}&{_CELL}\\\\{_CELL}&{_CELL}(?:\\\\)?\s*\\end\{{vmatrix\}}"
_OF_A_UNIT = r"\s*\\text\s*\{([^{}]*)\}\s*((?:\^\s*\{?\s*\d\s*\}?)?)\s*"
_UNIT_FRACTION = rf"\\frac\s*\{{\s*([-\d.,]*){_OF_A_UNIT}\}}\s*\{{{_OF_A_UNIT}\}}"


def _joined_digits(group: re.Match[str]) -> str:
    return group[1] + group[2].replace(",", "")


_ANSWER_IS = re.sub(  # "the answer is", in languages
    r"\s+",
    r"\\s+",
    "die antwort (?:ist|lautet)|die lösung (?:ist|lautet)|la respuesta(?: final)? es|la solución es"
    "|la réponse(?: finale)? est|la solution est|la risposta è|la soluzione è|a resposta(?: final)? é|a solução é"
    "|het antwoord is|svaret är|svaret er|odpowiedź to|cevap|jawabannya adalah"
    "|ответ|答案是|答案为|答案|答えは|정답은|الجواب هو|उत्तर है",
)
_MATRIX = r"\\begin\{matrix\}(.*?)\\end\{matrix\}"
_TABLE: tuple[tuple[str, str, str | Callable[[re.Match[str]], str]], ...] = (
    # signs
    ("digits apart", r"(?<=\d)(?:\\\$|\\text\s*\{\s*\})\s*(?=\d)", ", "),  # `0\text{}42` is not 42
    ("at most", "<=|=<", r"\\le "),
    ("at least", ">=", r"\\ge "),
    ("unequal", r"(?<![\d)])!=", r"\\neq "),  # but 3!=6 is a factorial
    ("dots", r"\.\s?\.\s?\.", r"\\ldots "),
    (
        "combinations",
        r"\{\s*\}\s*[_^]\s*\{?(\d+)\}?\s*C\s*_\s*\{?(\d+)\}?|(?<![A-Za-z\\}])C_\s*(?:\{(\w+)\}|(\d+|[a-z]))\s*\^\s*(?:\{(\d+)\}|(\d))"
        r"|(?<![\w\\])(?:C|nCr)\((\d+),\s*(\d+)\)",
        r"\\binom{\1\3\4\7}{\2\5\6\8}",
    ),
    ("prime", r"\^\s*\{?\s*\\prime\s*\}?", "'"),
    # names and look
    ("operator", rf"\\(?:operatorname\*?|text)\s*\{{\s*({_FUNCTIONS}|{_OPERATORS})\s*\}}", _operator),
    ("degree", rf"\^\s*\\circ{END}|\^\s*\{{\s*\\circ\s*\}}|(?<=[\d}}])\s*\^\s*\{{?\s*o{END}\s*\}}?", r"^{\\circ}"),
    ("invisible", r"\\[hv]?phantom\s*\{[^{}]*\}|\\[hv]space\*?\s*\{[^{}]*\}|\\(?:text)?color\s*\{[^{}]*\}", " "),
    (
        "text without letters",
        r"\\text\s*\{([^{}A-Za-z\d]*)\}|(?<!\d)\\text\s*\{([^{}A-Za-z]*)\}|^\s*\\text\s*\{\s*((?:[A-Za-z]\s*=\s*-?)?\d[^{}]*)\}\s*$",
        r"\1\2\3",
    ),
    ("quotation marks", r"[\"“”]", ""),
    ("nothing in braces", r"^\s*\{\s*\}|\{\.\}\s*$", ""),
    ("array", r"\\(begin|end)\s*\{(?:array\}\s*\{[^{}]*|array|smallmatrix)\}", r"\\\1{matrix}"),
    ("matrix in brackets", rf"[(\[]\s*{_MATRIX}\s*[)\]]", r"\\begin{pmatrix}\1\\end{pmatrix}"),
    ("determinant of two rows", _DETERMINANT, r"((\1)\\cdot(\4)-(\2)\\cdot(\3))"),
    (
        "end of a proof",
        r"\s*(?:\\text\s*\{\s*[(\[]?\s*(?:QED|Q\.\s?E\.\s?D\.?)\s*[)\]]?\s*\}|\\(?:square|qedsymbol)(?![A-Za-z]))\s*$",
        "",
    ),
    (
        "transposed row",
        r"^\s*(?!.*\\infty)(\([^()\[\]]*,[^()\[\]]*\)|\[[^()\[\]]*,[^()\[\]]*\])\s*\^\s*\{?\s*(?:\\(?:top|intercal)|\\text\s*\{\s*T\s*\}|T)\s*\}?\s*$",
        r"\1",
    ),
    # separators
    ("inside a number", r"(?<=\d)\s*(?:\{,\}|,\s*\\!|\\[,;:! ]|')\s*(?=\d{3}(?!\d))", ""),
    ("thousands in braces", r"(?<=[A-Za-z}])(\s*\{)\s*(\d{1,3}(?:,\d{3})+)\s*(?=\})", _joined_digits),
    ("decimal comma in braces", r"(?<=\d)\{,\}(?=\d)", "."),  # thousands are gone
    ("spaces", r"(?:(?<!\\)\\[,;:! ]|[~\s])+", " "),
    ("both hold", r"(?s)^.+$", _both_hold),
    (
        "amounts together",
        r"\b(hours?|hrs?|minutes?|feet|foot|degrees?|pounds?|dollars?|days?|weeks?|years?|months?|meters?)\s+and\s+(?=\}?\s*\d)",
        r"\1 ",
    ),
    (
        "and, or",
        r",?\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}\s*|(?:,\s*|(?<![A-Za-z\\(]))\b(?:and|or)\b(?![A-Za-z])"
        r"|(?<=\d)(?:and|or)(?=[A-Z\d(\\-])",
        ",",
    ),
    # units
    ("unit as a fraction", _UNIT_FRACTION, r"\1\\text{ \2\3/\4\5}"),
    (
        "ohm",
        rf"(?<=[\d}}])\s*{_TEXT}?(?:([kMGm])\s*)?(?:\}}\s*)?{_TEXT}?\\Omega{END}\s*(?:\}}+\s*)?$",
        r"\\text{ \1ohm}",
    ),
    ("angstrom", r"Å|Å|\\AA(?![A-Za-z])|\\text\s*\{\s*\\AA\s*\}|\\(?:mathring|r)\s*\{?A\}?", r"\\text{ angstrom}"),
    ("money", rf"(?<![{{\w])(\\\$|[€£₹¥])\s*({_SCALED})(?![\d{{}}\\^_]|\.\d|\s?[A-Za-z])", _money),
    ("sign of a currency", r"\\?[$£€¥₹]", ""),
    (
        "scaled amount",
        r"(?<![\d.,])(\d+(?:\.\d+)?)\s*(?:\\text\s*\{\s*)?(thousand|million|billion|trillion)\s+"
        r"(?=[a-z]{3,})([a-z ]+)\}?$",
        _scaled,
    ),
    # words
    (
        "introduction",
        rf"(?i)^\s*+(?:\\text\s*+\{{\s*+(?=[a-z]))?(?:(?:so|thus|hence|therefore|then|finally)\b[\s,:]*+)*"
        rf"(?:(?:(?:the|our|my)\s++)?(?:(?:final|correct|required|desired|maximum|minimum|largest|smallest|greatest|least)\s++)?(?:possible\s++)?(?:{_SOUGHT})\s*+(?:is|equals|:|is\s*:))?"
        r"\s*+:?\s*+\}?\s*+"  # possessive: blanks are read once
        rf"(?=[-\d\\(])(?!\\(?:text|neq|le|ge|not))",
        "",
    ),
    (
        "introduction in another language",
        rf"(?i)^\s*(?:\\text\s*\{{\s*)?(?:{_ANSWER_IS})\s*:?\s*\}}?\s*:?\s*(?=[-\d\\(])(?!\\(?:text|neq|le|ge|not))",
        "",
    ),
    ("yes, and the value", r"(?i)^\s*\\text\s*\{\s*yes\s*[,:]\s*\}\s*(?=[a-z]\s*=|[-\d])", ""),
    (
        "noun of a tuple",
        r"(?i)^\s*(?:\\text\s*\{\s*)?(?:the\s+)?(?:point|vector|(?:ordered\s+)?(?:pair|triple)|interval)\s*\}?\s*(?=[(\[])",
        "",
    ),
    ("arrow before", r"^\s*(?:\\(?:Rightarrow|therefore)(?![A-Za-z])\s*)+", ""),
    ("about", rf"{_OPEN}(?:about|approximately|approx\.?|roughly|exactly|only|just){_CLOSE}(?=[-\d.\\])", ""),
    (
        "infinity in words",
        r"(?i)(?:(?<=[(\[,])|^)\s*([-+]?)\s*(?:\\text\s*\{\s*)?(?:infinity|infty|inf|oo)\s*\}?(?=\s*(?:[,)\]]|$))",
        r"\1\\infty",
    ),
    (
        "the reals",
        rf"{_OPEN}(?:the set of )?(?:all )?real(?:s| numbers){_CLOSE}$"
        r"|^\s*(?:\w\s*\\in\s*)?\\math(?:bb|bf)\s*\{?\s*R\s*\}?\s*$|^\s*\w\s*\\in\s*R\s*$",
        r"(-\\infty,\\infty)",
    ),
    ("infinitely many", rf"{_OPEN}(?:infinitely many|infinite)(?: solutions?)?{_CLOSE}$", r"\\infty"),
    (
        "no solution",
        rf"{_OPEN}(?:(?:there (?:is|are) )?no (?:real |integer |such )?(?:solutions?|roots?)(?: exists?)?|none"
        rf"|(?:the )?(?:empty|null) set){_CLOSE}$",
        r"\\emptyset",
    ),
    # braces
    ("upright index", r"_\s*\{\s*\\text\s*\{\s*([A-Za-z]{1,3})\s*\}\s*\}", r"_{\1}"),
    ("power that is a function", rf"\^\s*(\\(?:{_FUNCTIONS}))\s*\(([^()]*)\)", r"^{\1(\2)}"),
    ("power in parentheses", r"\^\s*\(\s*([^()]*?)\s*\)", r"^{\1}"),
    ("power of several signs", r"\^\s*([-+]?\d+|-\s*[A-Za-z](?![A-Za-z(]))", r"^{\1}"),  # 10^23 as it is meant
    ("over", r"\{([^{}]*)\\over(?![A-Za-z])([^{}]*)\}", r"\\frac{\1}{\2}"),
    ("choose", r"\{([^{}]*)\\choose(?![A-Za-z])([^{}]*)\}", r"\\binom{\1}{\2}"),
    ("fraction of two signs", r"\\frac\s*(\d|\\[a-z]+)\s*(\d)", r"\\frac{\1}{\2}"),
    ("root of one sign", r"\\sqrt\s*(\[[^\[\]]*\])?\s*(\d|[A-Za-z])", r"\\sqrt\1{\2}"),
    ("index of one sign", r"([_^])\s*(\d|[A-Za-z]|\\(?:odot|oplus|infty|max|min)(?![A-Za-z]))", r"\1{\2}"),
    ("index after a power", r"(\^\{[^{}]*\})(_\{[^{}]*\})", r"\2\1"),
)
REWRITES = tuple(Rewrite(name, re.compile(pattern), replacement) for name, pattern, replacement in _TABLE)

_MODULE = r"(?<![\\A-Za-z])(?:(?:np|numpy|math|sympy|sp)\.)?"
_CALLS = {  # a call and its LaTeX, by the number of its arguments
    ("sqrt", 1): r"\sqrt{{{0}}}",
    ("Abs", 1): r"\abs({0})",
    ("abs", 1): r"\abs({0})",
    ("factorial", 1): "(({0})!)",
    ("log", 2): r"\log_{{{1}}}({0})",
    ("log10", 1): r"\log_{{10}}({0})",
    ("Matrix", 1): "{0}",
}
_CALL = re.compile(rf"{_MODULE}({'|'.join(sorted({name for name, _ in _CALLS}, key=len, reverse=True))})\s*\(")
_MOST_CALLS = 50
_CODE = re.compile(rf"(?:np|numpy|math)\.|\*\*|{_MODULE}(?:{_FUNCTIONS})\s*\(|\d\.(?=\s*[/*])|==")
_BARE = re.compile(rf"(?<![\\A-Za-z])(?:pi|sqrt|{_FUNCTIONS}){END}")
_GREEK_NAME = re.compile(rf"(?<![\\A-Za-z])({_GREEK.replace(' ', '|')}){END}")
_OTHER_WORD = re.compile(rf"\\|(?<![A-Za-z])(?!(?:sqrt|{_FUNCTIONS}|{_GREEK_NAME.pattern}){END})[A-Za-z]{{3,}}")
_SHORT_NAMES = (  # ArcSin, asin, and a letter that stands before a function
    (r"(?<![\\A-Za-z])(?:Arc)?(?:Sin|Cos|Tan|Exp|Log|Sqrt)(?=\()", lambda name: name[0].lower()),
    (r"(?<![\\A-Za-z])([b-zA-Z])((?:sin|cos|tan|sec|csc|cot|exp|log|ln|sqrt)(?=\(|(?:\*\*|\^)\d\())", r"\1*\2"),
    (r"(?<![\\A-Za-z])a(sinh?|cosh?|tanh?|cot|sec|csc)(?=\s*(?:\(|\*\*|\^))", r"arc\1"),
)


def from_code(text: str) -> str:
    """LaTeX for code, or for plain text without other words. Other answers unchanged."""
    for pattern, replacement in _SHORT_NAMES:
        text = re.sub(pattern, replacement, text)
    if (re.search(r"[-+*/^=(]", text) or _GREEK_NAME.fullmatch(text)) and not _OTHER_WORD.search(text):
        text = _GREEK_NAME.sub(r"\\\1 ", text)
    plain = bool(_BARE.search(text)) and not _OTHER_WORD.search(re.sub(r"\\(?=[a-z]+ )", "", text))
    if not plain and not _CODE.search(text) and not _CALL.search(text):
        return text
    text = re.sub(r"(?<=[A-Za-z])_([A-Za-z]{2,})", r"_{\1}", text)
    text = re.sub(r"(\d)\.(?!\d)", r"\1", text.replace("**", "^").replace("==", "="))
    for call in reversed(list(_CALL.finditer(text))[:_MOST_CALLS]):  # the innermost first: none begins after the last
        end = matching(text, call.end() - 1)
        arguments = split(text[call.end() : end], ",") if end > 0 else []
        form = _CALLS.get((call[1], len(arguments)))
        if form:
            text = text[: call.start()] + form.format(*arguments) + text[end + 1 :]
    text = re.sub(rf"{_MODULE}({_FUNCTIONS})\s*(?=\(|\^\{{?\d+\}}?\()", r"\\\1", text)
    text = re.sub(rf"{_MODULE}pi{END}", r"\\pi ", text)
    if plain:
        text = re.sub(rf"(?<![\\A-Za-z])sqrt\s*(\d+|[a-z]){END}", r"\\sqrt{\1}", text)
        text = re.sub(rf"(?<![\\A-Za-z])({_FUNCTIONS}){END}", r"\\\1 ", text)
    return text.replace("*", r"\cdot ")


_LETTERS = (
    "α alpha β beta γ gamma δ delta ε epsilon ϵ epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi"
    " π pi ρ rho σ sigma τ tau φ phi ϕ phi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Σ Sigma"
    " Φ Phi Ψ Psi Ω Omega × times · cdot ⋅ cdot ÷ div ± pm ∓ mp ≤ le ≥ ge ⩽ le ⩾ ge ≠ neq ≈ approx ∈ in ∞ infty"
    " ∪ cup ∩ cap ∅ emptyset √ sqrt ∠ angle ∧ land → to ⇒ Rightarrow … ldots"
)
_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("−–—﹣－", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000\t\r\n\v\f", " "),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u2060", ""),
        **dict.fromkeys("′’", "'"),
        **{sign: f"({digit})," for digit, sign in enumerate("①②③④⑤⑥⑦⑧⑨", 1)},
        **dict(zip("（），；：＝＜＞＋％∗∣", "(),;:=<>+%*|", strict=True)),
        **{sign: rf"\{name} " for sign, name in zip(*[iter(_LETTERS.split())] * 2, strict=True)},
        **{"∛": r"\sqrt[3]", "∨": ",", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "°": r"^{\circ}", "⁄": "/", "、": ", "},
        **{"½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}"},
        **{"″": "''", "¢": r"\text{ cents}", "。": "."},
    }
)
_ROOT = re.compile(r"([√∛])\s*(\d+(?:\.\d+)?|\([^()]*\))")
_LEVEL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789-+0123456789")
_CHINESE = (
    "千米 km 公里 km 厘米 cm 毫米 mm 米 m 公斤 kg 千克 kg 克 g 吨 t 小时 h 时 h 分钟 min 秒 s 升 L 毫升 mL 元 yuan"
)
_CHINESE_UNITS = dict(zip(*[iter(_CHINESE.split())] * 2, strict=True))
_CHINESE_UNIT = re.compile(
    r"(?<=[\d)}$])\s*(平方|立方)?([\u4e00-\u9fff]{1,4}|[\u4e00-\u9fff]{1,2}\s*[/每]\s*[\u4e00-\u9fff]{1,2})\s*[.$]*$"
)
_NO_UNIT = re.compile("[百千万亿半多几余倍分以上下内外的方阶乘加减除非不无错吗或和是]")  # arithmetic, bounds, doubt
_CHINESE_OR = re.compile(r"\s*(?:或者?|和|以及|与)\s*(?=[-\d(\\$A-Za-z])")


def in_latex(text: str) -> str:
    """Unicode signs as LaTeX names, Chinese units and "or", and single spaces."""
    text = re.sub(r"(?<=[\w})])[ \t]*\n\s*(?=[A-Za-z]\s*=)", ", ", text)  # a line for each value
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda run: f"^{{{run[0].translate(_LEVEL)}}}", text)
    text = re.sub("[₀₁₂₃₄₅₆₇₈₉]+", lambda run: f"_{{{run[0].translate(_LEVEL)}}}", text)
    text = _ROOT.sub(lambda root: f"{root[1]}{{{root[2].strip('()')}}}", text)
    text = re.sub(r"\\text\s*\{\s*([\u4e00-\u9fff/]+)\s*\}", r"\1", text)
    text = _CHINESE_OR.sub(", ", text)
    if unit := _CHINESE_UNIT.search(text):
        parts = [_CHINESE_UNITS.get(part.strip()) for part in re.split("[/每]", unit[2])]
        size = {"平方": "square ", "立方": "cubic "}.get(unit[1], "")
        if all(parts):
            text = text[: unit.start()] + rf"\text{{ {size}{'/'.join(filter(None, parts))}}}"
        elif len(parts) == 1 and not _NO_UNIT.search(unit[2]):
            text = text[: unit.start()]  # a counted thing
    return re.sub(r"\s+", " ", text.translate(_CHARACTERS))


_DELIMITERS = re.compile(r"\$\$|(?<!\\)\\[()\[\]]|\\(?:boxed|fbox|framebox)(?![A-Za-z])")
_SYSTEM = re.compile(
    r"\\begin\s*\{(cases|aligned|align\*?|gathered|split)\}(.*?)\\end\s*\{\1\}(?:\s*\\right\s*\.)?"
    r"|(?:\\left\s*)?\\\{\s*\\begin\s*\{(array)\}\s*\{[lcr]*\}(.*?)\\end\s*\{array\}(?:\s*\\right\s*\.)?",
    re.DOTALL,
)
_ASCII = re.compile(r"[!-~]+(?: [!-~]+)*")  # and single spaces


@lru_cache(maxsize=8192)
def clean(text: str) -> str:
    """The same answer in one spelling."""
    if re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text):
        return text  # as most answers are, and no rewrite touches it
    text = from_code(_bare(text if _ASCII.fullmatch(text) else in_latex(text)))
    text = re.sub(r"\\(?:left|right)\s*\.", "", text)  # an invisible bracket
    text = _same_commands(_fonts(text))
    for rewrite in REWRITES:
        text = rewrite(text)
    return _trim(re.sub(r"\s+", " ", text))


def _bare(text: str) -> str:
    """Without its wrapping: a box, twice-escaped backslashes, delimiters of mathematics, Markdown."""
    text = re.sub(r"^\s*\$([^$]*[^$\\])\$\s*$", r"\1", text)
    if re.search(r"(?<!\\)\\\\begin", text):  # every backslash is doubled
        text = text.replace("\\\\", "\\")
    text = _SYSTEM.sub(_lines, text)
    if not re.search(r"matrix|cases|array|align", text):
        text = re.sub(r"\\\\(?=[A-Za-z{}$%])", r"\\", text)
    text = _DELIMITERS.sub(" ", text)
    return text.replace("`", "") if "\\" in text else re.sub(r"^\s*\*\*(.*)\*\*\s*$|`", r"\1", text)


def _lines(system: re.Match[str]) -> str:
    """The lines of a system or a derivation, one after the other. With columns it is another thing, and stays."""
    inside = re.sub(r"&(?=\s*(?:[=<>]|\\[lg]e))|(?<==)\s*&|^\s*&|(?<=\\\\)\s*&", "", system[2] or system[4] or "")
    lines = [line.strip(" ,;") for line in re.split(r"\\\\(?:\s*\[[^\]]*\])?", inside)]
    return system[0] if "&" in inside else re.sub(r",\s*(?==)", " ", ", ".join(filter(None, lines)))


def _trim(text: str) -> str:
    """Without the punctuation around it, and without braces and parentheses around the whole."""
    while True:
        before = text
        text = text.rstrip(" .,;:\\").lstrip(",;:= ")
        if text[:1] in ("{", "(") and matching(text, 0) == len(text) - 1:
            inside = text[1:-1]
            # `(E)` stays, it may be a choice, so do tuples and half-open intervals
            if text[0] == "{" or (text[-1] == ")" and len(inside.strip()) > 1 and len(split(inside, ",;")) == 1):
                text = inside
        if re.fullmatch(r"\[\s*-?\d[^\[\](),;]*\]", text):  # `[45 degrees]`: one number, and no list
            text = text[1:-1]
        if text == before:
            return text
