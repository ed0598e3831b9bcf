"""The corpus: public repositories at pinned commits, the files of each, and the scores printed about them.

`corpus.toml` lists them. Contents are read from git by commit, so a file's content is fixed by the commit's hash.
Nothing of a repository is copied into this one. The tables hold scores that were computed from its files.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import pandas as pd

from evals.audit import Evidence
from evals.audit.curve_evidence import curve_evidence
from evals.audit.curves import read_curve
from evals.paths import ABSENT, reach

UNLICENSED = "none stated"
CORPUS = Path(__file__).with_name("corpus.toml")


@dataclass(frozen=True)
class Repository:
    """A repository at a commit."""

    name: str  # owner/name
    commit: str
    licence: str

    def fetched(self, cache: Path) -> Files:
        """Its files, from a git folder of the cache that has the commit. Fetched into it if there is none.

        Raises:
            RuntimeError: git cannot fetch the commit, or the folder in the cache does not have it.
        """
        folder = cache / self.name.replace("/", "+")
        git = next(
            (path for path in (folder / "repo" / ".git", folder / "repo", folder) if (path / "HEAD").is_file()), None
        )
        if git is None:
            folder.mkdir(parents=True)
            _git(folder, "init", "--quiet", "--bare")
            _git(folder, "remote", "add", "origin", f"https://github.com/{self.name}")
            git = folder
        if git == folder and not _has(git, self.commit):
            # without contents, which git fetches one by one as they are read
            _git(git, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", self.commit)
        return Files(git, _git(git, "rev-parse", f"{self.commit}^{{commit}}").decode().strip())


@dataclass(frozen=True)
class Files:
    """The files of a commit."""

    git: Path
    commit: str

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Path -> the hash of its content."""
        lines = _git(self.git, "ls-tree", "-r", "-z", self.commit).decode().split("\0")[:-1]
        return {path: entry.split()[2] for entry, path in (line.split("\t", 1) for line in lines)}

    def matching(self, pattern: str) -> list[tuple[str, re.Match[str]]]:
        """(path, match) of each path that matches as a whole.

        Raises:
            ValueError: none does.
        """
        matches = [(name, match) for name in self.hashes if (match := re.fullmatch(pattern, name))]
        if not matches:
            raise ValueError(f"no file matches {pattern}")
        return matches

    def content(self, path: str) -> bytes:
        """The content of a file."""
        return _git(self.git, "show", f"{self.commit}:{path}")

    def text(self, path: str) -> str:
        """The content of a file of text."""
        return self.content(path).decode(errors="replace")


def _git(folder: Path, *arguments: str) -> bytes:
    process = subprocess.run(["git", "--git-dir", str(folder), *arguments], capture_output=True, check=False)
    if process.returncode:
        raise RuntimeError(f"git {' '.join(arguments[:2])} in {folder.name}: {process.stderr.decode().strip()}")
    return process.stdout


