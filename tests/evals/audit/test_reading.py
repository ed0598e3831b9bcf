"""Curves of other tools, by small texts of their forms, and graded responses as evidence."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency

import rlvr
from evals.answer_files.sample import Sample
from evals.audit.audit import audit
from evals.audit.console import printed
from evals.audit.curve_evidence import curve_evidence
from evals.audit.curves import read_curve
from evals.audit.evidence import Evidence
from evals.audit.graded import graded
from evals.audit.printed import Printed
from evals.audit.selection import plateau_of
from evals.audit.sets import checkpoint_numbers
from evals.audit.verl_settings import verl_settings
from evals.files import file_sha256, write_json
from evals.grading import Grader
from harness.errors import UsageError
from harness.record.record import with_sha256
from rlvr.cli import main
from tests.harness.record.folders import finished, rows_of

VERL = (
    "\x1b[36m(main_task pid=1)\x1b[0m step:9 - val/test_score/openai/gsm8k:0.013 - actor/lr(1e-4):0.010 - note:text\n"
)
MLLOG = (
    ':::MLLOG {"event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": 0.7, "metadata": {"samples_count": 8}}\n'
)
LIGHTEVAL = (
    "|custom:aime24:0|  1|extractive_match|  0.3|± |0.08|\n|custom:aime24:0|  1|extractive_match|0.4667|± |0.09|\n"
)


@pytest.mark.parametrize(
    ("text", "metric", "expected"),
    [
        (VERL + VERL.replace("step:9", "step:19"), "val/test_score/openai/gsm8k", {9: 0.013, 19: 0.013}),
        ('{"log_history": [{"step": 5, "reward": 0.5}, {"step": 5, "eval": 0.25}, {"step": 6}]}', "eval", {5: 0.25}),
        ("[x] " + MLLOG + MLLOG.replace("POINT_IN_TIME", "INTERVAL_END"), "eval_accuracy", {8: 0.7}),
        (LIGHTEVAL, "aime24", {1: 0.3, 2: 0.4667}),
        ("step,eval_acc\n1,15.6\n2,\n3,46.2\n", "eval_acc", {1: 15.6, 3: 46.2}),
        ("Step,run - acc\n1,0.5\n2,0.75\n", "run - acc", {1: 0.5, 2: 0.75}),
        ("\ufeffstep;eval_acc\n0;30.0\n50;49.8\n", "eval_acc", {0: 30.0, 50: 49.8}),
        ("step;eval_acc;t\n0;0,3;1\n50;0,498;2\n", "eval_acc", {0: 0.3, 50: 0.498}),
        ("step\teval_acc\n0\t0.3\n50\t0.5\n", "eval_acc", {0: 0.3, 50: 0.5}),
        ('{"_step": 1, "acc": 0.5, "text": "x"}\n{"_step": 2, "acc": 0.75}\n', "acc", {1: 0.5, 2: 0.75}),
        ('[{"step": 1, "acc": 0.5}, {"step": 2, "acc": 0.75}]', "acc", {1: 0.5, 2: 0.75}),
    ],
    ids=["verl", "trl", "mllog", "lighteval", "csv", "wandb", "semicolons", "commas", "tabs", "jsonl", "list"],
)  # fmt: skip
def test_curves_are_read(text: str, metric: str, expected: dict[int, float]) -> None:
    points = read_curve(text).set_index("step")[metric].dropna()
    assert points.to_dict() == pytest.approx(expected)


def test_a_step_that_is_logged_again_as_nan_has_no_number() -> None:
    rows = [(1, 0.3), (2, 0.4), (2, math.nan)]
    curve = read_curve("".join(json.dumps({"step": step, "acc": value, "lr": 0.1}) + "\n" for step, value in rows))
    assert curve["acc"].tolist() == pytest.approx([0.3, math.nan], nan_ok=True) and curve["lr"].tolist() == [0.1, 0.1]
    assert curve.attrs["replaced"] == (1, 2, 2)
    with pytest.raises(UsageError, match="acc is nan at step 2, and its last number is of step 1"):
        curve_evidence({"a": curve}, "acc")
    rows.append((3, 0.5))
    curve = read_curve("".join(json.dumps({"iter": step, "acc": value}) + "\n" for step, value in rows), step="iter")
    evidence = curve_evidence({"a": curve}, "acc")
    assert evidence.scores["value"].tolist() == [0.3, 0.5]
    assert evidence.overwritten is not None and evidence.overwritten["value"].tolist() == [0.4]


def test_a_number_that_is_nan_in_the_last_numbered_row_is_named() -> None:
    text = "".join(json.dumps({"acc": value}) + "\n" for value in (0.3, 0.4, math.nan))
    with pytest.raises(UsageError, match="acc is nan at step 3, and its last number is of step 2"):
        curve_evidence({"a": read_curve(text, step="row")}, "acc")


def test_percentages_become_shares() -> None:
    curve = pd.DataFrame({"step": [1, 2], "acc": [15.6, 46.2]})
    assert curve_evidence({"a": curve}, "acc").scores["value"].tolist() == pytest.approx([0.156, 0.462])


@pytest.mark.parametrize(
    ("text", "message"),
    [("nothing", "no curve"), ("a,b\n1,2\n", "no column of steps"), ('{"log_history": [', "damaged")],
)
def test_files_without_a_curve_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_curve(text)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="accuracy"):
        curve_evidence({"a": pd.DataFrame({"step": [1], "accuracy": [0.5]})}, "acuracy")


def test_checkpoints_are_the_number_that_differs_between_names() -> None:
    assert checkpoint_numbers([Path("7B/step_10.jsonl"), Path("7B/step_2.jsonl")]) == [10, 2]
    assert checkpoint_numbers([Path("a.jsonl"), Path("b.jsonl")]) == [0, 1]
    assert checkpoint_numbers([Path("final.jsonl"), Path("step_20.jsonl"), Path("step_3.jsonl")]) == [21, 20, 3]


def test_checkpoints_and_seeds_are_called_by_their_files(tmp_path: Path) -> None:
    for name, correct in (("first", (1, 0, 0, 0)), ("second", (1, 1, 0, 0)), ("third", (1, 1, 1, 0))):
        rows = "".join(f"{i},{c}\n" for i, c in enumerate(correct))
        (tmp_path / f"{name}.csv").write_text("id,correct\n" + rows)
    files = [tmp_path / f"{name}.csv" for name in ("first", "second", "third")]
    assert "second.csv" in str(rlvr.audit(*files, printed="50.0"))
    assert "seed third.csv of 3" in str(rlvr.audit(*files, printed="75.0", files="seeds"))
    assert "the largest of 3 recipes, third.csv" in str(rlvr.audit(*files, printed="75.0", files="recipes"))
    assert "numbers were tried; the nearest" in str(rlvr.audit(*files, printed="11.1", files="recipes"))
    with pytest.raises(UsageError, match="files=checkpoints: a curve has all checkpoints"):
        rlvr.audit(files[0], printed="50.0", metric="correct", files="checkpoints")


def test_the_box_in_a_thought_that_never_ends_counts_and_the_response_is_truncated() -> None:
    """Graders that read the whole response label it correct: that is no misreading of theirs."""
    rows = [
        Sample("1", ("5",), "<think>so \\boxed{5}, or", expected=True),
        Sample("2", ("5",), "<think>6?</think>\\boxed{5}", expected=True),
        Sample("3", ("5",), "<think>5", expected=False),
    ]
    table = graded(rows, Grader())
    assert table[["ours", "truncated"]].to_numpy().tolist() == [[1, 1], [1, 0], [0, 1]]


def test_responses_have_verdicts_of_both_policies() -> None:
    rows = [
        Sample("1", ("5",), "so \\boxed{5}", expected=True),
        Sample("2", ("5",), "The answer is 5.", expected=False),
        Sample("3", ("5",), "I think", finish_reason="length"),
    ]
    cut = Sample("4", ("(-7165)",), "\\boxed{(-7, 16, 5)}", their_answer="(-7165)", expected=True)
    rows += [cut, replace(cut, problem_id="5", expected=False)]
    grader = Grader()
    table = graded(rows, grader)
    assert table[["ours", "strict", "truncated"]].to_numpy().tolist() == [
        [1, 1, 0], [1, 0, 0], [0, 0, 1],
        [1, 1, 0], [0, 0, 0],  # the file's gold lost its commas: the label stands
    ]  # fmt: skip
    assert table["gold_cut"].tolist() == [False, False, False, True, False]
    audited = str(audit(Printed("50.0"), Evidence.of_samples(table.dropna(subset=["label"]))))
    assert "(1 keep their label: the gold may be cut in the file)" in audited and "unscored left out" not in audited
    lost = table.dropna(subset=["label"]).assign(ours=[None, 0, 1, 0])
    assert "our verdicts on the same samples (1 unscored left out), answers" in str(
        audit(Printed("50.0"), Evidence.of_samples(lost))
    )
    assert table["label"].tolist()[:2] == [1, 0]
    assert table["label"].isna().tolist() == [False, False, True, False, False]


def test_the_command_reads_files_of_oat(tmp_path: Path) -> None:
    for step, scores in ((100, [1.0, 0.0]), (200, [0.0, 0.0])):
        rows = [
            {"input": str(i), "output": ["\\boxed{5}" if s else "\\boxed{6}"], "scores": [s], "reference": ["5"]}
            for i, s in enumerate(scores)
        ]
        (tmp_path / f"{step}.json").write_text(json.dumps(rows))
    document = rlvr.audit(tmp_path / "100.json", tmp_path / "200.json", printed="50.0")
    assert document["verdict"] == "cannot tell"  # between two checkpoints, whose scores are all there are
    assert document["causes"][0]["name"] == "another checkpoint"
    assert document["file"] == 0


def test_the_command_reads_nested_rollouts(tmp_path: Path) -> None:
    rollouts = [{"text": "\\boxed{5}", "correct": True}, {"text": "\\boxed{6}", "correct": False}]
    path = tmp_path / "raw.jsonl"
    path.write_text(json.dumps({"qid": 0, "question": "q", "gold": "5", "rollouts": rollouts}) + "\n")
    assert rlvr.audit(path, printed="50.0")["verdict"] == "stands"


def test_the_command_reads_verdicts_without_responses(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text("id,ok,seed,step\n1,True,a,8\n2,0,a,8\n1,1,a,16\n2,true,a,16\n1,0,b,16\n2,,b,16\n")
    document = rlvr.audit(path, printed="50.0", columns={"correct": "ok"})
    assert (document["file"], document["seeds"]) == (0.5, 2)  # the last of each seed: 2 of 2, and 0 of 1
    assert [cause["name"] for cause in document["causes"]] == ["truncation"]  # one verdict is missing
    path.write_text("id,correct\n1,maybe\n")
    with pytest.raises(UsageError, match=r"row 1: correct: 'maybe' is no verdict. Expected true or false, 1 or 0"):
        rlvr.audit(path, printed="50.0")


def test_verdicts_that_are_numbers_or_lists(tmp_path: Path) -> None:
    """1 and 0.1: one of two by label_threshold=1, an error without; lists of all samples (LiveCodeBench's)."""
    path = tmp_path / "verdicts.csv"
    path.write_text("id,correct\n1,1\n2,0.1\n")
    with pytest.raises(UsageError, match=r"row 2: correct: '0\.1' is no verdict.*label_threshold=1"):
        rlvr.audit(path, printed="50.0")
    assert rlvr.audit(path, printed="50.0", label_threshold=1)["verdict"] == "stands"
    rows = [{"question_id": "a", "graded_list": [True, False]}, {"question_id": "b", "graded_list": [True, True]}]
    lists = tmp_path / "x_eval_all.json"
    lists.write_text(json.dumps(rows))
    columns = {"id": "question_id", "correct": "graded_list"}
    assert rlvr.audit(lists, printed="75.0", columns=columns)["file"] == pytest.approx(3 / 4)


def test_a_table_of_an_audit_is_in_percent_throughout(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_text("id,correct\n" + "".join(f"{i},{int(i < 3)}\n" for i in range(8)))
    row = rlvr.audit(path, printed="50.0").rows()[0]  # 3 of 8 are correct
    assert (row["printed"], row["file"]) == ("50.0", 37.5)
    assert 0 < row["low"] < 37.5 < row["high"] < 100 and row["high"] > 1
    assert rlvr.audit(path, printed="3/8").rows()[0]["printed"] == "37.50"
    assert rlvr.audit(path, printed="0.375").rows()[0]["printed"] == "37.5"
    out = tmp_path / "audit.csv"
    assert main(["audit", str(path), "printed=50.0%", f"out={out}"]) == 0
    assert out.read_text().splitlines()[1].startswith("50.0,") and ",37.5," in out.read_text()


def test_the_command_names_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("step,acc\n1,0.5\n")
    with pytest.raises(UsageError, match="SOURCE"):
        rlvr.audit(printed="50")
    with pytest.raises(UsageError, match="percentage"):
        rlvr.audit(path, printed="fifty", metric="acc")
    with pytest.raises(UsageError, match="acc"):
        rlvr.audit(path, printed="50", metric="accuracy")
    with pytest.raises(UsageError, match="label=acc: not used with metric=, which is of training curves"):
        rlvr.audit(path, printed="50", metric="acc", label="acc")
    assert rlvr.audit(path, printed="50", metric="acc", files="seeds")["verdict"] == "stands"  # the default, said
    with pytest.raises(UsageError, match="files=checkpoints: a curve has all checkpoints"):
        rlvr.audit(path, printed="50", metric="acc", files="checkpoints")


def test_own_runs_are_audited_by_their_last_checkpoint(tmp_path: Path) -> None:
    """Two seeds with 5 and 7 of 8 correct: 75.0 is what tables print. One evaluation on the way, of the first seed, had
    all 8."""
    first, second = (finished(tmp_path, {"b": right}, seed=seed) for seed, right in ((1, 5), (2, 7)))
    table = first.folder / "curve" / "step-000001" / "b" / "verdicts.parquet"
    table.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows_of("b", 8, 8)), table)
    (first.folder / "curve.jsonl").write_text(json.dumps({"step": 1}) + "\n")
    record = json.loads((first.folder / "run.json").read_text())
    new = {str(path.relative_to(first.folder)): file_sha256(path) for path in (table, first.folder / "curve.jsonl")}
    write_json(first.folder / "run.json", with_sha256({**record, "files": {**record["files"], **new}}))
    result = rlvr.audit(first.folder, second.folder, metric="b")
    assert (result["printed"], result["verdict"], result["file"]) == ("75.0", "stands", 0.75)
    assert "rlvr tables and rlvr report print the last checkpoint's score" in str(result)
    of_largest = rlvr.audit(first.folder, second.folder, metric="b", printed="100.0")
    assert of_largest["causes"][0]["name"] == "selection"  # the largest of three evaluations
    with pytest.raises(UsageError, match=r"metric: expected a benchmark of the runs \(b\), got math"):
        rlvr.audit(first.folder, metric="math")


