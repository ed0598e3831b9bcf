"""The rules, in the order in which they are tried.

Each takes two cleaned answers (gold, answer) and `same`, which compares parts of them; it returns True or False, or
None when it does not apply. They cover cases in which math-verify alone is wrong (it reads `8.7e8` as 8.7e*8, and
accepts `4=5` for 5 and `5 m` for `5 cm`). When in doubt, a rule rejects: training could exploit a wrong acceptance as a
reward.
"""

from __future__ import annotations

from collections.abc import Callable

from evals.grading.conventions import Same
from evals.grading.rules import form, quantities, relations, several

RULES: tuple[Callable[[str, str, Same], bool | None], ...] = (
    form.same_literal,
    form.same_plain_number,
    form.malformed,
    form.denied,
    form.same_numeral_in_base,
    form.spelled_number,
    form.same_ordinal,
    form.same_choice,
    form.same_phrase,
    form.same_words,
    form.without_condition,
    form.constant_of_integration,
    relations.for_every_whole_number,
    form.approximation,
    relations.congruence,
    relations.named_value,
    relations.value_of_expression,
    relations.numeric_chain,
    relations.same_equation,
    relations.explicit_form,
    relations.relation_or_value,
    several.same_time_of_day,
    quantities.arithmetic_in_words,
    quantities.same_quantity,
    several.same_collection,
    several.same_ratio,
    quantities.degrees_inside,
    quantities.mixed_number,
    quantities.rounded_value,
)
