"""The files that the site takes from the repository as it is built: pages and pictures beside the code, and equations.

Runs in the environment of `requirements/docs.txt`, inside mkdocs.
"""

from __future__ import annotations

import csv
import json
import posixpath
import re
import subprocess
import tomllib
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
# page of the site -> file of the repository
PAGES = {
    **{f"papers/{path.parent.name}.md": path for path in ROOT.glob("reproductions/*/README.md")},
    "papers/baselines.md": ROOT / "baselines" / "README.md",
    **{f"results/{path.stem}.md": path for path in ROOT.glob("results/*.md") if path.stem != "README"},
    "results/index.md": ROOT / "results" / "README.md",
    "results/ledger.md": ROOT / "results" / "ledger" / "README.md",
    "results/anchors-seconds.md": ROOT / "results" / "anchors" / "seconds.md",
    "results/real.md": ROOT / "results" / "real" / "README.md",
    "results/real-preregistration.md": ROOT / "results" / "real" / "preregistration.md",
    "results/gemma-preregistration.md": ROOT / "results" / "real" / "preregistration_gemma.md",
    "results/study.md": ROOT / "results" / "study" / "README.md",
    "results/later.md": ROOT / "results" / "study" / "later" / "README.md",
    **{f"results/{path.stem}.md": path for path in ROOT.glob("results/study/[fp]*.md")},
    **{f"results/later-{path.stem}.md": path for path in ROOT.glob("results/study/later/[fp]*.md")},
    **{f"results/{path.parent.name}.md": path for path in ROOT.glob("results/*/tables.md")},
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changes.md": ROOT / "CHANGELOG.md",
}
PICTURES = {
    f"figures/{path.name}": path for path in (*ROOT.glob("results/**/*.svg"), *ROOT.glob("results/study/figures/*.png"))
}
PICTURES |= {f"figures/real/{path.name}": path for path in ROOT.glob("results/real/*.png")}
PICTURES |= {f"figures/later/{path.name}": path for path in ROOT.glob("results/study/later/figures/*.png")}

