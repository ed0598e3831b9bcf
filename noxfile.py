"""Every task of the project: `nox -s quickstart`, `nox -s tests`, one session a paper, and so on (`nox -l`).

Most sessions share one environment, `.nox/rlvr`, built from the lock file. It is rebuilt only when the lock or
pyproject.toml changes. `vllm` has its own, because vLLM wants other versions of some packages. `verl`, `parity`, `real`
and `rehearse` share one, and what runs with `backend=verl` uses it. `browser`, `docs` and `wheel` have their own too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".nox" / "rlvr"
LOCK = ROOT / "requirements" / "cpu.lock"
PYTHON = ENVIRONMENT / "bin" / "python"
VLLM = ROOT / ".nox" / "vllm"
VLLM_LOCK = ROOT / "requirements" / "vllm.lock"
VERL = ROOT / ".nox" / "verl"
VERL_LOCK = ROOT / "requirements" / "verl.lock"
REAL = ROOT / ".nox" / "real"  # real weights from the package index, fetched and converted once
PAPERS = sorted(path.parent.name for path in ROOT.glob("reproductions/*/paper.py"))
DECLARED = [*PAPERS, "baselines"]
MOST_AT_A_TIME = 4  # processes of tests: each takes up to 3 GB of memory

nox.options.sessions = ["lint", "tests"]


def environment(session: nox.Session, folder: Path = ENVIRONMENT, lock: Path = LOCK, *extra: str) -> None:
    """Make the environment in `folder` match lock file and metadata, types visible to mypy. `extra` goes to pip."""
    digest = hashlib.sha256(lock.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp, python = folder / "lock.sha256", folder / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    if not (3, 11) <= sys.version_info[:2] <= (3, 12):
        session.error(f"expected Python 3.11 or 3.12, got {sys.version.split()[0]}: install nox with one of these")
    session.log(f"installing {lock.name} into {folder} (2.5 to 4.5 GB, a few minutes)")
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    session.run(*install, *extra, "-r", str(lock), external=True)
    session.run(*install, "--no-deps", "-e", str(ROOT), "-C", "editable_mode=compat", external=True)
    stamp.write_text(digest)


def rlvr(session: nox.Session, *arguments: str) -> None:
    """The command line, in the environment that has the backends of its arms."""
    verl = "backend=verl" in arguments
    if not verl and any(word in ("scale=paper", "scale=small") for word in arguments):
        environment(session)  # an arm that TRL cannot train goes to veRL: the plan says which
        command = [str(PYTHON), "-m", "rlvr", "plan", *arguments[1:], "--json"]
        verl = "verl" in json.loads(session.run(*command, external=True, silent=True, stderr=None))["backends"]
    session.run(str(python(session, verl)), "-m", "rlvr", *arguments, external=True)


def python(session: nox.Session, verl: bool) -> Path:
    """The interpreter of an environment, which is built first."""
    if not verl:
        environment(session)
        return PYTHON
    # every package is in the lock; what is not (torchvision, torchaudio, torchcodec) text has no use for
    environment(session, VERL, VERL_LOCK, "--no-deps")
    return VERL / "bin" / "python"


@nox.session(venv_backend="none")
def quickstart(session: nox.Session) -> None:
    """The tiny EGSW reproduction: base, GRPO and GRPO + EGSW, one seed, evaluated, logged, tabulated."""
    rlvr(session, "run", "paper=egsw", "arm=base,grpo,egsw", "seeds=1", *session.posargs)


@nox.session(venv_backend="none")
def study(session: nox.Session) -> None:
    """The tiny-scale study (hours, resumes where it was), then its tables, page and figures in results/study."""
    environment(session)
    session.env.update(OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1")
    session.run(str(PYTHON), "-m", "studies.tiny", "run", *session.posargs, external=True)
    session.run(str(PYTHON), "-m", "studies.tiny", "write", external=True)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """All tests but those of `faults` and the exhaustive ones, a file for each core at a time. Arguments go to pytest,
    which then runs in one process and takes `faults` too: `-- -m "not slow and not exhaustive"` is a shorter subset."""
    environment(session)
    # several processes share the cores: waiting threads must not spin
    session.env.update(OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1")
    session.env["PYTHONDONTWRITEBYTECODE"] = ""  # tests start many processes: our modules are compiled once
    # a whole file to one process, which makes what its tests share once. In the order of tests/conftest.py
    beside = ["-n", str(min(os.cpu_count() or 1, MOST_AT_A_TIME)), "--dist", "loadfile", "--no-loadscope-reorder"]
    beside += ["--ignore=tests/faults", "-q", "--durations=100", "--durations-min=2"]
    session.run(str(PYTHON), "-m", "pytest", *(session.posargs or beside), external=True)


OTHER_MACHINE = [  # tests of what asks for the machine: plans, checks, commands, files in any format
    *("tests/harness/plan", "tests/harness/spec", "tests/harness/command", "tests/harness/launch"),
    *("tests/harness/runs", "tests/harness/record", "tests/harness/data", "tests/evals/answer_files"),
    *("tests/evals/data", "tests/evals/test_files.py", "tests/rlvr"),
]


@nox.session(venv_backend="none")
def other_machine(session: nox.Session) -> None:
    """The fast tests of plans, commands and files once more, as on another computer (.ci/other_machine): one core, no
    bfloat16, another time zone and locale, and where bubblewrap works another user. Arguments go to pytest."""
    environment(session)
    session.env.update(OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1")
    tests = ["-m", "not slow and not exhaustive", "-q", "-p", "no:cacheprovider", *(session.posargs or OTHER_MACHINE)]
    session.run(str(ROOT / ".ci" / "other_machine"), str(PYTHON), "-m", "pytest", *tests, external=True)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Formatting, lint, types, and which room may import which (pyproject.toml, import-linter)."""
    environment(session)
    session.run(str(PYTHON), "-m", "ruff", "check", ".", external=True)
    session.run(str(PYTHON), "-m", "ruff", "format", "--check", ".", external=True)
    session.run(str(PYTHON), "-m", "mypy", external=True)
    session.run(str(ENVIRONMENT / "bin" / "lint-imports"), external=True)


