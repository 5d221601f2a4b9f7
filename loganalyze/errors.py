"""Errors that are meant for the user: what is wrong, where, and what to do about it."""

from __future__ import annotations


class LogAnalyzeError(Exception):
    """Base of every error shown to a user. ``exit_code`` is the process status it leads to."""

    exit_code = 2

    def __init__(
        self, reason: str, *, path: str | None = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.line = line
        self.remedy = remedy

    def __str__(self) -> str:
        where = "" if self.path is None else self.path + (f":{self.line}" if self.line else "") + ": "
        return where + self.reason + (f". {self.remedy}" if self.remedy else "")


class UnreadableError(LogAnalyzeError):
    """A source could not be opened or decoded."""


class UsageError(LogAnalyzeError):
    """Options or arguments that do not fit together."""
