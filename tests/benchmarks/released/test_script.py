"""The arguments of a released shell script, read and never run."""

from __future__ import annotations

import pytest

from benchmarks.released.script import arguments, expand

SCRIPT = """
#!/usr/bin/env bash
set -x
pkill -9 python; rm -rf /somewhere
export loss_mode="clip_cov"
batch=$((512 * 3))
clip_ratio_low=0.2  # as in the paper
HOME_OF_DATA=${DATA_HOME:-"${PWD}/data"}
files="['$HOME/a.parquet', '$HOME/b.parquet']"
# python3 -m verl.trainer.main_ppo old=1
HYDRA_FULL_ERROR=1 python3 -m verl.trainer.main_ppo --config-path=./config \\
    data.files="$files" \\
    actor.loss_mode=${loss_mode} \\
    # actor.left_out=1 \\
    actor.batch=${batch} actor.low=${clip_ratio_low} \\
    actor.half=$((batch / 2)) \\
    +actor.new=True \\
    'data.end=a b' \\
    data.home=$HOME_OF_DATA $@
"""


def test_assignments_are_filled_in_and_nothing_else() -> None:
    assert arguments(SCRIPT, "verl.trainer.main_ppo") == [
        "--config-path=./config",
        "data.files=['$HOME/a.parquet', '$HOME/b.parquet']",
        "actor.loss_mode=clip_cov",
        "actor.batch=1536",
        "actor.low=0.2",
        "actor.half=768",
        "+actor.new=True",
        "data.end=a b",
        "data.home=${PWD}/data",
    ]


def test_a_script_without_the_command_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"the script has no command with verl\.main"):
        arguments(SCRIPT, "verl.main")


def test_arguments_that_were_not_read_are_an_error() -> None:
    # A reader that stops early would silently give the yaml's defaults: as if the authors had not set them.
    with pytest.raises(ValueError, match=r"these were not read: \['a', 'b'\]"):
        arguments("run.main # a=1 b=2\n", "run.main")


def test_flags_with_and_without_values() -> None:
    words = arguments("N=8\npython train.py \\\n  --num_samples $N \\\n  --bf16 \\\n  --beta 0\n", "train.py")
    assert words == ["--num_samples", "8", "--bf16", "--beta", "0"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$A-${A}", "1-1"),
        ("${B:-two}", "two"),
        ('${B:-"${A}/x"}', "1/x"),
        ("$B ${B}", "$B ${B}"),  # only the machine knows: as written
        ("'$A'", "'$A'"),
        ("$((A + 2 * 3))", "7"),
        ("$((B + 1))", "$((B + 1))"),
        ("$(basename $A)", "$(basename 1)"),
    ],
)
def test_expansion(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value


def test_a_brace_that_does_not_close_is_an_error() -> None:
    with pytest.raises(ValueError, match="a brace does not close"):
        expand("${A", {})
