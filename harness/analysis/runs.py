"""The runs of `rlvr analyze` and `rlvr report`: their responses, models and training curves.

A run is a job's folder, a folder of an evaluation, or a file of verdicts. The training seeds of one method are joined
by commas. Analyses that need a model (teacher-forced passes, interventions) use the first seed, and
say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evals.analysis.subjects import Subject, read_subject
from evals.data import prompts
from evals.data.protocols import recorded_policy, recorded_reasoning
from evals.markdown import code
from evals.sampling.engines.base import Decoding
from harness.analysis.questions import own_benchmarks, questions
from harness.errors import UsageError
from harness.record.find import conditions_of, seeds_of
from harness.record.names import readable
from harness.record.record import IDENTITY
from harness.record.run import Run
from harness.runs.track import home

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Analysed:
    """One model of an analysis.

    `subject` holds all training seeds. `readable` the first seed with its model and prompts, or None, with the reason
    in `unread`. `questions`, by benchmark and problem_id, the problems' text where the files have it.
    """

    subject: Subject
    readable: Subject | None
    unread: str
    sources: tuple[Run, ...]  # a training seed each
    questions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.subject.name

    def sampling(self, benchmark: str) -> tuple[Decoding, str, str]:
        """Decoding, extraction policy and reasoning of the first seed's responses to a benchmark.

        Raises:
            ValueError: no manifest beside the verdicts.
        """
        manifest = self.sources[0].manifest(benchmark)
        if manifest is None:
            raise ValueError(f"{self.name}, {benchmark}: expected manifest.json beside the verdicts, found none")
        identity = manifest["identity"]
        policy = recorded_policy(manifest) or prompts.recorded(identity["prompt"], identity["decoding"]).policy
        return Decoding(**identity["decoding"]), policy, recorded_reasoning(manifest)

    @property
    def made_by(self) -> list[str]:
        """The commands that trained and measured it, and the code's commits, as far as known."""
        return list(
            dict.fromkeys(f"{code(run.command)} with code at {run.commit}" for run in self.sources if run.command)
        )

    @property
    def tags(self) -> dict[str, str]:
        """Each tag's values over the seeds, joined by commas."""
        records = [run.record for run in self.sources]
        values = {key: dict.fromkeys(str(record[key]) for record in records if key in record) for key in IDENTITY}
        return {key: ",".join(distinct) for key, distinct in values.items() if distinct}


def read_runs(
    texts: Sequence[str],
    names: Sequence[str] | None,
    *,
    data_dir: str | None,
) -> list[Analysed]:
    """Every run that the command line names, in its order.

    Args:
        names: what legends call them. None takes the arms' names (with the paper where two are the same).
        data_dir: where the benchmarks are, for the prompts. None: the hub, and for the tiny tiers, which are made here,
            the folder that `rlvr run` made them in.
    Raises:
        UsageError: no such run, or one without responses. Names that are not one a run, or not distinct.
    """
    read = []
    for runs in map(seeds_of, texts):  # an archive, or a folder of runs, has several arms
        digests = [run.record.get("digest") for run in runs]
        read += [
            [r for r, run_digests in zip(runs, digests, strict=True) if run_digests == distinct]
            for distinct in dict.fromkeys(digests)
        ]
    names = list(names) if names is not None else _names(read)
    if len(names) != len(read) or len(set(names)) != len(names):
        raise UsageError(f"names: expected {len(read)} different ones (one a run), got {', '.join(names)}")
    models = [analysed(name, sources, data_dir=data_dir) for name, sources in zip(names, read, strict=True)]
    if models and not any(m.subject.tables or m.sources[0].curve for m in models):
        raise UsageError(f"runs: {', '.join(names)}: kept without the responses, and there is no training curve")
    return models


def analysed(name: str, sources: Sequence[Run], *, data_dir: str | None) -> Analysed:
    """One model from its seeds.

    Raises:
        UsageError: the seeds cannot be read together.
    """
    try:  # an archive keeps no responses: of its runs there are the curves
        conditions = conditions_of(sources) if all(run.keeps_responses for run in sources) else {}
        subject = Subject(name, {benchmark: _responses(sources, benchmark) for benchmark in conditions})
        model = sources[0].model_folder
        questions_of = {
            b: questions(sources[0], b, subject.tables[b], data_dir=data_dir or tiny_benchmarks([b]))
            for b in conditions
        }
    except (ValueError, OSError) as error:
        raise UsageError(f"runs: {error}") from error
    if model is None:
        return Analysed(subject, None, f"{name}: its model is not on this machine", tuple(sources), questions_of)
    first = sources[0]
    try:
        manifests = filter(None, map(first.manifest, conditions))
        user_benchmarks = {str(name): name for manifest in manifests for name in own_benchmarks(manifest)}
        readable = read_subject(
            name,
            {user_benchmarks.get(benchmark, benchmark): first.samples(benchmark) for benchmark in conditions},
            conditions,
            model_path=model,
            data_dir=data_dir or tiny_benchmarks(conditions),
        )
    except (ValueError, OSError) as error:  # another model, other problems, a prompt that has changed
        return Analysed(subject, None, str(error), tuple(sources), questions_of)
    return Analysed(subject, readable, "", tuple(sources), questions_of)


def _responses(sources: Sequence[Run], benchmark: str) -> pd.DataFrame:
    """The samples of all seeds, numbered as `train_seed` if there are several."""
    import pandas as pd

    frames = [run.samples(benchmark) for run in sources]
    if len(frames) > 1:
        frames = [frame.assign(train_seed=number) for number, frame in enumerate(frames)]
    return pd.concat(frames, ignore_index=True)


def tiny_benchmarks(names: Iterable[str]) -> str | None:
    """The folder of the benchmarks that are made here, written where it is missing (as `rlvr run` does), or None where
    one of these benchmarks is not made here."""
    from harness.data.tiny import MADE, write_benchmarks

    if not set(names) <= set(MADE):
        return None
    folder = home() / "tiny-benchmarks"
    if not folder.is_dir():
        write_benchmarks(folder)
    return str(folder)


def _names(read: Sequence[Sequence[Run]]) -> list[str]:
    """The arm of each run, with the values that the command line replaced in it and not in all, else its folder or
    file. With the paper, then a number, where that is not enough."""
    first = [seeds[0] for seeds in read]
    replaced = [run.replaced if "overrides" in run.record else () for run in first]
    trained = [set(values) for run, values in zip(first, replaced, strict=True) if run.trained]
    common = set.intersection(*trained) if trained else set()
    distinct = [" ".join(value for value in values if value not in common) for values in replaced]
    arms = [
        f"{run.name} [{readable(values)}]" if values else run.name for run, values in zip(first, distinct, strict=True)
    ]
    if len(set(arms)) == len(arms):
        return arms
    papers = [run.record.get("paper") for run in first]
    longer = [f"{paper}/{arm}" if paper else arm for paper, arm in zip(papers, arms, strict=True)]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{arm} ({number})" for number, arm in enumerate(longer, 1)]
