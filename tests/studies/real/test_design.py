"""The study on real weights: its registered design, its problems, and the commands of its runs."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.fingerprint import model_fingerprint
from harness.command.resolve import resolve
from harness.record import find
from harness.spec.job import Job
from studies.real import problems
from studies.real.__main__ import check_base, planned
from studies.real.design import (
    GREEDY,
    PLAIN_PROMPT,
    PROMPT,
    SAMPLED,
    SECOND_FAMILY,
    STUDY,
    Entry,
    arguments,
    second_family,
    values_of,
)
from studies.real.registration import LEARNING_RATES, preregistration, preregistration_of_second_family


def test_the_design_is_the_registered_one() -> None:
    registered = Path("results/real/preregistration.md").read_text(encoding="utf-8")
    assert registered == preregistration(STUDY, LEARNING_RATES)
    assert f"Design {STUDY.digest}" in registered


def test_a_second_family_has_a_design_of_its_own_and_changes_none_of_the_first() -> None:
    assert STUDY.digest == "ba98e0dcd004"  # the digest of the archived runs
    registered = Path("results/real/preregistration_gemma.md").read_text(encoding="utf-8")
    assert registered == preregistration_of_second_family(SECOND_FAMILY)
    assert planned(SECOND_FAMILY)[:4] == [
        ("egsw", "base", 0), ("egsw", "grpo", 0), ("egsw", "grpo+random_reward", 0), ("egsw", "grpo", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("entry", [None, *SECOND_FAMILY.entries], ids=str)
def test_the_second_family_trains_and_is_measured_with_the_plain_prompt_and_its_stop(
    entry: Entry | None, tmp_path: Path
) -> None:
    words = arguments(SECOND_FAMILY, entry, 0, model=Path("m"), data=tmp_path)
    assert f"protocol.prompt={PLAIN_PROMPT}" in words and prompts.read(PLAIN_PROMPT).stop == ("\n\n",)
    assert (f"prompt={PLAIN_PROMPT}" in words) == (entry is not None)


def test_no_measured_problem_is_trained_on_and_each_answer_is_right() -> None:
    files = problems.files()
    train, greedy, sampled = (files[name] for name in (problems.TRAIN, problems.GREEDY, problems.SAMPLED))
    assert (len(train), len(greedy), len(sampled)) == (2000, 500, 250)
    texts = {row["problem"] for row in train}
    assert len(texts) == 2000 and not texts & {row["problem"] for row in greedy}
    assert list(sampled) == list(greedy[:250])
    for row in [*train, *greedy]:
        a, b, sign, c = re.fullmatch(r"(\d+) \* (\d+) ([+-]) (\d+) =", row["problem"]).groups()  # type: ignore[union-attr]
        product = sum([int(a)] * int(b))  # a * b as b summands: not the generator's own expression
        assert int(row["answer"]) == (product + int(c) if sign == "+" else product - int(c)) > 0


def job_of(entry: Entry) -> Job:
    (job,) = resolve(entry.paper, arms=[entry.arm], scale="small", seeds=[0], overrides=values_of(STUDY, entry))
    return job


@pytest.mark.parametrize("entry", STUDY.entries, ids=lambda entry: entry.key)
def test_an_arm_differs_from_grpo_in_its_method_alone(entry: Entry) -> None:
    reference, job = job_of(STUDY.entries[0]).experiment, job_of(entry).experiment
    assert reference is not None and job is not None
    arm_values = {key: sourced.value for key, sourced in job.settings().items()}
    grpo_values = {key: sourced.value for key, sourced in reference.settings().items()}
    shared = {key for key in arm_values if "." not in key}
    # the forking tokens' mean is over the tokens that it keeps: this is part of the method
    differing = {key for key in shared if arm_values[key] != grpo_values[key]} - {"denominator"}
    assert not differing
    assert arm_values["max_steps"] == STUDY.rollouts and arm_values["learning_rate"] == STUDY.learning_rate


def test_a_run_with_another_base_model_than_the_archives_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the folder may depend on how it was made, and then two seeds of an arm differ in more than the seed."""
    (tmp_path / "config.json").write_text("{}")
    record = {"base_model": {"sha256": "abc"}}
    monkeypatch.setattr(find, "runs", lambda: [SimpleNamespace(record=record)])
    with pytest.raises(ValueError, match=r"the runs so far have abc\. Delete the folder\."):
        check_base(tmp_path)
    record["base_model"]["sha256"] = model_fingerprint(tmp_path)
    check_base(tmp_path)


def test_seed_0_of_every_arm_is_made_before_seed_1_of_any() -> None:
    runs = planned(STUDY)
    assert runs[0] == ("egsw", "base", 0)
    assert [seed for *_, seed in runs[1:]] == [0] * len(STUDY.entries) + [1] * len(STUDY.entries) + [2] * len(
        STUDY.entries
    )
    assert len(set(runs)) == len(runs)


def test_a_second_family_is_asked_as_plain_text(tmp_path: Path) -> None:
    """The same examples as the study's prompt, without a chat template. The words become these values."""
    from harness.command.config import parse_overrides
    from rlvr.evaluation import _protocol

    words = second_family(model=Path("m"), data=tmp_path, out=Path("o"))
    problems.write(tmp_path)
    given = parse_overrides([word for word in words if not word.startswith(("model=", "out=", "engine."))])
    protocol = _protocol("sampled", given, "transformers")
    assert protocol.stop_of(GREEDY) == ("\n\n",)
    assert (protocol.value("n", GREEDY), protocol.value("temperature", GREEDY)) == (1, 0.0)
    assert (protocol.value("n", SAMPLED), protocol.value("temperature", SAMPLED)) == (8, 1.0)
    plain, chat = prompts.read(PLAIN_PROMPT), prompts.read(PROMPT)
    assert (plain.examples, plain.user, plain.policy) == (chat.examples, chat.user, chat.policy)
    text = prompts.render(plain, Problem("", "2 * 2 + 1 =", "5"), None)
    assert text == ("7 * 5 + 3 = 7 * 5 = 35. 35 + 3 = 38.\n\n8 * 6 - 5 = 8 * 6 = 48. 48 - 5 = 43.\n\n2 * 2 + 1 =")


def test_one_command_makes_the_base_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from studies.real import __main__ as study
    from studies.real import weights

    monkeypatch.setattr(weights, "model", lambda folder, source=weights.SMOLLM2: folder / source.name)
    assert study.main(["model", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path.resolve() / 'smollm2-135m-instruct'}\n"
    assert tmp_path / study.MODEL.name == weights.model(tmp_path)  # where `run` takes it from
    assert study.main(["model", str(tmp_path), "--name", "gemma-3-270m"]) == 0
    assert capsys.readouterr().out == f"{tmp_path.resolve() / 'gemma-3-270m'}\n"
