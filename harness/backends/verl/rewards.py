"""Our verifier as veRL's custom reward: the grader that scores evaluations.

A response that could not be scored has the reward NaN, and is counted (`train/unscored_fraction`), unless the
declaration says `unscored=incorrect`. With `unscored=error` it ends the training. An error in here fails the prompt's
group, and with it the training (`rollout.GroupBuffer`): nothing is swallowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.step.batch import DATA_SIGNALS

CORRECT = "correct"
UNEQUAL = "unequal_boxes"
ENDED = "ended_by_text"
BEGUN = "thought_begun"  # the column that says whether a row's prompt begins the thought
PROMPT = "prompt"  # the column with a row's prompt
PART = "reward/"  # before the name of a single reward


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **settings: Any
) -> dict[str, float]:
    """`score`, as veRL calls it, and what the row says of its prompt."""
    row = extra_info or {}
    of_row = {"begun": row.get(BEGUN, False), "prompt": row.get(PROMPT, "")}
    scores = await asyncio.to_thread(score, solution_str, ground_truth, **of_row, **settings)
    return scores | {name: row[name] for name in DATA_SIGNALS if name in row}


def score(
    response: str,
    gold: str,
    *,
    names: Sequence[str],
    weights: Sequence[float],
    policy: str,
    unscored: str,
    reasoning: str,
    begun: bool = False,
    prompt: str = "",
    draws: Sequence[str] = (),
    stop: Sequence[str] = (),
) -> dict[str, float]:
    """The weighted sum of the rewards `names`, each of them, and whether the response is correct (1, 0, or NaN where
    not scored), boxes different texts and was ended by a text of `stop` (1 or 0). And its `draws`
    (`harness.step.draws`).

    Args:
        reasoning: which part of a response with a thought in it is read.
        begun: the prompt begins the thought.
    """
    import torch

    from evals.grading import Grader
    from evals.sampling.engines.encode import before_stop
    from harness.step.draws import response_draws
    from harness.step.rewards import score_responses, unequal_boxes
    from harness.step.step_metrics import correct_responses

    whole, response = response, before_stop(response, stop)
    grader = Grader(reasoning=reasoning)
    scores = score_responses(names, [response], [gold], grader, policy=policy, begun=[begun], unscored=unscored)
    values_of = {name: float("nan") if values[0] is None else float(values[0]) for name, values in scores.items()}
    correct = correct_responses({name: torch.tensor([value]) for name, value in values_of.items()})
    return {
        "score": sum(weight * values_of[name] for name, weight in zip(names, weights, strict=True)),
        CORRECT: float("nan") if correct is None else correct.item(),
        UNEQUAL: unequal_boxes([response]),
        ENDED: float(response != whole),
        **{PART + name: value for name, value in values_of.items()},
        **response_draws(draws, prompt, response, policy=policy, reasoning=reasoning),
    }
