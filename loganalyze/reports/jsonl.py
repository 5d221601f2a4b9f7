"""One JSON object a run and line, each with the fields of ``runs[]`` after ``schema_version``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from loganalyze.model.report import Report
from loganalyze.reports import json_out

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor


def dumps(report: Report, redactor: Redactor | None = None) -> str:
    """A line a run, in the order of the runs; empty without runs."""
    runs = json_out.payload(report, redactor)["runs"]
    lines = [json.dumps({"schema_version": json_out.SCHEMA_VERSION, **run}, allow_nan=False) for run in runs]
    return "".join(f"{line}\n" for line in lines)


def render(report: Report, redact: bool = False) -> str:
    """JSON lines for stdout."""
    return dumps(report, json_out._redactor(redact))


def data(report: Report, redactor: Redactor | None = None) -> bytes:
    """Bytes of a ``.jsonl`` file."""
    return dumps(report, redactor).encode()
