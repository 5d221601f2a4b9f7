"""What peeling a line has brought to light so far, and what is known about its source."""

from __future__ import annotations

import re
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Peel = Callable[[bytes, "Told"], "bytes | None"]


class Modes:
    """Wrappers too ambiguous to see in one line, decided by the first lines of the source. See ``scan.modes``."""

    __slots__ = ("abroad", "bold", "bullets", "clock", "compose", "diff", "editor", "epoch", "interval", "jsonl", "levels",
                 "lmstudio", "nbsp", "seconds")  # fmt: skip

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, False)

    abroad: bool
    bold: bool
    bullets: bool
    clock: bool
    compose: bool
    diff: bool
    editor: bool
    epoch: bool
    interval: bool
    jsonl: bool
    levels: bool
    lmstudio: bool
    nbsp: bool
    seconds: bool

    @property
    def every_line(self) -> bool:
        """Lines cannot be understood without all lines before them."""
        return self.jsonl or self.interval


class Context:
    """State of one source: its modes, the year for stamps without one, hosts seen, the sum of ``ts -i``."""

    __slots__ = ("elapsed_s", "hosts", "modes", "mtime_s")

    def __init__(self, modes: Modes, mtime_s: float | None = None) -> None:
        self.modes = modes
        self.mtime_s = mtime_s
        self.hosts: set[bytes] = set()
        self.elapsed_s = 0.0


class Told:
    """Filled by peels, outermost wrapper first."""

    __slots__ = ("container", "context", "epoch_s", "host", "kinds", "last", "level", "pid", "port",
                 "process", "stamp", "t_s", "tag", "zone")  # fmt: skip

    def __init__(self, context: Context) -> None:
        self.context = context
        self.kinds: list[str] = []
        self.last = False
        """Set by a wrapper inside which there is no other."""
        self.t_s: float | None = None
        self.level: str | None = None
        self.epoch_s: float | None = None
        self.zone: str | None = None
        self.stamp: str | None = None
        self.tag: str | None = None
        self.host: str | None = None
        self.process: str | None = None
        self.pid: int | None = None
        self.port: int | None = None
        self.container: str | None = None

    def wall(self, epoch_s: float | None, zone: str | None, stamp: bytes) -> None:
        """Note a wall stamp. The outermost counts, unless only an inner one has a zone."""
        if self.stamp is None or (self.zone is None and zone is not None) or self.epoch_s is None:
            self.epoch_s, self.zone, self.stamp = epoch_s, zone, stamp.decode("ascii", "replace")


class Lazy:
    """A regular expression that is compiled when first used: most logs meet few wrappers, and start-up counts."""

    def __init__(self, pattern: bytes, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._pattern, self._flags)
        self.match = compiled.match
        self.search = compiled.search
        self.sub = compiled.sub
        self.finditer = compiled.finditer
        return getattr(compiled, name)


LEVELS = {
    b"T": "D", b"D": "D", b"DEBUG": "D", b"TRACE": "D", b"VERB": "D", b"debug": "D",
    b"I": "I", b"INFO": "I", b"NOTICE": "I", b"info": "I", b"LOG": "I",
    b"W": "W", b"WARN": "W", b"WARNING": "W", b"warn": "W",
    b"E": "E", b"ERROR": "E", b"ERR": "E", b"FATAL": "E", b"CRITICAL": "E", b"error": "E",
}  # fmt: skip
