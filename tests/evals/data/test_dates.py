"""Dates of benchmarks and of models."""

from __future__ import annotations

import re

from evals.data import benchmarks, dates


def test_every_benchmark_has_a_date_that_is_compared_with_models() -> None:
    for name in benchmarks.names():
        date = dates.published(name)
        assert date == "never" or (date and re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", date)), name
    assert dates.age("math500", "Qwen/Qwen2.5-Math-7B") == "older than the model"
    assert dates.age("aime25", "Qwen/Qwen2.5-Math-7B") == "newer than the model"
    assert dates.age("aime25", "Qwen/Qwen3-8B-Base") == "older than the model"  # 2025-02 against 2025-04
    assert dates.age("hmmt_feb_2025", "hkust-nlp/Qwen-2.5-32B-SimpleRL-Zoo") == "newer than the model"
    assert dates.age("tiny_short", "Qwen/Qwen3-8B-Base") == "never published"
    assert dates.age("aime24", "someone/unheard-of") == "not known"


def test_the_base_models_of_all_papers_have_a_date() -> None:
    from harness.spec import catalogue

    models = {sourced.value for key in catalogue.papers() for sourced in catalogue.load(key).models.values()}
    without = {model for model in models if dates.released(model) is None}
    # a name that does not say what it was trained from
    assert without <= {"PRIME-RL/Eurus-2-7B-PRIME", "Skywork/Skywork-OR1-Math-7B"}
