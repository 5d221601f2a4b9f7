"""The host swaps while the model works.

Data, in order: swap-in and swap-out rates of vmstat, sar, sadf and the like inside the run (the first row, an average
since boot, is left out), growth of used swap (free, /proc/meminfo), waiting for input.
Algorithm: critical when pages are read from swap in several rows, or written out while swap grows and the run is not at
full speed. Totals in swap alone prove nothing. Writing out other programs while a model loads, without slower answers,
is a warning.
Thresholds: ``swap_in_kib_s``, ``swap_out_kib_s``, ``swap_rows``, ``implied_gbs_low``, ``ram_low_share``.
Known false positives: another program's paging; zram (fast, still counted).
"""

from __future__ import annotations

from loganalyze.findings import record, signs
from loganalyze.findings.answers import cant_tell, clear, eval_line, finding, gib, host_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding

CAUSE = "host_paging"


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when the host pages during the run and it is not at full speed."""
    paging = signs.paging(facts, limits)
    host = facts.host
    if paging and host is not None:
        rate = max(host.swap_in_max_kib_s or 0.0, host.swap_out_max_kib_s or 0.0)
        text = (
            f"the host swaps during the run: up to {_rate(host.swap_in_max_kib_s)} read from swap, "
            f"{_rate(host.swap_out_max_kib_s)} written"
        )
        evidence = host_line(
            facts, f"swap in {_rate(host.swap_in_max_kib_s)} in {host.swap_in_rows} of {host.rows} rows"
        )
        evidence += eval_line(facts.timing.slow_write)
        harmless = signs.proven_fast(facts, limits) is True
        return finding(
            CAUSE, "warning" if harmless else "critical", text, value=rate, unit="KiB/s", threshold=limits.swap_in_kib_s,
            explains_s=None if harmless else _lost(facts), evidence=evidence,
            confidence="high" if host.swap_in_rows >= 3 else "medium",
        )  # fmt: skip
    if host is not None and paging is None and _swap_grows(facts, limits):
        return finding(
            CAUSE, "critical", f"used swap grew by {gib(host.swap_grown_mib or 0.0)} and host memory is used up",
            value=host.swap_grown_mib, unit="mib", evidence=host_line(facts, "swap grew during the run"),
            explains_s=_lost(facts), confidence="medium",
        )  # fmt: skip
    if paging is False:
        return clear(CAUSE, "no paging on the host during the run")
    return _suspect(facts, limits)


def _swap_grows(facts: Facts, limits: Thresholds) -> bool:
    host = facts.host
    if host is None or (host.swap_grown_mib or 0.0) < 256:
        return False
    low = host.ram_total_mib and (host.ram_available_min_mib or 0.0) < 2 * limits.ram_low_share * host.ram_total_mib
    return bool(low) and signs.proven_fast(facts, limits) is not True


def _suspect(facts: Facts, limits: Thresholds) -> Finding:
    """Without a host capture: a host run below the speed of any memory reads its weights from a disk."""
    weights, rate = facts.expected.weights, facts.writing_tps
    on_host = facts.place.weights == "host"
    if on_host and weights is not None and rate is not None and not weights.basis.startswith("device memory"):
        implied = weights.active_gb * rate
        if implied < limits.implied_gbs_low and facts.timing.writing.tokens != 0:
            return finding(
                CAUSE, "critical",
                f"{weights.active_gb:.1f} GB per token at {rate:.2g} t/s is {implied:.1f} GB/s, slower than any memory: "
                "the weights come from swap or disk",
                value=implied, unit="GB/s", threshold=limits.implied_gbs_low, evidence=eval_line(facts.timing.slow_write),
                explains_s=_lost(facts), confidence="low", record=record.memory(facts),
            )  # fmt: skip
    return cant_tell(CAUSE, "no record of the host's paging during the run", record.memory(facts))


def _rate(kib_s: float | None) -> str:
    return "unknown" if kib_s is None else f"{kib_s / 1024:.0f} MiB/s" if kib_s >= 10240 else f"{kib_s:.0f} KiB/s"


def _lost(facts: Facts) -> float | None:
    ms = facts.timing.request_ms
    return signs.lost_seconds(facts) or (None if ms is None else ms / 1000)