@nox.session(venv_backend="none")
def vllm(session: nox.Session) -> None:
    """The tests of the vLLM engine on this CPU, in an environment of their own. Arguments go to pytest."""
    # every package is in the lock; what is not (torchvision, torchaudio, torchcodec) text has no use for
    environment(session, VLLM, VLLM_LOCK, "--no-deps")
    session.run(str(VLLM / "bin" / "python"), "-m", "pytest", "tests/vllm", *session.posargs, external=True)


@nox.session(venv_backend="venv")
def browser(session: nox.Session) -> None:
    """The report's tests in this machine's Chromium, in an environment of their own. Arguments go to pytest."""
    session.install("-r", str(ROOT / "requirements" / "browser.txt"))
    session.run("python", "-m", "pytest", "tests/browser", *session.posargs)


@nox.session(venv_backend="none")
def verl(session: nox.Session) -> None:
    """veRL on this CPU: GRPO and PPO learn, killed runs and one on a full disk resume. Arguments go to pytest."""
    session.env["RLVR_TESTS_NEED_VERL"] = "1"
    session.run(str(python(session, True)), "-m", "pytest", "tests/verl", *session.posargs, external=True)


@nox.session(venv_backend="none")
def parity(session: nox.Session) -> None:
    """One step of each method through TRL and through veRL: the same advantages, loss and gradient."""
    session.env["RLVR_TESTS_NEED_VERL"] = "1"
    session.run(str(python(session, True)), "-m", "pytest", "tests/parity", *session.posargs, external=True)


@nox.session(venv_backend="none")
def real(session: nox.Session) -> None:
    """A real model (SmolLM2-135M-Instruct, 93 MB from the package index) through transformers, vLLM, a server, TRL and
    veRL: the same prompts, responses, losses and gradients. Arguments go to pytest."""
    session.env["RLVR_TESTS_NEED_VERL"] = "1"
    alone = "tests/real/test_verl.py"  # veRL needs 9 GB, which the processes of the other tests do not give back
    for tests in [("tests/real",)] if session.posargs else [("tests/real", f"--ignore={alone}"), (alone,)]:
        with_real_model(session, python(session, True), *tests, *session.posargs)


@nox.session(venv_backend="none")
def real_short(session: nox.Session) -> None:
    """The part of `real` that takes two minutes and needs neither vLLM nor veRL. The gate runs it."""
    with_real_model(session, python(session, False), "tests/real", "-m", "not slow", *session.posargs)


def with_real_model(session: nox.Session, interpreter: Path, *arguments: str) -> None:
    """tests/real with the real model. Skipped, and said, where the package index does not give it."""
    session.env.update(OMP_WAIT_POLICY="PASSIVE", PYTHONDONTWRITEBYTECODE="")
    session.run(str(interpreter), "-m", "studies.real", "model", str(REAL), external=True, success_codes=[0, 75])
    model = REAL / "smollm2-135m-instruct"
    if not model.is_dir():
        session.skip("the package index did not give the real weights (above): nothing was tested with them")
    session.env["RLVR_REAL_MODEL"] = str(model)
    options = ("-q", "--durations=20", "--timeout=3600")
    session.run(str(interpreter), "-m", "pytest", *arguments, *options, external=True)


