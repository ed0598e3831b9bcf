"""Quality flags of a response (format, repetition, garbled text, mixed languages), by rules or by a judge model.

The paper (arXiv 2508.07534, section 3.2.2 and Fig. 3d) flags format violations (no box, or several), irrelevant content
(repetitive or garbled; judged by a 32B model) and language mixing (a Chinese character). The first and the last are
rules there too. Here rules also detect irrelevant content, so that the flag is the same on every machine: text that
repeats itself, or has characters that no writing system uses. The rules miss fluent but irrelevant text.
3-gram redundancy: section 4.4.1; arXiv 2506.14758, section 6.2.

`Judge` asks a model, as the paper does:

judge = Judge(OpenAIEngine("Qwen2.5-32B-Instruct", url="http://127.0.0.1:8000/v1"), "Qwen2.5-32B-Instruct")
judge(["so 3 + 4 = 7, \\boxed{7}"], ["What is 3 + 4?"])    # [False]

The paper does not state its question to the judge; `QUESTION` is ours. An answer that is neither yes nor no is None:
unknown, never "not irrelevant". Without a judge the rules decide, and figures say so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evals.sampling.engines.base import Decoding, Engine, Request, sample_seed

Kind = Literal["not_distinct", "repeated"]


def redundancy(text: str, measure: Kind, *, n: int = 3) -> float:
    """Share of redundant n-grams of words (split at white space), in 0..1; 0 for fewer than n words.

    Neither paper defines it.
    not_distinct: 1 - distinct n-grams / all n-grams.
    repeated: n-grams that occur more than once (counting each occurrence) / (all n-grams + 1), as in an unused function
        of the same name in the released code of arXiv 2508.07534.

    Raises:
        ValueError: n < 1.
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1, got {n}")
    words = text.split()
    grams = Counter(zip(*(words[start:] for start in range(n)), strict=False))
    total = grams.total()
    if total == 0:
        return 0.0
    if measure == "not_distinct":
        return 1 - len(grams) / total
    return sum(count for count in grams.values() if count > 1) / (total + 1)


# Section 4.4.1 drops responses above it, as "high repetition or garbled text".
REDUNDANT_ABOVE = 0.31


# The paper flags a Chinese character; its prompts and answers are English.
_HAN = r"\p{Script=Han}"


# Unassigned, private use, lone surrogates, control characters.
_UNUSED = ("Cn", "Co", "Cs", "Cc")


@dataclass(frozen=True)
class Flags:
    """The flags of a response, as the paper's Fig. 3d counts them; `irrelevant` by our rules."""

    format_violation: bool
    irrelevant: bool
    language_mixing: bool


def flags(text: str) -> Flags:
    """The flags of one response: repetitive if its 3-gram redundancy is above `REDUNDANT_ABOVE`."""
    import regex

    repetitive = redundancy(text, "not_distinct") > REDUNDANT_ABOVE
    return Flags(
        format_violation=text.count(r"\boxed{") != 1,
        irrelevant=repetitive or garbled(text),
        language_mixing=regex.search(_HAN, text) is not None,
    )


def garbled(text: str) -> bool:
    """Whether the text has a character that no writing system uses, or U+FFFD for invalid bytes.

    At the end of the text, U+FFFD only means that the response was cut inside a character.
    """
    return any(_unused(character) for character in set(text.rstrip("\ufffd")))


def _unused(character: str) -> bool:
    if character in "\t\n\r\f\v":
        return False
    return character == "\ufffd" or unicodedata.category(character) in _UNUSED


QUESTION = """Below are a problem and a response to it. Does the response contain irrelevant content: text that does \
not serve to solve the problem, is repeated again and again, or is garbled? Ignore whether the answer is correct.

Problem:
{problem}

Response:
{response}

Answer with one word, yes or no."""
_ANSWER = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Judge:
    """A model that answers QUESTION, greedily.

    Args:
        engine: one that takes messages (`evals.sampling.engines.openai`). name: for captions.
        max_tokens: of an answer; a model that reasons first needs more.
    """

    engine: Engine
    name: str
    max_tokens: int = 16

    def __call__(self, responses: Sequence[str], problems: Sequence[str]) -> list[bool | None]:
        """Whether each response is irrelevant or garbled; None if the judge answers neither yes nor no.

        Args:
            responses, problems: [N] each, the problem that each response is to.
        Raises:
            ValueError: other numbers of responses and problems. EngineError: no answer from the server.
        """
        texts = [QUESTION.format(problem=p, response=r) for p, r in zip(problems, responses, strict=True)]
        once = list(dict.fromkeys(texts))  # judge equal responses once
        requests = [
            Request((f"judge-{i}", 0), text, sample_seed(0, "judge", (text, 0)), ({"role": "user", "content": text},))
            for i, text in enumerate(once)
        ]
        answers: dict[str, bool | None] = {}
        for batch in self.engine.generate(requests, Decoding(0.0, 1.0, self.max_tokens)):
            for completion in batch:
                answers[once[int(completion.key[0].removeprefix("judge-"))]] = parse(completion.text)
        return [answers[text] for text in texts]


def parse(answer: str) -> bool | None:
    """The last yes or no of an answer, or None."""
    answers = _ANSWER.findall(answer)
    return answers[-1].lower() == "yes" if answers else None
