"""`rows=`, rows inside lists, and rows that number themselves."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import rlvr
from evals.answer_files import grade_file
from evals.answer_files.items import items_as_rows
from evals.answer_files.reading import Reading
from evals.audit.curves import read_curve
from evals.data.rows import read_rows
from evals.errors import UsageError
from evals.paths import conditions_of, kept, refuse_mixed, row_filter

ROWS = [
    {"model": model, "id": number, "gold": str(number), "response": rf"\boxed{{{number if right else 9}}}"}
    for model, verdicts in (("gpt-4", (True, True, False)), ("llama", (False, False, True)))
    for number, right in enumerate(verdicts, 1)
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- rows= ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "right"), [("gpt-4", 2), ("llama", 1)])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_rows_of_one_model_are_read_from_every_form(name: str, right: int, suffix: str, tmp_path: Path) -> None:
    """A command for JSON alone was printed for a CSV file before."""
    report = rlvr.grade(write(tmp_path / f"a{suffix}", ROWS), rows=f"model?{name}")
    assert report["verdicts"] == {"correct": right, "wrong": 3 - right}
    assert f"rows=model?{name} keeps 3 of 6 rows" in str(report)


def test_several_conditions_must_all_hold(tmp_path: Path) -> None:
    report = rlvr.grade(write(tmp_path / "a.jsonl", ROWS), rows=["model?gpt-4", "id?3"])
    assert report["rows"] == 1 and report["verdicts"] == {"wrong": 1}


def test_a_condition_that_no_row_fulfils_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"rows=model\?gpt keeps none of 6 rows\. model is gpt-4, llama"):
        rlvr.grade(write(tmp_path / "a.jsonl", ROWS), rows="model?gpt")
    with pytest.raises(UsageError, match="No row has name"):
        kept(ROWS, ["name?x"])


@pytest.mark.parametrize("empty", [None, ""])
def test_a_path_alone_keeps_the_rows_that_have_a_value(empty: object) -> None:
    assert kept([{"a": 1}, {"a": empty}, {"b": 1}, {"a": 0}], ["a"])[0] == [0, 3]


def test_without_conditions_all_rows_are_kept() -> None:
    assert kept(ROWS, ()) == ([*range(6)], "") and conditions_of(None) == ()
    assert conditions_of("a?b") == ("a?b",) and conditions_of(["a", "b"]) == ("a", "b")


def test_a_shell_reads_the_condition_as_it_is_printed() -> None:
    assert row_filter("model", "gpt 4") == "'rows=model?gpt 4'" and row_filter("answer") == "rows=answer"


def test_the_rows_of_one_run_are_audited_and_drawn(tmp_path: Path) -> None:
    rows = [{"run": run, "step": step, "acc": step / 10} for run in ("a", "b") for step in (1, 2, 3)]
    path = write(tmp_path / "runs.csv", [{**row, "acc": row["acc"] + (row["run"] == "b") / 2} for row in rows])
    with pytest.raises(UsageError, match=r"differ in run\. .*type 'rows=run\?a'"):
        read_curve(path.read_text())
    assert read_curve(path.read_text(), conditions=["run?b"])["acc"].tolist() == pytest.approx([0.6, 0.7, 0.8])
    result = rlvr.audit(path, printed="30.0", metric="acc", problems=10, rows="run?a")
    assert result["verdict"] == "stands" and "rows=run?a keeps 3 of 6 rows" in str(result)


def test_a_table_of_verdicts_is_read_in_part(tmp_path: Path) -> None:
    rows = [{"id": n, "correct": int(n % 2), "dataset": "a" if n < 4 else "b"} for n in range(8)]
    result = rlvr.audit(write(tmp_path / "a.csv", rows), printed="50.0", rows="dataset?b")
    assert result["read"][0]["rows"] == 4 and "rows=dataset?b keeps 4 of 8 rows" in str(result)


def test_a_list_inside_an_object_is_named(tmp_path: Path) -> None:
    whole = {"runs": {"a.1": ROWS[:3], "b": ROWS[3:]}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(whole))
    with pytest.raises(UsageError, match=r"several lists of rows\. To read one, type 'rows=runs\.a\.1\.\*'"):
        rlvr.grade(path)
    assert rlvr.grade(path, rows="runs.b.*")["verdicts"] == {"correct": 1, "wrong": 2}
    with pytest.raises(UsageError, match=r"there is no list of objects at runs\.c"):
        rlvr.grade(path, rows="runs.c.*")


def test_lm_evals_samples_inside_its_scores_are_read(tmp_path: Path) -> None:
    sample = {
        **{"doc_id": 0, "doc": {"question": "1+1?", "answer": "#### 2"}, "target": "#### 2"},
        **{"arguments": [["1+1?", {}]], "resps": [["#### 2"]], "filtered_resps": ["2"], "exact_match": 1.0},
    }
    whole = {"results": {"gsm8k": {"exact_match,strict-match": 1.0}}, "configs": {}, "samples": {"gsm8k": [sample]}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(whole))
    assert grade_file(path).stated.format == "lm_eval"
    path.write_text(json.dumps({**whole, "samples": {}}))
    with pytest.raises(UsageError, match="lm-eval's scores without samples"):
        grade_file(path)


# -- rows inside lists ---------------------------------------------------------------------------------------------

TEACHERS = {
    name: {"teacher": name, "right": right, "samples": [{"q": q, "gold": q, "text": rf"\boxed{{{q}}}"} for q in "12"]}
    for name, right in (("a", 3), ("b", 4), ("c", 5), ("d", 6), ("e", 7))
}
COLUMNS = {"problem": "samples.*.q", "answer": "samples.*.gold", "response": "samples.*.text", "benchmark": "teacher"}


def test_the_objects_of_a_list_are_rows(tmp_path: Path) -> None:
    """The samples of five models. The id of an outer object is no id of a problem."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(TEACHERS))
    report = grade_file(path, reading=Reading(COLUMNS))
    assert (report.rows, report.problems, report.samples, [*report.scores]) == (10, 10, (1, 1), [*"abcde"])
    short = grade_file(path, reading=Reading({name: COLUMNS[name] for name in ("answer", "response")}))
    assert short.rows == short.problems == 10 and short.verdicts == {"correct": 10}
    pooled = grade_file(path, reading=Reading({**COLUMNS, "benchmark": "samples.*.q"}))
    assert pooled.problems == 2 and pooled.samples == (5, 5)


