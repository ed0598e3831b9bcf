"""Two findings of docs/ledger by hand: git, pandas and numpy, and nothing of this project.

`python -m studies.ledger.by_hand [CACHE]`, where CACHE holds the git folders that `nox -s ledger` fetched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

OPEN_RS = ("knoveleng+open-rs", "2889c474949be4b3b778117a9026c919e517db0a")
DYNAMICS = ("Sunshine535+nips-grpo-dynamics", "2cd2efce1c0622bfd77899c555357107706a0c54")


def git(cache: Path, repository: tuple[str, str], command: str, path: str = "") -> str:
    """What git prints of a commit, from a git folder of the cache."""
    name, commit = repository
    folders = (cache / name / "repo" / ".git", cache / name / "repo", cache / name)
    folder = next(folder for folder in folders if (folder / "HEAD").is_file())
    arguments = ["git", "--git-dir", str(folder), *command.split(), f"{commit}:{path}" if path else commit]
    return subprocess.run(arguments, capture_output=True, check=True, text=True).stdout


def scores_of(cache: Path, experiment: str, task: str) -> list[float]:
    """The scores of a task in lighteval's files of a training's checkpoints."""
    paths = [p for p in git(cache, OPEN_RS, "ls-tree -r --name-only").split() if f"logs/evals/{experiment}_" in p]
    results = [json.loads(git(cache, OPEN_RS, "show", path))["results"] for path in paths]
    return [of[f"custom|{task}|0"]["extractive_match"] for of in results if f"custom|{task}|0" in of]


def largest_of_equal(found: list[float], problems: int) -> pd.Series:
    """Scores of checkpoints, and the largest that as many evaluations of one model would have."""
    scores = pd.Series(found)
    draws = np.random.default_rng(0).binomial(problems, scores.mean(), size=(20_000, len(scores))).max(axis=1)
    return pd.Series(
        {
            "evaluations": len(scores),
            "mean": 100 * scores.mean(),
            "largest": 100 * scores.max(),
            "largest of equal": 100 * draws.mean() / problems,
            "chance": (draws >= round(scores.max() * problems)).mean(),
        }
    )


def pairs_called_different(files: list[str]) -> tuple[int, int]:
    """(pairs of seeds whose difference over problems is beyond 1.96 standard errors, all pairs)."""
    table = pd.DataFrame({n: {row["i"]: row["correct"] for row in json.loads(f)["per_q"]} for n, f in enumerate(files)})
    differences = [table[a].astype(float) - table[b].astype(float) for a, b in combinations(table, 2)]
    called = [abs(d.mean()) > 1.96 * d.std() / np.sqrt(len(d)) for d in differences]
    return sum(called), len(called)


def main() -> None:
    """Print both findings."""
    home = Path(os.environ.get("RLVR_HOME", Path.home() / ".rlvr")) / "ledger"
    cache = Path(sys.argv[1]) if len(sys.argv) > 1 else home
    open_rs = (("Exp3", "aime24", 30), ("Exp2", "amc23", 40))
    print(pd.DataFrame({task: largest_of_equal(scores_of(cache, exp, task), n) for exp, task, n in open_rs}).round(2))
    for recipe, seeds in (("rho070", (42, 44, 45, 46, 47, 48)), ("spo_full", (42, 43, 44, 46, 47, 48, 49, 50, 51))):
        files = [git(cache, DYNAMICS, "show", f"results/fullset_eval/{recipe}_seed{seed}.json") for seed in seeds]
        print(recipe, "pairs called different: {} of {}".format(*pairs_called_different(files)))


if __name__ == "__main__":
    main()
