"""Names and files of a job are checked when it is resolved, before any model is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.provenance import Origin
from harness.command.checks import policies_apart
from harness.command.resolve import resolve
from harness.data.problems import count_rows
from harness.errors import UsageError
from harness.plan.costs import training_steps
from rlvr.cli import main


def rows_file(path: Path, count: int) -> Path:
    rows = [{"problem": f"{i} + {i}?", "answer": str(2 * i)} for i in range(count)]
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("\n\n".join(map(json.dumps, rows)))  # blank lines are no rows
    return path


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"rewards": ["acuracy", "boxed_format"]}, "rewards: no reward 'acuracy'. Did you mean 'accuracy'?"),
        # one reward where two weights stand: the name is what is wrong
        ({"rewards": ["mine"]}, "rewards: no reward 'mine'. Expected one of accuracy, "),
        (
            {"rewards": ["accuracy"], "reward_weights": [1.0, 1.0]},
            "expected one for each of rewards=[accuracy], got (1.0, 1.0). Give reward_weights=[1.0] too",
        ),
        ({"prompt": "boxed_sufix"}, "Did you mean 'boxed_suffix'?"),
        ({"base_model": "/no/where"}, "base_model: expected tiny, tiny_search, a model folder or a hub id"),
        ({"base_model": "tinny"}, "base_model: expected tiny, tiny_search, a model folder or a hub id"),
        ({"dataset": "/nope.jsonl"}, "dataset: /nope.jsonl: expected a file, there is none"),
        ({"dataset": "nope.csv"}, "dataset: nope.csv: expected a file"),
        ({"dataset": "a b"}, "dataset: expected tiny, tiny_search, a name of"),
        ({"dataset": "owner/name"}, "Give dataset_rows=N"),
        ({"dataset_rows": 15}, "expected at least prompts_per_rollout=16 problems, got 15"),
    ],
)
def test_resolve_refuses_unknown_names_and_missing_files(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        resolve("egsw", overrides=overrides)
    assert message in str(error.value)


def test_a_command_is_refused_once_with_all_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = rows_file(tmp_path / "few.jsonl", 3)
    words = ["run", "paper=egsw", "arm=grpo,egsw", "scale=small", f"data={data}", "base_model=/no/where", "jobs=3"]
    words += ["learning_rate=-1", "kl_beta=-2", "hardware.device=tpu", "hardware.devise=cpu", "prompt=boxed_sufix"]
    words += ["protocol.prompt=xx", "protocol.n=0", "protocol.top_p=2", "protocol.benchmarks=[math50]", "epocs=2"]
    assert main(words) == 2
    begins = [line.removeprefix("rlvr run: ") for line in capsys.readouterr().err.splitlines()]
    expected = [
        "jobs=3: expected launche", "hardware.devise=cpu: no ", "learning_rate: expected ", "kl_beta: expected >= 0, g",
        "base_model: expected tin", "prompt: got 'boxed_sufix", "dataset: expected at lea", "unknown benchmark 'math5",
        "protocol small, benchmar", "epocs=2: no requested ar",
    ]  # fmt: skip
    assert [line[: len(start)] for line, start in zip(begins, expected, strict=True)] == expected
    assert "prompts_per_rollout=3 epochs=1 (or max_steps=N) takes them all" in begins[6]  # the line to type
    assert all(f"{what}, expected" in begins[8] for what in ("n=0", "top_p=2")) and "got 'xx'" in begins[8]
    assert main(["eval", "model=/no/where", "engine.foo=1", "n=0", "nn=2", "benchmarks=[math50]", "data_dir=/no"]) == 2
    begins = [line.removeprefix("rlvr eval: ") for line in capsys.readouterr().err.splitlines()]
    assert [line.partition(":")[0] for line in begins] == [
        "engine.foo=1", "nn=2", "unknown benchmark 'math50'", "protocol sampled, benchmark math500", "data_dir=/no",
        "model '/no/where'",
    ]  # fmt: skip


def test_too_few_problems_name_values_that_fit(tmp_path: Path) -> None:
    few = {"dataset": str(rows_file(tmp_path / "few.jsonl", 3))}
    for values in ({"prompts_per_rollout": 3, "epochs": 1}, {"prompts_per_rollout": 3, "max_steps": 2}):
        assert resolve("egsw", arms=["grpo"], scale="small", overrides={**few, **values})
    with pytest.raises(UsageError, match=r"epochs=0\.8: .* epochs=1 gives 1, max_steps=N"):
        resolve("egsw", arms=["grpo"], scale="small", overrides={**few, "prompts_per_rollout": 3})


def test_epochs_that_no_training_would_reach_are_refused() -> None:
    """A scale's max_steps ends the training first. With max_steps=null the epochs count."""
    with pytest.raises(UsageError, match=r"epochs=2: not used, as max_steps=60 \(scale=tiny\) .*. Give max"):
        resolve("egsw", arms=["grpo"], overrides={"epochs": 2})
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"epochs": 2, "max_steps": None})
    assert job.experiment is not None and job.experiment.epochs.value == 2
    resolve("egsw", arms=["grpo"], seeds=[0], scale="paper", overrides={"epochs": 2})


@pytest.mark.parametrize(
    ("paper", "arm", "values", "beside"),
    [
        ("egsw", "grpo", {"lora_alpha": 32.0}, {"lora_rank": 8}),
        ("egsw", "grpo", {"lora_dropout": 0.1}, {"lora_rank": 8}),
        ("erpo", "sft", {"lora_alpha": 32.0}, {"lora_rank": 8}),
        ("baselines", "grpo", {"reference_model": "tiny", "kl_beta": 0.0}, {"kl_beta": 0.01}),
    ],
)
def test_a_value_that_another_value_makes_needless_is_refused(
    paper: str, arm: str, values: dict[str, object], beside: dict[str, object]
) -> None:
    key, value = next(iter(values.items()))
    with pytest.raises(UsageError, match=f"{key}={value}: not used, as .* Give {next(iter(beside))}="):
        resolve(paper, arms=[arm], overrides=values)
    assert resolve(paper, arms=[arm], overrides={**values, **beside})


