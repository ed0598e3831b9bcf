"""The tiny curves of the challengers, from the committed runs.

python -m benchmarks.challengers      writes results/challengers/curves.svg, .png, .csv, .json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

RECORDS, OUT = Path("results/records/baselines.zip"), Path("results/challengers")
ARMS = ("gspo", "luspo", "cispo", "gmpo", "sapo", "dppo", "gpg", "rloo", "reinforce_pp", "reinforce_pp_baseline")
METRIC = "train/accuracy"
WINDOW = 5  # steps of a trailing mean: a step's accuracy is of 64 responses


def curves(archive: Path) -> pd.DataFrame:
    """arm, seed, step, accuracy (of the step's responses) and its trailing mean over WINDOW steps."""
    import pandas as pd

    from harness.runs.archive import read_archive

    files = read_archive(archive)
    rows = []
    for name in files:
        run, _, file = name.rpartition("/")
        if file != "record.json":
            continue
        record = json.loads(files[name])
        if record["arm"] not in ("grpo", *ARMS) or record["backend"] != "trl":
            continue
        for line in files[f"{run}/metrics.jsonl"].decode().splitlines():
            point = json.loads(line)
            if METRIC in point["metrics"]:
                rows.append((record["arm"], record["seed"], point["step"], point["metrics"][METRIC]))
    table = pd.DataFrame(rows, columns=["arm", "seed", "step", "accuracy"]).sort_values(["arm", "seed", "step"])
    rolled = table.groupby(["arm", "seed"])["accuracy"].rolling(WINDOW, min_periods=1).mean()
    return table.assign(trailing_mean=rolled.to_numpy()).reset_index(drop=True)


def plot(table: pd.DataFrame) -> Any:
    """A panel for each challenger, with GRPO in grey in all of them."""
    from evals.plots.plot import PALETTE, Plot, tidy

    shown = [arm for arm in ARMS if arm in set(table["arm"])]
    columns = 5
    lines = -(-len(shown) // columns)

    def render(figure: Any) -> None:
        axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for axis, arm in zip(axes.flat, shown, strict=False):
            for name, colour in (("grpo", PALETTE[0]), (arm, PALETTE[1])):
                for _, run in table[table["arm"] == name].groupby("seed"):
                    axis.plot(run["step"], run["trailing_mean"], color=colour, label=name)
            axis.set_title(arm)
            tidy(axis)
        for axis in axes.flat[len(shown) :]:
            axis.set_visible(False)
        figure.supxlabel("optimiser step")
        figure.supylabel("training accuracy")

    seeds = table.groupby("arm")["seed"].nunique()
    return Plot(
        "curves",
        "Challengers beside GRPO (grey) at tiny scale",
        "Share of correct responses among the 64 of a step (rollouts of 16 prompts with 8 responses, two updates "
        f"each), mean over {WINDOW} steps; {seeds.min()} training seed(s) an arm, too few to compare methods. A model "
        "of under 2M parameters on made-up arithmetic; it says nothing about larger ones.",
        "",
        table,
        render,
        (9.0, 1.9 * lines + 0.4),
    )


def main() -> int:
    """Write the figure."""
    from evals.plots.plot import save

    for path in save(plot(curves(RECORDS)), OUT).values():
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
