"""GSM8K as the files of this study, from its authors' repository at one commit, checked by hash.

The hub's copy of GSM8K is a parquet file that its owner can change. A commit and a hash pin these two files.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from harness.data.pinned import COMMIT, FILES, Pinned

SOURCE = f"https://raw.githubusercontent.com/openai/grade-school-math/{COMMIT}/grade_school_math/data"
SECONDS = 60  # to wait for the server


def fetch(folder: Path, source: str = SOURCE, files: tuple[Pinned, ...] = FILES) -> list[Path]:
    """Write the study's files. A file with the right hash is left alone.

    Args:
        source: the address of a folder, or a local folder with the authors' files.
    Raises:
        ValueError: a file cannot be read, or its content is not the pinned one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for file in files:
        path = folder / file.name
        if not (path.is_file() and _sha256(path.read_bytes()) == file.sha256):
            content = converted(_read(source, file))
            _check(content, file.sha256, f"{path} as written")
            path.write_bytes(content)
        paths.append(path)
    return paths


def converted(content: bytes) -> bytes:
    """Lines with `question` and a worked `answer` -> lines with `problem` and the answer after `####`."""
    rows = (json.loads(line) for line in content.splitlines())
    lines = ({"problem": row["question"], "answer": row["answer"].rpartition("####")[2].strip()} for row in rows)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines).encode()


def _read(source: str, file: Pinned) -> bytes:
    from urllib.error import URLError
    from urllib.request import urlopen

    place = f"{source.rstrip('/')}/{file.source}"
    try:
        if "://" not in source:
            content = Path(place).read_bytes()
        else:
            with urlopen(place, timeout=SECONDS) as answer:
                content = answer.read()
    except (URLError, OSError) as error:
        raise ValueError(
            f"{place}: cannot be read ({error}). Copy {file.source} of github.com/openai/grade-school-math at "
            f"{COMMIT[:7]} into a folder, and type --source FOLDER"
        ) from error
    _check(content, file.source_sha256, place)
    return bytes(content)


def _check(content: bytes, expected: str, what: str) -> None:
    if (digest := _sha256(content)) != expected:
        raise ValueError(f"{what}: SHA-256 {digest}, expected {expected}: this is another version of the data")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
