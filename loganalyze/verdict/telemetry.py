"""Figures of the captures for the JSON contract, and the stretches of time that carry a verdict."""

from __future__ import annotations

from loganalyze.findings.facts import Facts
from loganalyze.model.records import Finding

KEYS = ("vram_peak_mib", "vram_total_mib", "vram_peak_pct", "swap_in_max_kib_s", "swap_out_max_kib_s")


def figures(facts: Facts) -> dict[str, float | None]:
    """Exactly ``KEYS``; the device figures are those of the card nearest to its limit."""
    found: dict[str, float | None] = dict.fromkeys(KEYS)
    card = facts.gpu.fullest if facts.gpu else None
    if card is not None:
        found["vram_peak_mib"], found["vram_total_mib"] = card.peak_mib, card.total_mib
        found["vram_peak_pct"] = None if card.peak_pct is None else round(card.peak_pct, 2)
    if facts.host is not None:
        found["swap_in_max_kib_s"] = facts.host.swap_in_max_kib_s
        found["swap_out_max_kib_s"] = facts.host.swap_out_max_kib_s
    return found


def marks(facts: Facts, main: Finding) -> list[tuple[float, float, str]]:
    """Ranges on the common axis: slow stretches inside a request, else the time range of the finding's evidence."""
    if main.verdict in ("healthy", "inconclusive"):
        return []
    label = main.cause.replace("_", " ")
    offset = facts.run.clock.offset_s
    if main.cause in ("contention", "throttled", "long_context", "vram_saturation") and offset is not None:
        slow = [
            (offset + c.t0_s, offset + c.t1_s, label)
            for c in facts.changes[:5]
            if c.t0_s is not None and c.t1_s is not None and c.t1_s > c.t0_s
        ]
        if slow:
            return slow
    spans = {(e.t0_s, e.t1_s) for e in main.evidence if e.t0_s is not None and e.t1_s is not None}
    return sorted((a, b, label) for a, b in spans if a is not None and b is not None)
