"""Each command and each arm that a paper's page names can be run as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.command.resolve import resolve
from harness.launch.prepare import planned, rehearsed
from harness.spec import catalogue
from tests.options import options_of
from tests.reproductions.test_pages import DECLARED, FOLDER, coverage

UNKNOWN = re.compile("not known whether|fits is not known")  # a model whose shape is not public


def commands(key: str) -> list[str]:
    """The words after `rlvr` of every command to run or plan on a page, without comments."""
    page = (FOLDER / key / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"`rlvr ((?:run|plan) [^`\n]*)`", page) + re.findall(r"^ *rlvr ((?:run|plan) .*)$", page, re.M)
    return list(dict.fromkeys(re.split(r" {2,}#| #", line)[0].strip() for line in lines))


def in_coverage(key: str) -> list[str]:
    commands = [line for row in coverage(key) for line in re.findall(r"`rlvr run ([^`]*)`", row[2])]
    return list(dict.fromkeys(commands))


def obstacles(words: list[str]) -> dict[str, str]:
    """Arms that a plan says cannot run, with its reason."""
    fits_by_arm = {arm.label: arm.fits for arm in planned(*options_of(words)).arms}
    return {label: why for label, (word, why) in fits_by_arm.items() if word != "yes" and not UNKNOWN.search(why)}


@pytest.mark.parametrize(("key", "line"), [(key, line) for key in DECLARED for line in commands(key)])
def test_every_arm_of_a_printed_command_can_run(key: str, line: str) -> None:
    words = line.split()[1:]
    # the whole paper at paper scale names PPO, too, which its page says that TRL skips
    skipped = {arm.key for arm in catalogue.load(key).arms if arm.key.startswith("ppo")}
    assert {k: why for k, why in obstacles(words).items() if k.partition("/")[2] not in skipped} == {}


@pytest.mark.parametrize("key", DECLARED)
def test_every_arm_can_run_at_paper_scale(key: str) -> None:
    paper = catalogue.load(key)
    by_backend = [
        obstacles([f"paper={key}", "arms=all", "scale=paper", "hardware=h100x8", f"backend={backend}"])
        for backend in ("trl", "verl")
    ]
    assert {arm: why for arm, why in by_backend[0].items() if arm in by_backend[1]} == {}
    assert paper.arms


@pytest.mark.parametrize("key", DECLARED)
def test_a_command_of_the_coverage_names_its_scale_and_has_what_it_compares(key: str) -> None:
    gains = {(cell.model, cell.arm) for cell in catalogue.published(key) if cell.metric == "gain"}
    for row in coverage(key):
        for line in re.findall(r"`rlvr run ([^`]*)`", row[2]):
            assert "scale=paper" in line.split(), line
            if row[0] == "Abstract":
                arms = {arm.label for arm in planned(*options_of(line.split())).arms}
                assert {f"{model}/{arm}" for model, trained in gains for arm in (trained, "dapo")} <= arms
                assert {"8b/top20", "8b/dapo"} <= arms  # "about equal" is a comparison as well


def test_the_longer_run_is_measured_with_as_many_tokens_as_it_trains_with() -> None:
    (long,) = resolve("forking_tokens", scale="paper", models=["32b"], arms=["top20_29k"], backend="verl")
    (short,) = resolve("forking_tokens", scale="paper", models=["32b"], arms=["top20"], backend="verl")
    assert (long.protocol.longest, short.protocol.longest) == (29696, 20480)  # v2: section 5.4, figure 10. Section 5.2
    for job in (long, short):
        assert job.settings()["max_completion_tokens"].value == job.protocol.longest
    assert {k for k, v in long.protocol.sourced().items() if v != short.protocol.sourced()[k]} == {"max_tokens"}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("key", "line"), [(key, line) for key in DECLARED for line in in_coverage(key)])
def test_every_command_of_the_coverage_rehearses(
    key: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    paper, options = options_of(line.split())
    faults: dict[str, Any] = {}
    for row in rehearsed(paper, options):
        if "no" in row.stages.values() and not any(UNKNOWN.search(note) for note in row.notes):
            faults[row.arm] = row.notes
    assert faults == {}
