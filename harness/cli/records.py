"""The commands `rlvr tables` and `rlvr ui`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from harness.cli.terminal import narrow
from harness.command.config import no_more, parse_overrides, take, take_list
from harness.errors import UsageError, choose

TABLES = """options:
  paper=KEY              one paper (default: all)
  out=FOLDER             default results; files go to FOLDER/KEY/
  policies=[boxed_last,qwen]   grade the stored responses again: a table of the scores under each extraction policy,
                         with how many verdicts change
  check=FOLDER           write nothing: compute the tables from the exported runs in FOLDER (results/records), compare
                         them with the files under out=, and exit with 1 if one differs"""
UI = """options:
  port=5000  host=127.0.0.1
Prints a link to the curves of each paper that has any, its arms over each other."""


def do_tables(arguments: Any) -> int:
    from evals.grading.extraction import POLICIES
    from harness.spec.catalogue import papers

    values = parse_overrides(arguments.options)
    wanted = choose("paper", take_list(values, "paper"), papers())
    out = Path(take(values, "out", str, "results"))
    check = take(values, "check", str, "")
    asked = take_list(values, "policies") or []
    no_more(values, ("paper", "out", "policies", "check"))
    policies = choose("policies", asked, POLICIES) if asked else []
    if check and policies:
        raise UsageError("policies: expected no check=, whose exported runs hold no responses")
    if check:
        return _check_tables(Path(check), out, wanted if "paper" in _keys(arguments) else None)
    from harness.runs.track import Tracker
    from harness.tables.tabulate import report

    tracker = Tracker.open()
    reports = {key: report(key, tracker, policies) for key in wanted}
    for key, result in reports.items():
        for path in result.write(out / key):
            print(f"wrote {path}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([result.as_dict() for result in reports.values()], indent=2, default=list))
    else:
        page = "\n".join(result.markdown() for result in reports.values())
        print(narrow(page) if sys.stdout.isatty() else page)
    return 0


def _keys(arguments: Any) -> set[str]:
    return {option.partition("=")[0] for option in arguments.options}


def _check_tables(records: Path, out: Path, wanted: list[str] | None) -> int:
    from evals.files import DamagedFileError
    from harness.tables.check import differing_tables

    archives = {path.stem: path for path in sorted(records.glob("*.zip"))}
    if not archives or (missing := [key for key in wanted or () if key not in archives]):
        raise UsageError(
            f"check={records}: expected an exported archive of {', '.join(missing if archives else ['a paper'])}"
        )
    try:
        differing = differing_tables([archives[key] for key in wanted or archives], out)
    except DamagedFileError as error:
        raise UsageError(str(error)) from error
    for path, line in differing:
        print(f"{path} differs from what the exported runs give, first at: {line}", file=sys.stderr)
    if not differing:
        print(f"the tables under {out} equal those computed from the runs in {records}", file=sys.stderr)
    return 1 if differing else 0


def do_ui(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    port, host = take(values, "port", int, 5000), take(values, "host", str, "127.0.0.1")
    no_more(values, ("port", "host"))
    _check_port(host, port)
    import subprocess

    from evals.redaction import redact
    from harness.cli.curves import curve_links
    from harness.runs.track import Tracker, tracking_uri
    from harness.spec.catalogue import papers

    uri, address = tracking_uri(), f"http://{host}:{port}"
    for paper, link in curve_links(Tracker.open(), papers(), address).items():
        print(
            f"curves of {paper}, a chart a metric, a line an arm (mean and band of its seeds): {link}", file=sys.stderr
        )
    print(f"MLflow at {address} on {redact(uri)}; Ctrl-C ends it", file=sys.stderr)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port)]
    return subprocess.run(command, check=False).returncode


def _check_port(host: str, port: int) -> None:
    """Raise UsageError if no server can listen there; MLflow would fail only after seconds, with a traceback."""
    import socket

    if not 1 <= port <= 65_535:
        raise UsageError(f"port: expected 1 to 65535, got {port}")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free, as for MLflow
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"port={port}: expected a free port on {host}, got one in use ({error.strerror})"
            ) from error
