"""The anchors: what their sources' steps and samples give, and groups of one."""

from __future__ import annotations

import tarfile
from pathlib import Path

from evals.data import protocols
from evals.files import read_parquet
from harness.record.archive import read_archive
from harness.spec import Experiment, catalogue
from harness.spec.architecture import architecture
from reproductions.anchors.paper import GSM8K_GRPO, GSM8K_PPO, MATH_50_STEPS, REPRODUCTION

RESULTS = Path(__file__).parents[2] / "results"


def test_every_model_has_a_known_shape_for_the_plan() -> None:
    assert all(architecture(model.value) is not None for model in REPRODUCTION.models.values())


def test_steps_are_those_of_the_sources() -> None:
    def rollouts(e: Experiment) -> int:
        # 7,473 problems. The last, smaller batch of an epoch is dropped
        return int(e.epochs.value) * (e.dataset_rows.value // e.prompts_per_rollout.value)

    assert rollouts(GSM8K_GRPO) == 20 * 7 == 140  # "Training Steps 140" on SkyRL's page
    assert rollouts(GSM8K_PPO) == 15 * 29 == 435  # the log validates every 10 of them: 43 times
    assert rollouts(GSM8K_PPO) // 10 == 43
    assert MATH_50_STEPS.max_steps.value == 50
    # slime counts 575 and 662 of 1,319 correct
    printed = {cell.arm: cell.value for cell in catalogue.published("anchors") if cell.table == "slime"}
    assert printed == {"base": round(100 * 575 / 1319, 2), "grpo_slime": round(100 * 662 / 1319, 2)}


def test_each_arm_is_measured_by_its_own_protocol() -> None:
    limits = {
        (a.model, a.key): protocols.get(a.protocol or REPRODUCTION.protocol).max_tokens.value for a in REPRODUCTION.arms
    }
    assert limits["qwen3-0.6b", "grpo_50"] == 2048
    assert limits["qwen2.5-0.5b", "ppo"] == 512
    assert limits["qwen2.5-1.5b", "grpo"] == 1024
    assert limits["qwen2.5-coder-0.5b", "base"] == 768
    assert limits["smollm2-135m", "base"] == 256
    assert len(catalogue.published("anchors")) == 18
    # 69.2 % is a share of evalplus v0.1.0's 399 tasks, and of none of the 378 of v0.2.0
    (mbpp,) = (c.value for c in catalogue.published("anchors") if (c.model, c.column) == ("qwen2.5-coder-1.5b", "MBPP"))
    shares = {tasks: [k for k in range(tasks + 1) if round(100 * k / tasks, 1) == mbpp] for tasks in (399, 378)}
    assert shares == {399: [276], 378: []}


def test_the_pages_have_the_right_answers_of_the_committed_verdicts(tmp_path: Path) -> None:
    """Counted from the archive's files, without the code that makes tables."""
    with tarfile.open(RESULTS / "records" / "anchors.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    counts = {}
    for path in tmp_path.rglob("verdicts.parquet"):
        verdicts = read_parquet(path, ["verdict"]).column(0).to_pylist()
        model = path.parents[2].name.partition("-base-")[0].partition("-mbpp-")[0].removesuffix("-instruct")
        counts[model, path.parent.name] = verdicts.count("correct"), len(verdicts)
    assert counts == {
        ("qwen2.5-coder-0.5b", "humaneval"): (97, 164),
        ("qwen2.5-coder-0.5b", "humaneval_plus"): (90, 164),
        ("qwen2.5-coder-0.5b", "mbpp_399"): (209, 399),
        ("qwen2.5-coder-1.5b", "humaneval"): (117, 164),
        ("qwen2.5-coder-1.5b", "humaneval_plus"): (110, 164),
        ("qwen2.5-coder-1.5b", "mbpp_399"): (271, 399),
        ("smollm2-135m", "gsm8k"): (27, 1319),
    }
    page = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert all(f" | {100 * right / total:.1f} [" in page for right, total in counts.values())


def test_the_score_with_the_default_prompt_is_that_of_its_archive() -> None:
    """Counted by hand: 91 / 164 = 55.49 %."""
    (run,) = read_archive(Path("results/anchors/default_prompt.tar.xz"))
    verdicts = run.verdicts("humaneval")
    assert (len(verdicts), (verdicts["verdict"] == "correct").sum(), (verdicts["verdict"] == "truncated").sum()) == (
        164,
        91,
        1,
    )
    page = " ".join(Path("results/README.md").read_text(encoding="utf-8").split())
    assert "scores 55.5 [47.8, 62.9] on HumanEval: 91 of 164" in page and "One response reached the limit" in page
