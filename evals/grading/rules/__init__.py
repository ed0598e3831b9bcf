"""The rules, in the order in which they are tried.

Each is a function of two cleaned answers, gold and given, that answers True or False, or None when it does not apply.
They exist where math-verify alone is wrong (it reads `8.7e8` as 8.7e*8, accepts `4=5` for 5, and `5 m` for `5 cm`);
each is about a form of answer. Where a form is in doubt they refuse: a wrong acceptance can be exploited as a reward.
"""

from __future__ import annotations

from collections.abc import Callable

from evals.grading.rules.form import (
    approximation,
    malformed,
    same_choice,
    same_literal,
    same_numeral_in_base,
    same_plain_number,
    same_words,
    without_condition,
)
from evals.grading.rules.quantities import (
    degrees_inside,
    mixed_number,
    rounded_value,
    same_quantity,
)
from evals.grading.rules.relations import (
    named_value,
    numeric_chain,
    relation_or_value,
    value_of_expression,
)
from evals.grading.rules.several import (
    same_collection,
    same_ratio,
)

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
