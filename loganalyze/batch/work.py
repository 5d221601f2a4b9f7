"""Turn a unit into rows. Pure and picklable: the same function runs here, in a process pool and on a cluster."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from loganalyze.batch.discover import Item, Unit
from loganalyze.batch.plain import WithoutHoles, is_sparse
from loganalyze.batch.row import Row, empty, row_of
from loganalyze.errors import LogAnalyzeError, UnreadableError
from loganalyze.files import is_url
from loganalyze.options import Options

HASH_BLOCK = 1 << 20
KILLED = "reading it killed the process that did it, perhaps for lack of memory"


def lines_of(unit: Unit, options: Options, key: str) -> list[str]:
    """Rows of ``unit`` as JSON lines in ASCII, which every cache, queue and network carries as they are."""
    return [json.dumps(row, allow_nan=False) for row in analyse(unit, options, key)]


def analyse(unit: Unit, options: Options, key: str) -> list[Row]:
    """Rows of ``unit``: one a run; one with ``error`` for each file that cannot be read; none for files of no known format.

    Never raises: whatever goes wrong costs one row.
    """
    if unit.error is not None:
        return [error_row(unit.items[0], unit.error, key)]
    try:
        return _analyse(unit, options, key)
    except LogAnalyzeError as error:
        return [error_row(unit.items[0], _told(error), key)]
    except (OSError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) else "out of memory"
        return [error_row(unit.items[0], f"cannot be read: {reason or error}", key)]
    except Exception as error:
        # A fault of this program must not cost the other thousands of files.
        return [error_row(unit.items[0], f"internal error: {type(error).__name__}: {error}", key)]


def _analyse(unit: Unit, options: Options, key: str) -> list[Row]:
    from loganalyze import api

    runs: list[Any] = []
    captures: list[Any] = []
    sources: list[Any] = []
    rows: list[Row] = []
    for item in unit.items:
        try:
            with opened(item) as stream:
                found = api.read_source(item.name if stream is not None else item.path, options, stream)
        except UnreadableError as error:
            rows.append(error_row(item, _told(error), key))
            continue
        source = found[2]
        fault = next((n for n in source.notes if n.startswith("unreadable")), None)
        if fault is not None and source.format is None:
            rows.append(error_row(item, fault.removeprefix("unreadable: "), key))
            continue
        runs += found[0]
        captures += found[1]
        sources.append(source)
    reading = api.join(runs, captures, sources, options)
    if not reading.runs and reading.captures:
        reading.runs = [api.telemetry_run(reading.captures)]
    report = api.judge_all(reading, options, api.limits_of(options))
    rows += [row_of(run, key) for run in report.runs]
    return rows


@contextlib.contextmanager
def opened(item: Item) -> Iterator[BinaryIO | None]:
    """The item's own stream, or None for a plain path, which the reader opens itself."""
    if item.member is not None:
        from loganalyze.batch.archive import open_member

        with open_member(item.path, item.member) as stream:
            yield stream  # type: ignore[misc]
    elif is_url(item.path):
        from loganalyze.batch.remote import open_url

        with open_url(item.path) as stream:
            yield stream  # type: ignore[misc]
    elif item.stamp is None:
        _refuse_special(item)
        yield None
    elif is_sparse(item.path, item):
        try:
            with WithoutHoles(item.path) as stream:
                yield stream  # type: ignore[misc]
        except OSError as error:
            raise UnreadableError(error.strerror or str(error), path=item.name) from None
    else:
        yield None


def _refuse_special(item: Item) -> None:
    """A pipe or a terminal in a folder may have a writer that never writes: none of them is opened."""
    try:
        mode = os.stat(item.path).st_mode
    except (OSError, ValueError):
        return
    kinds = ((stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))
    for is_kind, name in kinds:
        if is_kind(mode):
            raise UnreadableError(f"is a {name}, no file", path=item.name)


def error_row(item: Item, reason: str, key: str) -> Row:
    """The row of a file that could not be read."""
    reason = reason if reason.isascii() else reason.encode("utf-8", "backslashreplace").decode()
    return empty(key=key, id=f"{item.name}#0", file=item.name, error=reason)


def _told(error: LogAnalyzeError) -> str:
    return error.reason + (f". {error.remedy}" if error.remedy else "")


def digest(item: Item) -> str | None:
    """Digest of an item's content; None when it cannot be read."""
    seen = hashlib.blake2b(digest_size=16)
    if item.tag is not None:
        seen.update(f"{item.path}\0{item.member}\0{item.tag}".encode("utf-8", "surrogateescape"))
        return seen.hexdigest()
    try:
        with opened(item) as stream:
            if stream is not None:
                _feed(seen, stream)
            else:
                if item.stamp is None:
                    return None
                with open(item.path, "rb", buffering=0) as file:
                    _feed(seen, file)
    except (OSError, UnreadableError):
        return None
    return seen.hexdigest()


def _feed(seen: Any, stream: Any) -> None:
    while block := stream.read(HASH_BLOCK):
        seen.update(block)


def unit_key(unit: Unit, digests: list[str | None], salt: str) -> str | None:
    """Key of a unit: its file names within their folder, contents, analyzer and options. None when unreadable."""
    if unit.error is not None or any(d is None for d in digests):
        return None
    seen = hashlib.blake2b(salt.encode(), digest_size=16)
    for item, content in zip(unit.items, digests, strict=True):
        name = os.path.basename(item.member or item.path)
        seen.update(f"{len(name)}:{name}:{content};".encode("utf-8", "surrogateescape"))
    return seen.hexdigest()


def salt_of(options: Options) -> str:
    """What besides content decides the rows: analyzer version and options."""
    from loganalyze import __version__

    told = [
        options.tz,
        options.group,
        sorted(options.overrides.items()),
        options.baseline,
        sorted(options.starts.items()),
    ]
    return f"{__version__}+{_code_stamp()}" + json.dumps(told, sort_keys=True, default=str)


def _code_stamp() -> str:
    """Changes with the program's files: two checkouts of one version must not share results."""
    import loganalyze

    root = os.path.dirname(loganalyze.__file__)
    newest = count = 0
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".csv")):
                count += 1
                newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns)
    return f"{count}.{newest}"
