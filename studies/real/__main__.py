"""The papers' methods and their placebos on real weights (results/real/README.md).

python -m studies.real model [FOLDER]     fetch and convert the base model, 93 MB, into .nox/real. print its folder
                                          (--name gemma-3-270m: another family, 238 MB, under Gemma's terms of use)
python -m studies.real problems FOLDER    write the training problems and the two benchmarks
python -m studies.real run                train and measure every run that the archive lacks, one after another
python -m studies.real run --second       the same for gemma-3-270m (preregistration_gemma.md), two arms
python -m studies.real gemma              measure gemma-3-270m, not trained, into results/real/gemma.tar.xz
python -m studies.real write              write results/real from the archive, and its rows in each paper's page

`run` fetches the base model if it is not in .nox/real yet. You can stop it at any time: the same command
goes on. It adds each finished run to results/real/runs.tar.xz (--second: gemma_runs.tar.xz) and deletes the
checkpoints of that run.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.real import problems, weights
from studies.real.design import SECOND_FAMILY, STUDY, Design, arguments, second_family

RESULTS = Path("results") / "real"
ARCHIVE, GEMMA = RESULTS / "runs.tar.xz", RESULTS / "gemma.tar.xz"
ARCHIVES = {STUDY.digest: ARCHIVE, SECOND_FAMILY.digest: RESULTS / "gemma_runs.tar.xz"}
# Relative paths: they are values of a run, and must be the same in every checkout.
MODEL = Path(".nox") / "real" / "smollm2-135m-instruct"
DATA = Path(".nox") / "real" / "two_steps"
HOME = Path(".nox").resolve() / "real"
MACHINE = ("hardware.device=cpu", "hardware.micro_batch=8")

Key = tuple[str, str, int]  # paper, arm, seed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.real", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    base = commands.add_parser("model")
    base.add_argument("folder", type=Path, nargs="?", default=MODEL.parent)
    base.add_argument("--name", choices=weights.SOURCES, default=weights.SMOLLM2.name)
    commands.add_parser("problems").add_argument("folder", type=Path)
    commands.add_parser("run").add_argument("--second", action="store_true")
    commands.add_parser("gemma")
    commands.add_parser("write")
    options = parser.parse_args(argv)
    if options.command == "model":
        print(weights.model(options.folder.resolve(), weights.SOURCES[options.name]))
    elif options.command == "problems":
        problems.write(options.folder)
    elif options.command == "write":
        from studies.real.page import write

        write(STUDY, RESULTS)
    elif options.command == "gemma":
        return measure_gemma()
    else:
        return run(SECOND_FAMILY if options.second else STUDY)
    return 0


def measure_gemma() -> int:
    """Measure the base model of the second family, and archive its verdicts. Return the exit code of `rlvr eval`."""
    from harness.record.archive import write_archive
    from harness.record.run import Run

    os.environ["OMP_NUM_THREADS"] = "1"
    model, out = weights.model(MODEL.parent, weights.GEMMA), HOME / "gemma-3-270m-base"
    problems.write(DATA)
    words = second_family(model=MODEL.with_name(model.name), data=DATA, out=out)
    print(f"== rlvr eval {shlex.join(words)}", flush=True)
    code = subprocess.run([sys.executable, "-m", "rlvr", "eval", *words], check=False).returncode
    if not code:
        write_archive([Run(out)], GEMMA)
    return code


def planned(design: Design) -> list[Key]:
    """The base model, then seed 0 of every entry, then the other seeds."""
    trained = [(entry.paper, entry.arm, seed) for seed in range(design.seeds) for entry in design.entries]
    return [("egsw", "base", 0), *trained]


def run(design: Design) -> int:
    """Make every run that is not finished yet, in order. Return 0, or 1 if a run failed."""
    from harness.record.archive import import_archive

    archive = ARCHIVES[design.digest]
    os.environ["RLVR_HOME"] = str(HOME / f"runs-{design.digest}")  # runs of another design are not this study's
    os.environ["OMP_NUM_THREADS"] = "1"  # the number of threads decides the last bits of a sum
    model = MODEL.with_name(weights.model(MODEL.parent, weights.SOURCES[design.base_model.lower()]).name)
    problems.write(DATA)
    if archive.is_file():
        import_archive(archive)
        check_base(model)
    failed = 0
    for paper, arm, seed in planned(design):
        if (paper, arm, seed) in finished():
            continue
        entry = next((e for e in design.entries if (e.paper, e.arm) == (paper, arm)), None)
        words = [*arguments(design, entry, seed, model=model, data=DATA), *MACHINE]
        print(f"== rlvr run {shlex.join(words)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "rlvr", "run", *words], check=False).returncode
        failed += code != 0
        keep(archive)
        if code < 0 or code > 128:  # a signal ended it: the next run would be ended too
            return 1
    return int(failed > 0)


def check_base(model: Path) -> None:
    """Raise ValueError if there are runs, and none of them began with this base model."""
    from evals.fingerprint import model_fingerprint
    from harness.record.find import runs

    fingerprint, known = model_fingerprint(model), {run.record["base_model"]["sha256"] for run in runs()}
    if known and fingerprint not in known:
        raise ValueError(
            f"{model}: the fingerprint is {fingerprint}, and the runs so far have {', '.join(sorted(known))}. Delete "
            "the folder. The same command makes it again."
        )


def finished() -> set[Key]:
    """The runs that have ended, with their evaluation."""
    from harness.record.find import runs

    return {(run.paper, run.arm, run.seed) for run in runs() if run.is_finished}


def keep(archive: Path) -> None:
    """Write every finished run into an archive, without responses, and delete its checkpoints and weights."""
    from harness.record.archive import write_archive
    from harness.record.find import runs

    ended = [run for run in runs() if run.is_finished]
    RESULTS.mkdir(parents=True, exist_ok=True)
    if ended:
        write_archive(ended, archive, responses=False)
    for run in ended:
        for folder in (*run.folder.glob("train/checkpoint-*"), *run.folder.glob("train/final")):
            shutil.rmtree(folder)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"error: {error}")
    except weights.NotFetched as error:
        print(error, file=sys.stderr)
        sys.exit(weights.NOT_FETCHED)
