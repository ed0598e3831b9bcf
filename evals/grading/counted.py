r"""Words behind a number: what it counts or measures, and what changes it or leaves it open.

Text behind a value stands for nothing only if it is known: a unit, a noun phrase in the plural (`5\text{ red balls of
wool}`), a filler (`in total`). Anything else makes another answer of it, in any language.
"""

from __future__ import annotations

import re
from itertools import takewhile

from evals.grading.numbers import NUMBER_WORD, plain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNTED = "way possibility solution value number total integer unit time point different possible"
_ANY_COUNT = _words(f"{_COUNTED} in all the of per and square cubic")  # words for any count
# what stands after a number and changes it, leaves it open, or is a number of its own: no unit and no counted thing
HEDGE = re.compile(
    r"(?<![A-Za-z\\])(?:(?:"
    + NUMBER_WORD
    + r"|or|but|maybe|perhaps|possibly|probably|either|neither|nor|not|never|none"
    r"|half|halves|thirds|quarters|base|negative|minus|plus|over|modulo|mod|squared|cubed|doubled|tripled|halved"
    r"|double|triple|factorial|choose|inverse|inverted|negated|reciprocal|opposite|conjugate|root|remainder|instead|otherwise"
    r"|power|cent(?:s)?\s+of|etc|wait|hmm|wrong|incorrect|false|impossible|except|excluding|unless|up\s+to|more|less|fewer|greater|larger|smaller|least|most"
    r"|hundredths?|thousandths?|(?:four|fif|six|seven|eigh|nin|ten|million)ths?)(?![A-Za-z])|times\s+[a-z\d])",
    re.IGNORECASE,
)
FILLER = re.compile(
    r"^\s*(?:total|in\s+total|altogether|in\s+all|exactly|precisely|approx(?:\.|imately)?|about|obviously|clearly|certainly"
    r"|of\s+course|as\s+required|respectively|each|only|left|remaining|is\s+the\s+(?:only|unique)\s+(?:answer|solution|value))[\s.!]*$",
    re.IGNORECASE,
)
_IRREGULAR = _words("""people men women children mice feet teeth fish sheep geese dice data oxen vertices""")
# as in `12\text{ grade}`. Any other noun is in the plural, or behind a 1
_SINGULAR = _words(
    """grade level year-old page person student point piece side edge digit book game coin ball card player child
    man woman boy girl dog cat apple ticket box bag cup bottle row column step stage round floor chapter class
    team group pair car tree flower chair table shirt marble pencil candy cookie egg term factor divisor prime
    triangle"""
)
# in no noun phrase, whatever its form: pronouns, conjunctions, adverbs and verbs. Numbers. Other languages
_NEVER = _words(
    """i you we it this that these those any some other others another so if ish guess think hope suppose give
    take about always sometimes often usually rarely perhaps besides else also too again thus hence then than
    as vs versus though although however while whereas because since when where which who what why how no yes
    nope yeah ok sorry lol is are was were be been being has had do does did can could may might must shall
    should will would cannot fails works contradicts exists holds seems appears remains looks means says makes
    gets goes stays equals misses errs breaks depends varies changes differs matches helps hurts needs wants
    lacks tends becomes wins loses sucks unsure uncertain unverified unknown unlikely likely approx rough sure
    almost near close next beyond below above under after before ones tens scores dozens hundreds thousands
    millions billions grosses basis mille permille ppm ppb upside down fold k ans sechs zes zeven seis siete und bien
    moins plus et donc menos alors anche mindestens wenigstens meistens sans tous otros unos varios
    without environ circa ca maximum minimum max min rounded guessed als au assuming"""
)
_DOUBT = _words(
    """or nor not no nope never neither either maybe perhaps possibly probably presumably unsure uncertain doubtful
    guess wrong incorrect false invalid but wait actually instead alternatively otherwise hmm think believe sorry
    hope hopefully likely unlikely guessed guessing supposedly allegedly sometimes usually depending unless if xor
    oder vielleicht falsch nicht nein kein keine nie eventuell vermutlich wahrscheinlich sonst aber unklar
    ou peut faux fausse incorrecte jamais pas ne ni non mais sinon probablement
    quizás quizá quizas quiza tal vez falso falsa nunca pero sino posiblemente probablemente incorrecto
    talvez errado errada incorreto mas não nao nem provavelmente possivelmente
    forse oppure sbagliato sbagliata probabilmente neanche
    misschien niet onjuist fout maar nooit waarschijnlijk eller kanske kanskje måske inte ikke galt forkert aldri aldrig
    albo lub może błędne nie nigdy belki veya yanlış değil
    или может возможно неверно неправильно ложь ложно нет не но"""
)
_DOUBT_IN_SIGNS = re.compile(
    "[或不错錯非吗嗎か]|可能|也许|也許|違|ない|または|또는|아니|아마|أو|ربما|خطأ|ليس|या|शायद|गलत|नहीं"
)
_OF_A_CHOICE = re.compile(
    r"none\s+of\s+(?:the|these)|(?:can\s?not|not)\s+be\s+determined|not\s+enough\s+information|does\s+not\s+exist"
    r"|no\s+(?:real\s+|such\s+)?(?:solutions?|numbers?)",
    re.IGNORECASE,
)
_GERMAN_NOUN = re.compile(
    r"(?=\w*[äöüßÄÖÜ])(?!Fünf|Zwölf|Hälfte|Drei)[A-ZÄÖÜ][a-zäöüß]{2,}(?<!tel)(?<!weise)"
)  # 5 Äpfel
_ADVERB = re.compile(r"(?!jelly|family|butterfly|lily|belly|fly|daily|weekly|monthly|yearly|hourly|assembly)\w+ly")
_FRACTIONS = re.compile(r"(?!months|lengths|depths|widths|heights|paths|baths|truths|mouths|moths|births|deaths)\w+ths")
_AFTER = _words("""old long tall wide high deep thick away apart ago later earlier total left remaining each""")
_ARTICLES = _words("a an the all each")
_BEHIND = _words("of in per for on from to with at by each between")  # a noun and what belongs to it
_NO_PLACE = _words(
    """limit limits average best worst bound bounds example instance theory practice general principle reality
    expectation probability luck fact doubt mind error mistake jest case cases sign constant scale"""
)
_LONGEST_PHRASE, _MOST_BEHIND = 4, 5


