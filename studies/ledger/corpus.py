"""The corpus: public repositories at pinned commits, the files of each, and the scores printed about them.

Contents are read from git by commit, so a file's content is fixed by the commit's hash. Nothing of a repository is
copied into this one; the tables hold scores that were computed from its files.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from evals.audit import Evidence
from evals.audit.reading import curve_evidence, read_curve

UNLICENSED = "none stated"


@dataclass(frozen=True)
class Repository:
    """A repository at a commit."""

    name: str  # owner/name
    commit: str
    licence: str

    def fetched(self, cache: Path) -> Files:
        """Its files, from a git folder of the cache that has the commit; fetched into it if there is none.

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
            _git(folder, "fetch", "--quiet", "--depth=1", f"https://github.com/{self.name}", self.commit)
            git = folder
        return Files(git, _git(git, "rev-parse", f"{self.commit}^{{commit}}").decode().strip())


@dataclass(frozen=True)
class Files:
    """The files of a commit."""

    git: Path
    commit: str

    @cached_property
    def names(self) -> list[str]:
        """All paths."""
        return _git(self.git, "ls-tree", "-r", "--name-only", "-z", self.commit).decode().split("\0")[:-1]

    def matching(self, pattern: str) -> list[tuple[str, re.Match[str]]]:
        """(path, match) of each path that matches as a whole.

        Raises:
            ValueError: none does.
        """
        found = [(name, match) for name in self.names if (match := re.fullmatch(pattern, name))]
        if not found:
            raise ValueError(f"no file matches {pattern}")
        return found

    def text(self, path: str) -> str:
        """The content of a file."""
        return _git(self.git, "show", f"{self.commit}:{path}").decode(errors="replace")


def _git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "--git-dir", str(folder), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments[:2])} in {folder.name}: {done.stderr.decode().strip()}")
    return done.stdout


@dataclass(frozen=True)
class Series:
    """The evaluations of one recipe on one benchmark.

    Attributes:
        read: from the repository's files to the evidence.
        printed: scores in percent, with where each is printed; empty if none is known.
        note: what a reader must know of it.
    """

    repository: Repository
    recipe: str
    benchmark: str
    read: Callable[[Files], Evidence]
    printed: tuple[tuple[str, str], ...] = ()
    note: str = ""


def curves(pattern: str, metric: str, problems: int | None, kind: str | None = None) -> Callable[[Files], Evidence]:
    """Evidence from files of curves; the pattern's group `seed` tells them apart."""

    def read(files: Files) -> Evidence:
        found = {
            match.groupdict().get("seed", path): read_curve(files.text(path), name=path, kind=kind)
            for path, match in files.matching(pattern)
        }
        return curve_evidence(found, metric, problems=problems)

    return read


def verdicts(pattern: str, rows: Callable[[str], Iterable[tuple[str, float]]]) -> Callable[[Files], Evidence]:
    """Evidence from files of verdicts; the pattern's groups `checkpoint` and `seed` say whose a file is.

    Args:
        rows: from the file's text to (problem, label) of each sample.
    """

    def read(files: Files) -> Evidence:
        parts = []
        for path, match in files.matching(pattern):
            groups = match.groupdict()
            table = pd.DataFrame(rows(files.text(path)), columns=["problem_id", "label"])
            parts.append(table.assign(seed=groups.get("seed", ""), checkpoint=int(groups.get("checkpoint", 0))))
        return Evidence.of_samples(pd.concat(parts, ignore_index=True))

    return read


def _oat(text: str) -> Iterable[tuple[str, float]]:
    return [(row["input"], float(score)) for row in json.loads(text) for score in row["scores"]]


def _per_question(text: str) -> Iterable[tuple[str, float]]:
    return [(str(row["i"]), float(row["correct"])) for row in json.loads(text)["per_q"]]


def _rollouts(text: str) -> Iterable[tuple[str, float]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [(str(row["qid"]), float(sample["correct"])) for row in rows for sample in row["rollouts"]]


def _samples(text: str) -> Iterable[tuple[str, float]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["id"], float(row["correct"])) for row in rows]


def _counts(text: str) -> Iterable[tuple[str, float]]:
    document = json.loads(text)
    return [
        (str(row["i"]), float(sample < row["n_correct"]))
        for row in document["results"]
        for sample in range(document["k"])
    ]


OPEN_RS = Repository("knoveleng/open-rs", "2889c474949be4b3b778117a9026c919e517db0a", "MIT")
S_GRPO = Repository("shenpeijun0212/S-GRPO", "75c3540", UNLICENSED)
VERL_DATA = Repository("eric-haibin-lin/verl-data", "f07af32", UNLICENSED)
VERL_LOG = Repository("yushengsu-thu/verl_training_log", "deb1507", UNLICENSED)
VERL_DATA_GPG = Repository("diqiuzhuanzhuan/verldata", "42e31cd", "MIT")
DYNAMICS = Repository("Sunshine535/nips-grpo-dynamics", "2cd2efc", UNLICENSED)
MLPERF = Repository("mlcommons/training", "aa344c7f", "Apache-2.0")
SCRATCH = Repository("rasbt/reasoning-from-scratch", "f79c9cd", "Apache-2.0")
PROBE = Repository("UnitedSnakes/rlvr_behavior_probe_runpod", "b7c65a3", UNLICENSED)
COUNTDOWN = Repository("beibeizzz/countdown_post_train", "5fbed0e", "MIT")
QWEN_GRPO = Repository("kencoken/qwen-grpo", "79a479c", UNLICENSED)

