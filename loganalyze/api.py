"""The public API: ``read`` what users have, ``classify`` it. The command line uses nothing else."""

from __future__ import annotations

import os

from loganalyze.errors import LogAnalyzeError, UnreadableError
from loganalyze.inputs import expand
from loganalyze.model.records import Capture, Reading, Run, Source
from loganalyze.options import Options, is_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

    from loganalyze.model.report import Report

Path = str | os.PathLike[str]


def read(paths: Path | Sequence[Path], options: Options | None = None) -> Reading:
    """Read files, folders, globs or ``-`` into runs with their captures on one time axis.

    A file that cannot be read becomes a source with a note that starts with ``unreadable``; the others are read.
    Raises LogAnalyzeError when nothing could be read at all or an option is wrong.
    """
    options = options or Options()
    names = [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(p) for p in paths]
    runs: list[Run] = []
    captures: list[Capture] = []
    sources: list[Source] = []
    files = expand(names)
    options.check_names(files)
    for path in files:
        found_runs, found_captures, source = read_source(path, options)
        runs += found_runs
        captures += found_captures
        sources.append(source)
    if sources and all(_unreadable(s) for s in sources):
        first = sources[0]
        reason = next(n for n in first.notes if n.startswith("unreadable")).removeprefix("unreadable: ")
        raise UnreadableError(reason, path=first.path)
    return join(runs, captures, sources, options)


def join(runs: list[Run], captures: list[Capture], sources: list[Source], options: Options) -> Reading:
    """Place what was read from ``sources`` on one axis and group it into runs."""
    from loganalyze.timeline import align

    reading = align(runs, captures, tz=options.tz, starts=options.starts, group=options.group)
    if len(reading.runs) > 1:
        from loganalyze.timeline.merge import merge_clients

        merge_clients(reading)
    reading.sources = sources
    return reading


def _unreadable(source: Source) -> bool:
    return source.format is None and any(note.startswith("unreadable") for note in source.notes)


def read_source(
    path: str, options: Options | None = None, stream: BinaryIO | None = None
) -> tuple[list[Run], list[Capture], Source]:
    """Runs and captures of one source, not yet on a common axis. Never raises for a source that cannot be read.

    ``stream``: where its bytes come from when ``path`` is only its name (a member of an archive, a URL).
    """
    from loganalyze.scan import open_source

    try:
        with open_source(path) if stream is None else open_source(stream, path) as opened:
            wanted = _wanted(path, options)
            runs, captures = _read_opened(opened, wanted)
            return runs, captures, opened.source
    except UnreadableError as error:
        reason = error.reason + (f". {error.remedy}" if error.remedy else "")
        return [], [], Source(path=path, notes=[f"unreadable: {reason}"])


def _wanted(path: str, options: Options | None) -> str | None:
    if options is None or not options.as_format:
        return None
    if path in options.as_format:
        return options.as_format[path]
    return next((wanted for name, wanted in options.as_format.items() if is_named(path, name)), None)


def _read_opened(opened: Any, wanted: str | None) -> tuple[list[Run], list[Capture]]:
    from loganalyze.formats import CAPTURE_FORMATS, LOG_FORMATS

    if wanted is not None and wanted != "log" and wanted not in (*CAPTURE_FORMATS, *LOG_FORMATS):
        choice = ", ".join(["log", *LOG_FORMATS, *CAPTURE_FORMATS])
        raise LogAnalyzeError(f"--as: no format is called {wanted}", remedy=f"Choose from: {choice}")
    from loganalyze.formats.log_look import is_llama_log

    source: Source = opened.source
    if wanted in CAPTURE_FORMATS or (wanted is None and not is_llama_log(opened.head)):
        from loganalyze.formats.capture_reader import read_captures, sniff

        if wanted is not None or sniff(opened.head, source.path) is not None:
            from loganalyze.faults import CAPTURES_MIB, require_memory

            require_memory(CAPTURES_MIB, "captures")
            captures = read_captures(opened)
            return (_log_beside(opened) if wanted is None else []), captures
    from loganalyze.formats.log_reader import read_log

    pasted: list[Capture] = []
    runs = read_log(opened, source, pasted)
    if source.format is None and source.lines and not any(run.requests or run.events for run in runs):
        return _as_document(opened) or _by_words(opened) or runs, []
    return runs, pasted if wanted is None and any(run.requests for run in runs) else []


