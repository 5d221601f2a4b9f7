"""A line as every later room sees it: unwrapped bytes with their number, and what the wrappers around it told."""

from __future__ import annotations

Text = str


class Wrap:
    """Which process printed a line, as told by the wrappers around it. What they do not tell is None.

    ``kinds`` names all wrappers from the outside in (``("journald", "router", "llama")``). ``port`` is the number a
    router printed in front (some tools print a process id there).
    """

    __slots__ = ("container", "host", "kinds", "pid", "port", "process")

    def __init__(
        self,
        kinds: tuple[str, ...],
        host: str | None = None,
        process: str | None = None,
        pid: int | None = None,
        port: int | None = None,
        container: str | None = None,
    ) -> None:
        self.kinds = kinds
        self.host = host
        self.process = process
        self.pid = pid
        self.port = port
        self.container = container

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name in self.__slots__ if (value := getattr(self, name)) is not None)
        return f"Wrap({told})"


class Line:
    """One logical line.

    ``number`` is the 1-based physical line; pieces of one line parted by a lone carriage return, and the lines inside
    one JSON message, share it.
    ``text`` has neither wrapper, terminal escapes, NUL bytes nor blanks at its end; blanks at its front stay.
    ``t_s`` is the stamp relative to a start (seconds; ``M.SS.mmm.uuu``, ``ts -s``, seconds since boot).
    ``epoch_s`` is the wall stamp as epoch seconds, read as UTC where ``zone`` is no offset: ``zone`` is ``"UTC"``,
    ``"-05:00"``, an abbreviation as printed (``"EST"``) or None when unmarked. ``stamp`` is its raw text; a stamp
    without a year has ``epoch_s`` only where the file's time gives the year. ``level`` is ``D``, ``I``, ``W`` or ``E``.
    ``wrap`` is None unless a wrapper names a process. ``tag`` is a rank, thread or model tag (``TP0``,
    ``EngineCore_DP0 pid=1``): lines with different tags are of one process.
    """

    __slots__ = ("epoch_s", "level", "number", "stamp", "t_s", "tag", "text", "wrap", "zone")

    def __init__(
        self,
        number: int,
        text: bytes,
        t_s: float | None = None,
        level: Text | None = None,
        wrap: Wrap | None = None,
        epoch_s: float | None = None,
        zone: Text | None = None,
        stamp: Text | None = None,
        tag: Text | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.t_s = t_s
        self.level = level
        self.wrap = wrap
        self.epoch_s = epoch_s
        self.zone = zone
        self.stamp = stamp
        self.tag = tag

    @property
    def str(self) -> Text:
        """Text decoded as UTF-8, or as cp1252 where it is not valid UTF-8."""
        return decode_text(self.text)

    def __repr__(self) -> Text:
        return f"Line({self.number}, {self.text!r}, t_s={self.t_s}, epoch_s={self.epoch_s}, {self.wrap})"


def decode_text(raw: bytes) -> str:
    """UTF-8, else cp1252 with the five codes it leaves open replaced."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")
