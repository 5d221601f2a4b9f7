"""What every capture format builds on: a segment of telemetry text and the contract of a capture module.

A capture format is a module listed in ``formats.CAPTURE_FORMATS`` with

* ``NAME``: format name shown in ``sources[].format`` (``nvidia_smi_csv``, ``vmstat``, ...);
* ``KIND``: the usual ``Capture.kind`` (a module may return captures of several kinds);
* ``GRAMMARS``: names of the grammars that describe its headers and row shapes (may be empty);
* ``starts(line: bytes) -> bool``: a header or first row that begins a segment of this format;
* ``belongs(line: bytes) -> bool``: cheap; the line may follow inside the segment (rows, repeated headers, unit lines,
  another frame of a loop). Blank lines are not asked about: the reader keeps them inside a segment;
* ``parse(segment: Segment) -> list[Capture]``: never raises on damaged text; lines it cannot use go to
  ``segment.reject(number, line)`` and lines it leaves out on purpose (a cut last row) are told in ``Capture.notes``;

and optionally

* ``HINT``: regular expression that the beginning of a line matches which starts the format without being taken by a
  rule of ``GRAMMARS``; needed where there are such lines, because most text is refused by hints and rules alone;
* ``HINT_ALONE = True``: every line that starts the format matches ``HINT``, and no rule need be asked;
* ``BULK = True``: ``parse`` walks ``segment.blocks()`` and hands every foreign line to ``segment.reject``, so that a
  large text needs no Python per line; rejected lines are offered to the other formats afterwards;
* ``COUNTS = True``: a ``BULK`` module numbers the lines of streamed blocks itself (their ``first_line`` is 0) and sets
  ``segment.counted``, which saves a pass over the text;
* ``tail_belongs(line: bytes, previous: list[bytes]) -> bool``: like ``belongs`` with the segment's lines so far, for
  formats where one line alone cannot tell; used instead of ``belongs`` when present.

Lines reach a module decoded to UTF-8, without line ends, terminal escapes or wrapper prefixes. A foreign line that
interrupts a segment is blanked, so that numbers (1-based lines of the source) stay true. ``t_s`` of a frame counts
seconds from its first record; it is null when the rows carry no clock, also when ``clock.kind`` is ``interval`` (then
time is ``row`` x ``clock.interval_s``). Stamps without a zone are read as UTC into ``clock.first_epoch_s`` and
``clock.zone`` stays None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loganalyze.light import dataclass, field
from loganalyze.model.records import Capture, CaptureKind, Clock, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    import polars as pl

    class CaptureFormat(Protocol):
        """Type of a capture module."""

        NAME: str
        KIND: CaptureKind
        GRAMMARS: tuple[str, ...]

        def starts(self, line: bytes) -> bool: ...

        def belongs(self, line: bytes) -> bool: ...

        def parse(self, segment: Segment) -> list[Capture]: ...


@dataclass(slots=True)
class Block:
    """Whole lines, each ended by ``\\n`` (the last one perhaps not). ``first_line`` is the number of the first."""

    data: bytes
    first_line: int


@dataclass(slots=True)
class Segment:
    """Consecutive lines of one capture format.

    ``stamps`` holds one time a line when a wrapper (``ts``, docker, journal) carried times: seconds on ``stamp_clock``,
    which says their kind and zone (epoch seconds when absolute). ``interval_s`` and ``command`` come from a prompt or
    title line in front (``$ vmstat 1 300``, ``Every 2.0s: nvidia-smi``). ``last_line_cut`` is True when the source ends
    inside the segment without a line end.
    """

    source: Source
    first_line: int = 1
    data: bytes = b""
    last_line_cut: bool = False
    stamps: Sequence[float | None] | None = None
    stamp_clock: Clock | None = None
    interval_s: float | None = None
    command: str | None = None
    number: int = 0
    """Ordinal of the segment in its source."""
    stream: Iterable[Block] | None = None
    """Blocks of a large text in place of ``data``; can be walked once."""
    rejected: list[tuple[int, bytes]] = field(default_factory=list)
    counted: tuple[int, int] | None = None
    """Lines and blank lines, set by a ``BULK`` module with ``COUNTS = True``."""

    def blocks(self) -> Iterator[Block]:
        """The text in bounded pieces; the only access a ``BULK`` module may use."""
        if self.stream is not None:
            yield from self.stream
        elif self.data:
            yield Block(self.data, self.first_line)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """``(number, text)`` of every line, blank ones too."""
        for block in self.blocks():
            number = block.first_line
            for text in block.data.split(b"\n")[: None if not block.data.endswith(b"\n") else -1]:
                yield number, text
                number += 1

    def stamp(self, number: int) -> float | None:
        """Wrapper time of line ``number``, if any."""
        at = number - self.first_line
        if self.stamps is None or not 0 <= at < len(self.stamps):
            return None
        return self.stamps[at]

    def reject(self, number: int, line: bytes) -> None:
        """Give back a line that is not of this format; the reader offers it to others or counts it as unmatched."""
        self.rejected.append((number, line))


def settle_clock(
    segment: Segment, times: list[float | None], zone: str | None = None, resolution_s: float | None = None
) -> tuple[Clock, list[float | None]]:
    """Clock and ``t_s`` of records whose own epoch seconds are ``times`` (None where a record has no stamp).

    Without own stamps nothing is known here but the interval: see ``wrapper_times`` for stamps of a wrapper.
    """
    first = next((t for t in times if t is not None), None)
    if first is None:
        kind: Any = "interval" if segment.interval_s else "none"
        return Clock(kind=kind, interval_s=segment.interval_s), [None] * len(times)
    clock = Clock(
        kind="absolute", zone=zone, first_epoch_s=first, resolution_s=resolution_s, interval_s=segment.interval_s
    )
    return clock, [None if t is None else t - first for t in times]


def wrapper_times(segment: Segment, numbers: Sequence[int]) -> tuple[Clock, list[float | None]] | None:
    """Clock and ``t_s`` of records at lines ``numbers`` from the wrapper's stamps; None when there are none."""
    if segment.stamps is None:
        return None
    times = [segment.stamp(n) for n in numbers]
    first = next((t for t in times if t is not None), None)
    if first is None:
        return None
    outer = segment.stamp_clock or Clock(kind="absolute")
    clock = Clock(kind=outer.kind, zone=outer.zone, resolution_s=outer.resolution_s, interval_s=segment.interval_s)
    clock.anchor = outer.anchor
    if clock.resolution_s is None:
        clock.resolution_s = 1.0 if all(t is None or t == int(t) for t in times) else 0.001
    clock.notes = list(outer.notes)
    if outer.kind == "absolute":
        clock.first_epoch_s = first
    return clock, [None if t is None else t - first for t in times]


