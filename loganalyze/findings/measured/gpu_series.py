"""Device telemetry of a run: memory peaks, who holds it, how busy the cards are while the run writes.

Per card, then summed over the cards the run uses: layers run one card after another, so two cards at half load each
are one busy card. A card belongs to the run when its memory grows while the run lives.
"""

from __future__ import annotations

from loganalyze.findings.measured.windows import Span, between, half_spans, rows_of, run_span
from loganalyze.light import dataclass, field
from loganalyze.model.records import Capture, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import polars as pl

# Share of the run's own growth from which its memory stands at the plateau: weights are there before the cache is.
PLATEAU = 0.97
GROWN_MIB = 100.0


@dataclass(slots=True)
class Card:
    """One card in one capture. ``base_mib`` is held by others before the run, ``grown_mib`` taken while it lives."""

    index: int | None
    name: str | None = None
    total_mib: float | None = None
    peak_mib: float | None = None
    base_mib: float | None = None
    grown_mib: float | None = None
    util_pct: float | None = None
    mem_util_pct: float | None = None
    pcie_rx_mb_s: float | None = None
    power_share: float | None = None
    clock_ratio: float | None = None
    throttled_share: float | None = None
    power_capped_share: float | None = None
    temp_c: float | None = None
    util_before_pct: float | None = None
    """Load before the run took its memory: another process computes."""

    @property
    def peak_pct(self) -> float | None:
        """Peak over total memory in per cent."""
        return self.peak_mib / self.total_mib * 100 if self.peak_mib is not None and self.total_mib else None


@dataclass(slots=True)
class GpuFacts:
    """``window`` says what the activity figures cover: ``writing``, ``run``, ``plateau`` or ``capture``."""

    cards: list[Card] = field(default_factory=list)
    source: str = ""
    window: str = "capture"
    span: Span | None = None
    rows: int = 0
    shared_peak_mib: float | None = None
    shared_grown_mib: float | None = None
    foreign: list[tuple[str, float]] = field(default_factory=list)

    @property
    def used(self) -> list[Card]:
        """Cards whose memory the run takes; all of them when none is seen to grow."""
        grown = [c for c in self.cards if (c.grown_mib or 0) > GROWN_MIB]
        return grown or self.cards

    @property
    def fullest(self) -> Card | None:
        """The card nearest to its limit."""
        return max(self.used, key=lambda c: (c.peak_pct or -1.0, c.peak_mib or -1.0), default=None)

    def total(self, name: str) -> float | None:
        """Sum of a figure over the cards in use, None when no card has it."""
        known = [v for c in self.used if (v := getattr(c, name)) is not None]
        return sum(known) if known else None


def measure_gpu(run: Run) -> GpuFacts | None:
    """Device facts from the best capture of each kind, None without a device capture."""
    captures = [c for c in run.captures if c.kind == "gpu" and c.frame is not None and c.frame.height]
    if not captures:
        return None
    facts = GpuFacts()
    for capture in sorted(captures, key=_rank):
        _merge(facts, capture, run)
    for capture in run.captures:
        if capture.kind == "gpu_process" and capture.frame is not None:
            facts.foreign += _processes(capture, run)
    return facts


def _rank(capture: Capture) -> tuple[bool, bool]:
    columns = capture.frame.columns if capture.frame is not None else []
    return capture.clock.offset_s is None, "vram_used_mib" not in columns


def _merge(facts: GpuFacts, capture: Capture, run: Run) -> None:
    rows = rows_of(capture)
    if rows is None:
        return
    several = "device" in rows.columns and rows["device"].n_unique() > 1
    parts = rows.partition_by("device", maintain_order=True) if several else [rows]
    for part in parts:
        index = part["device"][0] if "device" in part.columns else None
        card = next((c for c in facts.cards if c.index == index), None)
        if card is None:
            card = Card(index, _name(capture, index))
            facts.cards.append(card)
        card.name = card.name or _name(capture, index)
        _card(facts, card, capture, part, run)
    if not facts.source:
        facts.source = capture.source.path


def _name(capture: Capture, index: int | None) -> str | None:
    for device in capture.devices:
        if device.index == index or index is None:
            return device.name
    return None


def _card(facts: GpuFacts, card: Card, capture: Capture, part: pl.DataFrame, run: Run) -> None:
    whole = run_span(run)
    alive = between_part(part, capture, [whole] if whole else [], 1.0)
    _memory(card, part, alive if alive is not None and alive.height else part)
    if "shared_used_mib" in part.columns and (peak := _max(part, "shared_used_mib")) is not None:
        low = _min(part, "shared_used_mib") or 0.0
        facts.shared_peak_mib, facts.shared_grown_mib = peak, peak - low
    window, rows = _active(card, part, capture, run)
    if not facts.rows:
        spans = half_spans(run, "writing")
        facts.window, facts.rows = window, rows.height
        facts.span = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans and window == "writing" else None
    _activity(card, rows, window)


def between_part(part: pl.DataFrame, capture: Capture, spans: list[Span], slack_s: float) -> pl.DataFrame | None:
    """``between`` for one card's rows of ``capture``."""
    one = Capture(capture.kind, capture.format, capture.source, part, clock=capture.clock)
    return between(one, spans, slack_s)


