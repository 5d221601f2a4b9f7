"""Panels of how busy things are: shares in percent on the left, traffic in MB/s on the right."""

from __future__ import annotations

from typing import Any

from loganalyze.reports import plot_style as look
from loganalyze.reports import units
from loganalyze.reports.plot_panels import _line, legend
from loganalyze.reports.series import Series

GPU_METRICS = ("gpu_util_pct", "power_w", "power_limit_w", "pcie_rx_mb_s", "pcie_tx_mb_s")
HOST_METRICS = (
    "cpu_user_pct", "cpu_system_pct", "cpu_wait_pct", "swap_in_kib_s", "swap_out_kib_s", "block_in_kib_s",
)  # fmt: skip
MANY = 3
"""With more GPUs than this, one line tells their highest and lowest."""
_TRAFFIC = (
    ("pcie_rx_mb_s", "PCIe to GPU", look.PCIE, 1.0),
    ("pcie_tx_mb_s", "PCIe from GPU", look.PCIE, 1.0),
    ("block_in_kib_s", "from disk", look.DISK, 1024 / 1e6),
    ("swap_out_kib_s", "to swap", look.SWAP_OUT, 1024 / 1e6),
    ("swap_in_kib_s", "from swap", look.SWAP_IN, 1024 / 1e6),
)
QUIET_MB_S = 1.0
"""Traffic that never reaches this is no more than housekeeping and is named, not drawn."""


def activity(ax: Any, found: dict[str, list[Series]], what: str) -> None:
    """Utilisation, power and CPU as shares of their maximum; PCIe, swap and disk traffic on an axis of its own."""
    _gpu_shares(ax, found)
    _host_shares(ax, found)
    ax.set_ylabel(f"{what}, %")
    ax.set_ylim(0, 105)
    ax.set_yticks([0, 25, 50, 75, 100])
    moved = _moved(found)
    still = [n for m, n, _, f in _TRAFFIC if m.startswith("swap") and m in found and _peak(found[m]) * f < QUIET_MB_S]
    if len(still) == 2:
        ax.plot([], [], " ", label="no swap traffic")
    if not moved:
        legend(ax)
        return
    shares = bool(ax.get_lines())
    target = ax.twinx() if shares else ax
    if shares:
        target.plot([], [], " ", label="on the right scale:")
    for number, (metric, name, colour, factor) in enumerate(moved):
        swapped = metric == "swap_in_kib_s"
        dash = look.STYLES[(number + 1) % 4] if shares and not swapped else "-"
        _line(target, _merged(found[metric]), colour, name, factor, dash, shade=swapped)
    _traffic_axis(target, max(_peak(found[m]) * f for m, _, _, f in moved), shares)
    legend(ax, target if shares else None)


def _moved(found: dict[str, list[Series]]) -> list[tuple[str, str, str, float]]:
    """Traffic worth a line: more than housekeeping, and more than a trace beside the largest (swap always)."""
    seen = [(m, n, c, f) for m, n, c, f in _TRAFFIC if m in found and _peak(found[m]) * f >= QUIET_MB_S]
    largest = max((_peak(found[m]) * f for m, _, _, f in seen), default=0.0)
    return [(m, n, c, f) for m, n, c, f in seen if m.startswith("swap") or _peak(found[m]) * f >= 0.02 * largest]


def _gpu_shares(ax: Any, found: dict[str, list[Series]]) -> None:
    util = found.get("gpu_util_pct", [])
    if len(util) > MANY:
        _line(ax, _merged(util), look.UTIL, f"GPU busy, highest of {len(util)}")
    else:
        for number, one in enumerate(util):
            name = "GPU busy" if len(util) == 1 else f"GPU {one.device} busy"
            _line(ax, one, look.GPUS[number], name, 1.0, look.STYLES[number % 4])
    power = found.get("power_w", [])
    if not power:
        return
    one, limit = _merged(power), found.get("power_limit_w")
    level = max((s.level for s in limit), default=0.0) if limit else 0.0
    if level > 0:
        _line(ax, one, look.POWER, f"power, % of {units.number(level)}\u00a0W", 100 / level, look.STYLES[2])
    elif one.peak > 0 and any(s.peak > 5 for s in util):
        # An idle card draws a level line whose peak says nothing.
        _line(
            ax,
            one,
            look.POWER,
            f"power, % of its peak, {units.number(one.peak)}\u00a0W",
            100 / one.peak,
            look.STYLES[2],
        )


def _host_shares(ax: Any, found: dict[str, list[Series]]) -> None:
    import numpy as np

    user, system = found.get("cpu_user_pct"), found.get("cpu_system_pct")
    if user and system and len(user[0].t) == len(system[0].t):
        both = Series("cpu", None, user[0].t, user[0].lo + system[0].lo, user[0].hi + system[0].hi, user[0].samples)
        both.hi = np.minimum(both.hi, 100.0)
        _line(ax, both, look.CPU, "CPU busy", 1.0, look.STYLES[1])
    elif user:
        _line(ax, user[0], look.CPU, "CPU user", 1.0, look.STYLES[1])
    wait = found.get("cpu_wait_pct")
    if wait and wait[0].peak >= 2:
        _line(ax, wait[0], look.WAIT, "CPU waits for disk", 1.0, look.STYLES[3])


def _traffic_axis(ax: Any, peak: float, right: bool) -> None:
    ax.set_ylabel("traffic, MB/s")
    ax.set_ylim(0, peak * 1.1)
    if right:
        ax.grid(False)
        ax.spines["right"].set_visible(True)
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.number(v)))


def _merged(found: list[Series]) -> Series:
    """Devices as one line: the highest at each time of the first."""
    import numpy as np

    if len(found) == 1:
        return found[0]
    first = found[0]
    hi = first.hi.copy()
    for other in found[1:]:
        good = ~np.isnan(other.hi)
        if good.any():
            hi = np.fmax(hi, np.interp(first.t, other.t[good], other.hi[good]))
    return Series(first.metric, None, first.t, hi, hi, first.samples)


def _peak(found: list[Series]) -> float:
    return max(s.peak for s in found)
