"""Audits of small training curves as other people's tools write them."""

import json
from pathlib import Path

import pytest

import rlvr
from evals.audit.curves import read_curve
from evals.audit.evidence import digits_of
from evals.audit.result import NOT_FOUND
from evals.errors import UsageError

ZERO = "step:1 - val/acc:0.000\nstep:2 - critic/score/mean:0.1\n"
TENTHS = "step,val/acc\n10,0.1\n20,0.3\n30,0.4\n40,0.5\n"


def audited(folder: Path, text: str, printed: str, metric: str = "val/acc", **options):
    path = folder / "curve.txt"
    path.write_text(text)
    return rlvr.audit(path, printed=printed, metric=metric, **options)


@pytest.mark.parametrize(
    ("text", "printed", "verdict"),
    [
        (ZERO, "50.0", NOT_FOUND),
        (ZERO, "0.42", NOT_FOUND),
        (ZERO, "0.9", NOT_FOUND),
        (ZERO, "1.5", NOT_FOUND),
        (ZERO, "0.04", "stands"),  # 0.000 may be 0.0004, and few numbers are so near
        (ZERO, "0.0", "stands"),
        ("step,val/acc\n0,1.0\n1,1.0\n", "97.3", NOT_FOUND),
        ("step,val/acc\n0,0\n1,0\n2,0.0\n", "42.0", NOT_FOUND),
        ('{"step": 1, "val/acc": 0.0}\n{"step": 2, "val/acc": 0.0}\n', "4.2", NOT_FOUND),
        ('{"step": 1, "val/acc": 0.500}\n{"step": 2, "val/acc": 0.500}\n', "47.3", NOT_FOUND),
        ("step:1 - val/acc:0.500\n", "47.3", NOT_FOUND),
        ("step:1 - val/acc:5.00e-01\n", "49.97", "stands"),
        ("{'val/acc': '0.500', 'step': 1}\n{'val/acc': '0.500', 'step': 2}\n", "47.3", NOT_FOUND),
        ("step,val/acc\n0,50.0\n1,50.0\n", "50.6", NOT_FOUND),
        ("step,val/acc\n0,50.0\n1,50.0\n", "50.3", "cannot tell"),  # some tools write 50 as 50.0
        ("step,val/acc\n0,0.5\n1,0.5\n2,0.5\n", "47.3", "cannot tell"),
        (TENTHS, "46.7", "cannot tell"),
        (TENTHS, "52.0", "cannot tell"),
        (TENTHS, "50.0", "stands"),
        (TENTHS, "45.00", "cannot tell"),  # the last score, 0.5, may be 0.45, as may be the mean of the last two
        ("step:1 - val/acc:0.704\n", "70.4", "stands"),
        ("step:1 - val/acc:0.704\n", "70.43", "stands"),  # as veRL writes its scores
        ("step:1 - val/acc:0.70\n", "70.43", "cannot tell"),
    ],
)
def test_the_few_digits_of_a_file_let_no_other_number_stand(
    tmp_path: Path, text: str, printed: str, verdict: str
) -> None:
    """A score is known to half of its last digit: 0.000 to 0.05 points. A file of zeros and ones is exact. Beyond the
    printed digits, a match counts only where chance hardly gives it."""
    assert audited(tmp_path, text, printed, problems=30)["verdict"] == verdict


def test_a_number_that_only_the_rounding_of_the_file_explains_names_this_rounding(tmp_path: Path) -> None:
    text = str(audited(tmp_path, TENTHS, "46.7"))
    assert "46.7: cannot tell\n" in text
    assert "its own score has the printed digits only if the file rounds its scores, by up to 5 points" in text


def test_the_mean_of_seeds_with_the_printed_digits_stands_within_the_last_one(tmp_path: Path) -> None:
    """The mean of 0.043, 0.044 and 0.046 is 4.43, and may be 4.48 of the scores before they were rounded."""
    for seed, value in enumerate(("0.043", "0.044", "0.046")):
        (tmp_path / f"seed_{seed}.csv").write_text(f"step,acc\n1,{value}\n")
    paths = [tmp_path / f"seed_{seed}.csv" for seed in range(3)]
    assert rlvr.audit(*paths, printed="4.5", metric="acc")["verdict"] == "stands"