def test_settings_of_a_log_beside_a_declaration(tmp_path: Path) -> None:
    command = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.lr=2e-6 actor_rollout_ref.rollout.n=16 \n"
    assert verl_settings(command) == {"learning_rate": 2e-6, "group_size": 16}
    path = tmp_path / "run.log"
    path.write_text(command + VERL)
    document = rlvr.audit(path, printed="1.3", metric="val/test_score/openai/gsm8k", declared="forking_tokens:dapo")
    assert document["differing"] == {"learning_rate": (2e-6, 1e-6)}  # its group is 16 too


def test_a_log_of_a_training_without_metric_is_no_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "veRL.log"
    path.write_text("step:0 - actor/lr:0.1 - val/gsm8k:0.52\nstep:10 - actor/lr:0.1 - val/gsm8k:0.6\n")
    with pytest.raises(UsageError, match=r"metric: missing\. .* needs metric=NAME: val/gsm8k and 1 more$"):
        rlvr.audit(path, printed="60")
    path.write_text('{"gold": "1", "response": "1"}\n{"gold": \n')
    with pytest.raises(UsageError, match="line 2: not JSON"):
        rlvr.audit(path, printed="60")


def test_problems_of_two_benchmarks_are_counted_apart_from_the_size_of_one(tmp_path: Path) -> None:
    """28 of the 30 problems of AIME24 and of AIME25, of the same ids: 56 problems, and not 28 of a benchmark of 30."""
    rows = [f"{benchmark},{i},{i % 2}\n" for benchmark in ("aime24", "aime25") for i in range(28)]
    (tmp_path / "both.csv").write_text("benchmark,id,correct\n" + "".join(rows))
    assert "30" not in str(rlvr.audit(tmp_path / "both.csv", printed="50.0")).replace(str(tmp_path), "")
    (tmp_path / "one.csv").write_text("benchmark,id,correct\n" + "".join(rows[:28]))
    assert "28 of 30" in str(rlvr.audit(tmp_path / "one.csv", printed="50.0"))


