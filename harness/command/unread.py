"""Values of the command line that no training reads, because of another value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness.errors import Faults, UsageError
from harness.spec import Experiment, Training


def check_read(overrides: Mapping[str, object], trainings: Sequence[Training]) -> None:
    """Raise UsageError for each value that was asked for and that none of the trainings reads."""
    faults = Faults()
    for key, (unread, advice) in RULES.items():
        whys = [unread(training) for training in trainings if key in training.settings()]
        request = key in overrides and not (key == "epochs" and "max_steps" in overrides)
        if request and whys and all(whys):
            with faults.gathered():
                raise UsageError(f"{key}={overrides[key]}: not used, as {whys[0]}. {advice}")
    faults.refuse()


def _steps_are_given(training: Training) -> str:
    steps = training.max_steps
    return "" if steps.value is None else f"max_steps={steps.value} ({steps.note}) ends the training"


def _no_lora(training: Training) -> str:
    return "lora_rank=null trains all weights" if training.lora_rank.value is None else ""


def _no_reference(training: Training) -> str:
    reads = isinstance(training, Experiment) and (training.kl_beta.value or "ref_logp" in training.method.reads)
    return "" if reads else "kl_beta=0 leaves out the KL term, and the method reads no reference model"


RULES: Mapping[str, tuple[Callable[[Training], str], str]] = {  # key -> (why it is not read or "", what to type)
    "epochs": (_steps_are_given, "Give max_steps=N, or max_steps=null beside it"),
    "lora_alpha": (_no_lora, "Give lora_rank=N beside it"),
    "lora_dropout": (_no_lora, "Give lora_rank=N beside it"),
    "reference_model": (_no_reference, "Give kl_beta=0.001 beside it, or paper=baselines arm=opd"),
}