@pytest.mark.parametrize("extra", [{}, {"gold_of_other": "x"}])
def test_samples_of_one_problem_stay_one_row(extra: dict[str, object]) -> None:
    row = {"rolls": [{"gold": "2", "text": "2"}, {"gold": "2", "text": "3"}], **extra}
    assert items_as_rows([row], {"answer": "rolls.*.gold", "response": "rolls.*.text"}) == [row]


def test_lists_in_lists_keep_the_values_around_them() -> None:
    row = {
        "run": "r",
        "by": [{"m": "a", "s": [{"g": 1, "t": 2}, {"g": 3, "t": 4}]}, {"m": "b", "s": [{"g": 5, "t": 6}]}],
    }
    columns = {"answer": "by.*.s.*.g", "response": "by.*.s.*.t", "benchmark": "by.*.m", "seed": "run"}
    rows = items_as_rows([row], columns)
    assert [[row[path] for path in columns.values()] for row in rows] == [
        *([1, 2, "a", "r"], [3, 4, "a", "r"], [5, 6, "b", "r"]),
    ]


def test_a_gold_with_a_list_of_samples_keeps_the_list() -> None:
    row = {"p": [{"gold": 1, "texts": ["1", "2"]}, {"gold": 3, "texts": ["3"]}]}
    rows = items_as_rows([row], {"answer": "p.*.gold", "response": "p.*.texts"})
    assert [row["p.*.texts"] for row in rows] == [["1", "2"], ["3"]]


def test_lists_of_other_lengths_are_refused() -> None:
    row = {"gold": ["1", "2"], "text": ["1"]}
    with pytest.raises(UsageError, match=r"lists of other lengths: (gold\.\* 2, text\.\* 1|text\.\* 1, gold\.\* 2)"):
        items_as_rows([row], {"answer": "gold.*", "response": "text.*"})


