"""Public data files that a command of this project makes, so that a run with one of them can be checked by others."""

from __future__ import annotations

from dataclasses import dataclass

COMMIT = "3101c7d5072418e28b9008a6636bde82a006892c"  # in github.com/openai/grade-school-math


@dataclass(frozen=True)
class Pinned:
    """One file: its name at the source and its SHA-256, and the name and SHA-256 of the file that is written here."""

    source: str
    source_sha256: str
    name: str
    sha256: str


FILES = (
    Pinned(
        "train.jsonl", "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",
        "gsm8k_train.jsonl", "aa806c9f2b3542ff41cc50d4476a83e6ab51251b8ee5833d40f2069e20c648ef",
    ),
    Pinned(
        "test.jsonl", "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        "gsm8k.jsonl", "b0f68e4262cac744b1a5f45313e496eae6240ecff36fd0f5375b6820afc5368a",
    ),
)  # fmt: skip


def is_public(sha256: str) -> bool:
    """Whether a file of this content is one that everybody can make."""
    return any(sha256 == file.sha256 for file in FILES)