MIN_BESIDE = 1
"""Lines with figures that a text of captures must hold beside them before it is read as a log, too."""


def _log_beside(opened: Any) -> list[Run]:
    """Requests in a text that is mostly captures: a post with a table and the timings below it."""
    source: Source = opened.source
    if source.unmatched < MIN_BESIDE or not opened.whole:
        return []
    from loganalyze.formats.log_reader import read_log
    from loganalyze.scan import open_source

    with open_source(opened.head, source.path) as fresh:
        runs = [run for run in read_log(fresh, fresh.source) if run.requests]
    for run in runs:
        run.source = source
    if runs:
        read = min(source.unmatched, fresh.source.matched)
        source.matched, source.unmatched = source.matched + read, source.unmatched - read
        source.unread = [line for line in source.unread if line in fresh.source.unread]
    return runs


def _as_document(opened: Any) -> list[Run]:
    """Responses saved over several lines, also behind a prompt or other text. Only what is still at hand is looked at."""
    if not opened.whole or b"{" not in opened.head:
        return []
    from loganalyze.formats.responses import read_document

    return read_document(opened.head, opened.source)


def _by_words(opened: Any) -> list[Run]:
    """A text that no format knows, read again by words and stamps; of a pipe only what is still at hand."""
    from loganalyze.formats.unknown import read_unknown
    from loganalyze.scan import all_lines, open_source

    source: Source = opened.source
    again = source.path if os.path.isfile(source.path) else opened.head
    with open_source(again) as fresh:
        return read_unknown(all_lines(fresh), source)


def classify(paths: Path | Sequence[Path], options: Options | None = None) -> Report:
    """Read and judge. Raises LogAnalyzeError when nothing was recognised or an option is wrong."""
    options = options or Options()
    limits = limits_of(options)
    reading = read(paths, options)
    if not reading.runs and reading.captures:
        reading.runs = [telemetry_run(reading.captures)]
        reading.captures = []
    if not reading.runs:
        raise nothing(reading)
    return judge_all(reading, options, limits)


def judge_all(reading: Reading, options: Options, limits: Any) -> Report:
    """Judge every run of ``reading`` and report on them."""
    from loganalyze.model.report import Report
    from loganalyze.verdict import judge

    for run in reading.runs:
        run.judgement = judge(run, limits, options.baseline)
    return Report.of(reading, limits.changed())


def limits_of(options: Options) -> Any:
    """Thresholds with the overrides of ``options``. Raises LogAnalyzeError for an unknown name or a bad value."""
    from loganalyze.findings.thresholds import DEFAULTS

    return DEFAULTS.with_overrides(options.overrides) if options.overrides else DEFAULTS


def telemetry_run(captures: list[Capture]) -> Run:
    """A run that consists of captures alone: something can be said about memory, nothing about speed."""
    first = captures[0].source
    return Run(id=f"{first.path}#1", source=first, captures=captures, clock=captures[0].clock)


def nothing(reading: Reading) -> LogAnalyzeError:
    """The error for what holds no run and no capture."""
    lines = sum(s.lines for s in reading.sources)
    where = reading.sources[0].path if len(reading.sources) == 1 else f"{len(reading.sources)} files"
    if not lines:
        return UnreadableError("empty", path=where, remedy="Check that the log was written before you read it")
    return UnreadableError(
        f"nothing recognised in {lines} lines",
        path=where,
        remedy="See what was read with: loganalyze check, and which formats are known with: loganalyze formats",
    )