@nox.session(venv_backend="none")
def slurm(session: nox.Session) -> None:
    """launcher=slurm on a real Slurm that runs on this machine (Debian's packages, as root). Arguments go to pytest."""
    environment(session)
    if shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        packages = ("slurmctld", "slurmd", "slurm-client", "munge")
        session.run("apt-get", "install", "-y", "--no-install-recommends", *packages, external=True)
    session.env["RLVR_TESTS_NEED_SLURM"] = "1"
    session.run(str(PYTHON), "-m", "pytest", "tests/slurm", *session.posargs, external=True)


@nox.session(venv_backend="none")
def rehearse(session: nox.Session) -> None:
    """Every default run of every paper, at paper and small scale, with dwarfs of the models. `-- --paper egsw` for one,
    `-- --write` for results/rehearsal.md. It goes on where it was stopped."""
    session.env.update(OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1")
    session.run(str(python(session, True)), "-m", "benchmarks.rehearsal", *session.posargs, external=True)


@nox.session(venv_backend="none")
def contributions(session: nox.Session) -> None:
    """Check the archives in results/contributed, and that the committed tables are those of all records."""
    environment(session)
    archives = ROOT / "results" / "contributed"
    if not any(archives.glob("*.tar.xz")):
        session.skip(f"no archive in {archives}")
    rlvr(session, "verify", str(archives), "contribution=true")
    session.env["RLVR_HOME"] = session.create_tmp()
    rlvr(session, "tables", f"runs=[{ROOT / 'results' / 'records'},{archives}]", f"out={ROOT / 'results'}")
    session.run("git", "diff", "--exit-code", "--", "results", external=True)


@nox.session(venv_backend="venv")
def wheel(session: nox.Session) -> None:
    """Build a wheel, install it into an environment of its own without torch, and use it there."""
    folder = Path(session.create_tmp())
    session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    session.install(*map(str, folder.glob("*.whl")))
    session.chdir(folder)
    for arguments in (["list"], ["plan", "paper=egsw", "scale=paper"], ["import", str(ROOT / "results" / "records")]):
        session.run("rlvr", *arguments, env={"RLVR_HOME": str(folder / "runs")}, silent=True)
    session.run("rlvr", "tables", env={"RLVR_HOME": str(folder / "runs")}, silent=True)


@nox.session(venv_backend="venv")
def docs(session: nox.Session) -> None:
    """The documentation site, links checked, into .nox/docs-site. `-- serve` shows it while you write."""
    session.install("-r", str(ROOT / "requirements" / "docs.txt"))
    session.env.update(PYTHONPATH=str(ROOT), NO_MKDOCS_2_WARNING="1")
    session.run("mkdocs", *(session.posargs or ["build", "--strict"]))


@nox.session(venv_backend="none")
def faults(session: nox.Session) -> None:
    """Kill, signal and damage real runs, break MLflow's server (half an hour). Arguments go to pytest."""
    environment(session)
    session.env.update(OMP_WAIT_POLICY="PASSIVE", OMP_NUM_THREADS="1")
    session.run(str(PYTHON), "-m", "pytest", "tests/faults", *session.posargs, external=True)


@nox.session(venv_backend="none")
def exhaustive(session: nox.Session) -> None:
    """All cases of what `tests` tries on some: every benchmark's golds, every hostile text (minutes)."""
    environment(session)
    session.run(str(PYTHON), "-m", "pytest", "-m", "exhaustive", *session.posargs, external=True)


def reproduce(key: str) -> None:
    """One session a paper, tiny by default: `nox -s egsw -- scale=paper` is the real thing."""

    def session(session: nox.Session) -> None:
        rlvr(session, "run", f"paper={key}", *session.posargs)

    session.__doc__ = f"Reproduce {key}; arguments go to `rlvr run`, as in `nox -s {key} -- scale=paper`."
    nox.session(session, venv_backend="none", name=key)


def module(name: str, what: str, doc: str) -> None:
    """A session that runs a module of the repository."""

    def session(session: nox.Session) -> None:
        environment(session)
        session.run(str(PYTHON), "-m", what, *session.posargs, external=True)

    session.__doc__ = doc
    nox.session(session, venv_backend="none", name=name)


for paper in DECLARED:
    reproduce(paper)
module("bench", "benchmarks.speed", "How fast, as ratios in one run; `-- step --rounds 9` for one part.")
module("grader", "benchmarks.grader", "Our grader and math-verify on labelled pairs; `-- --texts FOLDER ... --write`.")
module(
    "released",
    "benchmarks.released",
    "Does released code compute its paper's equation? `-- FOLDER --write`, `-- --list`.",
)
module(
    "mutants",
    "benchmarks.mutants",
    "Change the code and see whether the nearest tests notice; `-- evals/stats --count 40 --seed 3`.",
)
module("ledger", "studies.ledger", "Others' files at pinned commits (git), graded and audited: results/ledger.")
module("docket", "studies.docket", "Public scores that others could not reproduce, judged by rlvr agree: docs/docket.")
