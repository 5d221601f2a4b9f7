"""Signs that several causes share: where the work is done, whether the card is full, whether the run is slow.

Each answers True, False, or None when nothing tells.
"""

from __future__ import annotations

from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.numerals import is_whole

# Without clocks load rows are among the rest: only a run much longer than its load is judged by the median of all rows.
LOAD_PART = 0.3


def host_computes(facts: Facts, limits: Thresholds) -> bool | None:
    """Processor threads do the matrix work: more than one core busy over the run, or most of the threads asked for.

    With every layer on the card llama.cpp keeps one core busy; with one layer on the host all its threads work.
    """
    if not facts.llama_like:
        return None
    cores, threads = facts.process.cores, facts.run.setup.n_threads
    if cores is not None and (threads is None or threads >= 2):
        if cores >= limits.cpu_busy_cores:
            return True
        if cores < 0.75 * limits.cpu_busy_cores:
            return False
    busy = facts.host.cpu_pct if facts.host else None
    if busy is None:
        return None
    total = facts.run.setup.n_threads_total
    if threads and total:
        return busy / 100 * total >= max(3.0, limits.cpu_busy_share * threads) if threads >= 4 else None
    return True if busy >= 100 * limits.cpu_busy_share else None


def gpu_idle(facts: Facts, limits: Thresholds) -> bool | None:
    """The cards together do little while the run writes."""
    util = facts.gpu.total("util_pct") if facts.gpu else None
    if util is None or facts.gpu is None or facts.gpu.window == "capture":
        return None
    return util < limits.gpu_idle_pct


def card_full(facts: Facts, limits: Thresholds) -> bool | None:
    """The fullest card the run uses stands at its limit."""
    card = facts.gpu.fullest if facts.gpu else None
    pct = card.peak_pct if card else None
    return None if pct is None else pct >= limits.vram_full_pct


OLD_BUILD = {"sycl": 3500, "vulkan": 3500, "rocm": 2500, "": 2000}
"""Builds before which a backend reached about half of what it does since: CUDA and the rest to January 2024."""


def old_build(facts: Facts) -> bool:
    """True for a llama.cpp of the time when half of today's rate was normal."""
    version = facts.run.version or ""
    if not version.startswith("b") or not is_whole(version[1:]):
        return False
    backend = (facts.run.backend or "").lower()
    return int(version[1:]) < next((n for name, n in OLD_BUILD.items() if name and name in backend), OLD_BUILD[""])


def abnormal(facts: Facts, limits: Thresholds) -> bool | None:
    """Writing is far below what is expected: of the user's own runs, else of the prediction and its band."""
    ratio = facts.decode_ratio
    if ratio is None:
        return None
    if facts.expected.base_write_tps is not None:
        return ratio < limits.baseline_abnormal_ratio
    low, rate = facts.decode_low, facts.writing_tps
    below_band = low is None or rate is None or rate * max(1.0, facts.timing.streams or 1.0) < low
    limit = limits.decode_abnormal_ratio * (0.5 if old_build(facts) else 1.0)
    return ratio < limit and (below_band or old_build(facts))


def proven_fast(facts: Facts, limits: Thresholds) -> bool | None:
    """Writing is as fast as expected."""
    ratio = facts.decode_ratio
    if ratio is None:
        return None
    base = facts.expected.base_write_tps is not None
    return ratio >= (limits.baseline_healthy_ratio if base else limits.decode_healthy_ratio)


def enough_output(facts: Facts, limits: Thresholds) -> bool:
    """Enough tokens were written for the rate to mean something (rates without counts are taken as they are)."""
    tokens = facts.timing.writing.tokens
    return facts.timing.writing.tps is not None and (tokens is None or tokens >= limits.rate_min_output_tokens)


def foreign_mib(facts: Facts, limits: Thresholds) -> float | None:
    """Device memory that other processes held before the run, when it is a sizeable part of the card."""
    card = facts.gpu.fullest if facts.gpu else None
    if card is None or card.base_mib is None or not card.total_mib:
        return None
    from loganalyze.findings.measured.gpu_series import GROWN_MIB

    loaded = facts.place.weights in ("device", "split") and not facts.failed
    if loaded and (card.grown_mib or 0.0) <= GROWN_MIB:
        # The capture began with the model loaded: what it shows is the run's own memory, too.
        return None
    return card.base_mib if card.base_mib >= limits.vram_foreign_share * card.total_mib else None


def paging(facts: Facts, limits: Thresholds) -> bool | None:
    """The host swaps while the run lives: rates in several rows, not totals."""
    host = facts.host
    if host is None or host.swap_in_max_kib_s is None:
        return None
    rows = min(limits.swap_rows, max(1, host.rows))
    into = host.swap_in_max_kib_s >= limits.swap_in_kib_s and host.swap_in_rows >= rows
    out = (host.swap_out_max_kib_s or 0.0) >= limits.swap_out_kib_s and host.swap_out_rows >= rows
    return into or out


def lost_seconds(facts: Facts, expected_tps: float | None = None) -> float | None:
    """Seconds of writing above the expected rate's."""
    expected = expected_tps if expected_tps is not None else facts.decode_expected
    rate, ms = facts.writing_tps, facts.timing.writing.ms
    if not expected or not rate or ms is None or rate >= expected:
        return None
    return ms / 1000 * (1 - rate / expected)


def mostly_answering(facts: Facts) -> bool:
    """Loading took a small part of the run, so what a capture without a common clock shows is the answering."""
    load, answering = facts.run.load_ms, facts.timing.request_ms
    return load is not None and answering is not None and load < LOAD_PART * answering


def on_processors(facts: Facts) -> bool:
    """Whether the processors compute at least a part of the model, by lines or for want of any GPU."""
    backend = (facts.run.backend or "").upper()
    return facts.place.weights in ("host", "split") or (backend == "CPU" and facts.place.weights == "unknown")
