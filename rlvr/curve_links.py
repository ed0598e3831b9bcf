"""Links to MLflow's curves of a paper: one chart a metric, one line an arm, with a band over its seeds.

MLflow's default page folds arms under the command that ran them, shows no chart of them, and makes a one-dot chart of
every evaluation score. The link opens a shared view instead (MLflow's own "share" button makes such views, as tags of
the experiment): runs grouped by arm and by their other differences, `train/` metrics first, `eval/` folded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.runs.track import Tracker

if TYPE_CHECKING:
    from mlflow.entities import Run

# shown first, in this order; MLflow adds a chart for each other metric
METRICS = (
    "train/accuracy", "train/reward", "train/entropy", "train/response_length", "train/grad_norm", "train/kl",
)  # fmt: skip
GROUPS = ("scale", "backend", "model", "overrides", "placebo")  # beside the arm, if they differ


def curve_links(tracker: Tracker, papers: Sequence[str], address: str) -> dict[str, str]:
    """Paper -> link to the curves of its trained arms, running ones included; papers without any are skipped.

    Writes the view of each paper as a tag of its experiment.
    """
    links = {}
    for paper in papers:
        runs = [run for run in tracker.arms(paper, finished=False) if any(m in run.data.metrics for m in METRICS)]
        if runs:
            experiment = str(runs[0].info.experiment_id)
            text = json.dumps(view(runs))
            key = hashlib.sha256(text.encode()).hexdigest()[:32]
            tracker.client.set_experiment_tag(experiment, f"mlflow.sharedViewState.{key}", text)
            tracker.client.set_experiment_tag(experiment, "mlflow.experimentKind", "custom_model_development")
            query = f"compareRunsMode=CHART&viewStateShareKey={key}"
            links[paper] = f"{address}/#/experiments/{experiment}/runs?{query}"
    return links


def view(runs: Sequence[Run]) -> dict[str, Any]:
    """The state of MLflow's chart page for these arms."""
    names = {name for run in runs for name in run.data.metrics}
    differing = [key for key in GROUPS if len({run.data.tags.get(f"rlvr.{key}", "") for run in runs}) > 1]
    folded = sorted({name.rpartition("/")[0] for name in names if name.startswith("eval/")})
    sections = [
        ("train", True),
        *((name, False) for name in folded),
        ("Model metrics", False),
        ("System metrics", False),
    ]
    return {
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "searchFilter": "",
        "runsHiddenMode": "SHOWALL",
        "groupBy": {
            "aggregateFunction": "average",
            "groupByKeys": [{"mode": "tag", "groupByData": f"rlvr.{key}"} for key in ("arm", *differing)],
        },
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunCharts": [_chart(name) for name in METRICS if name in names],
        "compareRunSections": [
            {"uuid": f"rlvr-{name}", "name": name, "display": shown, "isReordered": True, "columns": 2}
            for name, shown in sections
        ],
    }


def _chart(metric: str) -> dict[str, Any]:
    return {
        "type": "LINE", "uuid": f"rlvr-{metric}", "metricSectionId": "rlvr-train", "metricKey": metric,
        "selectedMetricKeys": [metric], "runsCountToCompare": 100, "isGenerated": True, "deleted": False,
        "scaleType": "linear", "xAxisKey": "step", "xAxisScaleType": "linear", "selectedXAxisMetricKey": "",
        "useGlobalLineSmoothing": True, "useGlobalXaxisKey": True, "lineSmoothness": 0, "range": {},
        "displayPoints": False,
    }  # fmt: skip