def _has(git: Path, commit: str) -> bool:
    result = subprocess.run(
        ["git", "--git-dir", str(git), "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True
    )
    return result.returncode == 0


@dataclass(frozen=True, eq=False)
class Series:
    """The evaluations of one recipe on one benchmark: a table `series` of `corpus.toml`.

    Attributes:
        files: a pattern of paths. Its groups `seed` and `checkpoint` tell the files apart.
        curve: the name of the score, where the files are curves. `window`: the mean of so many rows is taken.
        score: where each file is JSON with one score: the keys that lead to it. Files without them are of other
            benchmarks.
        table: where the file is a CSV of scores: `value` and `seed` name its columns, the others choose rows.
        verdicts: where the authors' verdicts stand (see `verdict_rows`), where the files have no responses.
        responses: our column -> theirs, where the files have responses. Empty for a format that is known.
        golds: how several golds of a problem count (`evals.answer_files.reading`), where the format does not say it.
        only: of the benchmarks in the files.
        problems: of the benchmark, where the files do not say it.
        printed: scores in percent, with where each is printed.
        base: the recipe that it is compared with.
        note: what a reader must know of it.
    """

    repository: Repository
    recipe: str
    benchmark: str
    files: str
    curve: str = ""
    window: int = 1
    score: tuple[str, ...] = ()
    table: Mapping[str, str] | None = None
    verdicts: Mapping[str, Any] | None = None
    responses: Mapping[str, str] | None = None
    golds: str | None = None
    only: str = ""
    problems: int | None = None
    printed: tuple[tuple[str, str], ...] = ()
    base: str = ""
    note: str = ""

    def matches(self, files: Files) -> list[tuple[str, str, int]]:
        """(path, seed, checkpoint) of each file."""
        paths = [(path, match.groupdict()) for path, match in files.matching(self.files)]
        return [(path, groups.get("seed") or "", int(groups.get("checkpoint") or 0)) for path, groups in paths]

    def evidence(self, files: Files) -> Evidence | None:
        """The evidence of curves or of the authors' verdicts, or None where a score is printed and its curves have
        none."""
        if self.curve:
            curves = {seed or path: read_curve(files.text(path), name=path) for path, seed, _ in self.matches(files)}
            if self.printed and not any(self.curve in curve for curve in curves.values()):
                return None
            thinned = {seed: _means(curve, self.curve, self.window) for seed, curve in curves.items()}
            return curve_evidence(thinned, self.curve, problems=self.problems)
        if self.score:
            scores = [
                {"seed": seed or path, "checkpoint": step, "value": value}
                for path, seed, step in self.matches(files)
                if (value := reduce(lambda part, key: part.get(key, {}), self.score, _document(files.text(path)))) != {}
            ]
            return Evidence.of_scores(pd.DataFrame(scores), self.problems)
        if self.table is not None:
            ((path, _, _),) = self.matches(files)
            return Evidence.of_scores(_chosen(files.content(path), **self.table), self.problems)
        parts = []
        for path, seed, checkpoint in self.matches(files):
            table = verdict_rows(files.text(path), **(self.verdicts or {}))
            parts.append(table.assign(seed=seed, checkpoint=table.get("checkpoint", checkpoint)))
        return Evidence.of_samples(pd.concat(parts, ignore_index=True))


def _means(curve: pd.DataFrame, metric: str, window: int) -> pd.DataFrame:
    """A curve whose points are means of a metric over `window` steps, at the last of them."""
    if window == 1:
        return curve
    points = curve[["step", metric]].dropna()
    means = points.groupby(points.index // window).agg({"step": "last", metric: "mean"})
    means.attrs = {}  # single values that were logged twice are no means
    return means


def _chosen(content: bytes, *, value: str, seed: str, **rows: str) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(content), dtype=str)
    for column, wanted in rows.items():
        table = table[table[column] == wanted]
    return pd.DataFrame({"seed": table[seed].to_list(), "checkpoint": 0, "value": table[value].astype(float).to_list()})


def verdict_rows(
    text: str,
    *,
    problem: str = "",
    correct: str = "",
    rows: str = "",
    each: str = "",
    total: str = "",
    truncated: str = "",
    history: int = 0,
) -> pd.DataFrame:
    """The authors' verdicts in a file: a row a sample, `problem_id` and `label`.

    Args:
        text: JSON or JSON Lines. An object without `rows` is one of verdicts by problem.
        problem, correct: where a row has the problem's id and the verdict: one, a list, or a count of correct samples.
        rows: where the document has its rows. each: the list in a row whose elements have the verdicts.
        total: where the row or the document has the number of samples, for a count.
        truncated: where a sample says that it ran into the token limit.
        history: instead: the document is an object of lists, the shares of correct samples of a problem over time.
            Each is of so many samples. Times that a problem lacks are left out.
    """
    document = _document(text)
    if isinstance(document, dict) and not rows and not history:
        return pd.DataFrame([(key, float(label)) for key, label in document.items()], columns=["problem_id", "label"])
    if history:
        length = min(map(len, document.values()))
        samples = [
            (problem_id, float(sample < round(share * history)), step)
            for problem_id, shares in document.items()
            for step, share in enumerate(shares[:length])
            for sample in range(history)
        ]
        return pd.DataFrame(samples, columns=["problem_id", "label", "checkpoint"])
    labels = []
    for row in reach(document, rows) if rows else document:
        for part in reach(row, each) if each else [row]:
            verdict = reach(part, correct)
            if total:
                count = next(n for n in (reach(row, total), reach(document, total)) if n is not ABSENT)
                verdict = [sample < verdict for sample in range(count)]
            cut = float(reach(part, truncated)) if truncated else 0.0
            each_found = verdict if isinstance(verdict, list) else [verdict]
            labels += [(str(reach(row, problem)), float(label), cut) for label in each_found]
    return pd.DataFrame(labels, columns=["problem_id", "label", "truncated"])


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def base_of(series: Series, corpus: Sequence[Series]) -> Series | None:
    """The series that one is compared with."""
    same = (s for s in corpus if (s.repository.name, s.recipe) == (series.repository.name, series.base))
    return next((s for s in same if s.benchmark == series.benchmark), None)


def read_corpus(path: Path = CORPUS) -> tuple[Series, ...]:
    """All series of a TOML file.

    Raises:
        TypeError: a series has a key that `Series` has not.
    """
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    series = []
    for entry in document["repository"]:
        repository = Repository(entry["name"], entry["commit"], entry["licence"])
        for values in entry["series"]:
            printed = tuple((text, where) for text, where in values.pop("printed", ()))
            score = tuple(values.pop("score", ()))
            series.append(Series(repository, printed=printed, score=score, **values))
    return tuple(series)
