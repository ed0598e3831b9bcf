from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shards import files_of, parsed


@given(st.lists(st.text(max_size=3)), st.integers(1, 5))
def test_every_file_is_in_exactly_one_part(files: list[str], parts: int) -> None:
    held = [files_of(files, f"{number}/{parts}") for number in range(1, parts + 1)]
    assert set().union(*held) == set(files)
    assert sum(map(len, held)) == len(set(files))
    assert max(map(len, held)) - min(map(len, held)) <= 1


@pytest.mark.parametrize("shard", ["", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2"])
def test_what_names_no_part_is_refused(shard: str) -> None:
    with pytest.raises(ValueError, match="expected K/N"):
        parsed(shard)