# -- rows that number themselves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[{"correct": [1, 0, 1]}], [{"correct": ok} for ok in (1, 0, 1)]])
def test_verdicts_without_ids_are_numbered_when_asked(rows: list[dict[str, object]], tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(UsageError, match="id:row if each verdict is of a problem of its own"):
        rlvr.audit(path, printed="66.7", columns={"correct": "correct"})
    result = rlvr.audit(path, printed="66.7", columns={"id": "row", "correct": "correct"})
    assert result["read"][0]["problems"] == 3 and result["verdict"] == "stands"


def test_one_text_with_two_golds_is_two_problems_when_asked(tmp_path: Path) -> None:
    rows = [{"problem": "Give a number.", "gold": gold, "response": gold} for gold in "12"]
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(UsageError, match="add problem_id:row to columns="):
        grade_file(path, policy="whole")
    report = grade_file(path, policy="whole", reading=Reading({"problem_id": "row"}))
    assert report.problems == 2 and report.verdicts == {"correct": 2}


def test_a_column_named_row_keeps_its_meaning(tmp_path: Path) -> None:
    rows = [{"row": 7, "gold": "1", "response": r} for r in "12"]
    report = grade_file(write(tmp_path / "a.jsonl", rows), policy="whole", reading=Reading({"problem_id": "row"}))
    assert report.problems == 1


def test_two_columns_of_ids_are_told_apart(tmp_path: Path) -> None:
    rows = [{"problem_id": n // 2, "id": n, "correct": n % 2, "label": "word"} for n in range(4)]
    path = write(tmp_path / "a.csv", rows)
    with pytest.raises(UsageError, match="both id and problem_id"):
        rlvr.audit(path, printed="50.0")
    for column, problems in (("id", 4), ("problem_id", 2)):
        result = rlvr.audit(path, printed="50.0", columns={"id": column, "correct": "correct"})
        assert result["read"][0]["problems"] == problems and result["verdict"] == "stands"


# -- golds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("between", "sign"), [("/", "/"), ("|", "|"), (r"\n", "\n"), (" or ", " or ")])
def test_golds_in_one_text_are_split_where_the_user_says(between: str, sign: str, tmp_path: Path) -> None:
    rows = [{"gold": sign.join(["12", "24"]), "response": response} for response in ("24", "12", "5")]
    path = write(tmp_path / "a.jsonl", rows)
    report = grade_file(path, policy="whole", reading=Reading(golds=f"any:{between}"))
    assert report.verdicts == {"correct": 2, "wrong": 1}


@pytest.mark.parametrize("golds", ["any:", "all:/", "each"])
def test_another_rule_for_golds_is_refused(golds: str) -> None:
    with pytest.raises(UsageError, match="Expected any, all, or any:/"):
        Reading(golds=golds)


def test_a_file_of_golds_with_ids_is_found_by_them(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [{"question_id": "x", "response": "(C)"}])
    golds = write(tmp_path / "g.jsonl", [{"id": "x", "question": "q", "answer": "C"}])
    reading = Reading({"problem_id": "question_id"}, golds)
    assert grade_file(file, reading=reading).verdicts == {"correct": 1}
    write(golds, [{"id": "y", "question": "q", "answer": "C"}])
    with pytest.raises(UsageError, match=r"no answer for problem 'x'\. Its ids are y"):
        grade_file(file, reading=reading)
    write(golds, [{"id": "x", "target": "C"}])
    with pytest.raises(UsageError, match=r"found id, target in row 1\. Add answer:target to columns="):
        grade_file(file, reading=reading)


# -- files that are no table -------------------------------------------------------------------------------------------


def test_a_pointer_of_git_lfs_says_what_to_type(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.csv", "a.log"):
        (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 5\n")
        for command in (rlvr.grade, rlvr.curves):
            with pytest.raises(UsageError, match=r"a pointer of Git LFS, and no data. In its repository, type git lfs"):
                command(tmp_path / name)


def test_a_table_without_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('te,q1,"line one\nso 82",82\nte,q2,"line one\nso 12",12\n')
    with pytest.raises(UsageError, match=r"no names of columns\. To add names, type printf 'column1,"):
        rlvr.grade(path)


@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a b.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t"), ("a.csv.gz", ";")]
)
def test_what_a_table_without_names_says_to_type_gives_it_names(name: str, separator: str, tmp_path: Path) -> None:
    path = tmp_path / name
    text = f"1{separator}2\n3{separator}4\n"
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.raises(UsageError) as error:
        list(read_rows(path, of_any_name=True))
    command, _, named = str(error.value).partition("type ")[2].rpartition(" > ")
    written = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=True).stdout
    (tmp_path / named).write_bytes(written)
    read = list(read_rows(tmp_path / named, of_any_name=True))
    assert read == [{"column1": "1", "column2": "2"}, {"column1": "3", "column2": "4"}]


def test_a_row_is_counted_in_the_file_or_said_to_be_among_those_kept(tmp_path: Path) -> None:
    rows = [{"m": "a", "id": "x", "correct": [1, 0]}, {"m": "b", "id": "y", "correct": [1, "w"]}]
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(UsageError, match=r"row 2: correct: 'w' is no verdict"):
        rlvr.audit(path, printed="50")
    with pytest.raises(UsageError, match=r"row 1: correct: 'w'.*\n.*counts only the rows that rows= keeps\.\)$"):
        rlvr.audit(path, printed="50", rows="m?b")
    rows = [
        {"m": m, "problem": "1+1", "response": "2", "answer": gold} for m, gold in (("a", "2"), ("b", "2"), ("b", "3"))
    ]
    with pytest.raises(UsageError, match=r"row 2: problem '1\+1' has .*\n.*counts only the rows that rows= keeps\.\)$"):
        rlvr.grade(write(tmp_path / "b.jsonl", rows), rows="m?b")


def test_a_row_of_the_whole_file_or_of_another_file_is_not_said_to_be_among_those_kept(tmp_path: Path) -> None:
    row = {"m": "b", "problem": "1+1", "response": "2", "answer": "2"}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([row, row, "x"]))
    with pytest.raises(UsageError, match="row 3: expected a JSON object, got str") as error:
        rlvr.grade(path, rows="m?b")
    assert "rows= keeps" not in str(error.value)
    golds = write(tmp_path / "g.jsonl", [{"problem": "1+1", "answer": "2"}, {"problem": "2+2", "answer": None}])
    with pytest.raises(UsageError, match="row 2: answer is None") as error:
        rlvr.grade(write(tmp_path / "a.jsonl", [{**row, "answer": None}]), rows="m?b", gold=golds)
    assert "rows= keeps" not in str(error.value)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"task": "x", "passed": True}, "rlvr audit FILE printed=SCORE columns=id:PATH,correct:passed"),
        ({"task_id": "x", "passed": True}, "rlvr audit FILE printed=SCORE columns=id:task_id,correct:passed"),
        ({"by": {"gsm8k": {"before": 0.6}}, "note": "a"}, "If these are scores, give the file that has the responses"),
    ],
)
def test_a_file_without_responses_says_what_it_may_be(row: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        rlvr.grade(write(tmp_path / "a.jsonl", [row]))
    assert sentence in str(error.value)


def test_a_column_of_true_and_false_is_no_verdict_by_itself(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"q": q, "gold": "A", "response": "A", "first": q == "a"} for q in "ab"]
    assert "If one is their verdict, add expected:NAME" in str(rlvr.grade(write(tmp_path / "a.jsonl", rows)))
    rows = [{**row, "is_correct": row["q"] == "a"} for row in rows]
    assert "columns=expected:is_correct compares" in str(rlvr.grade(write(tmp_path / "a.jsonl", rows)))


