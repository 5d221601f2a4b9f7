"""Captures whose lines carry a wrapper with times (``ts``, docker, the journal)."""

from __future__ import annotations

from collections.abc import Iterable

from loganalyze.formats.capture_reader import embedded
from loganalyze.model.records import Capture, Clock, Source
from loganalyze.scan.line import Line


def read_wrapped(lines: Iterable[Line], source: Source) -> list[Capture]:
    """Captures in ``lines``; the wrapper's stamps become times on its clock. Counts the source's lines."""
    kept: list[Line] = list(lines)
    epochs = [line.epoch_s for line in kept if line.epoch_s is not None]
    zone = next((line.zone for line in kept if line.zone is not None), None)
    clock = Clock(kind="absolute", zone=zone, anchor="wrapper stamps") if epochs else Clock(kind="relative")
    rows = [(line.number, line.text, line.epoch_s if epochs else line.t_s) for line in kept]
    captures = embedded(rows, source, clock)
    used = {int(n) for c in captures if c.frame is not None for n in c.frame["line"].to_list()}
    texts = {line.number: line.text for line in kept}
    blank = sum(not text.strip() for text in texts.values())
    source.lines = max(source.lines, len(texts))
    source.skipped = blank
    # Headers are part of what was read: they stand before rows and are not rows.
    source.matched = source.lines - blank if used else 0
    source.unmatched = source.lines - source.matched - source.skipped
    if captures:
        source.format, source.dialect, source.clock = captures[0].format, captures[0].dialect, captures[0].clock
    return captures