# old address -> page that has its text now. A place on an old page (#...) may be on another page
MOVED = {
    "tutorials/agree.md": "how-to/agree.md",
    "tutorials/inspect.md": "how-to/compare-inspect-logs.md",
    "tutorials/own.md": "how-to/own-data-and-rewards.md",
    "tutorials/train.md": "how-to/one-gpu.md",
    "tutorials/train.md#3-many-gpus": "how-to/many-gpus.md",
    "how-to/train-at-size.md": "how-to/one-gpu.md",
    "how-to/train-at-size.md#3-many-gpus": "how-to/many-gpus.md",
    "tutorials/others-files.md": "how-to/grade-other-tools-files.md",
    "tutorials/others-files.md#formats": "reference/file-formats.md",
    "tutorials/others-files.md#audit-a-printed-score": "reference/audit.md",
    "tutorials/running.md": "how-to/stop-and-resume.md",
    "tutorials/running.md#run-many-jobs-at-once": "how-to/many-jobs.md",
    "tutorials/running.md#mlflow": "how-to/mlflow.md",
    "tutorials/coming-from.md": "reference/other-tools.md",
    "tutorials/read-a-report.md": "explanation/read-a-report.md",
    "tutorials/contribute.md": "how-to/contribute-a-measurement.md",
    "metrics.md": "reference/metrics.md",
    "metrics.md#intervals": "explanation/intervals.md",
    "objectives.md": "reference/objectives.md",
    "objectives.md#controls": "explanation/controls-and-placebos.md",
    "benchmarks.md": "reference/benchmarks.md",
    "reliability.md": "explanation/reliability.md",
    "architecture.md": "explanation/architecture.md",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Under each page: the version, and the commit with its date."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h of %cs"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    config.copyright = f"rlvr-harness {version}" + (f", commit {commit}" if commit else "")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that live beside the code."""
    from mkdocs.structure.files import File

    for name, path in PAGES.items():
        files.append(File.generated(config, name, content=linked(name, path, path.read_text(encoding="utf-8"))))
    for name, path in PICTURES.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn TeX between dollar signs into MathML, and links to the repository into links to the site. Insert the table
    of printed scores. Code stays."""
    path = ROOT / "docs" / page.file.src_uri
    markdown = linked(page.file.src_uri, path, markdown) if path.is_file() else markdown
    parts = re.split(r"(```.*?```|`[^`\n]*`)", markdown, flags=re.S)
    text = "".join(part if part.startswith("`") else _equations(part) for part in parts)
    return text.replace("<!-- CLAIMS -->", _claims()).replace("<!-- SAMPLES -->", _samples())


def on_post_build(config: MkDocsConfig) -> None:
    """At each old address, a page that leads to the new one."""
    for old in (name for name in MOVED if "#" not in name):
        file = Path(config.site_dir) / old.removesuffix(".md") / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(redirect(old), encoding="utf-8")


def redirect(old: str) -> str:
    """HTML that leads from an old page to its new one. With JavaScript, the place on the page (#...) goes along."""

    def address(page: str) -> str:
        return posixpath.relpath(page.removesuffix(".md"), old.removesuffix(".md")) + "/"

    places = {name.partition("#")[2]: address(page) for name, page in MOVED.items() if name.partition("#")[0] == old}
    to = places.pop("")
    go = f"({json.dumps(places)}[location.hash.slice(1)] || {json.dumps(to)}) + location.hash"
    return (
        f'<!doctype html><meta charset="utf-8"><title>Moved</title><script>location.replace({go})</script>'
        f'<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript><a href="{to}">Moved here</a>\n'
    )


LEDGER = ROOT / "results" / "ledger"


def _series(row: dict[str, str]) -> str:
    """The place of a printed score on the page of samples."""
    return re.sub(r"\W+", "-", f"{row['repository']} {row['recipe']} {row['benchmark']}").lower()


def _read_samples() -> dict[str, list[dict[str, str]]]:
    series: dict[str, list[dict[str, str]]] = {}
    for line in (LEDGER / "samples.jsonl").read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        series.setdefault(_series(sample), []).append(sample)
    return series


def _samples() -> str:
    """Every sample of results/ledger, under a heading a printed score."""
    parts = []
    for place, samples in _read_samples().items():
        first = samples[0]
        about = f"{first['repository'].rpartition('/')[2]}: {first['recipe']}, {first['benchmark']}"
        url = f"https://github.com/{first['repository']}/blob/{first['commit']}/{first['path']}"
        parts.append(f'<h2 id="{place}">{_html(about)}</h2><p><a href="{_html(url)}">The file</a></p>')
        for sample in samples:
            gold = shorten(sample["gold"], 60, placeholder=" …") or "(empty)"
            head = f"row {sample['row']}, gold {gold}: theirs {sample['label']}, ours {sample['verdict']}"
            read = f"Read as: {sample['their_answer'] or '–'} (theirs), {sample['our_answer'] or '–'} (ours)"
            cause = f"{read}. {sample['cause'].capitalize()}." if sample["cause"] else "The two agree."
            parts.append(
                f"<details><summary>{_html(head)}</summary><p>{_html(cause)}</p><pre>{_html(sample['problem'])}</pre>"
                f"<pre>… {_html(sample['response'])}</pre></details>"
            )
    return f'<div class="samples">{"".join(parts)}</div>'


def _html(text: str) -> str:
    """A text in HTML within Markdown, whose fences and lines it may not end."""
    return escape(text).replace("`", "&#96;").replace("\n", "&#10;")


def _claims() -> str:
    """A row for each printed score of results/ledger. `ledger/table.js` makes it searchable."""
    names = ("model", "benchmark", "printed", "its file", "ours", "selection", "seeds", "verdict")
    lines = [f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"]
    samples = _read_samples()
    with (LEDGER / "claims.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        url = f"https://github.com/{row['repository']}/tree/{row['commit']}"
        chosen = f"{_short(row['largest_of_equal'])} of {float(row['evaluations']):.0f}" if row["evaluations"] else "–"
        our_score = _short(row["ours"])
        if _series(row) in samples:
            our_score = f'<a href="samples/#{_series(row)}" title="samples that both graders read">{our_score}</a>'
        cells = (
            f'<a href="{url}">{escape(row["repository"].rpartition("/")[2])}</a>: {escape(row["recipe"])}',
            *map(escape, (row["benchmark"], row["printed"], _short(row["file"]))),
            *(our_score, chosen, row["seeds"]),
        )
        verdict = f"<td><details><summary>{escape(row['verdict'])}</summary>{escape(row['why'])}</details></td>"
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}{verdict}</tr>")
    return f'<div class="claims"><table><thead>{lines[0]}</thead><tbody>{"".join(lines[1:])}</tbody></table></div>'


def _short(number: str) -> str:
    return f"{float(number):.1f}" if number else "–"


def _equations(text: str) -> str:
    from latex2mathml.converter import convert

    def display(match: re.Match[str]) -> str:  # wider than a phone, it scrolls by itself
        return f'<div class="equation">{convert(" ".join(match[1].split()), display="block")}</div>'

    text = re.sub(r"\$\$(.+?)\$\$", display, text, flags=re.S)
    # the span keeps an equation at the start of a line inside its paragraph
    return re.sub(r"(?<![\\$\w])\$([^$\n]+?)\$(?!\w)", lambda m: f"<span>{convert(m[1])}</span>", text)


def linked(name: str, path: Path, text: str) -> str:
    """The text of a file as the page of that name: a link to a file that is not on the site becomes its words and
    the path of the file."""
    places = {ROOT / "docs" / place: place for place in PAGES}  # as a page of docs/ calls them
    places |= {file.resolve(): place for place, file in (PAGES | PICTURES).items()}
    places |= {file: str(file.relative_to(ROOT / "docs")) for file in (ROOT / "docs").rglob("*.*")}

    def link(match: re.Match[str]) -> str:
        words, (target, _, anchor) = match[1], match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        file = (path.parent / target).resolve()
        if file not in places and not file.exists():
            raise ValueError(f"{path.relative_to(ROOT)}: link to {target}, which does not exist")
        if file not in places:
            path_of_file = str(file.relative_to(ROOT))
            return f"`{path_of_file}`" if words.strip("`") in path_of_file else f"{words} (`{path_of_file}`)"
        to = posixpath.relpath(places[file], posixpath.dirname(name) or ".")
        return f"[{words}]({to}{'#' + anchor if anchor else ''})"

    # the site turns a figure dark by itself (extra.css)
    text = re.sub(r'<picture>.*?alt="([^"]+)" src="([^"]+)".*?</picture>', r"![\1](\2)", text, flags=re.S)
    return re.sub(r"\[((?:[^\]\n]|\n(?!\n))+)\]\(([^)\s]+)\)", link, text)
