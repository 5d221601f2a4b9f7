"""Read log text or files through the real reader, for tests of log formats."""

from __future__ import annotations

from pathlib import Path

from loganalyze.formats.log_reader import read_log
from loganalyze.model.records import Run, Source
from loganalyze.scan import open_source


def read_file(path: Path) -> tuple[list[Run], Source]:
    """Runs of a file and its source record, whose counts are checked."""
    with open_source(str(path)) as opened:
        runs = read_log(opened, opened.source)
    return runs, checked(opened.source)


def read_text(text: str) -> tuple[list[Run], Source]:
    """The same for a text."""
    with open_source(text.encode(), "run.log") as opened:
        runs = read_log(opened, opened.source)
    return runs, checked(opened.source)


def one_run(text: str) -> Run:
    """The only run of a text in which every candidate line is read."""
    runs, source = read_text(text)
    assert not source.unread
    assert len(runs) == 1
    return runs[0]


def checked(source: Source) -> Source:
    """``source``, in which no line may be lost or counted twice."""
    assert source.lines == source.matched + source.unmatched + source.skipped
    assert not [note for note in source.notes if "figures" in note]
    return source
