"""Which value of ``nvidia-smi -q`` (text and XML) fills which metric.

Names changed with drivers: ``Clocks Throttle Reasons`` until 525 is ``Clocks Event Reasons`` since 535; ``Power Readings``
became ``GPU Power Readings`` in 535, ``Power Draw`` became ``Average`` and ``Instantaneous Power Draw`` in 550. Each
metric lists (block, key) pairs, best first; blocks are compared without case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_POWER = ("gpu power readings", "power readings", "gpu_power_readings", "power_readings")
_REASONS = ("clocks event reasons", "clocks throttle reasons", "clocks_event_reasons", "clocks_throttle_reasons")


def _reasons(*names: str) -> tuple[tuple[str, str], ...]:
    """Pairs of one reason for text (``sw power cap``) and both XML eras (``clocks_event_reason_sw_power_cap``)."""
    pairs = [(block, name) for name in names for block in (*_REASONS[:2], "hw slowdown")]
    for name in names:
        tag = name.replace(" ", "_")
        pairs += [(block, f"{prefix}_{tag}") for block in _REASONS[2:] for prefix in _PREFIXES]
    return tuple(pairs)


_PREFIXES = ("clocks_event_reason", "clocks_throttle_reason")

READINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "vram_used_mib": (("fb memory usage", "used"), ("fb_memory_usage", "used")),
    "vram_total_mib": (("fb memory usage", "total"), ("fb_memory_usage", "total")),
    "vram_free_mib": (("fb memory usage", "free"), ("fb_memory_usage", "free")),
    "vram_reserved_mib": (("fb memory usage", "reserved"), ("fb_memory_usage", "reserved")),
    "gpu_util_pct": (("utilization", "gpu"), ("utilization", "gpu_util")),
    "mem_util_pct": (("utilization", "memory"), ("utilization", "memory_util")),
    "power_w": tuple(
        (block, key) for key in ("power draw", "average power draw", "instantaneous power draw") for block in _POWER[:2]
    )
    + tuple((block, key) for key in ("power_draw", "average_power_draw", "instant_power_draw") for block in _POWER[2:]),
    "power_limit_w": tuple(
        (block, key) for key in ("current power limit", "enforced power limit", "power limit") for block in _POWER[:2]
    )
    + tuple(
        (block, key) for key in ("current_power_limit", "enforced_power_limit", "power_limit") for block in _POWER[2:]
    ),
    "temp_c": (("temperature", "gpu current temp"), ("temperature", "gpu_temp")),
    "temp_mem_c": (("temperature", "memory current temp"), ("temperature", "memory_temp")),
    "sm_mhz": (("clocks", "sm"), ("clocks", "sm_clock"), ("clocks", "graphics"), ("clocks", "graphics_clock")),
    "mem_mhz": (("clocks", "memory"), ("clocks", "mem_clock")),
    "sm_max_mhz": (("max clocks", "sm"), ("max_clocks", "sm_clock")),
    "pcie_gen": (("pcie generation", "current"), ("pcie_gen", "current_link_gen")),
    "pcie_width": (("link width", "current"), ("link_widths", "current_link_width")),
    "pcie_rx_mb_s": (("pci", "rx throughput"), ("pci", "rx_util")),
    "pcie_tx_mb_s": (("pci", "tx throughput"), ("pci", "tx_util")),
    "fan_pct": (("", "fan speed"), ("", "fan_speed")),
    "throttle_power": _reasons("sw power cap"),
    "throttle_thermal": _reasons("sw thermal slowdown", "hw thermal slowdown"),
    "throttle_hw": _reasons("hw slowdown", "hw power brake slowdown"),
}

_NUMBER = re.compile(r"^(-?[0-9]{1,12}(?:\.[0-9]{1,6})?) ?(?:MiB|MB|%|W|C|MHz|x|KB/s|)$")
# Throughput is printed in KB/s; the metric is MB/s.
_SCALE = {"pcie_rx_mb_s": 1e-3, "pcie_tx_mb_s": 1e-3}
_FLAGS = {"Active": 1.0, "Not Active": 0.0}


def readings(values: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Metrics of one card from its ``(block, key)`` values; a metric is None when printed as missing, absent when not."""
    found: dict[str, Any] = {}
    for metric, pairs in READINGS.items():
        texts = [values[p] for p in pairs if p in values]
        if not texts:
            continue
        numbers = [n for t in texts if (n := number(t)) is not None]
        if metric.startswith("throttle"):
            found[metric] = max(numbers, default=None)
        else:
            found[metric] = numbers[0] * _SCALE.get(metric, 1.0) if numbers else None
    return found


def number(text: str) -> float | None:
    """Value of a printed amount or flag; None for ``N/A`` and every other text."""
    if text in _FLAGS:
        return _FLAGS[text]
    found = _NUMBER.match(text)
    return float(found.group(1)) if found else None