def _memory(card: Card, part: pl.DataFrame, alive: pl.DataFrame) -> None:
    if card.total_mib is None:
        card.total_mib = _max(part, "vram_total_mib")
    if "vram_used_mib" not in part.columns or card.peak_mib is not None:
        return
    card.peak_mib = _max(alive, "vram_used_mib")
    known = part["vram_used_mib"].drop_nulls()
    if known.len() == 0 or card.peak_mib is None:
        return
    # the level before the run: first rows and the lowest seen agree unless the capture began late
    first, last, low = float(known[0]), float(known[-1]), float(known.min())  # type: ignore[arg-type]
    card.base_mib = low if min(first, last) <= low + GROWN_MIB else min(first, last)
    card.grown_mib = card.peak_mib - card.base_mib
    if card.grown_mib > GROWN_MIB:
        grown = part["vram_used_mib"] > card.base_mib + GROWN_MIB
        before = part.head(grown.arg_max() or 0)
        card.util_before_pct = _quantile(before, "gpu_util_pct", 0.5) if before.height >= 2 else None


def _active(card: Card, part: pl.DataFrame, capture: Capture, run: Run) -> tuple[str, pl.DataFrame]:
    """Rows in which the run writes: by time, else by its memory plateau, else all."""
    writing = between_part(part, capture, half_spans(run, "writing"), 0.0)
    if writing is not None and writing.height >= 2:
        return "writing", writing
    if "vram_used_mib" in part.columns and card.base_mib is not None and (card.grown_mib or 0) > GROWN_MIB:
        import polars as pl

        level = card.base_mib + PLATEAU * (card.grown_mib or 0.0)
        figures = ("vram_used_mib", "mem_util_pct", "temp_c", "pcie_rx_mb_s", *_HELD, *_BUSY)
        plateau = part.select(c for c in part.columns if c in figures).filter(pl.col("vram_used_mib") >= level)
        if plateau.height:
            return "plateau", plateau
    whole = run_span(run)
    rows = between_part(part, capture, [whole] if whole else [], 0.0)
    return ("run", rows) if rows is not None and rows.height else ("capture", part)


def _activity(card: Card, rows: pl.DataFrame, window: str) -> None:
    """Medians while writing; upper tenth where the window holds pauses too, so that a busy card never reads idle."""
    q = 0.5 if window == "writing" else 0.9
    for name, column in (("util_pct", "gpu_util_pct"), ("mem_util_pct", "mem_util_pct"), ("temp_c", "temp_c"),
                         ("pcie_rx_mb_s", "pcie_rx_mb_s")):  # fmt: skip
        if getattr(card, name) is None:
            quantile = 0.5 if name == "pcie_rx_mb_s" else q
            setattr(card, name, _quantile(rows, column, quantile))
    _throttle(card, rows)


_HELD = ("throttle_thermal", "throttle_hw", "thermal_violation")
_BUSY = ("gpu_util_pct", "throttle_power", "throttle_mask", "sm_mhz", "sm_max_mhz", "power_w", "power_limit_w")
# Bits of NVML's clocks event reasons: hardware slowdown, software and hardware thermal slowdown, power brake; power cap.
HELD_BITS = 0x08 | 0x20 | 0x40 | 0x80
CAPPED_BIT = 0x04


def _throttle(card: Card, rows: pl.DataFrame) -> None:
    import polars as pl

    busy = rows.select(c for c in rows.columns if c in _HELD or c in _BUSY)
    busy = busy.filter(pl.col("gpu_util_pct") >= 50) if "gpu_util_pct" in rows.columns else busy
    if busy.height == 0:
        return
    held = [pl.col(c).fill_null(0) > 0 for c in _HELD if c in busy.columns]
    capped = [pl.col("throttle_power").fill_null(0) > 0] if "throttle_power" in busy.columns else []
    if "throttle_mask" in busy.columns:
        mask = pl.col("throttle_mask").fill_null(0).cast(pl.Int64)
        held.append((mask & HELD_BITS) > 0)
        capped.append((mask & CAPPED_BIT) > 0)
    if held and card.throttled_share is None:
        card.throttled_share = float(busy.select(pl.any_horizontal(held).mean())[0, 0])
    if capped and card.power_capped_share is None:
        card.power_capped_share = float(busy.select(pl.any_horizontal(capped).mean())[0, 0])
    if card.clock_ratio is None and "sm_mhz" in busy.columns:
        top = _max(busy, "sm_max_mhz") or _max(rows, "sm_mhz")
        low = _quantile(busy, "sm_mhz", 0.5)
        card.clock_ratio = low / top if top and low is not None else None
    if card.power_share is None and {"power_w", "power_limit_w"} <= set(busy.columns):
        limit, power = _max(busy, "power_limit_w"), _quantile(busy, "power_w", 0.5)
        card.power_share = power / limit if limit and power is not None else None


def _processes(capture: Capture, run: Run) -> list[tuple[str, float]]:
    """Other processes on the card and the most they held: names that are not the run's own program."""
    frame = rows_of(capture)
    if frame is None or "vram_used_mib" not in frame.columns or "process" not in frame.columns:
        return []
    own = (run.setup.command or "").split(" ")[0].rsplit("/", 1)[-1]
    peaks: dict[str, float] = {}
    for name, used in zip(frame["process"].to_list(), frame["vram_used_mib"].to_list(), strict=True):
        if name and used is not None:
            peaks[str(name)] = max(peaks.get(str(name), 0.0), float(used))
    mine = {n for n in peaks if (own and own in n) or "llama" in n.lower() or "ollama" in n.lower()}
    return sorted(((n, v) for n, v in peaks.items() if n not in mine), key=lambda item: -item[1])[:5]


def _max(frame: pl.DataFrame, name: str) -> float | None:
    return None if name not in frame.columns else _float(frame[name].max())


def _min(frame: pl.DataFrame, name: str) -> float | None:
    return None if name not in frame.columns else _float(frame[name].min())


def _quantile(frame: pl.DataFrame, name: str, q: float) -> float | None:
    return None if name not in frame.columns or frame.height == 0 else _float(frame[name].quantile(q, "nearest"))


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value == value else None
