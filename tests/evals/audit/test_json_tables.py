"""Curves in one JSON object, as training scripts save their history."""

import json

import pytest

import rlvr
from evals.audit.curves import read_curve
from evals.audit.json_tables import flat, table_in
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


@pytest.mark.parametrize(
    "whole", [{"acc": 0.5}, {"names": ["a", "b"]}, {"a": [1]}, {"1": 2, "2": 3}, {"a": [{"b": "x"}] * 2}]
)
def test_an_object_without_rows_of_numbers_has_no_table(whole):
    assert table_in(whole, ()) is None


def test_points_by_metric_are_one_table():
    """A tracker exports them so. The names have dots and slashes."""
    points = {"acc": [(1, 0.5), (10, 0.6), (20, 0.7)], "loss/v1.x": [(1, 5.0), (20, 7.0)]}
    metrics = {name: [{"step": step, "value": value} for step, value in of_name] for name, of_name in points.items()}
    read = curve({"metadata": {"a": 1}, "metrics": metrics})
    assert read["step"].tolist() == [1, 10, 20] and read["acc"].tolist() == [0.5, 0.6, 0.7]
    assert read["loss/v1.x"].dropna().tolist() == [5.0, 7.0]


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


@pytest.mark.parametrize("head", ["Epoch {e}/3, Step {s}, Loss: {v}", "epoch {e} | step {s} | loss {v}"])
def test_epochs_without_a_number_of_steps_follow_each_other(head):
    """The steps of an epoch are 0 and 10, so the next one begins at 20. The line of an epoch is no step."""
    lines = []
    for epoch in (1, 2, 3):
        lines += [head.format(e=epoch, s=step, v=epoch + step / 100) for step in (0, 10)]
        lines.append(f"Epoch {epoch} completed, Average: {epoch}")
    read = read_curve("\n".join(lines))
    metric = "Loss" if "Loss" in head else "loss"
    assert read["step"].tolist() == [0, 10, 20, 30, 40, 50]
    assert read[metric].tolist() == [1, 1.1, 2, 2.1, 3, 3.1]
    assert read["Average"].dropna().tolist() == [1, 2, 3]


def test_lines_of_a_log_with_commas_are_no_table():
    text = "".join(f"Iter {n}: Train loss 0.{n}, Total rewards mean 0.{n}, KL 0.001\n" for n in (1, 2))
    assert read_curve(text)["Total rewards mean"].tolist() == [0.1, 0.2]


RUN = "Config: steps=2, groups=8\n[Step 1/2] reward={a} | acc={a}\n[Step 2/2] reward={b} | acc={b}\nbest=0.9@step1\n"


def test_several_runs_in_one_log_are_told_apart():
    text = RUN.format(a=0.1, b=0.2) + RUN.format(a=0.5, b=0.8)
    with pytest.raises(UsageError, match=r"So it holds 2 runs\. To read the first, type 'rows=run\?1'"):
        read_curve(text)
    assert read_curve(text, conditions=["run?1"])["acc"].tolist() == [0.1, 0.2]
    assert read_curve(text, conditions=["run?2"])["acc"].tolist() == [0.5, 0.8]


