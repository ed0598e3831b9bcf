"""Check a job's names and files when it is resolved: rewards, prompt, base model, data set. Fast. Loads no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evals.data import prompts
from evals.data.rows import SUFFIXES
from evals.fingerprint import check_model
from evals.grading.extraction import POLICIES
from evals.suggest import expected
from harness.data.problems import count_rows, source
from harness.data.tiny import FAMILIES
from harness.errors import Faults, UsageError
from harness.spec import Experiment, Origin, Sourced, Training
from harness.spec.job import Job
from harness.spec.ranges import check_value
from harness.step import own_rewards
from harness.step.rewards import RANGES


def check_base_model(base_model: Sourced[str]) -> None:
    """Raise UsageError unless it names a tiny family or a model folder, or has the form of a hub id."""
    check_value("base_model", base_model.value, str)
    if base_model.value not in FAMILIES:
        try:
            check_model(base_model.value)
        except UsageError as error:
            raise UsageError(
                f"base_model: expected {', '.join(FAMILIES)}, a model folder or a hub id. {error}"
            ) from error


def check_rewards(names: Iterable[object]) -> None:
    """Raise UsageError for the first name that is neither a built-in reward nor of the form MODULE:FUNCTION."""
    for name in map(str, names):
        if not own_rewards.is_own(name) and name not in RANGES:
            raise UsageError(f"rewards: no reward {name!r}. {expected(name, RANGES)}")


def check_training(training: Training) -> None:
    """Raise UsageError for unknown names and missing files, with field, value and what was expected."""
    faults = Faults()
    if isinstance(training, Experiment):
        with faults.gathered():
            check_rewards(training.rewards.value)
            for name in filter(own_rewards.is_own, training.rewards.value):
                own_rewards.check(name)
    with faults.gathered():
        prompts.get(training.prompt.value)
    with faults.gathered():
        training.check_rows()
    faults.refuse()


def policies_apart(jobs: Iterable[Job]) -> list[str]:
    """A note for each prompt and benchmark for which rewards and evaluation extract answers by different policies, or
    from different parts of a response with a thought in it (where it is not assumed of both).

    Programs and letters of a multiple choice are another kind of answer, and always have a policy of their own.
    """
    notes = []
    for job in jobs:
        if isinstance(job.experiment, Experiment):
            trained = prompts.get(job.experiment.prompt.value).policy
            for name in job.protocol.benchmarks.value:
                measured = job.protocol.prompt_of(name).policy
                if measured != trained and measured in POLICIES and measured != "letter":
                    notes.append(
                        f"warning: rewards extract answers by {trained} (prompt={job.experiment.prompt.value}), the "
                        f"evaluation of {name} by {measured} (protocol.prompt, protocol.extraction)"
                    )
            read, evaluated = job.experiment.reasoning, job.protocol.reasoning
            if read.value != evaluated.value and {read.origin, evaluated.origin} != {Origin.ASSUMED}:
                notes.append(
                    "warning: rewards and evaluation read other parts of a response that has a thought: "
                    f"reasoning={read.value} and protocol.reasoning={evaluated.value}"
                )
    return list(dict.fromkeys(notes))


def with_counted_rows(training: Training, overrides: Mapping[str, object]) -> Training:
    """`dataset_rows` of a data set given on the command line, unless the command line gives `dataset_rows` too.

    Raises:
        UsageError: the file is missing or cannot be read, or the number of rows is not known.
    """
    if "dataset" not in overrides or "dataset_rows" in overrides:
        return training
    dataset = training.dataset.value
    rows = count_rows(dataset)
    if rows is None:
        raise UsageError(
            f"dataset_rows: expected a number with dataset={dataset!r}, whose number of problems is not known before "
            f"it is downloaded. Give dataset_rows=N (the plan reads it), or a local file ({', '.join(SUFFIXES)})"
        )
    if rows < 1:
        raise UsageError(f"dataset: expected rows in {dataset!r}, got none")
    file = source(dataset).file
    note = f"counted in {file.name if file else dataset}"
    return training.override({"dataset_rows": rows}, Origin.USER, note)
