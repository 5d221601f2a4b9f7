"""A line as every later room sees it: unwrapped bytes with their number, and what the wrappers around it told."""

from __future__ import annotations


class Wrap:
    """What the wrappers peeled off a line said. Fields a wrapper does not tell are None.

    ``kinds`` names the wrappers from the outside in (``("journald", "router", "llama")``). ``port`` is the number a
    router printed in front (some tools print a process id there). ``tag`` is a rank or thread tag (``TP0``,
    ``EngineCore_DP0 pid=1``, a model name of LM Studio): lines with different tags are of the same process.
    """

    __slots__ = ("container", "host", "kinds", "pid", "port", "process", "tag")

    def __init__(
        self,
        kinds: tuple[str, ...],
        host: str | None = None,
        process: str | None = None,
        pid: int | None = None,
        port: int | None = None,
        container: str | None = None,
        tag: str | None = None,
    ) -> None:
        self.kinds = kinds
        self.host = host
        self.process = process
        self.pid = pid
        self.port = port
        self.container = container
        self.tag = tag

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name in self.__slots__ if (value := getattr(self, name)) is not None)
        return f"Wrap({told})"


class Line:
    """One logical line.

    ``number`` is the 1-based physical line; pieces of one line parted by a lone carriage return share it.
    ``text`` has neither wrapper, terminal escapes, NUL bytes nor blanks at its end; blanks at its front stay.
    ``t_s`` is the stamp relative to a start (seconds; ``M.SS.mmm.uuu``, ``ts -s``, seconds since boot).
    ``epoch_s`` is the wall stamp, read as UTC while ``zone`` is None; ``zone`` is ``"Z"``-less: ``"UTC"``, ``"-05:00"``
    or an abbreviation as printed (``"EST"``; then the time is read as UTC too, for later rooms to shift).
    ``stamp`` is the raw text of the wall stamp. ``level`` is ``D``, ``I``, ``W`` or ``E``.
    """

    __slots__ = ("epoch_s", "level", "number", "stamp", "t_s", "text", "wrap", "zone")

    def __init__(
        self,
        number: int,
        text: bytes,
        t_s: float | None = None,
        level: str | None = None,
        wrap: Wrap | None = None,
        epoch_s: float | None = None,
        zone: str | None = None,
        stamp: str | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.t_s = t_s
        self.level = level
        self.wrap = wrap
        self.epoch_s = epoch_s
        self.zone = zone
        self.stamp = stamp

    @property
    def str(self) -> str:
        """Text decoded as UTF-8, or as cp1252 where it is not valid UTF-8."""
        return decode_text(self.text)

    def __repr__(self) -> str:
        return f"Line({self.number}, {self.text!r}, t_s={self.t_s}, epoch_s={self.epoch_s}, {self.wrap})"


def decode_text(raw: bytes) -> str:
    """UTF-8, else cp1252 with the five codes it leaves open replaced."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")