PRINTED = """(TaskRunner pid=12) {'actor_rollout_ref': {'actor': {'clip_ratio_high': 0.5,
(TaskRunner pid=12)                                  'optim': {'lr': 5e-05}},
(TaskRunner pid=12)                        'rollout': {'n': 3, 'name': None}},
(TaskRunner pid=12)  'data': {'train_batch_size': 77}}
(TaskRunner pid=12) step:1 - val/acc:0.25
"""


def test_settings_are_read_from_the_configuration_that_verl_prints(tmp_path: Path) -> None:
    settings = {"clip_high": 0.5, "learning_rate": 5e-5, "group_size": 3.0, "prompts_per_rollout": 77.0}
    assert verl_settings(PRINTED) == settings
    assert verl_settings(f"actor_rollout_ref.rollout.n=8 {PRINTED}")["group_size"] == 8  # the command has the last word
    assert verl_settings(PRINTED[:90]) == {}  # cut
    command = "data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
    assert verl_settings(command)["updates_per_rollout"] == 2
    more = "actor_rollout_ref.actor.ppo_epochs=3 actor_rollout_ref.actor.kl_loss_coef=0.1 "
    both = verl_settings(f"{command}{more}actor_rollout_ref.actor.use_kl_loss=False")
    assert (both["updates_per_rollout"], both["kl_beta"]) == (6, 0)
    words = "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean actor_rollout_ref.actor.grad_clip=5.0"
    assert verl_settings(words) == {"aggregation": "sequence_mean", "max_grad_norm": 5.0}
    log = tmp_path / "a.log"
    log.write_text(PRINTED)
    audited = str(rlvr.audit(log, printed="25.0 ± 0.3", metric="val/acc", declared="egsw:grpo"))
    assert "settings that differ: " in audited and "learning_rate 5e-05 (declared: 3e-06)" in audited
    assert "± 0.3 is not judged" in audited
    log.write_text("step:1 - val/acc:0.25\n")
    audited = str(rlvr.audit(log, printed="25.0", metric="val/acc", declared="egsw:grpo"))
    assert "settings of egsw:grpo: none are stated in these files" in audited and "not judged" not in audited