def capture_from_rows(
    name: str,
    kind: CaptureKind,
    segment: Segment,
    rows: Sequence[dict[str, Any]],
    *,
    times: list[float | None] | None = None,
    zone: str | None = None,
    resolution_s: float | None = None,
    dialect: str | None = None,
) -> Capture | None:
    """Capture of small, line-wise formats. None when there are no rows.

    Each row is ``{"line": int, metric: value or None, ...}`` and may hold ``row`` (tick; default: its position) and
    ``device``. ``times`` are the records' own epoch seconds; without any, the wrapper's stamps are used.
    """
    if not rows:
        return None
    clock, t_s = settle_clock(segment, times or [None] * len(rows), zone, resolution_s)
    if clock.kind in ("none", "interval"):
        outer = wrapper_times(segment, [r["line"] for r in rows])
        clock, t_s = outer or (clock, t_s)
    frame = frame_of(rows, t_s)
    return Capture(
        kind=kind, format=name, source=segment.source, frame=frame, clock=clock, dialect=dialect, segment=segment.number
    )


INT_COLUMNS = {"device": "Int32", "pid": "Int64", "throttle_mask": "UInt64", "pcie_gen": "Int32", "pcie_width": "Int32"}
TEXT_COLUMNS = frozenset({"process"})


def frame_of(rows: Sequence[dict[str, Any]], t_s: Sequence[float | None]) -> pl.DataFrame:
    """Wide frame with the types of ``Capture.frame``: ``t_s``, ``row``, ``line``, then the other keys as found."""
    import polars as pl

    names = list(dict.fromkeys(k for r in rows for k in r if k not in ("row", "line")))
    columns: list[pl.Series] = [
        pl.Series("t_s", list(t_s), dtype=pl.Float64),
        pl.Series("row", [r.get("row", i) for i, r in enumerate(rows)], dtype=pl.UInt32),
        pl.Series("line", [r["line"] for r in rows], dtype=pl.UInt32),
    ]
    columns += [pl.Series(n, [r.get(n) for r in rows], dtype=dtype_of(n), strict=False) for n in names]
    return pl.DataFrame(columns)


def dtype_of(name: str) -> Any:
    """Polars type of a metric column: text and counters as named above, else Float32 (Float64 for byte-like counts)."""
    import polars as pl

    if name in TEXT_COLUMNS:
        return pl.String
    if name in INT_COLUMNS:
        return getattr(pl, INT_COLUMNS[name])
    # Float32 holds whole numbers only up to 2^24: KiB/s, counts and MiB with fractions need more.
    return pl.Float64 if name.endswith(("_mib", "_kib_s", "_s")) else pl.Float32
