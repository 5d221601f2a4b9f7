"""Anchors from stamps and files, in order of trust; every one is told in words in ``Clock.anchor``.

1. ``starts``: the user says when a file's zero was; 2. stamps with a zone, and stamps of wrappers; 3. stamps without
one, in the zone given, that of a neighbour, or this machine's, moved by whole quarters of an hour where that is what
makes spans meet; 4. file times, where they can be believed. The signal (``place``) comes after these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loganalyze.model.records import Capture, Clock, Run, Source
from loganalyze.timeline.zones import machine_seconds, offset_text, shifts, zone_seconds

# Spans that miss each other by less than this still belong together: captures are begun and ended by hand.
NEAR_S = 120.0
# Files whose times differ by less than this were copied together, so their times say nothing of the run.
COPIED_S = 0.5
# A file time this close to the last stamp is that of the last write.
WRITTEN_S = 3.0


@dataclass(slots=True)
class Timed:
    """Something with a clock: a run or a capture. ``first_s``..``last_s`` is its span on its own clock."""

    item: Run | Capture
    clock: Clock
    source: Source | None
    first_s: float | None
    last_s: float | None

    @property
    def span(self) -> tuple[float, float] | None:
        """Span in epoch seconds (or on the common axis); None while it is not placed."""
        if self.clock.offset_s is None or self.first_s is None or self.last_s is None:
            return None
        return self.clock.offset_s + self.first_s, self.clock.offset_s + self.last_s

    @property
    def name(self) -> str:
        return self.source.path.replace("\\", "/").rsplit("/", 1)[-1] if self.source else "the log"


def timed(item: Run | Capture) -> Timed:
    """``item`` with its span."""
    if isinstance(item, Run):
        return Timed(item, item.clock, item.source, item.start_s, item.end_s)
    first = last = None
    if item.frame is not None and item.frame.height:
        first, last = finite(item.frame["t_s"].min()), finite(item.frame["t_s"].max())
    return Timed(item, item.clock, item.source, first, last)


def finite(value: object) -> float | None:
    """``value`` as a float, None when it is missing or not finite."""
    if not isinstance(value, int | float) or not -1e15 < value < 1e15:
        return None
    return float(value)


def settle(clock: Clock, offset_s: float, anchor: str, error_s: float | None) -> None:
    """Place ``clock``."""
    clock.offset_s, clock.anchor, clock.error_s = offset_s, anchor, error_s


def place_stamped(items: Iterable[Timed], tz: str | None = None) -> None:
    """Place all items that carry wall times; the others stay as they are."""
    waiting = [t for t in items if t.clock.first_epoch_s is not None and t.clock.offset_s is None]
    unmarked: list[Timed] = []
    for t in waiting:
        epoch = t.clock.first_epoch_s
        assert epoch is not None
        if t.clock.zone is not None and zone_seconds(t.clock.zone, epoch) is not None:
            settle(t.clock, epoch, t.clock.anchor or f"zone {t.clock.zone} in its stamps", t.clock.resolution_s or 0.0)
        else:
            unmarked.append(t)
    if unmarked:
        _place_unmarked(unmarked, [t for t in items if t.clock.offset_s is not None], tz)


def _place_unmarked(unmarked: list[Timed], placed: list[Timed], tz: str | None) -> None:
    guide = [t for t in placed if t.clock.zone is not None and t.span is not None]
    for t in unmarked:
        epoch = t.clock.first_epoch_s
        assert epoch is not None
        if tz is not None:
            _settle_local(t, zone_seconds(tz, epoch) or 0, f"local stamps, zone {tz} as given")
        elif guide:
            _beside(t, guide)
        else:
            _by_file_or_machine(t, unmarked)
    if tz is None and not guide:
        _meet(unmarked)


def _settle_local(t: Timed, east_s: float, anchor: str) -> None:
    assert t.clock.first_epoch_s is not None
    settle(t.clock, t.clock.first_epoch_s - east_s, anchor, t.clock.resolution_s or 0.0)


def _beside(t: Timed, guide: list[Timed]) -> None:
    """Zone of a neighbour with a zone, where the spans then meet; else the shift that makes them meet."""
    epoch = t.clock.first_epoch_s
    assert epoch is not None
    candidates = [(zone_seconds(g.clock.zone or "", epoch) or 0, g) for g in guide]
    for east, g in candidates:
        if meets(t, epoch - east, g.span):
            return _settle_local(t, east, f"local stamps, zone {offset_text(east)} as in {g.name}")
    east, g = candidates[0]
    for shift in shifts():
        if meets(t, epoch - east - shift, g.span):
            t.clock.notes.append(f"moved by {offset_text(-shift)} so that it meets {g.name}")
            return _settle_local(t, east + shift, f"local stamps, moved to meet {g.name}")
    t.clock.notes.append(f"its times do not meet those of {g.name} in any zone")
    return _settle_local(t, east, f"local stamps, zone {offset_text(east)} as in {g.name}")


def meets(t: Timed, offset_s: float, span: tuple[float, float] | None) -> bool:
    """True when ``t``, placed at ``offset_s``, overlaps ``span`` or nearly so."""
    if span is None or t.first_s is None or t.last_s is None:
        return False
    first, last = offset_s + t.first_s, offset_s + t.last_s
    return first <= span[1] + NEAR_S and last >= span[0] - NEAR_S


def _by_file_or_machine(t: Timed, group: list[Timed]) -> None:
    epoch = t.clock.first_epoch_s
    assert epoch is not None
    east = machine_seconds(epoch)
    written = _written_zone(t, group)
    if written is not None:
        if written == east:
            return _settle_local(t, east, f"local stamps, zone {offset_text(east)} as its file time tells")
        t.clock.notes.append(f"its file time tells zone {offset_text(written)}, not this machine's {offset_text(east)}")
        return _settle_local(t, written, f"local stamps, zone {offset_text(written)} as its file time tells")
    t.clock.notes.append(f"stamps carry no zone: read as this machine's ({offset_text(east)})")
    return _settle_local(t, east, f"local stamps, this machine's zone {offset_text(east)}")


def _written_zone(t: Timed, group: list[Timed]) -> int | None:
    """Zone that turns the last stamp into the file's time, when there is exactly one that does."""
    mtime = t.source.mtime_s if t.source else None
    if mtime is None or t.last_s is None or t.clock.first_epoch_s is None or copied([g.source for g in group]):
        return None
    away = t.clock.first_epoch_s + t.last_s - mtime
    east = round(away / 900) * 900
    # Any file time is this close to some quarter of an hour once in 500 times, so no more is allowed.
    fits = -0.2 <= east - away <= 1.5 and -12 * 3600 <= east <= 14 * 3600
    return east if fits else None