def test_a_word_that_no_row_has_is_said(tmp_path: Path) -> None:
    rows = [{"id": n, "result": word} for n, word in enumerate(["Judging", "Not Found"])]
    path = write(tmp_path / "a.jsonl", rows)
    result = rlvr.audit(path, printed="0.0", columns={"id": "id", "correct": "result?Accepted"})
    assert "no row has 'Accepted' as result. It is Judging, Not Found" in str(result)


@pytest.mark.parametrize(("printed", "budget"), [("25.0", 50), ("75.0", 200)])
def test_the_rows_of_one_condition_are_a_reading(printed: str, budget: int, tmp_path: Path) -> None:
    """Each problem once under each budget of tokens. The accuracy of a budget is its rows' mean."""
    right = {50: 2, 100: 4, 200: 6}
    rows = [{"id": n, "budget": b, "correct": int(n < right[b])} for n in range(8) for b in right]
    result = rlvr.audit(write(tmp_path / "a.csv", rows), printed=printed)
    assert f"the rows of budget {budget} alone" in str(result)


def test_a_column_of_the_verdicts_is_no_part(tmp_path: Path) -> None:
    """The mean of two groups of which one is all right and one all wrong under pass@k is 50.0 in any file."""
    rows = [{"id": n, "passed": n < 100, "correct": [n < 100, n < 40]} for n in range(400)]
    result = rlvr.audit(write(tmp_path / "a.jsonl", rows), printed="50.0", columns={"id": "id", "correct": "correct"})
    assert result["verdict"] != "stands with another number" and "values of passed" not in str(result)


