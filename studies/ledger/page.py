"""The page of the ledger, from its tables alone."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from evals.stats.power import default_spread
from studies.ledger.tables import counts

CLAIMS = "series benchmark printed where file low high ours verdict why"
CHOICES = (
    "series benchmark checkpoints mean_of_checkpoints last largest largest_of_equal chance_of_largest "
    "chosen_cross_fitted note"
)
SEEDS = (
    "series benchmark seeds last last_lowest_seed last_highest_seed seeds_sd seed_pairs seed_pairs_called_different "
    "note"
)
GRADES = (
    "series benchmark samples printed labels boxed_last boxed_strict answer_tag qwen ours ours_low ours_high agree "
    "unscored gold_cut causes"
)
BY_READING = "series benchmark both_reject read right convention labels ours by_reading reading_low reading_high"
EARLIER_VERDICT = "not in the file"
EARLIER = (
    "Verdicts *not in the file* are of an earlier audit, which tried a short list of numbers. Today's audit says *not "
    "found among N readings*."
)
FORMS = {"chance_of_largest": "{:.2f}", "seed_pairs": "{:.0f}", "seed_pairs_called_different": "{:.0f}"}


def page(tables: Mapping[str, pd.DataFrame]) -> str:
    """Printed scores, choices of checkpoints, seeds, graded responses, causes, files. Without the empty ones."""
    none = pd.DataFrame()
    series, differ = tables["series"], tables.get("disagreements", none)
    causes = none if differ.empty else differ.groupby("cause")["path"].agg(samples="size", files="nunique")
    lines = [
        "# Files of other labs: every table",
        "",
        "`python -m studies.ledger` writes this page. It is not edited by hand. Other labs published the "
        "files. We trained and generated nothing. If a repository has no licence, we compute and cite its scores, "
        "and copy no text of it.",
        "",
        "Scores are in percent. *low* and *high* are 95 % intervals over problems. With three seeds or "
        "more, the interval also covers seeds if the file has verdicts. Without verdicts, it covers the "
        "seeds alone.",
        "",
        ", ".join(f"{count:,} {name}" for name, count in counts(tables).items()) + ".",
        "",
        *_section(
            "Printed scores, and what their files say",
            "The verdicts are those of `rlvr audit`, by the rules in `evals/audit/audit.py`. A verdict is "
            "about a number and a file. The file may not be the one behind the number.\n\n"
            "- *file*: the last checkpoint by the authors' own verdicts\n"
            "- *ours*: the last checkpoint by our verdicts on these samples, which may be the wrong ones"
            + (f"\n\n{EARLIER}" if EARLIER_VERDICT in [*tables.get("claims", none).get("verdict", ())] else ""),
            tables.get("claims", none),
            CLAIMS,
        ),
        *_section(
            "One run with several checkpoints: the last score, the largest score, and the largest score of equal "
            "models",
            "- *largest_of_equal*: the expected largest score if all checkpoints were one model\n"
            "- *chance_of_largest*: the probability that equal models reach the largest score of the file\n"
            "- *chosen_cross_fitted*: the best checkpoint on one half of the problems, measured on the other "
            "half\n\n"
            "If a file has only scores, the first two are upper bounds.",
            series[series["largest_of_equal"].notna()],
            CHOICES,
        ),
        *_section(
            "One recipe, several seeds",
            "*last* is the mean over seeds. *seed_pairs_called_different* counts pairs whose paired 95 % interval over "
            "problems excludes zero. If such an interval also covered the seeds, only 5 % of the pairs would be "
            "counted. For a recipe without a measured *seeds_sd*, `rlvr power` assumes "
            f"{100 * default_spread().seed_sd.value:.0f} points.",
            series[series["seeds"] > 1],
            SEEDS,
        ),
        *_section(
            "Several samples per problem",
            "The numbers are for the last checkpoint, in percent. pass@k is by the authors' verdicts. maj@k is "
            "by our verdicts (policy `qwen`), if the file has the responses. `~`: approximate.",
            series[series["several_samples"] != ""],
            "series benchmark several_samples",
        ),
        *_section(
            "Responses, graded again",
            "The numbers are for the last checkpoint.\n\n"
            "- *labels*: by the authors' verdict on each sample\n"
            "- *boxed_last* to *qwen*: by our verdicts under that extraction policy\n"
            "- *ours*: by our verdicts on the answer in a tag. Without a tag, by `qwen`.\n"
            "- *agree*, *causes*: agreement of *ours* with the labels, and points from labels to *ours*\n\n"
            "Unscored samples are left out. *gold_cut* counts samples whose gold lost words or line breaks in the "
            "file. In *ours* and *qwen*, these samples keep their label.",
            tables.get("grades", none),
            GRADES,
        ),
        *_section(
            "What both graders reject",
            "Both graders may be wrong together. For each printed score, we took up to 24 samples that both graders "
            "call wrong (`rejected.csv`). We judged them by gold and answer, and a few by the end of the response. A "
            "script judged pairs of unequal plain numbers. We did not read samples without an answer.\n\n"
            "- *right*: the response is right\n"
            "- *convention*: the response is right if one accepts a rounded number, or a form that differs from the "
            "gold\n"
            "- *by_reading*: *ours*, plus the share of *right* among all that both reject\n"
            "- *reading_low*, *reading_high*: *by_reading* with the ends of the 95 % interval of this share (Clopper "
            "and Pearson)\n\n"
            "We read at most 24 samples, so this interval is wide.",
            tables.get("by_reading", none),
            BY_READING,
        ),
        *_section(
            "Why labels and verdicts differ",
            "The samples are from repositories with a licence. Each one is a row of `disagreements.csv`.",
            causes.reset_index().sort_values("samples", ascending=False) if len(causes) else none,
            "cause samples files",
        ),
        *_section(
            "Untrained models in the tables of reproduced papers",
            "The table has the scores that four of the five papers print, and scores of the same models that other "
            "people measured with other prompts and decoding. The sources are in `reproductions/elsewhere.yaml`.",
            tables.get("base_rows", none),
            "paper model cell published others by",
        ),
        *_section(
            "Repositories",
            "Each commit is at `github.com/REPOSITORY/tree/COMMIT`.",
            tables["repositories"],
            "repository commit licence",
        ),
    ]
    return "\n".join(lines)


def _section(title: str, text: str, table: pd.DataFrame, columns: str) -> list[str]:
    """A table under its heading. Its columns are named as in the CSV, `series` is repository and recipe."""
    if table.empty:
        return []
    if "series" in columns:
        table = table.assign(series=table["repository"] + ": " + table["recipe"])
    shown = table[columns.split()].astype(object)
    for name in shown:
        form = FORMS.get(str(name), "{:.1f}")
        # halves go up, as of the four decimals in the CSV
        cells = [form.format(cell + 1e-9) if isinstance(cell, float) and cell == cell else cell for cell in shown[name]]
        shown[name] = ["–" if pd.isna(cell) or cell == "" else str(cell).replace("|", "\\|") for cell in cells]
    body = shown.to_markdown(index=False, disable_numparse=True, tablefmt="github", stralign=None)
    return [f"## {title}", "", text, "", body, ""]
