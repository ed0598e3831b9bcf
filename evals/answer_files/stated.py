"""Facts in a file beside its samples: the model, the sampling, and the scores of its own tool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NAMES = ("model", "temperature", "top_p", "max_tokens", "seed")
"""Settings to read, if a file has them."""

_QWEN_MATH = re.compile(r"_seed(?P<seed>\d+)_t(?P<temperature>[\d.]+)_s-?\d+_e-?\d+")
_TASK_OUTPUTS = re.compile(r"(?:^|_)temp(?P<temperature>[\d.]+)_topp(?P<top_p>[\d.]+)_n\d+")
_EXAMPLE_ROWS = re.compile(r"^[\w]+-(?P<temperature>[\d.]+)-\d+-(?P<max_tokens>\d+)-")


def settings(name: str | None, where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    """Model and sampling, if the file, its header or its name states them."""
    read = _SETTINGS.get(name or "")
    values = read(where, first, header) if read else {}
    return {key: values[key] for key in NAMES if values.get(key) is not None}


def _from_name(pattern: re.Pattern[str]) -> Callable[..., dict[str, Any]]:
    def read(where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
        match = pattern.search(where.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json"))
        kinds = {"seed": int, "max_tokens": int}
        return {key: kinds.get(key, float)(text) for key, text in (match.groupdict() if match else {}).items()}

    return read


def _lm_eval(where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    request: Any = next(iter((first.get("arguments") or {}).values()), {})
    options = request.get("arg_1") if isinstance(request, dict) else None
    values = dict(options) if isinstance(options, dict) else {}
    if values.get("do_sample") is False:
        values["temperature"] = 0.0
    values["max_tokens"] = values.get("max_gen_toks", values.get("max_tokens"))
    config = _lm_eval_results(where).get("config", {})
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
    values["model"] = (arguments or {}).get("pretrained") or (arguments or {}).get("model")
    return values


def _lm_eval_results(samples: Path) -> dict[str, Any]:
    """The results file that lm-eval wrote beside samples_<task>_<date>.jsonl; {} where it is not there."""
    date = re.search(r"_(\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl", samples.name)
    results = samples.with_name(f"results_{date[1]}.json") if date else samples
    return dict(json.loads(results.read_text(encoding="utf-8"))) if date and results.is_file() else {}


def _lighteval(where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    parts = where.parts  # details/<organisation>/<model>/<date>/details_<task>.parquet
    model = "/".join(parts[-4:-2]) if where.name.startswith("details_") and len(parts) >= 4 else None
    return {"model": model, "max_tokens": first["doc"].get("generation_size")}


def _inspect(where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    about = header.get("eval") or {}
    config = {**((header.get("plan") or {}).get("config") or {}), **(about.get("model_generate_config") or {})}
    return {**config, "model": about.get("model")}


def _evalscope(where: Path, first: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": where.parent.name if where.parent.parent.name == "reviews" else None}


_SETTINGS: dict[str, Callable[..., dict[str, Any]]] = {
    "qwen_math": _from_name(_QWEN_MATH),
    "task_outputs": _from_name(_TASK_OUTPUTS),
    "example_rows": _from_name(_EXAMPLE_ROWS),
    "lm_eval": _lm_eval,
    "lighteval": _lighteval,
    "inspect": _inspect,
    "evalscope": _evalscope,
}


def reported(name: str | None, path: Path, header: Mapping[str, Any]) -> dict[str, float]:
    """Metric -> the score that the tool reports for this file: in the file, or in the results that it wrote beside."""
    if name == "inspect":
        scores = (header.get("results") or {}).get("scores") or ()
        return {f"{s['name']}/{m['name']}": m["value"] for s in scores for m in s["metrics"].values()}
    if name == "lm_eval":
        results = _lm_eval_results(path).get("results", {})
        task = re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+\.jsonl", path.name)
        scores = results.get(task[1], {}) if task else {}
        return {key: value for key, value in scores.items() if "," in key and isinstance(value, float)}
    if name == "lighteval":
        return _lighteval_reported(path)
    if name == "evalscope":
        return _evalscope_reported(path)
    if name == "qwen_math":
        beside = sorted(path.parent.glob(f"{path.name.removesuffix('.jsonl')}_*metrics.json"))
        return {"acc": float(json.loads(beside[0].read_text())["acc"]) / 100} if beside else {}
    return {}


def _lighteval_reported(path: Path) -> dict[str, float]:
    """From results/<model>/results_<date>.json beside details/<model>/<date>/details_<task>_<date>.parquet."""
    date = path.parent.name
    task = path.name.removeprefix("details_").removesuffix(".parquet").removesuffix(f"_{date}")
    for folder in path.parents[2:5]:
        for results in sorted(folder.glob(f"results/**/results_{date}.json")):
            scores = json.loads(results.read_text(encoding="utf-8")).get("results", {}).get(task, {})
            return {key: value for key, value in scores.items() if not key.endswith("_stderr")}
    return {}


def _evalscope_reported(path: Path) -> dict[str, float]:
    """From reports/<model>/<benchmark>.json beside reviews/<model>/<benchmark>_<subset>.jsonl."""
    scores: dict[str, float] = {}
    for report in sorted((path.parent.parent.parent / "reports" / path.parent.name).glob("*.json")):
        if path.name.startswith(f"{report.stem}_"):
            for metric in json.loads(report.read_text(encoding="utf-8")).get("metrics") or ():
                scores[str(metric.get("name") or metric["identity"]["name"])] = float(metric["score"])
    return scores