def test_the_plateau_of_scores_is_that_of_a_chi_square_test() -> None:
    """Four scores of 500 problems, whose table of right and wrong has p = 0.003; without the first one p = 0.6."""
    scores = np.array([0.43, 0.505, 0.535, 0.53])
    right = np.round(500 * scores)
    assert chi2_contingency(np.array([right, 500 - right])).pvalue < 0.01
    assert chi2_contingency(np.array([right, 500 - right])[:, 1:]).pvalue > 0.5
    rates = np.repeat(scores[:, None], 500, axis=1)
    assert plateau_of(scores, rates, 1, verdicts=False).tolist() == [1, 2, 3]


@pytest.mark.parametrize("samples", [1, 8])
def test_checkpoints_of_one_model_are_one_plateau(samples: int) -> None:
    """The test of p >= 0.01 parts about 3 of 300 sets of four evaluations of one model with verdicts."""
    rng, parted = np.random.default_rng(samples), 0
    for _ in range(300):
        rates = rng.binomial(samples, rng.beta(0.5, 0.5, 100), (4, 100)) / samples
        parted += len(plateau_of(rates.mean(axis=1), rates, samples, verdicts=True)) < 4
    assert parted <= 12


def test_the_gain_of_a_pass_at_k_is_one_in_pass_at_k(tmp_path: Path) -> None:
    """There are four problems with two samples: the model solves 2, 1, 1, 0 samples, its base 1, 0, 0, 0. avg: 50 and
    12.5; pass@2: 75 and 25."""
    for name, solved in (("model", (2, 1, 1, 0)), ("base", (1, 0, 0, 0))):
        rows = [f"{problem},{int(sample < n)}\n" for problem, n in enumerate(solved) for sample in (0, 1)]
        (tmp_path / f"{name}.csv").write_text("id,correct\n" + "".join(rows))
    model, base = tmp_path / "model.csv", [tmp_path / "base.csv"]
    assert "gain over the base model: +37.5 points" in str(rlvr.audit(model, printed="50.0", base=base))
    assert "gain in pass@2 over the base model: +50.0 points" in str(rlvr.audit(model, printed="75.0", k=2, base=base))
    assert "pass@2, the gain over the base model" in str(rlvr.audit(model, printed="50.0", k=2, base=base))
    in_avg = rlvr.audit(model, printed="37.5", k=2, base=base)  # eight samples: any number may be one of theirs
    assert in_avg["verdict"] == "cannot tell"
    assert in_avg["reading"] == "the average of 2 samples, the gain over the base model"
    (tmp_path / "base.csv").write_text("id,correct\n0,1\n1,0\n")
    with pytest.raises(UsageError, match="so many labelled samples of the base model, got at most 1"):
        rlvr.audit(model, printed="75.0", k=2, base=base)