@pytest.mark.parametrize(
    ("text", "digits"),
    [("0.000", 3), ("0.5", 1), ("1.0", 0), ("12", 0), ("0.50e-1", 3), ("1e3", -3), ("nan", 0), ("1.00", 2)],
)
def test_the_digits_of_a_number_are_those_after_the_point(text: str, digits: int) -> None:
    curve = read_curve(f"step:1 - acc:{text}\nstep:2 - acc:0\n")
    assert curve.attrs["digits"].get("acc", 0) == max(digits, 0)
    if text not in ("0.000", "1.00", "0.50e-1"):  # a plain float keeps no zeros at its end
        assert digits_of(float(text)) == (0 if text == "1e3" else digits)


def by_label(column: str) -> str:
    """Two values at each step, told apart by numbers."""
    values = {32: (0.19, 0.25), 64: (0.43, 0.17), 96: (0.61, 0.33)}
    rows = [f"{step},{n},{value}\n" for step, pair in values.items() for n, value in enumerate(pair, 1)]
    return f"step,{column},acc\n" + "".join(rows)


@pytest.mark.parametrize("in_order", [str, lambda row: row.split(",")[1]], ids=["by step", "by seed"])
def test_rows_of_a_step_that_a_seed_tells_apart_are_seeds(tmp_path: Path, in_order) -> None:
    """The mean of the last step is (0.61 + 0.33) / 2 = 0.47."""
    header, *rows = by_label("seed").splitlines()
    text = "\n".join([header, *sorted(rows, key=in_order)]) + "\n"
    result = audited(tmp_path, text, "47.0", "acc", problems=100)
    assert (result["verdict"], result["file"], result["seeds"]) == ("stands", pytest.approx(0.47), 2)
    assert "resumed" not in str(result)
    alone = audited(tmp_path, text, "61.0", "acc", rows="seed?1")
    assert (alone["verdict"], alone["seeds"]) == ("stands", 1)


@pytest.mark.parametrize("last", ["", "128,1,0.7,1\n"], ids=["whole", "cut at the last step"])
def test_rows_of_a_step_that_other_numbers_tell_apart_are_several_curves(last: str) -> None:
    text = by_label("level").replace("acc\n", "acc,n\n").replace("\n", ",5\n").replace("acc,n,5\n", "acc,n\n") + last
    with pytest.raises(UsageError, match=r"step 32 has 2 rows, which differ in level.*type 'rows=level\?1'"):
        read_curve(text, wanted=["acc"])
    with pytest.raises(UsageError, match=r"rows=seed\?1"):  # a command that reads one curve
        read_curve(by_label("seed"))