def test_a_resumed_training_is_one_run():
    rows = [(1, 0.1), (2, 0.2), (3, 0.3), (2, 0.25), (3, 0.35), (4, 0.4)]
    read = read_curve("".join(json.dumps({"step": step, "acc": acc}) + "\n" for step, acc in rows))
    assert read["acc"].tolist() == [0.1, 0.25, 0.35, 0.4]


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (("a/rlhf_reward", "a/non_score_reward"), r"NAME may be a/rlhf_reward, a/non_score_reward"),
        (("mean_reward", "loss"), r"type columns=train/reward:mean_reward, or another"),
        (("loss", "length"), r"NAME is the metric to draw"),
    ],
)
def test_of_several_rewards_none_is_proposed(names, advice, tmp_path):
    """A flag of the settings, which never changes, is no reward."""
    path = tmp_path / "a.jsonl"
    rows = [{"step": 0, "args": {"use_reward": True}}] + [{"step": n, **dict.fromkeys(names, n / 4)} for n in (1, 2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=f"(?i){advice}"):
        rlvr.curves(path)


def notebook(*tables):
    rows = [[f"<tr>\n <td>{step}</td>\n <td>{loss}</td>\n</tr>" for step, loss in table] for table in tables]
    head = "<div><progress></progress> [3/3]</div><table>\n<tr>\n <th>Step</th>\n <th>Training Loss</th>\n</tr>"
    data = [{"text/html": [head, *of_table, "</table>"], "text/plain": ["<IPython>"]} for of_table in rows]
    outputs = [{"output_type": "display_data", "data": of_table} for of_table in data]
    stream = {"output_type": "stream", "name": "stdout", "text": ["{'train_runtime': 5.0}\n"]}
    cells = [{"cell_type": "code", "source": [], "outputs": [stream, output]} for output in outputs]
    return {"cells": [{"cell_type": "markdown", "source": ["# a"]}, *cells], "nbformat": 4, "nbformat_minor": 5}


FIRST, SECOND = [(10, 1.5), (20, 1.25)], [(10, 0.5), (20, 0.25), (30, 0.125)]


def test_the_table_that_a_trainer_shows_in_a_notebook_is_a_curve():
    read = curve(notebook(SECOND))
    assert read[["step", "Training Loss"]].values.tolist() == [[10, 0.5], [20, 0.25], [30, 0.125]]


def test_of_several_tables_of_a_notebook_one_is_named():
    whole = notebook(FIRST, SECOND)
    with pytest.raises(UsageError, match=r"it has 2 tables\. To read the first, type 'rows=table\?1'") as error:
        curve(whole)
    assert "  2: 3 rows of step, Training Loss" in str(error.value)
    assert curve(whole, conditions=["table?2"])["Training Loss"].tolist() == [0.5, 0.25, 0.125]


def test_a_notebook_is_no_file_of_responses(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(notebook(FIRST)))
    with pytest.raises(UsageError, match="this is a notebook"):
        rlvr.grade(path)


SETTINGS = "args: {'model': 'm', 'seed': 5, 'max_model_len': 2048}\n" * 3


def test_settings_that_each_process_prints_are_no_steps():
    """NeMo-RL's console beside vLLM's arguments."""
    steps = "".join(f"==== Step {n}/50 ====\n  • Loss: 0.02{n}\n  • Avg Reward: 0.{n}\n" for n in (1, 2))
    assert read_curve(SETTINGS + steps)["Avg Reward"].tolist() == [0.1, 0.2]
    seeds = "".join(f"args: {{'seed': {seed}, 'n': 1}}\n" for seed in (1, 2))
    assert read_curve(seeds + steps)["Avg Reward"].tolist() == [0.1, 0.2]
    with pytest.raises(UsageError, match="no curve was recognised"):
        read_curve(SETTINGS)


def test_a_part_of_a_printed_configuration_is_no_step():
    """veRL's configuration before a crash at the start."""
    lines = "".join(f"(main pid=1)   '{name}': {{'min_num_params': {n}}},\n" for n, name in enumerate(("actor", "ref")))
    with pytest.raises(UsageError, match="no curve was recognised"):
        read_curve("2025-02-25 19:42:16,238 INFO worker.py -- Started\n" + lines)


def test_lines_with_commas_are_no_table():
    text = "2025-02-25 19:42:16,238 INFO\nb, c\nAssertionError: x, y, z\n"
    with pytest.raises(UsageError, match="no curve was recognised"):
        read_curve(text)


def test_a_step_that_is_printed_twice_is_one():
    """LLaMA-Factory's line and the trainer's, whose numbers have more digits. The next step has the same epoch."""
    rates = [
        ("4.9985e-05", "4.998452e-05", "0.03"),
        ("4.9982e-05", "4.998223e-05", "0.04"),
        ("4.9980e-05", "4.997978e-05", "0.04"),
    ]
    lines = [
        f"INFO >> {{'loss': 0.0000, 'learning_rate': {short}, 'epoch': {epoch}}}\n"
        f"{{'loss': 0.0, 'grad_norm': {n}.5, 'learning_rate': {long}, 'epoch': {epoch}}}\n"
        for n, (short, long, epoch) in enumerate(rates)
    ]
    read = read_curve("".join(lines))
    assert read["step"].tolist() == [1, 2, 3] and read["grad_norm"].tolist() == [0.5, 1.5, 2.5]
    assert read.attrs["replaced"][0] == 0


def test_a_table_of_numbers_without_names_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,50,-1.25\n2,50,-3.2\n")
    for command in (rlvr.curves, rlvr.grade):
        with pytest.raises(UsageError, match=r"no names of columns\. To add names, type printf '"):
            command(path)
    path.write_text("1;50;-1.25\n2;50;-3.2\n")
    with pytest.raises(UsageError, match=r"type printf 'step;NAME;\.\.\.\\n' \| cat - a\.csv > named\.csv"):
        read_curve(path.read_text(), name="a.csv")


def test_a_log_in_pythons_quotes_is_not_called_damaged(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("[{'role': 'user', 'content': 'x'}]\nso 5\n")
    with pytest.raises(UsageError, match="no curve was recognised"):
        read_curve(path.read_text())
    with pytest.raises(UsageError, match="line 1: this text is no table"):
        rlvr.grade(path)


def test_rows_of_a_step_that_differ_in_time_alone_are_joined():
    rows = [{"step": 1, "loss": 5, "timestamp": 10}, {"step": 1, "acc": 6, "timestamp": 11}, {"step": 2, "loss": 4}]
    read = read_curve("".join(json.dumps(row) + "\n" for row in rows))
    assert read.attrs["replaced"][0] == 0 and read["acc"].dropna().tolist() == [6]
    assert read_curve("step,timestamp\n1,5\n1,6\n2,7\n").attrs["replaced"] == (0, 0, 0)
