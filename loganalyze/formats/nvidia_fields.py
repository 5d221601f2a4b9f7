"""Names of ``nvidia-smi --query-gpu`` and ``--query-compute-apps`` fields, and the metric each one fills.

The header prints the driver's own name, not what was typed: aliases of all eras are mapped to one canonical name
(``clocks_throttle_reasons`` until 525 is ``clocks_event_reasons`` since 535, ``clocks.sm`` is ``clocks.current.sm``).
"""

from __future__ import annotations

import re

from loganalyze.light import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["int", "float", "flag", "mask", "time", "text"]

# Canonical field -> metric; where two fields fill one metric the first listed wins, except flags, which are joined.
METRIC_OF: dict[str, tuple[str, Kind]] = {
    "timestamp": ("timestamp", "time"),
    "index": ("device", "int"),
    "memory.used": ("vram_used_mib", "int"),
    "memory.free": ("vram_free_mib", "int"),
    "memory.total": ("vram_total_mib", "int"),
    "memory.reserved": ("vram_reserved_mib", "int"),
    "utilization.gpu": ("gpu_util_pct", "int"),
    "utilization.memory": ("mem_util_pct", "int"),
    "power.draw": ("power_w", "float"),
    "power.draw.instant": ("power_w", "float"),
    "power.draw.average": ("power_w", "float"),
    "enforced.power.limit": ("power_limit_w", "float"),
    "power.limit": ("power_limit_w", "float"),
    "temperature.gpu": ("temp_c", "int"),
    "temperature.memory": ("temp_mem_c", "int"),
    "clocks.current.sm": ("sm_mhz", "int"),
    "clocks.current.graphics": ("sm_mhz", "int"),
    "clocks.max.sm": ("sm_max_mhz", "int"),
    "clocks.max.graphics": ("sm_max_mhz", "int"),
    "clocks.current.memory": ("mem_mhz", "int"),
    "pcie.link.gen.gpucurrent": ("pcie_gen", "int"),
    "pcie.link.width.current": ("pcie_width", "int"),
    "fan.speed": ("fan_pct", "int"),
    "clocks_event_reasons.active": ("throttle_mask", "mask"),
    "clocks_event_reasons.sw_power_cap": ("throttle_power", "flag"),
    "clocks_event_reasons.sw_thermal_slowdown": ("throttle_thermal", "flag"),
    "clocks_event_reasons.hw_thermal_slowdown": ("throttle_thermal", "flag"),
    "clocks_event_reasons.hw_slowdown": ("throttle_hw", "flag"),
    "clocks_event_reasons.hw_power_brake_slowdown": ("throttle_hw", "flag"),
    "pid": ("pid", "int"),
    "process_name": ("process", "text"),
    "used_gpu_memory": ("vram_used_mib", "int"),
}

# Fields without a metric that may stand first in a header or identify the card.
OTHER_FIELDS = frozenset(
    (
        *("name", "uuid", "gpu_uuid", "gpu_name", "gpu_serial", "gpu_bus_id", "serial", "pstate", "count"),
        *("driver_version", "compute_mode", "display_active", "display_mode", "persistence_mode", "vbios_version"),
        *("addressing_mode", "compute_cap", "gpu_instance_id", "display_attached", "hostname"),
    )
)
_FAMILY = re.compile(
    r"(?:clocks|clocks_event_reasons?|clocks_throttle_reasons?|memory|utilization|power|temperature|pcie|pci|ecc|mig"
    r"|retired_pages|remapped_rows|row_remapper|encoder|decoder|gom|fan|fabric|inforom|driver_model|accounting|enforced"
    r"|module|gpu_recovery|protected_memory|confidential|hostname|c2c|platform|gpu|edpp|dramEncryption)[._][a-z0-9_.]+"
)
_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "gpu_serial": "serial",
    "used_memory": "used_gpu_memory",
    "pcie.link.gen.current": "pcie.link.gen.gpucurrent",
}
_CLOCK = re.compile(r"clocks\.(?:current\.|(max)\.)?(sm|mem|memory|gr|graphics|video)$")
_LONG = {"mem": "memory", "gr": "graphics"}
# The only or first cell of a header line.
HEADER_HINT = rb"[\s\x80-\xff]*[A-Za-z][A-Za-z0-9_.]*[\s\x80-\xff]*(?:[\[,]|\Z)"
_CELL = re.compile(r"^([A-Za-z0-9_.]+)(?: ?\[([^\]]{1,8})\])?$")


@dataclass(slots=True, frozen=True)
class Field:
    """A column: canonical ``name``, ``unit`` as the header or the cells print it, and where its values go."""

    name: str
    unit: str | None = None

    @property
    def metric(self) -> str | None:
        found = METRIC_OF.get(self.name)
        return found[0] if found else None

    @property
    def kind(self) -> Kind:
        found = METRIC_OF.get(self.name)
        return found[1] if found else "text"


def canonical(name: str) -> str:
    """Canonical field name of a header cell without its unit."""
    name = name.strip().lower().replace("clocks_throttle_reason", "clocks_event_reason")
    clock = _CLOCK.match(name)
    if clock:
        part = _LONG.get(clock.group(2), clock.group(2))
        return f"clocks.{clock.group(1) or 'current'}.{part}"
    return _ALIASES.get(name, name)


def known(name: str) -> bool:
    """True when ``name`` (canonical) is a field that some driver prints."""
    return name in METRIC_OF or name in OTHER_FIELDS or _FAMILY.fullmatch(name) is not None


def parse_header(line: bytes) -> list[Field] | None:
    """Columns of a header line, or None when the line is no header.

    Every cell must look like a field name, the first must be a known one, and at least half of all.
    """
    if len(line) > 8192 or (b"," not in line and b"." not in line):
        return None
    fields: list[Field] = []
    for cell in line.decode("utf-8", "replace").strip().rstrip(",").split(","):
        found = _CELL.match(cell.strip())
        if found is None or found.group(1)[0].isdigit():
            return None
        fields.append(Field(canonical(found.group(1)), found.group(2)))
    hits = [known(f.name) for f in fields]
    return fields if hits[0] and sum(hits) * 2 >= len(hits) else None
