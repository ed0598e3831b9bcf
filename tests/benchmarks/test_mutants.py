"""The mutants of a small module, and the tests that are nearest to a file."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks import mutants

SOURCE = """
def within(x: int, low: int = 1) -> bool:
    assert low >= 0
    return low <= x < max(x, 5) and not x % 2 == 1
"""


def test_every_change_is_made_once_and_alone() -> None:
    sources = [mutants.mutant_at("m.py", SOURCE, place).source for place in mutants.places(SOURCE)]
    line = "return low <= x < max(x, 5) and (not x % 2 == 1)"
    pairs = [
        ("<=", "<"),
        (" < ", " <= "),
        ("max", "min"),
        ("5", "6"),
        (" and ", " or "),
        ("2 ==", "3 =="),
        ("==", "!="),
    ]
    expected = {ast.unparse(ast.parse(line.replace(*pair))) for pair in [*pairs, ("== 1", "== 2")]}
    changed = {text.splitlines()[2].strip() for text in sources} - {line}
    assert changed == expected
    assert [text.splitlines()[0] for text in sources].count("def within(x: int, low: int=2) -> bool:") == 1
    assert len(sources) == len(expected) + 1 and all("assert low >= 0" in text for text in sources)


def test_a_sample_is_the_same_twice_and_another_with_another_seed() -> None:
    root = Path(__file__).resolve().parents[2]
    first, again, other = (mutants.sample(root, ["harness/step"], 4, seed) for seed in (0, 0, 1))
    assert first == again != other and len(first) == 4


def test_the_nearest_tests(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "evals" / "stats"
    folder.mkdir(parents=True)
    assert mutants.nearest(tmp_path, "evals/stats/score.py") == ["tests/evals/stats"]
    (folder / "test_runs.py").write_text("from evals.stats.score import score")
    assert mutants.nearest(tmp_path, "evals/stats/score.py") == ["tests/evals/stats/test_runs.py"]
    (folder / "test_score.py").write_text("")
    assert mutants.nearest(tmp_path, "evals/stats/score.py") == ["tests/evals/stats/test_score.py"]


def test_a_mutant_that_a_test_notices_is_killed_and_the_file_is_restored(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "tests" / "evals").mkdir(parents=True)
    file = tmp_path / "evals" / "small.py"
    file.write_text("def half(x): return x / 2\n")
    (tmp_path / "tests" / "evals" / "test_small.py").write_text("def test(): assert 1\n")
    (mutant, *_) = (
        mutants.mutant_at("evals/small.py", file.read_text(), at) for at in mutants.places(file.read_text())
    )
    assert mutants.fate(tmp_path, mutant) == "survived"
    (tmp_path / "tests" / "evals" / "test_small.py").write_text(
        "from evals.small import half\ndef test(): assert half(4) == 2\n"
    )
    assert mutants.fate(tmp_path, mutant) == "killed"
    assert file.read_text() == "def half(x): return x / 2\n"
