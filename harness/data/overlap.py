"""Which problems of a benchmark a run trains on. A score on them does not measure other problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from evals.data import benchmarks
from evals.data.benchmarks import Benchmark
from evals.data.copies import plain, plain_answer
from harness.data.problems import load_problems, load_solutions, source
from harness.data.tiny import FAMILIES
from harness.errors import UsageError
from harness.spec import Finetune
from harness.spec.job import Job


@dataclass(frozen=True)
class Overlap:
    """The problems of one benchmark that are also training problems.

    Args:
        shared: how many are. problems: of the benchmark. other_golds: how many of the shared ones have another gold
            in the training data. row: the first shared row of the training data, from 1. example: its problem.
    """

    benchmark: str
    shared: int
    problems: int
    other_golds: int = 0
    row: int | None = None
    example: str = ""

    def __str__(self) -> str:
        golds = f", {self.other_golds:,} of them with another gold" if self.other_golds else ""
        return f"{self.shared:,} of the {self.problems:,} problems of {self.benchmark} are training problems{golds}"


def same_problem(text: str) -> str:
    """The text that two spellings of one problem share: Unicode form, white space, capitals and dollar signs do not
    count."""
    return plain(text.replace("$", "")).casefold()


def overlap(rows: Sequence[Mapping[str, str]], benchmark: Benchmark) -> Overlap:
    """Compare training rows (`problem`, and `answer` where they have one) with a benchmark, by `same_problem`."""
    trained: dict[str, tuple[int, set[str]]] = {}
    for number, row in enumerate(rows, 1):
        golds = {plain_answer(row["answer"])} if "answer" in row else set()
        trained.setdefault(same_problem(row["problem"]), (number, set()))[1].update(golds)
    shared = [(p, trained[key]) for p in benchmark.problems if (key := same_problem(p.problem)) in trained]
    differing = sum(bool(golds) and plain_answer(p.answer) not in golds for p, (_, golds) in shared)
    first = min((number for _, (number, _) in shared), default=None)
    example = "" if first is None else rows[first - 1]["problem"]
    return Overlap(benchmark.name, len(shared), len(benchmark.problems), differing, first, example)


def overlaps(job: Job, data_dir: str | None, more: Iterable[str] = ()) -> tuple[Overlap, ...]:
    """One comparison for each benchmark of a training, or () for a model that is not trained.

    Args:
        data_dir: where the benchmarks are, as `check_data` gave it. more: benchmarks that are measured as well.
    """
    names = dict.fromkeys((*job.protocol.benchmarks.value, *more))
    return tuple(_compared(_data(job), names, data_dir)) if job.experiment is not None else ()


def of_all(jobs: Iterable[Job], data_dir: str | None, more: Iterable[str] = ()) -> list[Overlap]:
    """As `overlaps`, of several jobs. Each data set is read once."""
    names: dict[tuple[str, int, bool], dict[str, None]] = {}
    for job in jobs:
        if job.experiment is not None:
            names.setdefault(_data(job), {}).update(dict.fromkeys((*job.protocol.benchmarks.value, *more)))
    return [overlap_found for data, of_data in names.items() for overlap_found in _compared(data, of_data, data_dir)]


def _data(job: Job) -> tuple[str, int, bool]:
    """The values that decide a job's training rows: (data set, its seed, whether they have solutions and no golds)."""
    assert job.experiment is not None
    dataset = job.experiment.dataset.value
    return dataset, job.seed if dataset in FAMILIES else 0, type(job.experiment) is Finetune


def _compared(data: tuple[str, int, bool], names: Iterable[str], data_dir: str | None) -> Iterator[Overlap]:
    dataset, seed, solutions = data
    rows = (load_solutions if solutions else load_problems)(dataset, seed=seed)
    for name in names:
        yield overlap(rows, benchmarks.load(name, data_dir=data_dir, allow_changed_data=True))


def at_hand(jobs: Iterable[Job], data_dir: str | None) -> list[str]:
    """For a plan: the overlaps that need no download, and the benchmarks that only the run can compare."""
    comparable: dict[tuple[str, int, bool], dict[str, None]] = {}
    later: dict[str, None] = {}
    for job in jobs:
        if job.experiment is None or job.experiment.dataset.value in FAMILIES:
            continue  # a tiny family makes its training problems and its benchmarks apart
        local = source(job.experiment.dataset.value).hub is None
        for name in job.protocol.benchmarks.value:
            if local and (data_dir is not None or isinstance(name, benchmarks.OwnBenchmark)):
                comparable.setdefault(_data(job), {})[name] = None
            else:
                later[name] = None
    lines = []
    for data, names in comparable.items():
        left = list(names)
        try:
            for overlap_found in _compared(data, names, data_dir):
                left.pop(0)
                lines.append(
                    f"{overlap_found}: a run refuses it without allow_overlap=true"
                    if overlap_found.shared
                    else str(overlap_found)
                )
        except UsageError as error:  # a run ends with it. A plan goes on
            lines.append(f"the training problems are not compared with {', '.join(left)}: {error}")
    if later:
        lines.append(f"the start of a run compares the training problems with {', '.join(later)} (a download)")
    return list(dict.fromkeys(lines))


def refuse(overlaps: Iterable[Overlap], *, allowed: bool) -> list[str]:
    """A warning for each overlap, if overlaps are allowed.

    Raises:
        UsageError: a benchmark holds training problems, and that is not allowed.
    """
    shared = list(dict.fromkeys(overlap_found for overlap_found in overlaps if overlap_found.shared))
    if shared and not allowed:
        lines = [
            f"{overlap_found}, the first in row {overlap_found.row}: {overlap_found.example[:60]!r}"
            for overlap_found in shared
        ]
        lines.append(
            "A score on training problems says nothing about others. Train or measure on other problems, or type "
            "allow_overlap=true. The record and each table then say it."
        )
        raise UsageError("\n".join(lines))
    return [f"warning: {overlap_found}" for overlap_found in shared]


def as_record(overlaps: Iterable[Overlap]) -> dict[str, dict[str, object]]:
    """Benchmark -> its counts, for the record of a run. A benchmark without shared problems has 0."""
    return {
        overlap_found.benchmark: {
            key: value for key, value in asdict(overlap_found).items() if key in ("shared", "problems", "other_golds")
        }
        for overlap_found in overlaps
    }