def _meet(items: list[Timed]) -> None:
    """Unmarked clocks of one run may be in different zones: move those that miss the first by whole quarters."""
    anchor = next((t for t in items if t.span is not None), None)
    for t in items:
        if anchor is None or t is anchor or t.clock.offset_s is None or meets(t, t.clock.offset_s, anchor.span):
            continue
        for shift in shifts():
            if shift and meets(t, t.clock.offset_s - shift, anchor.span):
                t.clock.notes.append(f"moved by {offset_text(-shift)} so that it meets {anchor.name}")
                settle(t.clock, t.clock.offset_s - shift, f"local stamps, moved to meet {anchor.name}", t.clock.error_s)
                break


def copied(sources: Iterable[Source | None]) -> bool:
    """True when three files or more have the same time: they were copied or unpacked, not written then."""
    times = {s.path: s.mtime_s for s in sources if s is not None and s.mtime_s is not None}
    return len(times) >= 3 and max(times.values()) - min(times.values()) < COPIED_S


def files_trusted(items: list[Timed]) -> bool | None:
    """Whether file times of this group are those of last writes: True proven, False disproved, None unknown."""
    if copied([t.source for t in items]):
        return False
    verdicts = []
    for t in items:
        absolute = t.clock.first_epoch_s is not None and t.span is not None
        if absolute and t.source is not None and t.source.mtime_s is not None and t.span is not None:
            verdicts.append(-1.5 <= t.source.mtime_s - t.span[1] <= WRITTEN_S + (t.clock.interval_s or 1.0))
    return all(verdicts) if verdicts else None
