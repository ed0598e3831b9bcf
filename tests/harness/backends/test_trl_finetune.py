"""Supervised fine-tuning through TRL: the translation, the rows, the loss against a plain computation, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.provenance import Origin
from harness.backends.snapshots import snapshot_folder, snapshots
from harness.backends.trl.finetune import IGNORED, encode, finetune, usable
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.translate_sft import to_sft_config
from harness.data.tiny import chain
from harness.data.tiny.tokenizer import build_tokenizer
from tests import experiments

pytestmark = pytest.mark.slow

USER = (Origin.USER, "a test")
PAIRS = [
    {"problem": "K is 7. What is K?", "solution": r"\boxed{7}"},
    {"problem": "K is 7. K plus 5 is B. What is B?", "solution": r"so 7 + 5 = 12 \boxed{12}"},
    {"problem": "B is 3. B times 2 is T. What is T?", "solution": r"first 3 is B now 3 * 2 = 6 is T \boxed{6}"},
    {"problem": "T is 9. What is T?", "solution": r"so \boxed{9}"},
]


def translated(values: dict[str, Any], **hardware: Any) -> dict[str, Any]:
    declared = experiments.finetune().override(values, *USER)
    return to_sft_config(declared, TrlHardware(**hardware), seed=5, out_dir=Path("out"))


def run(
    random_model: Path, out_dir: Path, values: dict[str, Any], **more_arguments: Any
) -> tuple[dict[str, Any], list[Any]]:
    """(what the record keeps, [(step, metrics), ...])."""
    log: list[Any] = []
    arguments: dict[str, Any] = {"hardware": TrlHardware(device="cpu"), "pairs": PAIRS}
    arguments["on_metrics"] = lambda step, total, metrics: log.append((step, metrics))
    declared = experiments.finetune().override(values, *USER)
    kept = finetune(declared, base_model=str(random_model), seed=0, out_dir=out_dir, **{**arguments, **more_arguments})
    return kept, log


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from transformers import AutoModelForCausalLM

    loaded: dict[str, torch.Tensor] = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    return loaded


def test_every_declared_value_reaches_trl_or_our_own_code() -> None:
    # What TRL does not get is read by the launcher or the plan: a new field must be put somewhere.
    by_harness = {"base_model", "dataset", "dataset_rows", "prompt", "max_tokens", "too_long"}
    by_harness |= {"lora_rank", "lora_alpha", "lora_dropout"}
    changed = {
        "batch_size": ("per_device_train_batch_size", 8, 8),
        "learning_rate": ("learning_rate", 0.5, 0.5),
        "lr_schedule": ("lr_scheduler_type", "cosine", "cosine"),
        "warmup_ratio": ("warmup_steps", 0.5, 2),  # half of 3 steps, rounded up
        "weight_decay": ("weight_decay", 0.5, 0.5),
        "max_grad_norm": ("max_grad_norm", 0.5, 0.5),
        "max_steps": ("max_steps", 5, 5),
        "precision": ("bf16", "bfloat16", True),
    }
    assert set(experiments.finetune().settings()) == by_harness | set(changed) | {"epochs"}
    for key, (argument, value, wanted) in changed.items():
        assert translated({key: value})[argument] == wanted, key
    assert translated({"max_steps": None, "epochs": 1.5})["max_steps"] == 1500  # 1000 an epoch
    assert translated({"warmup_ratio": 0.1})["lr_scheduler_type"] == "constant_with_warmup"
    assert translated({"precision": "bfloat16"})["model_init_kwargs"] == {"dtype": "float32"}  # what Adam updates
    assert translated({"precision": "pure_bfloat16"})["model_init_kwargs"] == {"dtype": "bfloat16"}


def test_every_option_that_trl_adds_is_set_by_name() -> None:
    from dataclasses import fields

    from transformers import TrainingArguments
    from trl import SFTConfig

    no_effect = {
        "trust_remote_code",  # loads code, and none of ours does
        "dataset_text_field",  # rows hold token ids
        "dataset_num_proc",  # rows are not prepared
        "truncation_mode",  # nothing is truncated: max_length is null
        "packing_strategy",  # no packing
        "pad_to_multiple_of",  # padding counts nowhere
    }
    added = {f.name for f in fields(SFTConfig)} - {f.name for f in fields(TrainingArguments)}
    assert added - set(translated({})) == no_effect


def test_only_the_solution_and_the_end_of_text_are_learnt() -> None:
    tokenizer = build_tokenizer(chain.FAMILY.pieces())
    row = encode("What is K?", "so 7", tokenizer, max_tokens=99)
    start, end = tokenizer.encode("What is K?"), [*tokenizer.encode("so 7"), tokenizer.eos_token_id]
    assert row["input_ids"] == [*start, *end]
    assert row["labels"] == [IGNORED] * len(start) + end
    assert row["tokens"] == len(start) + len(end)


def test_long_rows_are_dropped_or_cut() -> None:
    tokenizer = build_tokenizer(chain.FAMILY.pieces())
    length = len(tokenizer.encode("What is K?")) + len(tokenizer.encode("so 7")) + 1

    def kept(max_tokens: int, too_long: str) -> bool:
        declared = experiments.finetune().override({"max_tokens": max_tokens, "too_long": too_long}, *USER)
        return usable(encode("What is K?", "so 7", tokenizer, max_tokens=max_tokens), declared)

    assert kept(length, "drop") and not kept(length - 1, "drop")
    assert kept(length - 1, "cut")
    # cut down to the prompt alone, a row teaches nothing
    assert not kept(len(tokenizer.encode("What is K?")), "cut")
    row = encode("What is K?", "so 7", tokenizer, max_tokens=length - 1)
    assert len(row["input_ids"]) == len(row["labels"]) == length - 1
    assert tokenizer.eos_token_id not in row["input_ids"]  # a cut solution does not teach where to stop


def test_no_row_that_fits_is_an_error(random_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="max_tokens: expected at least one of 4 rows"):
        run(random_model, tmp_path, {"max_tokens": 3})


def slow_loss(random_model: Path) -> tuple[float, float]:
    """(loss, norm of its gradient) of one step over all of PAIRS: the mean of -log p over their solution tokens."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(random_model)
    tokenizer = AutoTokenizer.from_pretrained(random_model)
    total, count = torch.zeros(()), 0
    for pair in PAIRS:
        chat = [{"role": "user", "content": pair["problem"]}]
        start = tokenizer.encode(tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))
        end = [*tokenizer.encode(pair["solution"]), tokenizer.eos_token_id]
        logits = model(torch.tensor([start + end])).logits[0]  # one row at a time: no padding
        for position, token in enumerate(end):
            total = total - torch.log_softmax(logits[len(start) + position - 1], dim=-1)[token]
            count += 1
    loss = total / count
    gradient = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), float(sum((g**2).sum().item() for g in gradient) ** 0.5)