def test_scores_are_not_called_verdicts(tmp_path: Path) -> None:
    rows = [{"model": model, "acc": acc} for model, acc in (("a", 0.41), ("b", 0.5))]
    with pytest.raises(UsageError, match="No path has the name of a gold, a response or a verdict"):
        rlvr.grade(write(tmp_path / "a.jsonl", rows))


def test_a_list_of_texts_says_that_golds_lack(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(["so 5", "so 7"]))
    with pytest.raises(UsageError, match=r"got str\. If these are responses, write a row"):
        rlvr.grade(path)


def test_another_policy_with_the_whole_thought_is_tried(tmp_path: Path) -> None:
    """Thoughts that never close, with answers in words: neither qwen nor reasoning=whole alone finds them."""
    rows: list[dict[str, object]] = [
        {"gold": str(n), "response": f"<think>So it is clear. The answer is {n}."} for n in range(6)
    ]
    report = str(rlvr.grade(write(tmp_path / "a.jsonl", rows)))
    assert "policy qwen, reasoning=whole 100.0 % correct" in report


def test_an_object_of_ids_is_read_by_its_path(tmp_path: Path) -> None:
    """Predictions as id -> text beside the settings. The listing names the map once, and not each id."""
    whole = {"acc": 75.0, "args": {"model": "m"}, "outputs": {str(n): f"so {n}" for n in range(40)}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(whole))
    with pytest.raises(UsageError) as error:
        rlvr.grade(path)
    assert "outputs.*" in str(error.value) and "outputs.7" not in str(error.value)
    golds = write(tmp_path / "g.jsonl", [{"problem_id": str(n), "answer": str(n)} for n in range(40)])
    columns = {"response": "value", "problem_id": "problem_id"}
    report = rlvr.grade(path, rows="outputs.*", columns=columns, gold=golds, policy="qwen")
    assert report["verdicts"] == {"correct": 40}


@pytest.mark.parametrize("text", ['{"a": 1,\n "result":', '[{"gold": "1", "response": "so', '{"gold": "1", "resp'])
def test_a_json_file_that_breaks_off_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not JSON: it ends in the middle of a value"):
        rlvr.grade(path)


def test_verdicts_beside_responses_without_golds_are_named(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"problem_id": "a", "response": "5", "is_correct": True}]
    with pytest.raises(UsageError, match="To check a score by is_correct alone, type rlvr audit FILE printed=SCORE"):
        rlvr.grade(write(tmp_path / "a.jsonl", rows), columns={"response": "response"})


@pytest.mark.parametrize(("in_part", "advice"), [(True, "type rows=gold"), (False, "Write those to their own file")])
def test_a_command_without_rows_does_not_advise_it(in_part: bool, advice: str) -> None:
    """`rlvr eval` and a training read whole files."""
    with pytest.raises(UsageError, match=advice) as error:
        refuse_mixed(Path("a.jsonl"), [{"gold": 1}, {}], {"answer": "gold"}, in_part)
    assert ("rows=" in str(error.value)) is in_part