def test_a_value_that_one_of_the_arms_reads_is_kept() -> None:
    """The teacher's arm reads its teacher, GRPO without a KL term does not."""
    values = {"reference_model": "tiny", "kl_beta": 0.0}
    assert resolve("baselines", arms=["grpo", "opd"], overrides=values)


def test_a_model_by_its_hub_id_or_folder_is_a_base_model() -> None:
    for name in ("Qwen/Qwen2.5-0.5B", "./mine"):
        with pytest.raises(UsageError, match=rf"model={name}: .*\(math-7b, .*base_model={name} trains another one"):
            resolve("egsw", models=[name])
    with pytest.raises(UsageError, match=r"model=math7b: no such model\. Did you mean 'math-7b'"):
        resolve("egsw", models=["math7b"])


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_dataset_rows_follow_the_dataset(suffix: str, tmp_path: Path) -> None:
    path = rows_file(tmp_path / f"rows{suffix}", 40)
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"dataset": str(path), "max_steps": None})
    rows = job.settings()["dataset_rows"]
    assert (rows.value, rows.origin) == (40, Origin.USER) and f"rows{suffix}" in rows.note
    # 40 problems / 16 a rollout: 2 whole rollouts, one update each
    assert training_steps(job) == 2
    (job,) = resolve("egsw", arms=["grpo"], seeds=[0], overrides={"dataset": str(path), "dataset_rows": 99})
    assert job.settings()["dataset_rows"].value == 99


def test_count_rows_of_every_form(tmp_path: Path) -> None:
    assert count_rows("tiny") == 4000
    assert count_rows("math_erpo") == 8441
    assert count_rows("DigitalLearningGmbH/MATH-lighteval") == 7500
    assert count_rows("RUC-AIBOX/STILL-3-Preview-RL-Data") is None
    assert count_rows(f"RUC-AIBOX/STILL-3-Preview-RL-Data:{rows_file(tmp_path / 'a.jsonl', 3)}") == 3
    assert count_rows("owner/name") is None
    (tmp_path / "x.parquet").write_text("no parquet")
    with pytest.raises(ValueError, match="not readable as Parquet"):
        count_rows(str(tmp_path / "x.parquet"))


def test_rejection_sampling_refuses_too_few_problems() -> None:
    with pytest.raises(UsageError, match="expected at least problems_per_round=64 problems, got 63"):
        resolve(
            "trial_and_error", models=["32b"], arms=["rft"], overrides={"dataset_rows": 63, "problems_per_round": 64}
        )


def test_rewards_and_an_evaluation_of_different_policies_are_told() -> None:
    # egsw trains on \\boxed answers. Its paper scale evaluates GPQA by letters, which is another kind of answer
    alike = resolve("egsw", scale="paper", seeds=[1], overrides={})
    other = {"protocol.extraction": "qwen", "protocol.benchmarks": ["math500"]}
    apart = resolve("egsw", scale="paper", seeds=[1], overrides=other)
    assert policies_apart(alike) == []
    assert policies_apart(apart) == [
        "warning: rewards extract answers by boxed_last (prompt=open_r1), the evaluation of math500 by qwen "
        "(protocol.prompt, protocol.extraction)"
    ]


def test_rewards_and_an_evaluation_that_read_other_parts_of_a_thought_are_told() -> None:
    [same] = resolve("egsw", arms=["grpo"], scale="paper", models=["math-7b"], seeds=[1], overrides={})
    [other] = resolve(
        "egsw", arms=["grpo"], scale="paper", models=["math-7b"], seeds=[1], overrides={"reasoning": "whole"}
    )
    assert policies_apart([same]) == []
    assert policies_apart([other]) == [
        "warning: rewards and evaluation read other parts of a response that has a thought: "
        "reasoning=whole and protocol.reasoning=after"
    ]
    assert same.digest != other.digest


def test_rewards_of_the_user_have_no_weights_of_the_papers() -> None:
    """EGSW's two rewards have the weights 1 and 1 from its code. Those that replace them count alike by assumption."""
    (job,) = resolve("egsw", arms=["grpo"], overrides={"rewards": ["accuracy"]}, seeds=[0])
    weights = job.settings()["reward_weights"]
    assert (weights.value, weights.origin) == ((1.0,), Origin.ASSUMED) and "not given with rewards=" in weights.note
    (two,) = resolve("egsw", arms=["grpo"], overrides={"rewards": ["boxed_format", "accuracy"]}, seeds=[0])
    assert two.settings()["reward_weights"].origin is Origin.ASSUMED
    (stated,) = resolve("egsw", arms=["grpo"], overrides={"rewards": ["accuracy"], "reward_weights": [0.5]}, seeds=[0])
    assert stated.settings()["reward_weights"].origin is Origin.USER
    with pytest.raises(UsageError, match=r"^group_size: expected >= 2"):  # another value beside them that does not fit
        resolve("egsw", arms=["grpo"], overrides={"rewards": ["accuracy"], "group_size": 1}, seeds=[0])
    with pytest.raises(UsageError) as raised:  # one line: the weights of a wrong reward are not counted
        resolve("egsw", arms=["grpo"], overrides={"rewards": ["acuracy"], "reward_weights": [1.0]}, seeds=[0])
    assert "reward_weights" not in str(raised.value)