@pytest.mark.parametrize("micro_batch", [None, 1], ids=["whole", "micro-batches"])
def test_loss_and_gradient_equal_a_plain_computation(
    micro_batch: int | None, random_model: Path, tmp_path: Path
) -> None:
    # The rows have different lengths: a mean of per-row or per-micro-batch means would be another number.
    hardware = TrlHardware(device="cpu", micro_batch=micro_batch)
    kept, log = run(random_model, tmp_path, {"max_steps": 1}, hardware=hardware)
    loss, norm = slow_loss(random_model)
    assert kept["steps"] == 1 and kept["train_rows"] == len(PAIRS)
    assert kept["prompt_nats"]["nats_per_byte"] > 0
    metrics = {key: value for _, step in log for key, value in step.items()}
    assert metrics["train/loss"] == pytest.approx(loss, rel=1e-5)
    assert metrics["train/grad_norm"] == pytest.approx(norm, rel=1e-5)


def test_an_interrupted_run_resumes_and_ends_the_same(
    random_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"max_steps": 3, "batch_size": 2, "epochs": 2, "lr_schedule": "cosine"}
    hardware = TrlHardware(device="cpu", save_every=2)
    unbroken, log = run(random_model, tmp_path / "a", values, hardware=hardware)
    assert [step for step, metrics in log if "train/loss" in metrics] == [1, 2, 3]
    assert unbroken["resumed_from"] is None

    def stop(step: int, total: int, metrics: dict[str, float]) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(random_model, tmp_path / "b", values, hardware=hardware, on_metrics=stop)
    starts: list[int] = []
    for step in (2, 3):  # models that wait for an evaluation
        snapshot_folder(tmp_path / "b", step).mkdir(parents=True)
    resumed, log = run(random_model, tmp_path / "b", values, hardware=hardware, on_start=starts.append)
    assert starts == [2] and [step for step, _ in snapshots(tmp_path / "b")] == [2]  # what came after is forgotten
    assert resumed["resumed_from"] == str(tmp_path / "b" / "checkpoint-2")
    assert capsys.readouterr().err.count("    resuming after step 2 of 3\n") == 1
    assert [step for step, metrics in log if "train/loss" in metrics] == [3]
    first, second = weights(tmp_path / "a" / "final"), weights(tmp_path / "b" / "final")
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], w) for name, w in weights(random_model).items())


def test_lora_ends_as_one_plain_model(random_model: Path, tmp_path: Path) -> None:
    run(random_model, tmp_path, {"max_steps": 1, "lora_rank": 2, "learning_rate": 0.1})
    before, after = weights(random_model), weights(tmp_path / "final")
    assert set(before) == set(after)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    linear = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    assert changed == {name for name in before if name.endswith(tuple(f"{part}.weight" for part in linear))}


def test_two_processes_make_the_same_step_as_one(
    random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.backends.trl.launch import launch
    from harness.command.resolve import resolve
    from harness.record.run import Run
    from harness.record.write import Recorder

    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    data = tmp_path / "pairs.jsonl"  # as many rows as a step holds: which rows it gets depends on the processes
    data.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    values: dict[str, Any] = {"base_model": str(random_model), "dataset": str(data), "batch_size": len(PAIRS)}
    # group_size and prompts_per_rollout are values of another arm of the same command: the processes must ignore them
    values |= {"max_steps": 2, "learning_rate": 1e-2, "group_size": 4, "prompts_per_rollout": 4}
    (job,) = (job for job in resolve("erpo", arms=["sft", "erpo"], seeds=[0], overrides=values) if job.arm == "sft")
    losses, read = {}, {}
    for processes in (1, 2):
        hardware = TrlHardware(device="cpu", processes=processes)
        recorder = Recorder(tmp_path / f"on-{processes}")
        kept = launch(job, str(random_model), tmp_path / str(processes), recorder, hardware)
        read[processes] = kept["prompt_nats"]
        losses[processes] = [value for _, value in Run(recorder.folder).metrics("train/loss")]
    # the second loss is after an update, so it tells whether the gradient was the same
    assert losses[2] == pytest.approx(losses[1], rel=1e-4)
    assert read[2] == pytest.approx(read[1]) and read[1]["nats_per_byte"] > 0
