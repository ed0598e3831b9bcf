"""Tables of the study's page inside other pages: filled by command, and noticed when edited or stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.tiny.excerpts import filled, stale_excerpts, write_excerpts

PAGE = """# Study

### Methods

| arm | avg |
| --- | --- |
| grpo | 1 |
| egsw | 2 |

A note.

### Placebos

| arm |
| --- |
| erpo |

![a](b.png)
"""


def test_a_marked_place_gets_the_whole_table_or_its_first_rows() -> None:
    text = "a\n<!-- study table: {} -->\nold\n<!-- end of study table -->\nb\n"
    whole = filled(text.format("Methods"), PAGE)
    assert whole == text.format("Methods").replace(
        "old\n", "### Methods\n\n| arm | avg |\n| --- | --- |\n| grpo | 1 |\n| egsw | 2 |\n\nA note.\n"
    )
    assert filled(whole, PAGE) == whole
    rows = filled(text.format("Methods; first 1 rows"), PAGE)
    assert rows.splitlines()[2:-2] == ["| arm | avg |", "| --- | --- |", "| grpo | 1 |"]
    assert "b.png" not in filled(text.format("Placebos"), PAGE)
    with pytest.raises(ValueError, match="'Claims': the study's page has no such table"):
        filled(text.format("Claims"), PAGE)


def test_pages_above_are_filled_and_an_edit_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "study"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(PAGE)
    place = "<!-- study table: Placebos -->\n<!-- end of study table -->\n"
    (folder.parent / "README.md").write_text(place)  # the second folder above has no README.md
    assert write_excerpts(folder) == [folder.parent / "README.md"]
    assert "| erpo |" in (folder.parent / "README.md").read_text()
    assert not stale_excerpts(folder)
    (folder.parent / "README.md").write_text((folder.parent / "README.md").read_text().replace("erpo", "egsw"))
    assert list(stale_excerpts(folder)) == [folder.parent / "README.md"]
