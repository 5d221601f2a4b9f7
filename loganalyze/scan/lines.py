"""Cut out the lines that matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from loganalyze.scan.line import Line
from loganalyze.scan.source import Opened


class Scanner:
    """Iterator of the lines that hold a literal. See ``loganalyze.scan``."""

    delivered: int

    def __iter__(self) -> Iterator[Line]:
        raise NotImplementedError

    def peek_raw(self) -> Line | None:
        """The next physical line, unwrapped, without taking it; None at the end."""
        raise NotImplementedError

    def next_raw(self) -> Line | None:
        """Take the next physical line, whatever it holds; None at the end."""
        raise NotImplementedError

    def take_while(self, keep: Callable[[Line], bool]) -> list[Line]:
        """Take the following lines while ``keep`` says so; the first it refuses stays."""
        raise NotImplementedError


def scan(source: Opened, literals: Sequence[bytes]) -> Scanner:
    """Lines of ``source`` that hold one of ``literals`` (case-sensitive, 3 bytes or more each)."""
    raise NotImplementedError


def all_lines(source: Opened) -> Scanner:
    """Every line of ``source``, blank ones too."""
    raise NotImplementedError


def blocks(source: Opened) -> Iterator[bytes]:
    """Decoded text in pieces that end at line ends (the last perhaps not), wrappers kept."""
    raise NotImplementedError