def test_a_word_of_one_letter_counts_the_steps_of_objects() -> None:
    text = "e 20: {'acc': 0.5}\ne 40: {'acc': 0.75}\n"
    assert list(printed(text)) == [{"step": 20, "acc": 0.5}, {"step": 40, "acc": 0.75}]


def test_objects_beside_the_training_are_no_steps() -> None:
    """As the Trainer prints: settings before the first step, an evaluation after the second, a summary at the end."""
    text = (
        "Updated tokens: {'eos_token_id': 9}\n{'loss': 0.5, 'epoch': 0.1}\n{'loss': 0.25, 'epoch': 0.2}\n"
        "{'eval_loss': 0.75, 'epoch': 0.2}\n{'loss': 0.125, 'epoch': 0.3}\n{'eval_loss': 0.5, 'epoch': 0.3}\n"
        "{'train_runtime': 9.0}\n"
    )
    curve = read_curve(text)
    assert curve["step"].tolist() == [1, 2, 3]
    assert curve["loss"].tolist() == [0.5, 0.25, 0.125]
    assert curve["eval_loss"].dropna().to_dict() == {1: 0.75, 2: 0.5}
    assert {*curve} == {"step", "loss", "epoch", "eval_loss"}


LABELLED = "step,benchmark,score\n50,aime,0.25\n50,math,0.5\n100,aime,0.5\n100,math,0.75\n"


