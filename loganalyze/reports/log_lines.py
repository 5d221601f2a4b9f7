"""The lines of a log that matter for a report: evidence, trouble, placement, buffers, timings; never free text.

Lines the records keep are taken from there; the others are read again from the file when it still is one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from loganalyze.model.records import Run
from loganalyze.reports import facts

MOST = 60
WIDEST = 400
REREAD_BYTES = 64 * 1024 * 1024
"""Larger logs are not read twice; the lines that the records keep are enough to tell what happened."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the run's own log, or a mark (``number`` 0) that lines between were left out."""

    number: int
    text: str


def relevant(run: Run, most: int = MOST) -> list[LogLine]:
    """At most ``most`` lines in the order of the log, gaps between them as ``...`` (which count too)."""
    path = run.source.path if run.source is not None else None
    known = _kept(run, path)
    chosen: list[int] = []
    for number in _wanted(run, path):
        if number not in chosen and len(chosen) < 2 * most:
            chosen.append(number)
    texts = {**_reread(path, [n for n in chosen if n not in known]), **known}
    while True:
        out = _with_gaps([n for n in sorted(chosen) if n in texts], texts)
        if len(out) <= most or not chosen:
            return out
        chosen.pop()


def _with_gaps(numbers: list[int], texts: dict[int, str]) -> list[LogLine]:
    out: list[LogLine] = []
    for number in numbers:
        if out and number > out[-1].number + 1:
            out.append(LogLine(0, "..."))
        text = texts[number]
        out.append(LogLine(number, text if len(text) <= WIDEST else text[:WIDEST] + "…"))
    return out


def _kept(run: Run, path: str | None) -> dict[int, str]:
    """Lines whose text an event holds. Evidence may hold words of its own, so it is only used where no file is."""
    found = {event.line: event.text for event in run.events if event.source == path}
    if path is None or not os.path.isfile(path):
        for _, evidence in facts.evidence_of(facts.judgement(run)):
            if evidence is not None and evidence.line is not None and evidence.source == path:
                found.setdefault(evidence.line, evidence.text)
    return found


def _wanted(run: Run, path: str | None) -> list[int]:
    """Line numbers, the most telling first."""
    out = [
        evidence.line
        for _, evidence in facts.evidence_of(facts.judgement(run))
        if evidence is not None and evidence.line is not None and evidence.source == path
    ]
    out += [event.line for event in run.events if event.kind not in ("throughput", "phase", "queue")][:20]
    slowest = sorted(run.requests, key=lambda request: -(request.total_ms or 0.0))[:4]
    for request in slowest:
        if request.source == path:
            out += [request.line, *request.lines.values()]
    out += [device.line for device in run.devices if device.line is not None and device.source == path]
    out += [buffer.line for buffer in run.memory if buffer.source == path]
    if run.first_line is not None and run.setup.command:
        out.append(run.first_line)
    return out


def _reread(path: str | None, numbers: list[int]) -> dict[int, str]:
    if path is None or not numbers or not os.path.isfile(path) or os.path.getsize(path) > REREAD_BYTES:
        return {}
    from loganalyze.errors import LogAnalyzeError
    from loganalyze.scan import all_lines, open_source

    wanted, last, found = set(numbers), max(numbers), {}
    try:
        with open_source(path) as opened:
            for line in all_lines(opened):
                if line.number in wanted:
                    found[line.number] = line.str
                if line.number >= last:
                    break
    except (LogAnalyzeError, OSError):
        return {}
    return found
