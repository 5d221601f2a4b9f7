"""``loganalyze batch``."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

from loganalyze.batch.row import COLUMNS
from loganalyze.cli import common
from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.numerals import is_whole

SHOW_AFTER_S = 0.5

# Objects made and kept between two looks for garbage: 1500 logs then need 33 MiB, with those of a short run 215.
GARBAGE = 2000


def run(values: dict[str, Any]) -> int:
    """Find runs, judge them, print the table, write the outputs."""
    from loganalyze import __version__
    from loganalyze.api import limits_of
    from loganalyze.batch import engine, output
    from loganalyze.batch.cache import Cache, cache_folder
    from loganalyze.batch.discover import check_jobs, discover
    from loganalyze.batch.spool import Spool
    from loganalyze.batch.summary import DEFAULT_BY, Summary
    from loganalyze.batch.versions import Versions

    # A short run leaves its garbage; thousands of logs must not, here and in the processes forked from here.
    gc.set_threshold(GARBAGE, 10, 10)
    common.check_fail_on(values["fail_on"])
    options = common.options_of({**values, "as_format": (), "start": (), "group": "auto"})
    limits_of(options)
    sort = values["sort"] or "lost_s"
    if sort not in COLUMNS:
        raise UsageError(f"--sort {sort}: no such column", remedy="Choose from: " + ", ".join(COLUMNS))
    jobs, limit, width = check_jobs(values["jobs"]), _limit(values["limit"]), common.width_of(values)
    output.check_outputs(values["output"], values["force"], values["append"])
    summary = Summary(tuple(values["by"].split(",")) if values["by"] else DEFAULT_BY)
    found = discover(values["paths"], values["manifest"], values["output"])
    common.say(f"{found.rule}" + (f"; {found.left_out} files left out by their name" if found.left_out else ""))
    cache = Cache(None if values["no_cache"] else cache_folder(), __version__)
    progress = _Progress(found.units.files)
    failed: LogAnalyzeError | None = None
    spool: Spool | None = None
    try:
        spool, versions = Spool(sort, max(limit, output.HTML_ROWS)), Versions()
        units, scheduler = found.units, values["scheduler"]
        for files, rows, lines in engine.rows_of(units, options, cache, jobs, scheduler, units.files):
            progress.step(files)
            for row, line in zip(rows, lines, strict=True):
                spool.add(row, line)
                summary.add(row)
                if values["compare"]:
                    versions.add(row)
        progress.end()
        if cache.note and not values["no_cache"]:
            common.say(cache.note)
        for name in values["output"]:
            try:
                common.say(output.write(name, spool, summary, values["append"], values["force"]))
            except LogAnalyzeError as error:
                # The others may lie on another disk.
                common.say(f"loganalyze: {error}")
                failed = error
        _print(values, spool, summary, versions, limit, width)
    finally:
        progress.end()
        cache.close()
        found.units.close()
        if spool is not None:
            spool.close()
    return failed.exit_code if failed is not None else _status(summary, values["fail_on"])


def _limit(text: str | None) -> int:
    if text is None:
        return 50
    if not is_whole(text):
        raise UsageError(f"--limit {text}: give a number")
    return int(text)


def _print(values: dict[str, Any], spool: Any, summary: Any, versions: Any, limit: int, width: int) -> None:
    wanted = values["format"]
    if wanted == "text":
        from loganalyze.reports import batch_text

        if values["compare"]:
            common.out(batch_text.versions(versions.steps(), width))
            return
        common.out(batch_text.table(spool.top(limit), spool.count, width, common.ascii_only()))
        common.out("")
        common.out(batch_text.overview(summary, width, lambda n: str(spool.row(n)["id"])))
    elif wanted == "jsonl":
        for line in spool.lines():
            common.out(line.decode())
    elif wanted == "json":
        import json

        common.out(
            json.dumps(
                {"schema_version": 1, "verdicts": dict(summary.verdicts), "runs": list(spool.rows())},
            )
        )
    else:
        _table(wanted, spool)


class _Stdout:
    """Where the CSV writer writes: stdout, whatever its encoding."""

    def write(self, text: str) -> None:
        common.out(text)


def _table(wanted: str, spool: Any) -> None:
    from loganalyze.reports.neutral import cell, markdown

    if wanted == "csv":
        import csv

        writer = csv.writer(_Stdout(), lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in spool.rows():
            writer.writerow([cell(v) for v in row.values()])
        return
    shown = (
        "id",
        "verdict",
        "cause",
        "confidence",
        "lost_s",
        "model",
        "version",
        "device",
        "reading_tps",
        "writing_tps",
    )
    common.out("| " + " | ".join(shown) + " |\n|" + " --- |" * len(shown))
    for row in spool.rows():
        common.out("| " + " | ".join("" if row[n] is None else markdown(str(row[n])) for n in shown) + " |")


def _status(summary: Any, fail_on: str | None) -> int:
    if not summary.verdicts:
        return 2
    wanted = {w.strip() for w in fail_on.split(",")} if fail_on else set()
    return 1 if any(summary.verdicts[v] for v in wanted) else 0


class _Progress:
    """Rate and time left on stderr, only on a terminal and only when it takes a while."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._start = self._last = time.monotonic()
        self._on = sys.stderr is not None and sys.stderr.isatty()
        self._shown = False

    def step(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if not self._on or now - self._start < SHOW_AFTER_S or now - self._last < 0.2:
            return
        self._last = now
        rate = self._done / (now - self._start)
        left = (self._total - self._done) / rate if rate else 0.0
        print(
            f"\r{self._done}/{self._total} files, {rate:,.0f}/s, {left:,.0f} s left ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        self._shown = True

    def end(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False
