"""Links to MLflow's page of curves: there arms overlay, which its list of runs folds into the command that ran them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import urlencode

from harness.runs.track import Tracker

METRICS = ("train/reward", "train/entropy")


def curve_links(tracker: Tracker, papers: Sequence[str], address: str) -> dict[str, str]:
    """Paper -> link to the curves of its trained arms, those under way included; papers without any are left out."""
    links = {}
    for paper in papers:
        runs = [run for run in tracker.arms(paper, finished=False) if METRICS[0] in run.data.metrics]
        if runs:
            links[paper] = link(address, runs[0].info.experiment_id, [run.info.run_id for run in runs])
    return links


def link(address: str, experiment_id: str, run_ids: Sequence[str]) -> str:
    """MLflow 3's page of curves of those runs over each other, by optimiser step."""
    query = {
        "runs": json.dumps(list(run_ids)),
        "experiments": json.dumps([experiment_id]),
        "metric": json.dumps(METRICS[0]),
        "plot_metric_keys": json.dumps(list(METRICS)),
        "plot_layout": json.dumps({"autosize": True}),
        "x_axis": "step",
        "y_axis_scale": "linear",
        "line_smoothness": "1",
        "show_point": "false",
        "deselected_curves": "[]",
        "last_linear_y_axis_range": "[]",
    }
    return f"{address}/#/metric?{urlencode(query)}"
