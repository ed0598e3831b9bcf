"""Versions and dates of tools whose logs have a wrong number, with who says so.

A fault is named where a log shows its tool, and a version or a date of it. That is no proof that the run had the fault:
its text says under which settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

import pandas as pd


@dataclass(frozen=True)
class Fault:
    """One fault of one tool.

    Attributes:
        tool: as logs name it. metrics: a pattern of the names of the wrong ones, or "" where the training itself is
            wrong.
        versions: the first and the last that have it. since, until: the days on which its main branch had it.
        needs: a pattern that a log must hold. unless: a pattern of a setting without which the fault does not show.
        text: what is wrong, and when. source: where that is documented.
    """

    tool: str
    metrics: str
    text: str
    source: str
    versions: tuple[str, str] | None = None
    since: date | None = None
    until: date | None = None
    needs: str = ""
    unless: str = ""


FAULTS = (
    Fault(
        tool="verl",
        metrics=r"actor/entropy(?:_loss)?",
        versions=("0.3.1", "0.4.0"),
        since=date(2025, 4, 17),
        until=date(2025, 6, 10),
        unless=r"use_dynamic_bsz\W{1,4}False",
        text="veRL wrote a wrong actor/entropy from 17 April to 10 June 2025 with use_dynamic_bsz=True: each sample's "
        "entropy is averaged under another sample's mask. The training is right, the curve is not",
        source="github.com/verl-project/verl/pull/1100, mended by pull/1943; github.com/thunlp/JustRL/issues/5",
    ),
    Fault(
        tool="trl",
        metrics="",
        versions=("1.10.0", "1.13.99"),
        needs=r"use_liger_kernel\W{1,4}[Tt]rue",
        text="TRL 1.10 to 1.13 trains wrongly with use_liger_kernel=True on several processes (DDP): each process "
        "keeps its own gradients. The issue measured DPO and KTO, the notes of 1.14 say so of the fused losses of 1.13",
        source="github.com/huggingface/trl/issues/7245, github.com/huggingface/trl/releases/tag/v1.14.0",
    ),
    Fault(
        tool="trl",
        metrics=r"(?:train/)?reward(?:_std)?",
        until=date(2026, 3, 23),
        needs=r"reward_weights",
        text="TRL logged reward and reward_std of GRPO without reward_weights until March 2026. The training is right, "
        "the two curves are of an unweighted sum",
        source="github.com/huggingface/trl/issues/5352, mended by pull/5353",
    ),
    Fault(
        tool="rlinf",
        metrics=r"actor/entropy_loss",
        until=date(2026, 9, 11),
        needs=r"embodi",
        text="RLinf multiplied the entropy of embodied actors by the micro-batch size until September 2026, in the "
        "curve and in the loss",
        source="github.com/RLinf/RLinf/issues/1564, mended by pull/1565",
    ),
)
_DAY = re.compile(r"\b(20\d\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)")
_VERL_LINE = re.compile(r"\bstep:\d+ - ")


def known_faults(text: str, curve: pd.DataFrame | None = None) -> tuple[str, ...]:
    """The known faults of the tool, version or date that a log shows, with their source.

    Args:
        text: of the log. curve: its metrics by name, where it has some. With `_timestamp`, as trackers export it.
    """
    names = [] if curve is None else [str(name) for name in curve]
    days = _days(text, curve)
    return tuple(
        f"{fault.text} ({fault.source})" for fault in FAULTS if _shows(fault, text, names) and _when(fault, text, days)
    )


def _shows(fault: Fault, text: str, names: Iterable[str]) -> bool:
    """Whether a log is of the tool, has the metric, and does not say that the fault cannot be there."""
    of_tool = re.search(rf"(?i)\b{fault.tool}\b", text) or (fault.tool == "verl" and _VERL_LINE.search(text))
    metric = not fault.metrics or any(re.fullmatch(fault.metrics, name) for name in names)
    needed = not fault.needs or re.search(fault.needs, text)
    return bool(of_tool and metric and needed) and not (fault.unless and re.search(fault.unless, text))


def _when(fault: Fault, text: str, days: list[date]) -> bool:
    """Whether a log shows a version of the fault or, without any version, a day of it."""
    match = re.search(rf"(?i)\b{fault.tool}\b(?: version)?[\s=:@v'\"]{{1,6}}(\d+(?:\.\d+)+)", text)
    if match and fault.versions:
        first, last = map(_numbers, fault.versions)
        return first <= _numbers(match[1]) <= last
    if not days or (fault.since is None and fault.until is None):
        return False
    return min(days) <= (fault.until or max(days)) and max(days) >= (fault.since or min(days))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])


def _days(text: str, curve: pd.DataFrame | None) -> list[date]:
    """The first and the last day that a log names."""
    days = [date(int(year), int(month), int(day)) for year, month, day in _DAY.findall(text) if _is_day(month, day)]
    if curve is not None and "_timestamp" in curve and curve["_timestamp"].notna().any():
        days += [datetime.fromtimestamp(at, UTC).date() for at in curve["_timestamp"].dropna().iloc[[0, -1]]]
    return [min(days), max(days)] if days else []


def _is_day(month: str, day: str) -> bool:
    return int(day) <= (28 if month == "02" else 30 if month in ("04", "06", "09", "11") else 31)
