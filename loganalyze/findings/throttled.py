"""Heat, power or hardware holds the clock down.

Data, in order: clocks event reasons and violation counters while busy, core clock over its highest, power at its limit,
together with a rate below what the card gives.
Algorithm: critical when heat or hardware holds the clock for most busy samples, or the clock is far below its highest,
and writing is slower than expected or drops. The power cap alone is normal for a card at work; beside an abnormally low
rate without a drop it is what holds the card.
Thresholds: ``throttle_share``, ``power_cap_share``, ``clock_ratio``, ``decode_healthy_ratio``.
Known false positives: low clocks because the card waits for the host; sampling between two states.
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, finding, gpu_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.findings.measured.gpu_series import Card

CAUSE = "throttled"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when a held clock explains a slow rate."""
    slow = signs.proven_fast(facts, limits) is False or bool(facts.changes)
    event = next((e for e in facts.events.get("slow_hint", []) if "throttl" in e.text.lower()), None)
    if facts.gpu is None or not facts.gpu.cards:
        if event is None and slow:
            return cant_tell(CAUSE, "no record of clocks and their limits", record.gpu(facts))
        return clear(CAUSE, "nothing points at throttling")
    worst = max(facts.gpu.used, key=lambda c: _held(c, limits), default=None)
    if worst is not None and _held(worst, limits) > 0:
        text, value, threshold = _words(worst, limits)
    elif worst is not None and _capped(facts, worst, limits):
        name = f"GPU {worst.index}" if worst.index is not None else "the card"
        value, threshold = worst.power_capped_share or 0.0, limits.power_cap_share
        text = f"the power limit holds the clock of {name} in {value * 100:.0f} % of samples, and nothing else slows it"
    else:
        return clear(CAUSE, "clocks are not held back")
    lost = facts.changes[0].lost_s if facts.changes else signs.lost_seconds(facts)
    busy_host = signs.host_computes(facts, limits) is True
    return finding(
        CAUSE, "critical" if slow and not busy_host else "warning", text, value=value, unit="share", threshold=threshold,
        explains_s=lost if slow else None, evidence=gpu_line(facts, text), confidence="medium",
    )  # fmt: skip


def _held(card: Card, limits: Thresholds) -> float:
    """How strongly the clock is held: heat and hardware first, then a low clock at the power limit."""
    heat = card.throttled_share or 0.0
    if heat >= limits.throttle_share:
        return 2 + heat
    low = card.clock_ratio is not None and card.clock_ratio < limits.clock_ratio
    capped = (card.power_capped_share or 0.0) >= limits.power_cap_share or (card.power_share or 0.0) > 0.97
    return 1.0 if low and (capped or (card.temp_c or 0.0) >= 85) else 0.0


def _capped(facts: Facts, card: Card, limits: Thresholds) -> bool:
    """The power cap in most samples beside an abnormal rate, steady from the start: no other process took the card."""
    capped = (card.power_capped_share or 0.0) >= limits.power_cap_share
    return capped and not facts.changes and signs.abnormal(facts, limits) is True


def _words(card: Card, limits: Thresholds) -> tuple[str, float, float]:
    name = f"GPU {card.index}" if card.index is not None else "the card"
    heat = card.throttled_share or 0.0
    if heat >= limits.throttle_share:
        at = f" at {card.temp_c:.0f} C" if card.temp_c is not None else ""
        return (
            f"heat or hardware holds the clock of {name} in {heat * 100:.0f} % of samples{at}",
            heat,
            limits.throttle_share,
        )
    ratio = card.clock_ratio or 0.0
    return (
        f"{name} runs at {ratio * 100:.0f} % of its highest clock, at its power or heat limit",
        ratio,
        limits.clock_ratio,
    )
