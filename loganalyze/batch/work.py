"""Turn a unit into rows. Pure and picklable: the same function runs here, in a process pool and on a cluster."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from loganalyze.batch.discover import Item, Unit
from loganalyze.batch.row import Row, empty, row_of
from loganalyze.errors import LogAnalyzeError, UnreadableError
from loganalyze.files import is_url
from loganalyze.options import Options

HASH_BLOCK = 1 << 20


def analyse(unit: Unit, options: Options, key: str) -> list[Row]:
    """Rows of ``unit``: one a run; one with ``error`` for each file that cannot be read; none for files of no known format.

    Never raises: whatever goes wrong costs one row.
    """
    if unit.error is not None:
        return [_error(unit.items[0], unit.error, key)]
    try:
        return _analyse(unit, options, key)
    except LogAnalyzeError as error:
        return [_error(unit.items[0], str(error.reason), key)]
    except (OSError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) else "out of memory"
        return [_error(unit.items[0], f"cannot be read: {reason or error}", key)]
    except Exception as error:
        # A fault of this program must not cost the other thousands of files.
        return [_error(unit.items[0], f"internal error: {type(error).__name__}: {error}", key)]


def _analyse(unit: Unit, options: Options, key: str) -> list[Row]:
    from loganalyze import api

    runs: list[Any] = []
    captures: list[Any] = []
    sources: list[Any] = []
    rows: list[Row] = []
    for item in unit.items:
        try:
            with opened(item) as stream:
                found = api.read_source(item.name, options, stream)
        except UnreadableError as error:
            rows.append(_error(item, error.reason, key))
            continue
        source = found[2]
        fault = next((n for n in source.notes if n.startswith("unreadable")), None)
        if fault is not None and source.format is None:
            rows.append(_error(item, fault.removeprefix("unreadable: "), key))
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
    else:
        yield None


def _error(item: Item, reason: str, key: str) -> Row:
    return empty(key=key, id=f"{item.name}#0", file=item.name, error=reason)


def digest(item: Item) -> str | None:
    """Digest of an item's content; None when it cannot be read."""
    seen = hashlib.blake2b(digest_size=16)
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
    import json

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
