"""What commands share: options from parsed values, the terminal, messages."""

from __future__ import annotations

import os
import sys

from loganalyze.errors import LogAnalyzeError, UsageError
from loganalyze.numerals import is_whole
from loganalyze.options import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.model.records import Source
    from loganalyze.model.report import Report

CONFIG_NAME = "loganalyze.toml"
DEFAULT_COLUMNS = 100


def options_of(values: dict[str, Any]) -> Options:
    """Options of a command line. Flags outrank the configuration file. Raises UsageError for a malformed pair."""
    overrides = _config(values.get("config"))
    overrides.update(_pairs(values.get("set", ()), "--set", "NAME=VALUE"))
    return Options(
        as_format=_pairs(values.get("as_format", ()), "--as", "FILE=FORMAT"),
        tz=values.get("tz"),
        starts=_pairs(values.get("start", ()), "--start", "FILE=TIME"),
        group=values.get("group") or "auto",
        overrides=overrides,
        baseline=_baseline(values.get("baseline")),
    )


def _pairs(texts: tuple[str, ...], flag: str, shape: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in texts:
        # A path may hold "=", a format, value or time does not.
        name, equals, value = text.rpartition("=") if flag != "--set" else text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"{flag} {text}: give {shape}")
        pairs[name] = value
    return pairs


def _config(path: str | None) -> dict[str, Any]:
    if path is None and not os.path.isfile(CONFIG_NAME):
        return {}
    import tomllib

    name = path or CONFIG_NAME
    try:
        with open(name, "rb") as file:
            content = tomllib.load(file)
    except (ValueError, RecursionError) as error:
        # Besides its own error: bytes that are no UTF-8, numbers too long for Python, tables nested too deep.
        raise UsageError(f"not valid TOML: {error}", path=name) from None
    thresholds = content.get("thresholds", {})
    if not isinstance(thresholds, dict):
        raise UsageError("thresholds must be a table", path=name, remedy="Write [thresholds] and name = value lines")
    return dict(thresholds)


def _baseline(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    from loganalyze.studies.saved import load

    return load(path)


def require_input(values: dict[str, Any]) -> tuple[str, ...]:
    """Paths of the command line, or standard input when it is piped."""
    paths: tuple[str, ...] = values["paths"]
    if paths:
        return paths
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("nothing to read", remedy="Name files or folders, or pipe a log into it")
    return ("-",)


def width_of(values: dict[str, Any]) -> int:
    """Columns to print into."""
    text = values.get("width")
    if text is None:
        return _columns()
    if not is_whole(str(text)) or not 20 <= int(text) <= 1000:
        raise UsageError(f"--width {text}: give a number from 20 to 1000")
    return int(text)


def _columns() -> int:
    """Columns of the terminal, as ``shutil`` finds them, which imports all kinds of archives."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or DEFAULT_COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return DEFAULT_COLUMNS


def colour_of(values: dict[str, Any]) -> bool:
    """Whether to colour stdout: --color, then NO_COLOR and FORCE_COLOR, then TERM, then the terminal."""
    wanted = values.get("color") or "auto"
    if wanted != "auto":
        return bool(wanted == "always")
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and sys.stdout is not None and sys.stdout.isatty()


def ascii_only() -> bool:
    """Whether stdout cannot show more than ASCII."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return not encoding.startswith("utf")


def out(text: str) -> None:
    """Data to stdout, whatever its encoding."""
    if sys.stdout is None:
        raise LogAnalyzeError("standard output is closed", remedy="Open it, send it to a file, or use -o FILE")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    if not text.endswith("\n"):
        sys.stdout.write("\n")


def say(text: str) -> None:
    """Talk to stderr, made inert."""
    from loganalyze.inert import terminal

    try:
        if sys.stderr is not None:
            print(terminal(text), file=sys.stderr)
    except (OSError, ValueError):
        # Nobody is left to tell; the exit status still does.
        pass


def tell_unreadable(sources: list[Source]) -> bool:
    """Say which of ``sources`` could not be read, and why. True when there are any."""
    found = [(s.path, note) for s in sources for note in s.notes if note.startswith("unreadable")]
    for path, note in found:
        say(f"loganalyze: {path}: {note}")
    return bool(found)


def status_of(report: Report, fail_on: str | None) -> int:
    """Exit status of a finished analysis: 2 when nothing or not everything could be read, 1 on a wanted verdict."""
    if not report.runs or any(note.startswith("unreadable") for s in report.sources for note in s.notes):
        return 2
    if fail_on:
        wanted = {w.strip() for w in fail_on.split(",")}
        if any(run.judgement is not None and run.judgement.verdict in wanted for run in report.runs):
            return 1
    return 0


def check_fail_on(fail_on: str | None) -> None:
    """Raise UsageError when ``--fail-on`` names something that is no verdict."""
    verdicts = {"swapping", "slow reading", "slow writing", "healthy", "inconclusive"}
    for word in (fail_on or "").split(","):
        if word.strip() and word.strip() not in verdicts:
            raise UsageError(f"--fail-on {word.strip()}: choose from {', '.join(sorted(verdicts))}")
