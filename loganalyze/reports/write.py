"""Writes reports to files: the whole file or nothing, and never over an existing one unless told to.

The format follows the extension. A new file is written beside its place under a name of its own and then moved
there, so that neither a full disk nor an interruption leaves half a file or loses the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.model.report import Report
from loganalyze.replacing import replacing
from loganalyze.reports import WRITERS

if TYPE_CHECKING:
    from loganalyze.reports.redact import Redactor

PUBLISHED = frozenset({".md", ".html", ".png", ".svg"})
"""What people attach to bug reports: redacted unless told otherwise."""


def write_outputs(
    report: Report, outputs: Iterable[str | Path], force: bool = False, redact: bool | None = None
) -> list[str]:
    """Write ``report`` to each of ``outputs`` and return a line for each (``Wrote issue.md``).

    ``redact`` None redacts what is meant for publishing. All names are checked before anything is written, and
    everything is made before the first file is. Raises UsageError for an unknown extension and LogAnalyzeError for
    a file that exists (without ``force``), appears twice, or cannot be written.
    """
    paths = [Path(output) for output in outputs]
    _check(paths, force)
    files: list[tuple[Path, bytes, str]] = []
    for path in paths:
        redactor = _redactor(path, redact)
        made = _made(report, path, redactor)
        note = "" if redactor is None else f" (removed: {redactor.summary()})"
        files.append((path, made, f"Wrote {path}{note}"))
        if path.suffix.lower() == ".md":
            files += _picture(report, path, force, redactor, paths)
    for path, made, _ in files:
        replace_file(path, made)
    return [line for _, _, line in files]


def write_bytes(name: str | Path, data: bytes, force: bool = False) -> None:
    """Write ``data`` to the file ``name``, whole or not at all; LogAnalyzeError when it exists and not ``force``."""
    path = Path(name)
    _refuse(path, force)
    replace_file(path, data)


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step. Symbolic links are followed; the mode of a replaced file stays."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        _put(target, data, path)
        return
    try:
        with replacing(target) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise _failed(path, error) from error


def _put(target: Path, data: bytes, path: Path) -> None:
    """A device or pipe (``/dev/stdout``) cannot be replaced; it is written."""
    try:
        target.write_bytes(data)
    except OSError as error:
        raise _failed(path, error) from error


def _failed(path: Path, error: OSError) -> LogAnalyzeError:
    from loganalyze.faults import remedy

    return LogAnalyzeError(f"cannot be written: {error.strerror or error}", path=str(path), remedy=remedy(error))


def _check(paths: list[Path], force: bool) -> None:
    seen: set[str] = set()
    for path in paths:
        if path.suffix.lower() not in WRITERS:
            raise UsageError(
                f"-o {path}: no output is made for {path.suffix or 'a name without extension'}",
                remedy=f"Use one of {' '.join(sorted(WRITERS))}",
            )
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(f"-o {path}: named twice", remedy="Give each output a name of its own")
        seen.add(place)
        _refuse(path, force)


def _refuse(path: Path, force: bool) -> None:
    if path.is_dir():
        raise LogAnalyzeError("is a folder", path=str(path), remedy="Name a file in it")
    if not force and os.path.lexists(path) and (path.is_file() or path.is_symlink()):
        raise LogAnalyzeError("exists already", path=str(path), remedy="Choose another name or add --force")


def _redactor(path: Path, redact: bool | None) -> Redactor | None:
    wanted = path.suffix.lower() in PUBLISHED if redact is None else redact
    if not wanted:
        return None
    from loganalyze.reports.redact import Redactor

    return Redactor()


def _made(report: Report, path: Path, redactor: Redactor | None) -> bytes:
    extension = path.suffix.lower()
    module = import_module(WRITERS[extension])
    if extension in (".png", ".svg"):
        return bytes(module.data(report, redactor, extension))
    if extension == ".md":
        return bytes(module.data(report, redactor, picture_name(path)))
    return bytes(module.data(report, redactor))


def picture_name(path: Path) -> str:
    """Name of the picture that goes with a Markdown report."""
    return path.with_suffix(".png").name


def _picture(
    report: Report, path: Path, force: bool, redactor: Redactor | None, asked: list[Path]
) -> list[tuple[Path, bytes, str]]:
    """The plot beside ``issue.md``, unless it is asked for anyway or there is nothing to draw."""
    from loganalyze.reports import plot

    beside = path.with_suffix(".png")
    if any(os.path.realpath(beside) == os.path.realpath(other) for other in asked):
        return []
    _refuse(beside, force)
    try:
        return [(beside, plot.png(report, redactor), f"Wrote {beside}")]
    except LogAnalyzeError:
        return []