@pytest.mark.parametrize("form", ["csv", "jsonl", "json list", "trainer_state"])
def test_rows_of_one_step_that_words_tell_apart_are_no_resumed_run(form: str) -> None:
    rows = [line.split(",") for line in LABELLED.split()]
    text = LABELLED
    if form != "csv":
        objects = [f'{{"step": {a}, "benchmark": "{b}", "score": {c}, "set": {{"of": 1}}}}' for a, b, c in rows[1:]]
        listed = f"[{', '.join(objects)}]"
        forms = {"jsonl": "\n".join(objects), "json list": listed, "trainer_state": f'{{"log_history": {listed}}}'}
        text = forms[form]
    with pytest.raises(UsageError, match="step 50 has 2 rows, which differ in benchmark"):
        read_curve(text)


@pytest.mark.parametrize(
    "printed",
    [
        "np.float64(0.25)",
        "np.float32(2.5e-1)",
        "float64(0.25)",
        "tensor(0.25, device='cuda:0')",
        "tensor(0.25)",
        "0.25",
    ],
)
def test_numbers_as_libraries_print_them_are_read(printed: str) -> None:
    """veRL's console since NumPy 2, and trainers that print a tensor."""
    verl = "".join(f"step:{n} - actor/grad_norm:{printed} - critic/score/mean:0.5\n" for n in (1, 2))
    assert list(read_curve(verl)["actor/grad_norm"]) == [0.25, 0.25]
    objects = "".join(f"{{'loss': {printed}, 'epoch': {n}.0}}\n" for n in (1, 2))
    assert list(read_curve(objects)["loss"]) == [0.25, 0.25]


