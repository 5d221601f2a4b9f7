"""Device memory is at its limit and the run slows down at the same time.

Data, in order: device memory peak against the card, rate changes inside requests, measured against expected rate,
Apple's working-set warning.
Algorithm: a full card alone is silent (a healthy run can fill a card, serving engines reserve memory). Critical when the
card is full and the rate drops inside a request, or is far below what the card gives, and the processor does not do the
work (then layers are on the host). The working-set warning is critical with a slow run, else a warning.
Thresholds: ``vram_full_pct``, ``decode_abnormal_ratio``, ``drop_ratio``.
Known false positives: another process that fills the card and also computes (contention).
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gib, gpu_line, of_event
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding, State

CAUSE = "vram_saturation"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when fullness and slowness coincide."""
    if facts.reserves:
        return clear(CAUSE, "the engine reserves device memory in advance: a full card is normal")
    if facts.event("working_set") is not None:
        return _working_set(facts, limits)
    full, card = signs.card_full(facts, limits), facts.gpu.fullest if facts.gpu else None
    if full is None or card is None:
        return cant_tell(CAUSE, "no record of device memory during the run", record.gpu(facts))
    peak = card.peak_pct or 0.0
    seen = gpu_line(facts, f"device memory peak {card.peak_mib:.0f} of {card.total_mib:.0f} MiB ({peak:.1f} %)")
    if not full:
        return clear(CAUSE, f"device memory peaks at {peak:.0f} %", value=peak, unit="pct",
                     threshold=limits.vram_full_pct, evidence=seen)  # fmt: skip
    drop = next((c for c in facts.changes if c.sudden and c.lost_s > 0.5), None)
    slow = signs.abnormal(facts, limits)
    if signs.host_computes(facts, limits) is True and facts.place.weights != "device":
        return clear(CAUSE, f"device memory is full at {peak:.0f} %, but the processor sets the pace", value=peak,
                     unit="pct", threshold=limits.vram_full_pct, evidence=seen)  # fmt: skip
    if drop is None and slow is not True:
        held = signs.foreign_mib(facts, limits)
        who = f", {gib(held)} of it by another process" if held is not None else ""
        return clear(CAUSE, f"device memory is full at {peak:.0f} %{who}, without a slowdown", value=peak, unit="pct",
                     threshold=limits.vram_full_pct, evidence=seen)  # fmt: skip
    evidence = seen + eval_line(facts.timing.slow_write)
    if drop is not None:
        evidence.append(Evidence(drop.source, drop.line, f"{drop.before:.3g} t/s falls to {drop.after:.3g} t/s"))
    return finding(
        CAUSE, "critical", f"device memory is at {peak:.0f} % and writing is far slower than the card gives", value=peak,
        unit="pct", threshold=limits.vram_full_pct, explains_s=drop.lost_s if drop else signs.lost_seconds(facts),
        evidence=evidence, confidence="medium",
    )  # fmt: skip


def _working_set(facts: Facts, limits: Thresholds) -> Finding:
    event = facts.event("working_set")
    assert event is not None
    rate = facts.writing_tps
    slow = signs.abnormal(facts, limits) is True or (rate is not None and rate < limits.writing_slow_tps)
    fast = signs.proven_fast(facts, limits) is True
    sluggish = facts.timing.ratio is not None and rate is not None and rate < limits.writing_steady_tps
    state: State = "critical" if slow or (sluggish and not fast) else "warning"
    return finding(
        CAUSE, state, "model and cache exceed the memory that the system grants to the GPU",
        explains_s=signs.lost_seconds(facts), evidence=[of_event(event), *eval_line(facts.timing.slow_write)],
        confidence="high" if slow else "medium",
    )  # fmt: skip
