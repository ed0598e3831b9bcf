from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.data import benchmarks
from evals.data.benchmarks import Problem, content_hash
from evals.errors import UsageError

SHARED = Path(os.environ.get("RLVR_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "benchmarks"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real benchmark files in {SHARED} (RLVR_SHARED)")

ROWS = [
    {"id": "a", "problem": "What is 1+1?", "answer": "2"},
    {"id": "b", "problem": "What is $\\frac12$ of\n 50?", "answer": "025"},
    {"id": "c", "problem": "Which?", "answer": "$x^2$"},
]
PUBLIC = {"aime24": 30, "aime25": 30, "amc23": 40, "amc23_83": 83, "math500": 500, "minerva": 272, "olympiadbench": 675,
          "gsm8k": 1319, "hmmt_feb_2025": 30, "aime_2026": 30, "olymmath_en_easy": 100, "olymmath_en_hard": 100,
          "math_perturb_simple": 279, "math_perturb_hard": 279}  # fmt: skip


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark `toy` of ROWS, pinned, on a local stand-in for the hub. Returns an empty data_dir."""
    hub = tmp_path / "hub"
    hub.mkdir()
    hub_rows = [{"unique": r["id"], "question": r["problem"], "answer": r["answer"]} for r in ROWS]
    (hub / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in hub_rows))
    folder = tmp_path / "tasks" / "toy"
    folder.mkdir(parents=True)
    (tmp_path / "tasks" / "_shared.yaml").write_text("test_split: test\noutput_type: generate_until\n")
    pin = content_hash(Problem(r["id"], r["problem"], r["answer"]) for r in ROWS)
    (folder / "toy.yaml").write_text(
        f"include: ../_shared.yaml\ntask: toy\ndataset_path: {hub}\ntest_split: train\n"
        f"process_results: !function some.module.function\n"
        f"metadata: {{rows: 3, sha256: {pin}, columns: {{id: unique, problem: question}}, files: [toy_2]}}\n"
    )
    monkeypatch.setattr(benchmarks, "TASKS", tmp_path / "tasks")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    return data


def write(folder: Path, rows: list[dict[str, Any]], name: str = "toy") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", benchmarks.names())
def test_task_files_say_what_they_are(name: str) -> None:
    config = benchmarks.task(name)
    assert config["task"] == config["metadata"]["benchmark"] == name
    assert config["metadata"]["rows"] > 0
    assert config["metadata"]["licence"]
    sha256 = config["metadata"]["sha256"]
    assert sha256 is None or (len(sha256) == 64 and int(sha256, 16) >= 0)
    revision = (config.get("dataset_kwargs") or {}).get("revision")
    assert (revision is not None) is (
        name in {"aime24", "math500", "gpqa_diamond", "humaneval", "hmmt_feb_2026"}
    )  # those that are known
    assert revision is None or (len(revision) == 40 and int(revision, 16) >= 0)
    # without a hash of the rows, the file is pinned for a folder, and the commit for the hub
    assert sha256 is not None or revision is not None
    assert len(config["metadata"].get("file_sha256", 64 * "0")) == 64


@needs_shared
@pytest.mark.parametrize(("name", "rows"), PUBLIC.items())
def test_real_rows_match_their_pin(name: str, rows: int) -> None:
    fresh = SHARED.with_name("fresh")
    loaded = benchmarks.load(name, data_dir=fresh if (fresh / f"{name}.jsonl").is_file() else SHARED)
    assert len(loaded.problems) == rows == benchmarks.task(name)["metadata"]["rows"] and not loaded.changed


def test_tiny_benchmarks_match_their_generator(tmp_path: Path) -> None:
    from harness.data.tiny import MADE, write_benchmarks

    write_benchmarks(tmp_path)
    for tier in MADE:
        assert not benchmarks.load(tier, data_dir=tmp_path).changed


@needs_shared
def test_real_answers_stay_as_written() -> None:
    # counts from the data's own README: 7 AIME24 answers with leading zeros. The 40 of AMC23 are among the 83
    aime = benchmarks.load("aime24", data_dir=SHARED).problems
    assert sum(p.answer.startswith("0") for p in aime) == 7
    small, large = (benchmarks.load(n, data_dir=SHARED).problems for n in ("amc23", "amc23_83"))
    assert {p.answer for p in small} <= {p.answer for p in large}
    minerva = [p.answer for p in benchmarks.load("minerva", data_dir=SHARED).problems]
    assert "8.7e8" in minerva
    assert "np.arcsin(10/13)" in minerva


def test_the_answer_after_a_mark(toy: Path) -> None:
    config = benchmarks.TASKS / "toy" / "toy.yaml"
    config.write_text(config.read_text().replace("metadata: {", 'metadata: {answer_after: "####", '))
    write(toy, [{**row, "answer": f"1 + 1 = 2 #### so\n#### {row['answer']}"} for row in ROWS])
    loaded = benchmarks.load("toy", data_dir=toy)  # the same content as the pinned rows, whose answers have no mark
    assert [p.answer for p in loaded.problems] == [row["answer"] for row in ROWS] and not loaded.changed
    write(toy, [{**row, "answer": "no answer #### "} for row in ROWS])
    with pytest.raises(ValueError, match="row 1"):
        benchmarks.load("toy", data_dir=toy)


def test_the_hub_and_files_of_its_columns_or_ours_give_the_same_problems(toy: Path) -> None:
    hub = benchmarks.load("toy")
    path = write(toy, ROWS)
    loaded = benchmarks.load("toy", data_dir=toy)
    write(toy, [{"question": r["problem"], "unique": r["id"], "answer": r["answer"], "x": 1} for r in ROWS])
    assert loaded == benchmarks.load("toy", data_dir=toy) and not loaded.changed
    assert [(p.id, p.problem, p.answer, p.choices) for p in loaded.problems] == [
        (r["id"], r["problem"], r["answer"], None) for r in ROWS
    ]
    assert hub.problems == loaded.problems
    assert loaded.source == str(path) and hub.source.startswith("hub:") and hub.source.endswith("[train]")


def test_other_file_names_and_missing_ids(toy: Path) -> None:
    write(toy, [{"problem": r["problem"], "answer": r["answer"]} for r in ROWS], "toy_2")
    assert [p.id for p in benchmarks.load("toy", data_dir=toy).problems] == ["toy-0", "toy-1", "toy-2"]


def test_numbers_and_lists_become_text(toy: Path) -> None:
    answers: list[Any] = [27.0, 3, ["1", "2"]]
    write(toy, [{**row, "answer": answer} for row, answer in zip(ROWS, answers, strict=True)])
    loaded = benchmarks.load("toy", data_dir=toy, allow_changed_data=True)
    assert [p.answer for p in loaded.problems] == ["27", "3", "1, 2"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:2], r"2 rows, expected 3"),
        ([*ROWS[:2], {**ROWS[2], "answer": "x"}], r"hashes to [0-9a-f]{64}, pinned is [0-9a-f]{64}"),
        ([{k: v for k, v in r.items() if k != "answer"} for r in ROWS], r"row 1 of .*no column 'answer'. It has 'id'"),
        ([{"answer": "1"}], r"no column 'problem' or 'question'"),
        ([{"q": "1"}], r"no column 'problem' or 'question' and no column 'answer'. It has 'q'$"),
        ([{**r, "answer": " "} for r in ROWS], r"column 'answer' is empty"),
        ([{**r, "answer": None} for r in ROWS], r"column 'answer' is empty"),
        ([{**r, "id": "same"} for r in ROWS], r"column 'id' repeats 'same'"),
    ],
)
def test_wrong_rows_are_refused(toy: Path, rows: list[dict[str, Any]], message: str) -> None:
    write(toy, rows)
    with pytest.raises(ValueError, match=message):
        benchmarks.load("toy", data_dir=toy)


def test_changed_data_is_allowed_only_by_name_and_recorded(toy: Path) -> None:
    write(toy, ROWS[:2])
    with pytest.raises(ValueError, match="allow_changed_data=true"):
        benchmarks.load("toy", data_dir=toy)
    subset = benchmarks.load("toy", data_dir=toy, allow_changed_data=True)
    assert subset.changed
    assert len(subset.problems) == 2
    assert subset.sha256 == content_hash(subset.problems)


def test_no_such_benchmark_file_or_json(toy: Path) -> None:
    with pytest.raises(ValueError, match="unknown benchmark 'toi': Did you mean 'toy'"):
        benchmarks.load("toi", data_dir=toy)
    with pytest.raises(ValueError, match=r"no file for toy: expected one of toy\.jsonl"):
        benchmarks.load("toy", data_dir=toy)


def test_hash_is_that_of_the_documented_text() -> None:
    # "025" is written 25, the dollars go, white space is one blank, ids do not appear
    text = '[["What is 1+1?","2"],["What is $\\\\frac12$ of 50?","25"],["Which?","x^2"]]'
    assert (
        content_hash(Problem(r["id"], r["problem"], r["answer"]) for r in ROWS)
        == hashlib.sha256(text.encode()).hexdigest()
    )


texts = st.text(min_size=1, max_size=12)
problem_lists = st.lists(st.builds(Problem, id=texts, problem=texts, answer=texts), min_size=1, max_size=4)


@given(problem_lists, st.sampled_from(["id", "spaces", "decimals"]))
def test_hash_ignores_how_a_copy_is_written(problems: list[Problem], change: str) -> None:
    copies = {
        "id": lambda p: Problem(p.id + "x", p.problem, p.answer),
        "spaces": lambda p: Problem(p.id, f"\n {p.problem}\t", f" {p.answer} "),
        "decimals": lambda p: Problem(p.id, p.problem, p.answer + ".0" if _whole(p.answer) else p.answer),
    }
    assert content_hash(map(copies[change], problems)) == content_hash(problems)


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


@given(problem_lists, st.data())
def test_the_hash_covers_questions_and_answers(problems: list[Problem], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(problems) - 1))
    old = problems[index]
    for new in (Problem(old.id, old.problem + "?x", old.answer), Problem(old.id, old.problem, old.answer + "x")):
        assert content_hash([*problems[:index], new, *problems[index + 1 :]]) != content_hash(problems)
    assert content_hash([*problems, old]) != content_hash(problems)


def gpqa_rows(count: int = 198) -> list[dict[str, str]]:
    return [
        {
            "Record ID": f"r{i}",
            "Question": f"q{i}",
            "Correct Answer": f"right {i}",
            **{f"Incorrect Answer {j}": f"wrong {i} {j}" for j in (1, 2, 3)},
        }
        for i in range(count)
    ]


def gpqa(folder: Path, choice_seed: int = 0) -> benchmarks.Benchmark:
    return benchmarks.load("gpqa_diamond", data_dir=folder, choice_seed=choice_seed, allow_changed_data=True)


def test_rows_without_a_hash_are_pinned_by_the_publisher_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, gpqa_rows(), "gpqa_diamond")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=f"the file hashes to {digest}, the publisher's own to 41d1213c.* not known"):
        benchmarks.load("gpqa_diamond", data_dir=tmp_path)
    assert gpqa(tmp_path).changed
    config = benchmarks.task("gpqa_diamond")
    config["metadata"]["file_sha256"] = digest
    monkeypatch.setattr(benchmarks, "task", lambda name: config)
    assert not benchmarks.load("gpqa_diamond", data_dir=tmp_path).changed
    path.write_text(path.read_text() + "\n")  # the same rows, but nobody can know that
    with pytest.raises(ValueError, match="the file hashes to"):
        benchmarks.load("gpqa_diamond", data_dir=tmp_path)


def test_choices_are_shuffled_by_seed_and_the_letter_follows(tmp_path: Path) -> None:
    write(tmp_path, gpqa_rows(), "gpqa_diamond")
    first, again, other = (gpqa(tmp_path, choice_seed=s) for s in (0, 0, 1))
    assert first == again
    assert first.problems != other.problems
    assert first.sha256 == other.sha256
    assert (first.choice_seed, other.choice_seed) == (0, 1)
    for i, problem in enumerate(first.problems):
        assert problem.choices is not None
        assert problem.choices["ABCD".index(problem.answer)] == f"right {i}"
        assert sorted(problem.choices) == sorted([f"right {i}", *(f"wrong {i} {j}" for j in (1, 2, 3))])
    # each letter is right for 198/4 = 49.5 of them on average, standard deviation 6.1: 25 to 74 is four of those
    assert all(25 <= [p.answer for p in first.problems].count(letter) <= 74 for letter in "ABCD")


def test_a_problems_order_does_not_depend_on_the_others(tmp_path: Path) -> None:
    write(tmp_path, gpqa_rows(), "gpqa_diamond")
    whole = {p.id: p for p in gpqa(tmp_path).problems}
    write(tmp_path, gpqa_rows()[::-2], "gpqa_diamond")
    half = gpqa(tmp_path).problems
    assert all(whole[p.id] == p for p in half)


def test_every_task_file_runs_under_lm_eval(tmp_path: Path) -> None:
    """lm-eval's own TaskManager knows every file. GPQA is built and graded there."""
    from lm_eval.tasks import TaskManager

    from evals.data.prompts import PROMPTS, messages

    manager = TaskManager(include_path=str(benchmarks.TASKS), include_defaults=False)
    assert set(benchmarks.names()) <= set(manager.all_tasks)

    write(tmp_path, gpqa_rows(), "gpqa_diamond")
    manager = TaskManager(
        include_path=str(benchmarks.TASKS),
        include_defaults=False,
        metadata={"data_dir": str(tmp_path), "allow_changed_data": True},
    )
    task = manager.load(["gpqa_diamond"])["tasks"]["gpqa_diamond"]
    docs = list(task.test_docs())
    problems = gpqa(tmp_path).problems
    assert [(d["id"], d["answer"]) for d in docs] == [(p.id, p.answer) for p in problems]

    assert task.doc_to_text(docs[0]) == messages(PROMPTS["gpqa"], problems[0])[-1]["content"]
    right = task.process_results(docs[0], [[f"so\nAnswer: {docs[0]['answer']}"]])
    wrong = task.process_results(docs[0], [[f"so\nAnswer: {'B' if docs[0]['answer'] == 'A' else 'A'}"]])
    names = ("avg@1", "pass@1", "maj@1")
    assert (right, wrong) == (
        dict.fromkeys(names, 1.0) | {"unscored": 0.0}, dict.fromkeys(names, 0.0) | {"unscored": 0.0}
    )  # fmt: skip


def test_lm_eval_shows_each_benchmarks_own_prompt() -> None:
    """One list: the task file names the prompt, and `dataset` fills it in (GPQA's is compared above)."""
    from evals.data.prompts import of_benchmark

    assert benchmarks.task("math500")["doc_to_text"] == "{{prompt}}"
    prompt_names = {"math500": "boxed_suffix", "gsm8k": "gsm8k", "gpqa_diamond": "gpqa", "humaneval": "evalplus"}
    assert {name: of_benchmark(name).name for name in prompt_names} == prompt_names
    assert {of_benchmark(name).name for name in benchmarks.names() if name.startswith(("tiny_", "search_"))} == {
        "plain"
    }


def test_a_file_cannot_stand_for_rows_that_only_the_hub_pins(tmp_path: Path) -> None:
    write(tmp_path, [{"id": str(i), "problem": f"p{i}", "answer": "1"} for i in range(33)], "hmmt_feb_2026")
    with pytest.raises(ValueError, match=r"hmmt_feb_2026.*not the pinned version.*only the hub's commit"):
        benchmarks.load("hmmt_feb_2026", data_dir=tmp_path)
    assert benchmarks.load("hmmt_feb_2026", data_dir=tmp_path, allow_changed_data=True).changed


def test_a_column_that_is_named_is_taken_in_place_of_ours(tmp_path: Path) -> None:
    """The file has an `answer` too: the one that was named counts, and one that is nowhere is refused."""
    path = tmp_path / "mine_named.jsonl"
    path.write_text('{"question": "3+4?", "answer": "7", "final": "8"}\n')
    (problem,) = benchmarks.load(benchmarks.OwnBenchmark.parse(f"{path}?problem=question&answer=final")).problems
    assert (problem.problem, problem.answer) == ("3+4?", "8")
    name = benchmarks.OwnBenchmark.parse(f"{path}?problem=question&answer=finel")
    with pytest.raises(
        UsageError,
        match=r"no column 'finel' \(columns=answer:finel\). Did you mean 'final'\? It has 'question', 'answer', 'f",
    ):
        benchmarks.load(name)
