"""A Markdown table, one row a run, of what one reads first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loganalyze.model.records import Run
from loganalyze.model.report import Report
from loganalyze.reports import facts, units
from loganalyze.reports.neutral import code, markdown

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor

HEAD = ("run", "verdict", "cause", "reading", "expected", "writing", "expected", "layers on GPU", "time lost")


def dumps(report: Report, redactor: Redactor | None = None) -> str:
    """The table and, under it, the sentence and the next step of each run."""
    clean = (lambda text: text) if redactor is None else redactor.text
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    lines += ["| " + " | ".join(_cells(run, clean(run.id))) + " |" for run in report.runs]
    lines.append("")
    for run in report.runs:
        judged = facts.judgement(run)
        lines.append(f"- {code(clean(run.id))}: {markdown(clean(judged.summary))}")
        if judged.next_step:
            lines.append(f"  Try: {markdown(clean(judged.next_step))}")
    return "\n".join(lines) + "\n"


def render(report: Report, redact: bool = False) -> str:
    """Markdown for stdout."""
    from loganalyze.reports.json_out import _redactor

    return dumps(report, _redactor(redact))


def _cells(run: Run, name: str) -> list[str]:
    judged, setup = facts.judgement(run), run.setup
    layers = "" if setup.layers_on_gpu is None else f"{setup.layers_on_gpu} of {units.number(setup.layers_total)}"
    return [
        code(name),
        judged.verdict,
        markdown(judged.cause),
        _or_blank(judged.reading.tps),
        _or_blank(judged.reading.expected_tps),
        _or_blank(judged.writing.tps),
        _or_blank(judged.writing.expected_tps),
        layers,
        "" if judged.lost_s is None else units.seconds(judged.lost_s),
    ]


def _or_blank(tps: float | None) -> str:
    return "" if tps is None else units.rate(tps)