OAT_BENCHMARKS = {"amc": "AMC", "math": "MATH-500", "minerva": "Minerva", "olympiad_bench": "OlympiadBench"}
VERL_SCORE = "val/test_score/openai/gsm8k"
BASELINES = "veRL's page of baselines"
OAT = r"example/eval_results/Qwen2\.5-Math-1\.5B-Instruct/(?P<checkpoint>\d+)_%s\.json"
LORA = "LoRA, two responses a prompt"

SERIES: tuple[Series, ...] = (
    *(
        Series(
            OPEN_RS, "one log", name, curves("logs/logs.txt", key, problems), printed,
            note="21 revisions of a model; two were evaluated twice",
        )
        for key, name, problems, printed in (
            ("aime24", "AIME24", 30, (("46.7", "README, Open-RS3"),)),
            ("amc23", "AMC23", 40, (("80.0", "README, Open-RS2"),)),
            ("math_500", "MATH-500", 500, ()),
        )
    ),
    *(
        Series(
            S_GRPO, "Qwen2.5-Math-1.5B-Instruct", name, verdicts(OAT % key, _oat),
            note="the checkpoint that the paper chose is not stated",
        )
        for key, name in OAT_BENCHMARKS.items()
    ),
    Series(
        VERL_DATA, "Qwen2.5-0.5B-Instruct PPO", "GSM8K",
        curves(r"gsm8k/Qwen2\.5-0\.5B-bsz256_2-prompt1024-resp512-0\.567\.log", VERL_SCORE, 1319),
        (("56.7", BASELINES),),
    ),
    Series(
        VERL_DATA, "gemma-2-2b-it PPO", "GSM8K",
        curves(r"gsm8k/gemma-2-2b-it-ppo-bsz512_4-prompt1024-resp-512-0\.640\.log", VERL_SCORE, 1319),
        (("64.02", BASELINES),),
    ),
    *(
        Series(
            VERL_LOG, f"deepseek-llm-7b-chat {name.upper()}", "GSM8K",
            curves(f"gsm8k/{name}_run_deepseek7b_llm.log", VERL_SCORE, 1319), printed,
        )
        for name, printed in (("grpo", (("71.4", BASELINES),)), ("ppo", ()))
    ),
    Series(
        VERL_DATA_GPG, "Qwen2-7B-Instruct GPG", "GSM8K",
        curves(r"run_logs/qwen2-7b_math\.log", "val-core/openai/gsm8k/reward/mean@1", 1319),
    ),
    Series(
        VERL_DATA_GPG, "Qwen2-7B-Instruct GPG, Megatron", "GSM8K",
        curves(r"run_logs/qwen2-7b_math_megatron\.log", "val-core/openai/gsm8k/reward/mean@1", 1319),
    ),
    *(
        Series(
            MLPERF, f"GRPO reference, batch {size}", "its evaluation set",
            curves(rf"llm_post_training/rcp_logs/GBS{size}/seed_(?P<seed>\d)\.out", "eval_accuracy", None),
            note="pass@4",
        )
        for size in (256, 512, 1024)
    ),
    *(
        Series(DYNAMICS, recipe, "GSM8K, 200 problems", verdicts(pattern, _per_question), note=LORA)
        for recipe, pattern in (
            ("rho 1.00, bandit", r"results/stratified_eval/bandit_seed(?P<seed>\d+)\.json"),
            ("rho 0.70", r"results/stratified_eval(?:_wave11)?/rho0\.70_seed(?P<seed>\d+)\.json"),
            ("rho 1.00", r"results/stratified_eval/rho1\.00_seed(?P<seed>\d+)\.json"),
            ("rho 3.00", r"results/stratified_eval/rho3\.00_seed(?P<seed>\d+)\.json"),
            ("rho 1.00, exact", r"results/stratified_eval/exact_seed(?P<seed>\d+)\.json"),
            ("Dr. GRPO", r"results/stratified_eval/drgrpo_seed(?P<seed>\d+)\.json"),
            ("SPO, full", r"results/stratified_eval/spo_full_seed(?P<seed>\d+)\.json"),
        )
    ),
    *(
        Series(DYNAMICS, recipe, "GSM8K", verdicts(pattern, _per_question), note=LORA)
        for recipe, pattern in (
            ("rho 0.70", r"results/fullset_eval/rho070_seed(?P<seed>\d+)\.json"),
            ("SPO, full", r"results/fullset_eval/spo_full_seed(?P<seed>\d+)\.json"),
        )
    ),
    *(
        Series(SCRATCH, recipe, "MATH-500", curves(path, "eval_acc", 500, "csv"))
        for recipe, path in (
            ("GRPO without KL", r"ch07/02_logs/7_3_plus_tracking_metrics\.csv"),
            ("with clipping", r"ch07/02_logs/7_4_plus_clip_ratio_metrics\.csv"),
            ("with KL", r"ch07/02_logs/7_5_plus_kl_metrics\.csv"),
            ("with format reward", r"ch07/02_logs/7_6_plus_format_reward_metrics\.csv"),
        )
    ),
    Series(
        PROBE, "qwen-2.5-1.5b-rlvr-ppo", "GSM8K, a subset",
        verdicts(r"trajectory/step-(?P<checkpoint>\d+)/rl_raw\.jsonl", _rollouts),
    ),
    *(
        Series(COUNTDOWN, recipe, "Countdown", verdicts(rf"post_train/data/eval/{recipe}/eval_samples.jsonl", _samples))
        for recipe in ("base_0_6b", "base_8b", "sft_full", "sft_lora", "dpo", "rft", "grpo")
    ),
    Series(QWEN_GRPO, "c1, depth 3", "Countdown", verdicts(r"data/evals/c1-D3-s(?P<seed>\d+)-k1-t0\.0\.json", _counts)),
)  # fmt: skip