def test_a_step_of_a_planned_number_is_the_step() -> None:
    """ms-swift writes `global_step/max_steps` as 2/4389, in its file and on its console."""
    lines = [{"reward": 0.25, "global_step/max_steps": "2/9"}, {"reward": 0.5, "global_step/max_steps": "4/9"}]
    for text in ("".join(json.dumps(row) + "\n" for row in lines), "".join(f"{row}\n" for row in lines)):
        curve = read_curve(text)
        assert list(curve["step"]) == [2, 4] and list(curve["reward"]) == [0.25, 0.5]


def test_values_that_are_no_numbers_are_named() -> None:
    verl = "".join(f"step:{n} - actor/lr:<lr {n}> - critic/score/mean:0.5\n" for n in (1, 2))
    assert read_curve(verl).attrs["words"] == ["actor/lr"]


def audited(tmp_path: Path, say: str, names: Sequence[str]) -> str:
    """An audit of 40 responses, of which every second gives its gold, and the others the gold before it."""
    golds = [*names] * 10
    answers = [gold if n % 2 else golds[n - 1] for n, gold in enumerate(golds)]
    rows = [
        {"problem_id": n, "answer": gold, "response": say.format(answer), "expected": answer == gold}
        for n, (gold, answer) in enumerate(zip(golds, answers, strict=True))
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(rlvr.audit(path, printed="50.0"))


@pytest.mark.parametrize("say", ["{}", "So it is ({}).", "The answer is {}."])
def test_an_audit_reads_the_letters_that_grade_reads(tmp_path: Path, say: str) -> None:
    """Twenty of forty are right by the file. Bare letters had no answer, and the audit said 0.0."""
    text = audited(tmp_path, say, "ABCD")
    assert "50.0: stands" in text and "read in the whole text: 50.0" in text and "without an answer" not in text


def test_an_audit_reads_bare_words(tmp_path: Path) -> None:
    text = audited(tmp_path, "{}", ("yes", "no", "maybe", "never"))
    assert "50.0: stands" in text and "read in the whole text: 50.0" in text


@pytest.mark.parametrize("accepted", [0, 20])
def test_a_box_is_a_cause_only_where_the_labels_ask_for_one(tmp_path: Path, accepted: int) -> None:
    """60 boxed and right, 20 right without a box that are refused, and 0 or 20 more that are accepted."""
    kinds = [(r"So \boxed{{{}}}", True)] * 60 + [("The answer is {}.", False)] * 20
    kinds += [("The answer is {}.", True)] * accepted
    rows = [
        {"problem_id": n, "answer": str(n), "response": say.format(n), "expected": right}
        for n, (say, right) in enumerate(kinds)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    printed = f"{100 * (60 + accepted) / len(rows):.1f}"
    causes = [cause["name"] for cause in rlvr.audit(path, printed=printed)["causes"]]
    assert ("format" in causes, "grader" in causes) == ((False, True) if accepted else (True, False))


def test_rows_that_may_be_runs_or_repeats_are_not_advised_as_steps() -> None:
    runs = "run_name,acc\nlr-1e-5,0.5\nlr-1e-6,0.75\n"
    with pytest.raises(UsageError, match="Nearly each row has another run_name, so the rows may be runs") as caught:
        read_curve(runs)
    assert "columns=step" not in str(caught.value)
    for name in ("repeat", "seed_id", "run", "idx", "question_id"):
        with pytest.raises(UsageError, match=f"{name} may number (problems|repeats or seeds)") as caught:
            read_curve(f"{name},acc\n1,0.5\n2,0.75\n")
        assert "columns=step" not in str(caught.value)
    with pytest.raises(UsageError, match="seed may number repeats or seeds"):
        read_curve("arm,seed,acc\na,1,0.5\na,2,0.75\nb,1,0.5\nb,2,0.25\n")
    with pytest.raises(UsageError, match="If trial_no is a step, type columns=step:trial_no"):
        read_curve("trial_no,acc\n1,0.5\n2,0.75\n")


def test_a_resumed_run_with_dates_and_rows_of_other_metrics_are_read() -> None:
    resumed = "step,date,acc\n1,2026-01-01,0.5\n2,2026-01-01,0.6\n2,2026-01-02,0.7\n"
    assert read_curve(resumed)["acc"].tolist() == [0.5, 0.7]
    apart = '{"step": 1, "split": "train", "loss": 0.5}\n{"step": 1, "split": "eval", "acc": 0.25}\n'
    assert read_curve(apart)[["loss", "acc"]].iloc[0].tolist() == [0.5, 0.25]


def test_named_verdicts_win_over_responses_beside_them(tmp_path: Path) -> None:
    rows = [{"id": n, "response": "so it is right", "judged": "correct" if n else "incorrect"} for n in range(4)]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = rlvr.audit(tmp_path / "judged.jsonl", printed="75.0", columns={"id": "id", "correct": "judged?correct"})
    assert result["verdict"] == "stands"


def test_answers_that_our_grader_cannot_read_do_not_accuse_the_authors_grader(tmp_path: Path) -> None:
    """A judge calls 15 of 20 answers in words correct: our grader finds no number or box in any."""
    rows = [
        {
            "problem_id": str(n),
            "answer": "Seville/David Seville",
            "response": "it was David, they say",
            "expected": n < 15,
        }
        for n in range(20)
    ]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = rlvr.audit(tmp_path / "judged.jsonl", printed="75.0")
    assert result["verdict"] == "stands, with a reservation"  # and not "made by the grader"
    assert "our grader finds no answer in 15 of 15 responses that the file calls correct" in str(result)


def test_wrong_answers_that_the_authors_grader_accepts_are_its_doing(tmp_path: Path) -> None:
    """We read every box, and none is the gold: these labels are wrong, however many they are."""
    rows = [{"problem_id": str(n), "answer": "7", "response": r"\boxed{8}", "expected": n < 15} for n in range(20)]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rlvr.audit(tmp_path / "judged.jsonl", printed="75.0")["verdict"] == "made by the grader"


@pytest.mark.parametrize("name", ["no known format.jsonl", "no gold answer.jsonl"])
def test_the_name_of_a_file_decides_nothing(name: str, tmp_path: Path) -> None:
    """The advice of another fault was added where a path held the words of its sentence."""
    (tmp_path / name).write_text('{"problem_id": "a", "gold": ["1", "2"], "response": "1"}\n')
    with pytest.raises(UsageError, match="golds=any") as refused:
        rlvr.audit(tmp_path / name, printed="50.0")
    assert "For verdicts alone" not in str(refused.value)


def test_answers_in_words_that_a_judge_accepts_do_not_accuse_the_judge(tmp_path: Path) -> None:
    """A judge calls 15 of 20 names correct, 8 of which have a title too. Numbers are judged as before."""
    for gold, other, verdict in (
        ("Lawrence Washington", "Capt. Lawrence Washington", "stands, with a reservation"),
        ("7", "8", "made by the grader"),
    ):
        rows = [
            {
                "problem_id": str(n),
                "answer": gold,
                "response": f"\\boxed{{{other if n < 8 else gold if n < 15 else 'none'}}}",
                "expected": n < 15,
            }
            for n in range(20)
        ]
        (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = rlvr.audit(tmp_path / "judged.jsonl", printed="75.0")
        assert result["verdict"] == verdict
        assert ("8 answers in words are correct by the file" in str(result)) == (verdict != "made by the grader")


def test_verdicts_of_single_responses_in_a_log_are_no_curve() -> None:
    lines = "\n".join(f"Metrics: {{'format_reward': 1.0, 'answer_reward': {n % 3 == 0:d}.0}}" for n in range(12))
    with pytest.raises(UsageError, match="answer_reward is 0 or 1 on each of 12 lines, and no line names a step"):
        read_curve(lines, wanted=["answer_reward"])
    assert len(read_curve(lines.replace("1.0, 'answer", "0.5, 'answer"), wanted=["format_reward"])) == 12
    assert len(read_curve("\n".join(f"{{'step': {n}, 'score': {n % 2}}}" for n in range(12)), wanted=["score"])) == 12


def test_the_k_of_a_table_of_pass_at_k_is_no_step() -> None:
    with pytest.raises(UsageError, match="k may be the k of pass@k, and those are no steps of one training"):
        read_curve("model,k,pass_at_k\nbase,1,50.0\nbase,2,60.0\nours,1,70.0\nours,2,75.0\n")
