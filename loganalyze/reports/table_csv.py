"""CSV, one row a run: comma, quotes where needed, empty for unknown, no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from loganalyze.model.report import Report
from loganalyze.reports import table
from loganalyze.reports.neutral import cell

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor


def dumps(report: Report, redactor: Redactor | None = None) -> str:
    """Head and rows with ``\\n`` line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.COLUMNS)
    for run in report.runs:
        values = table.row(run)
        values = values if redactor is None else redactor.tree_learned(values)
        writer.writerow([cell(value) for value in values.values()])
    return out.getvalue()


def render(report: Report, redact: bool = False) -> str:
    """CSV for stdout."""
    from loganalyze.reports.json_out import _redactor

    return dumps(report, _redactor(redact))


def data(report: Report, redactor: Redactor | None = None) -> bytes:
    """Bytes of a ``.csv`` file."""
    return dumps(report, redactor).encode()
