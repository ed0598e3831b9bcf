"""Curves in one JSON object, as training scripts save their history."""

import json

import pytest

from evals.audit.json_tables import flat, table_in
from evals.audit.reading import read_curve
from evals.errors import UsageError

HISTORY = [{"step": 1, "reward": 0.1}, {"step": 2, "reward": 0.2}]
SEVERAL = {
    "ep_rewards": [5.1, 14.6, 2.0],
    "eval_rewards": [72.5, 109.2],
    "eval_timesteps": [1000, 2000],
    "losses": [{"step": step, "kl": step / 10} for step in (1, 2, 3, 4)],
}


def curve(whole, **options):
    return read_curve(json.dumps(whole), **options)


@pytest.mark.parametrize(
    "whole",
    [
        {"config": {"lr": 0.1}, "history": HISTORY, "final": {"acc": 0.5}},
        {"run": {"logs": {"history": HISTORY}}},
        {"step": [1, 2], "reward": [0.1, 0.2], "model": "m"},
        {"curve": {"steps": [1, 2], "reward": [0.1, 0.2]}},
        {"1": {"reward": 0.1}, "2": {"reward": 0.2}},
        {"training": {"1": {"reward": 0.1}, "2": {"reward": 0.2}}},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_only_table_of_an_object_is_its_curve(whole, indent):
    read = read_curve(json.dumps(whole, indent=indent))
    assert read[["step", "reward"]].values.tolist() == [[1, 0.1], [2, 0.2]]


@pytest.mark.parametrize(
    ("step", "metric", "points"),
    [
        ("eval_timesteps", "eval_rewards", [[1000, 72.5], [2000, 109.2]]),
        ("row", "ep_rewards", [[1, 5.1], [2, 14.6], [3, 2.0]]),
        ("losses.*.step", "losses.*.kl", [[1, 0.1], [2, 0.2], [3, 0.3], [4, 0.4]]),
        (None, "losses.*.kl", [[1, 0.1], [2, 0.2], [3, 0.3], [4, 0.4]]),
    ],
)
def test_named_columns_say_which_of_several_tables_is_read(step, metric, points):
    read = curve(SEVERAL, step=step, wanted=[metric])
    assert read[["step", metric]].values.tolist() == points


def test_several_tables_are_listed_and_none_is_taken():
    with pytest.raises(UsageError, match=r"x\.json: it has 3 tables.*columns=step:PATH") as error:
        curve(SEVERAL, name="x.json")
    lines = str(error.value).splitlines()
    assert "  4 rows: losses.*.step, losses.*.kl" in lines
    assert "  2 rows: eval_rewards, eval_timesteps" in lines
    assert "  3 rows: ep_rewards" in lines


def test_columns_of_two_tables_are_no_table():
    with pytest.raises(UsageError, match="3 tables"):
        curve(SEVERAL, step="eval_timesteps", wanted=["ep_rewards"])


def test_two_runs_of_one_form_are_told_apart_by_their_paths():
    runs = {name: {"steps": [1, 2], "reward": [start, start + 1]} for name, start in (("grpo", 1), ("ppo", 5))}
    read = curve(runs, step="ppo.steps", wanted=["ppo.reward"])
    assert read["ppo.reward"].tolist() == [5, 6]


@pytest.mark.parametrize("whole", [{"acc": 0.5}, {"names": ["a", "b"]}, {"a": [1]}, {"1": 2, "2": 3}])
def test_an_object_without_rows_of_numbers_has_no_table(whole):
    assert table_in(whole, ()) is None


def test_objects_inside_rows_are_named_by_their_paths():
    assert flat({"step": 1, "loss": {"kl": 2, "by": {"x": 3}}}) == {"step": 1, "loss.kl": 2, "loss.by.x": 3}
    text = "\n".join(json.dumps({"step": step, "metrics": {"reward": step / 10}}) for step in (1, 2))
    assert read_curve(text)["metrics.reward"].tolist() == [0.1, 0.2]


def test_a_row_as_step_takes_the_place_of_a_column_of_that_name():
    """`step` counts each epoch from 1 here, so the user counts rows."""
    text = "step,reward\n1,0.1\n2,0.2\n1,0.3\n2,0.4\n"
    assert read_curve(text, step="row")[["step", "reward"]].values.tolist() == [[1, 0.1], [2, 0.2], [3, 0.3], [4, 0.4]]


def test_objects_in_texts_are_opened():
    """A log of events whose metrics are Python's dictionary in a text. The events with most metrics are proposed."""
    rows = [
        row
        for step in (0, 1)
        for row in (
            {"event": "begin", "step": step, "lr": 1},
            {"event": "end", "step": step, "of": f"{{'kl': 0.{step + 1}, 'reward': {step}}}"},
        )
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert read_curve(text, conditions=["event?end"])["of.kl"].tolist() == [0.1, 0.2]
    more = text + text.replace('"lr": 1', '"lr": 2')
    with pytest.raises(UsageError, match=r"type 'rows=event\?end'"):
        read_curve(more)


def test_lines_that_name_no_step_are_said_to_be_numbered():
    read = read_curve("".join(f"{{'loss': 0.{n}, 'reward': 0.{n}}}\n" for n in (1, 2, 3)))
    assert read["step"].tolist() == [1, 2, 3]
    assert read.attrs["chosen"] == "the file names no steps, so its 3 lines with metrics are numbered"
    assert read_curve("{'loss': 0.1, 'step': 5}\n{'loss': 0.2, 'step': 9}\n").attrs["chosen"] == ""


@pytest.mark.parametrize("line", ["Epoch {e}/2, Step {s}/40, reward: {r}", "[epoch {e}] step {s} / 40 | reward {r}"])
def test_steps_that_begin_again_follow_the_epoch_before(line):
    places = [(e, s) for e in (1, 2) for s in (20, 40)]
    read = read_curve("".join(line.format(e=e, s=s, r=(e * 100 + s) / 1000) + "\n" for e, s in places))
    assert read[["step", "reward"]].values.tolist() == [[20, 0.12], [40, 0.14], [60, 0.22], [80, 0.24]]


def test_steps_of_the_whole_training_are_not_moved_by_epochs():
    places = [(1, 20), (1, 40), (2, 60), (2, 80)]
    read = read_curve("".join(f"Epoch {e}/2, Step {s}/80, reward: {s}\n" for e, s in places))
    assert read["step"].tolist() == [20, 40, 60, 80]