def hedged(text: str) -> bool:
    r"""Whether the words beside the mathematics of an answer change it or leave it open: `5\text{ or six}`."""
    words = re.sub(r"(^[-\d., ]*\d)\s*(?:thousand|million|billion|trillion)\b", r"\1", plain(text))
    return bool(HEDGE.search(words)) and bool(re.search(r"\d|\\[A-Za-z]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])", words))


def doubted(words: str) -> bool:
    """Whether words leave open or deny what stands before them, in a language that is spoken by many."""
    words = _OF_A_CHOICE.sub(" ", words).lower()
    return bool(_DOUBT & set(re.findall(r"[^\W\d_]+", words)) or _DOUBT_IN_SIGNS.search(words))


def of_any_count(word: str) -> bool:
    """Whether a word says nothing of what is counted: `different ways in all`."""
    return word in _ANY_COUNT


def countable(written: str, singular: bool, known: frozenset[str]) -> bool:
    """Whether words behind a number can be what it counts: a noun phrase in the plural, and at most one that belongs
    to it. A part of something (`of a pizza`).

    Args:
        singular: the number is 1, and a noun may be in the singular.
        known: the words that are names of units.
    """
    if re.search(r"[,;:?!]", written):
        return False
    if not written.isascii():
        return bool(_GERMAN_NOUN.fullmatch(written.strip()))
    words: list[str] = re.findall(r"[a-z]+", written.lower())
    if not words or any(map(_in_no_phrase, words)):
        return False
    if _ANY_COUNT.issuperset(words):
        return True
    phrase = [*takewhile(lambda word: word not in _BEHIND, words)]
    behind = words[len(phrase) :]
    if len(phrase) > _LONGEST_PHRASE or len(behind) > _MOST_BEHIND or _NO_PLACE & set(behind):
        return False
    if not phrase:
        return behind[0] == "of" and len(behind) > 1 and (behind[1] in _ARTICLES or _plural(behind[1], known))
    noun = next((word for word in reversed(phrase) if word not in _AFTER), "")
    return singular or not noun or _plural(noun, known)


def _in_no_phrase(word: str) -> bool:
    never = word in _NEVER or word in _DOUBT or len(word) == 1
    return never or bool(_ADVERB.fullmatch(word) or _FRACTIONS.fullmatch(word))


def _plural(word: str, known: frozenset[str]) -> bool:
    if word in _IRREGULAR or word in _SINGULAR or word in _COUNTED.split() or (len(word) > 2 and word in known):
        return True
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
