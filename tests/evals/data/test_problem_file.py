"""The text of a user's file of problems keeps every name of a column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.data.problem_file import ProblemFile
from evals.errors import UsageError

COLUMNS = ("problem", "answer", "id")


@given(st.dictionaries(st.sampled_from(COLUMNS), st.text(min_size=1)))
def test_a_text_is_read_as_it_was_written(columns: dict[str, str]) -> None:
    file = ProblemFile("a.jsonl", columns)
    assert ProblemFile.parse(str(file), COLUMNS) == file


def test_plain_names_stand_as_they_are_since_records_and_digests_have_them() -> None:
    file = ProblemFile("a b.jsonl", {"problem": "prompt.0.content?role=user", "answer": "Correct Answer"})
    assert str(file) == "a b.jsonl?problem=prompt.0.content?role=user&answer=Correct Answer"
    assert ProblemFile.parse("a.jsonl?answer=Correct+Answer%2F", COLUMNS).columns == {
        "answer": "Correct Answer/"
    }  # older


@pytest.mark.parametrize(
    ("query", "message"), [("problem", "OURS=THEIRS.*got 'problem'"), ("answr=x", "columns=answr:x: .*answer")]
)
def test_what_says_no_column_is_refused(query: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ProblemFile.parse(f"a.jsonl?{query}", COLUMNS)
