"""Data files: what cannot be read is named with its place, and nothing else is ever raised."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.data.rows import read_rows

ROWS = [{"id": f"p{i}", "problem": f"{i} + 1, é", "answer": str(i + 1)} for i in range(3)]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", LINES.replace(b"p1", b"p\x001"), "line 2: not JSON"),
        ("a.jsonl", LINES + b'{"problem": "\\ud800"}\n', "line 4: half of a surrogate pair"),
        ("a.jsonl", LINES + b'{"problem": "\xff"}\n', "line 4: not UTF-8 text"),
        ("a.jsonl", LINES + b"[" * 100_000 + b"\n", "line 4: nested too deeply"),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0)[:-9], "cannot be read"),
        ("a.parquet", b"PAR1xxxxPAR1", "not readable as Parquet"),
        ("a.csv", b"id,answer\np0,1,2\n", "a.csv, line 2: expected 2 cells"),
        ("a.csv", b'id,q,answer\n1,"2\n3",5\n1,"5, unclosed\n2,6,x\n', "lines 4 to 5: expected 3 cells; does a quote"),
        ("a.json", b'{"problem": "1"}', "expected a JSON list of rows, got dict"),
        ("a.json", b'[{"problem": "1"}, "2"]', "row 2: expected a JSON object, got str"),
        ("a.txt", b"", "expected a file ending in .jsonl"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match="^" + str(path).replace(".", r"\.")) as caught:
        list(read_rows(path))
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_bytes_that_are_utf8_are_texts_and_an_image_stays_bytes(kind: pa.DataType, tmp_path: Path) -> None:
    texts, images = ["Ein Rätsel", None, "2"], [b"\x89PNG", b"2", None]
    columns = {"problem": [text and text.encode() for text in texts], "image": images}
    table = pa.table(columns, schema=pa.schema([(name, kind) for name in columns]))
    pq.write_table(table, tmp_path / "a.parquet")
    rows = list(read_rows(tmp_path / "a.parquet"))
    assert [row["problem"] for row in rows] == texts and [row["image"] for row in rows] == images


@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_bytes_inside_lists_and_objects_are_texts_too(
    list_of: Callable[[pa.DataType], pa.DataType], tmp_path: Path
) -> None:
    item = pa.struct([("text", pa.binary()), ("score", pa.int64())])
    turns = [[{"text": b"so 5", "score": 1}, {"text": None, "score": 2}], []]
    images = [{"bytes": b"\x89PNG", "path": "a"}, None]
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"turns": pa.array(turns, list_of(item)), "image": pa.array(images, image)})
    pq.write_table(table, tmp_path / "a.parquet")
    rows = list(read_rows(tmp_path / "a.parquet"))
    assert [row["turns"] for row in rows] == [[{"text": "so 5", "score": 1}, {"text": None, "score": 2}], []]
    assert [row["image"] for row in rows] == images


@pytest.mark.parametrize("text", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_objects_in_several_row_groups_are_read_in_order(text: pa.DataType, tmp_path: Path) -> None:
    """Pyarrow raises an error if dictionaries of two row groups are in one batch. The file of SimpleRL has nine groups,
    and its texts are so many that the check of its size reads them as dictionaries."""
    rows = [{"prompt": [{"content": f"{number} " + "q" * 60_000, "role": "user"}] * 2} for number in range(300)]
    prompt = pa.list_(pa.struct([("content", pa.string()), ("role", text)]))
    table = pa.Table.from_pylist(rows, pa.schema([("prompt", prompt)]))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 3
    assert list(read_rows(tmp_path / "a.parquet")) == rows


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_every_form_gives_the_same_rows(suffix: str, tmp_path: Path) -> None:
    import pandas as pd

    path, frame = tmp_path / f"a{suffix}", pd.DataFrame(ROWS)
    write = {".json": frame.to_json, ".jsonl": frame.to_json, ".csv": frame.to_csv, ".parquet": frame.to_parquet}
    how = {".json": {"orient": "records"}, ".jsonl": {"orient": "records", "lines": True}}
    write[suffix](path, **how.get(suffix, {"index": False}))
    assert list(read_rows(path)) == ROWS


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_csv_of_a_spreadsheet_has_its_own_delimiter(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        delimiter.join(("id", "answer")) + f'\n"p;,0"{delimiter}"1,5"\n', encoding="utf-8-sig"
    )
    assert list(read_rows(tmp_path / "a.csv")) == [{"id": "p;,0", "answer": "1,5"}]


@settings(max_examples=300)
@given(
    st.sampled_from([".jsonl", ".jsonl.gz", ".json", ".csv", ".parquet"]),
    st.integers(0, len(LINES)),
    st.integers(0, 40),
    st.binary(max_size=20),
)
def test_a_file_of_any_bytes_is_read_or_named(suffix: str, at: int, cut: int, more: bytes) -> None:
    content = LINES[:at] + more + LINES[at + cut :]
    if suffix.endswith(".gz") and len(more) % 2:
        content = gzip.compress(content, mtime=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(content)
        try:
            rows = list(read_rows(path))
        except ValueError as error:
            named = str(error).startswith(str(path))
        else:
            named = True
            json.dumps(rows, default=str, ensure_ascii=False).encode()  # text that can be written again
        assert named