def test_labels_are_written_as_in_the_file(tmp_path: Path) -> None:
    long = by_label("seed").replace(",1,", ",20240101,").replace(",2,", ",20240102,")
    assert audited(tmp_path, long, "47.0", "acc")["verdict"] == "stands"
    rows = [
        {"step": step, "greedy": greedy, "acc": step / 4 + greedy / 8} for step in (1, 2) for greedy in (True, False)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with pytest.raises(UsageError, match=r"type 'rows=greedy\?True'"):
        read_curve(text)
    assert read_curve(text, conditions=["greedy?True"])["acc"].tolist() == [0.375, 0.625]


def test_numbers_that_differ_from_step_to_step_are_no_labels() -> None:
    """A resumed run whose rows count their starts: the first step has the first start alone."""
    rows = [(1, 1, 0.1), (2, 1, 0.2), (3, 1, 0.3), (2, 2, 0.25), (3, 2, 0.35)]
    curve = read_curve("step,start,acc\n" + "".join(f"{s},{n},{acc}\n" for s, n, acc in rows))
    assert curve["acc"].tolist() == [0.1, 0.25, 0.35] and curve.attrs["resumed"]


def test_only_steps_that_go_back_are_a_resumed_run(tmp_path: Path) -> None:
    rows = [(1, 0.1), (2, 0.2), (2, 0.3), (3, 0.4)]
    text = "step,acc\n" + "".join(f"{step},{acc}\n" for step, acc in rows)
    assert "an earlier row of step 2" in str(audited(tmp_path, text, "20.0", "acc"))
    back = "step,acc\n" + "".join(f"{step},{acc}\n" for step, acc in [*rows[:2], (3, 0.35), *rows[2:]])
    assert "step 2 before a resumed run logged it again" in str(audited(tmp_path, back, "20.0", "acc"))


SWIFT = [
    {"loss": 1.5, "epoch": 0.5, "elapsed_time": "10m 52s", "remaining_time": "1h 2m", "global_step/max_steps": "1/2"},
    {"eval_acc": 0.8, "epoch": 0.5, "elapsed_time": "11m 9s", "remaining_time": "1h", "global_step/max_steps": "1/2"},
    {"loss": 1.4, "epoch": 1.0, "elapsed_time": "20m 1s", "remaining_time": "0s", "global_step/max_steps": "2/2"},
    {"eval_acc": 0.9, "epoch": 1.0, "elapsed_time": "20m 9s", "remaining_time": "0s", "global_step/max_steps": "2/2"},
]  # fmt: skip


def test_the_lines_of_one_step_of_ms_swift_are_joined() -> None:
    """The last line of logging.jsonl is a summary, which has the history and another name of the step."""
    last = {"best_metric": 0.9, "global_step": 2, "log_history": [{"eval_acc": 0.9, "step": 2}]}
    lines = "".join(json.dumps(row) + "\n" for row in SWIFT)
    for text in (lines, lines + json.dumps(last) + "\n"):
        curve = read_curve(text)
        assert curve["step"].tolist() == [1, 2]
        assert curve["loss"].tolist() == [1.5, 1.4] and curve["eval_acc"].tolist() == [0.8, 0.9]


@pytest.mark.parametrize("name", ["elapsed", "elapsed_time"])
@pytest.mark.parametrize("value", ["{n}m 52s", "1 day, {n}:03:04", "{n}.5 seconds"])
def test_durations_tell_no_curves_apart(name: str, value: str) -> None:
    rows = [{"step": n // 2, "lr": n, name: value.format(n=n)} for n in range(6)]
    assert read_curve("".join(json.dumps(row) + "\n" for row in rows))["lr"].tolist() == [1, 3, 5]


def test_words_that_never_recur_tell_no_curves_apart() -> None:
    rows = [{"step": n // 2, "lr": n, "sample": f"text {n}"} for n in range(6)]
    assert read_curve("".join(json.dumps(row) + "\n" for row in rows))["lr"].tolist() == [1, 3, 5]
    with pytest.raises(UsageError, match="differ in benchmark"):  # one step alone
        read_curve("step,benchmark,acc\n9,aime,0.5\n9,math,0.25\n")


@pytest.mark.parametrize("around", ["{}", "Results:\n\n{}\nThe end.\n"], ids=["alone", "in a text"])
def test_percentages_in_a_table_with_bars_are_numbers(tmp_path: Path, around: str) -> None:
    rows = [(100, "50.00%"), (200, "65.00 %"), (300, "40.00%")]
    text = "| Step | Accuracy |\n|---|---|\n" + "".join(f"| {step} | {cell} |\n" for step, cell in rows)
    assert audited(tmp_path, around.format(text), "40.0", "Accuracy")["verdict"] == "stands"
    with pytest.raises(UsageError, match=r"metric=Accuracy: curve\.txt has numbers for its steps alone"):
        audited(tmp_path, text.replace("%", " of all"), "40.0", "Accuracy")


COUNTS = "step,correct,total\n100,8,20\n200,13,20\n300,9,20\n"


def test_counts_are_divided_by_the_total_beside_them(tmp_path: Path) -> None:
    """The last of 8, 13 and 9 of 20 is 45 %, and the largest 65 %."""
    assert audited(tmp_path, COUNTS, "45.0", "correct", problems=20)["verdict"] == "stands"
    assert audited(tmp_path, COUNTS, "65.0", "correct")["reading"].startswith("the largest of 3 checkpoints")
    none = COUNTS.replace("8,20", "0,20").replace("13,20", "1,20").replace("9,20", "1,20")
    assert audited(tmp_path, none, "5.0", "correct")["verdict"] == "stands"


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("step,correct\n100,8\n200,13\n", "correct"),
        ("step,score\n100,8\n200,13\n", "score"),  # no percentages of 20: those are multiples of 5
        ("step,correct,total\n100,8,20\n200,13,19\n", "correct"),
    ],
)
def test_counts_without_one_total_are_refused(tmp_path: Path, text: str, metric: str) -> None:
    with pytest.raises(UsageError, match=r"may be counts of 20 problems.* add a column total .* leave out problems="):
        audited(tmp_path, text, "45.0", metric, problems=20)


@pytest.mark.parametrize(
    ("text", "metric", "problems"),
    [
        ("step,acc\n10,12\n20,34\n30,40\n", "acc", 500),
        ("step,acc,n\n10,12,64\n20,34,64\n30,40,64\n", "acc", None),
        ("step,correct_rate\n10,12\n20,40\n", "correct_rate", 500),
        ("step,correct\n10,12\n20,40\n", "correct", None),
        ("step,score\n10,10\n20,40\n", "score", 50),
    ],
)
def test_whole_percentages_are_no_counts(tmp_path: Path, text: str, metric: str, problems: int | None) -> None:
    assert audited(tmp_path, text, "40", metric, problems=problems)["verdict"] == "stands"


@pytest.mark.parametrize("name", ["ckpt_step", "checkpoint", "train_iter", "Iterations"])
def test_a_column_with_a_name_like_a_step_is_proposed_though_its_values_repeat(name: str) -> None:
    for other in ("n", "seed"):
        with pytest.raises(UsageError, match=f"If {name} is a step, type columns=step:{name}"):
            read_curve(f"{other},{name},acc\n1,10,0.1\n2,10,0.3\n3,20,0.4\n")


def test_a_step_in_words_is_named_and_a_rate_is_no_step() -> None:
    with pytest.raises(UsageError, match="checkpoint may be the step, but it holds words such as ckpt_10") as caught:
        read_curve("checkpoint,acc\nckpt_10,0.1\nckpt_10,0.3\nckpt_20,0.3\n")
    assert "columns=step" not in str(caught.value)
    with pytest.raises(UsageError, match="If trial_no is a step"):
        read_curve("trial_no,steps_per_second,step_time,criterion,acc\n1,5,7,1,0.5\n2,5,8,2,0.75\n")


def test_the_only_score_before_the_training_has_a_reservation(tmp_path: Path) -> None:
    text = "step:0 - val/acc:0.121\n" + "".join(f"step:{n} - actor/loss:0.{n}\n" for n in (1, 2))
    result = audited(tmp_path, text, "12.1")
    assert result["verdict"] == "stands, with a reservation"
    assert "the file's only score is of step 0, before the training" in str(result)
    assert audited(tmp_path, text + "step:3 - val/acc:0.130\n", "13.0")["verdict"] == "stands"
    assert audited(tmp_path, "step:0 - val/acc:0.121\n", "12.1")["verdict"] == "stands"


def test_the_largest_score_of_a_log_with_three_digits_is_a_selection(tmp_path: Path) -> None:
    """64.02 is the largest of seven scores, 0.640: veRL writes three digits, and a paper prints four."""
    scores = ("0.604", "0.611", "0.622", "0.615", "0.640", "0.618", "0.621")
    text = "".join(f"step:{step} - val/acc:{score}\n" for step, score in enumerate(scores, 1))
    result = audited(tmp_path, text, "64.02", problems=1319)
    assert result["verdict"] == "within selection"
    assert "as the file's scores may be rounded by 0.05 points" in str(result)
