"""Ask a model whether a response is irrelevant or garbled (arXiv 2508.07534, Fig. 3d, whose judge is a 32B model).

judge = Judge(OpenAIEngine("Qwen2.5-32B-Instruct", url="http://127.0.0.1:8000/v1"), "Qwen2.5-32B-Instruct")
judge(["so 3 + 4 = 7, \\boxed{7}"], ["What is 3 + 4?"])    # [False]

The paper does not state its question; `QUESTION` is ours. An answer that is neither yes nor no is None: unknown, never
"not irrelevant". Without a judge, the rules of `evals.analysis.responses.quality` are the fallback, and figures say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evals.sampling.engines.base import Decoding, Engine, Request, sample_seed

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
        """Whether each response is irrelevant or garbled; None where the answer says neither yes nor no.

        Args:
            responses, problems: [N] each, the problem that each response is to.
        Raises:
            ValueError: other numbers of responses and problems. EngineError: no answer from the server.
        """
        texts = [QUESTION.format(problem=p, response=r) for p, r in zip(problems, responses, strict=True)]
        once = list(dict.fromkeys(texts))  # equal responses are judged once
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
    """The last yes or no of an answer; None where there is none."""
    answers = _ANSWER.findall(answer)
    return answers[-1].lower() == "yes" if answers else None
