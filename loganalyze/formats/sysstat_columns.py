"""Columns of sysstat tables (sar, mpstat, pidstat, iostat, sadf) as metrics."""

from __future__ import annotations

from typing import Any

from loganalyze.formats.sizes import KIB, MIB, size_mib

# Pages of 4 KiB; nothing in the text tells of larger ones.
PAGE_KIB = 4.0
SECTOR_KIB = 0.5
# name -> (metric, factor)
RATES: dict[str, tuple[str, float]] = {
    "pswpin/s": ("swap_in_kib_s", PAGE_KIB), "pswpout/s": ("swap_out_kib_s", PAGE_KIB),
    "pgpgin/s": ("block_in_kib_s", 1.0), "pgpgout/s": ("block_out_kib_s", 1.0), "majflt/s": ("major_faults_s", 1.0),
    "rkB/s": ("block_in_kib_s", 1.0), "wkB/s": ("block_out_kib_s", 1.0),
    "rMB/s": ("block_in_kib_s", 1024.0), "wMB/s": ("block_out_kib_s", 1024.0),
    "kB_read/s": ("block_in_kib_s", 1.0), "kB_wrtn/s": ("block_out_kib_s", 1.0),
    "MB_read/s": ("block_in_kib_s", 1024.0), "MB_wrtn/s": ("block_out_kib_s", 1024.0),
    "Blk_read/s": ("block_in_kib_s", SECTOR_KIB), "Blk_wrtn/s": ("block_out_kib_s", SECTOR_KIB),
    "rsec/s": ("block_in_kib_s", SECTOR_KIB), "wsec/s": ("block_out_kib_s", SECTOR_KIB),
    "rd_sec/s": ("block_in_kib_s", SECTOR_KIB), "wr_sec/s": ("block_out_kib_s", SECTOR_KIB),
    "kB_rd/s": ("block_in_kib_s", 1.0), "kB_wr/s": ("block_out_kib_s", 1.0),
    "%user": ("cpu_user_pct", 1.0), "%usr": ("cpu_user_pct", 1.0), "%system": ("cpu_system_pct", 1.0),
    "%sys": ("cpu_system_pct", 1.0), "%iowait": ("cpu_wait_pct", 1.0), "%steal": ("cpu_steal_pct", 1.0),
    "%idle": ("cpu_idle_pct", 1.0), "runq-sz": ("procs_running", 1.0), "blocked": ("procs_blocked", 1.0),
    "cswch/s": ("context_switches_s", 1.0), "intr/s": ("interrupts_s", 1.0), "%CPU": ("process_cpu_pct", 1.0),
}  # fmt: skip
# Sizes in KiB, or with a suffix under the same name (sar --human).
SIZES = {
    "kbmemfree": "ram_free_mib", "kbavail": "ram_available_mib", "kbmemused": "ram_used_mib",
    "kbswpfree": "swap_free_mib", "kbswpused": "swap_used_mib", "RSS": "process_rss_mib",
}  # fmt: skip
PROCESS_ONLY = frozenset({"%usr", "%system"})


def number(text: str) -> float | None:
    """A printed figure: decimal comma, percent sign; None when it is none."""
    try:
        value = float(text.removesuffix("%").replace(",", "."))
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def metrics(cells: dict[str, str], *, process: bool = False) -> dict[str, Any]:
    """Metrics of one row given as name -> text."""
    row: dict[str, Any] = {}
    for name, text in cells.items():
        if name in RATES and not (process and name in PROCESS_ONLY):
            metric, factor = RATES[name]
            value = _rate(text)
            row[metric] = None if value is None else value * factor
        elif name in SIZES:
            row[SIZES[name]] = size_mib(text, KIB)
    _sums(row, cells)
    return row


def _rate(text: str) -> float | None:
    """A figure; with ``--human`` a size with a suffix under a KiB heading."""
    value = number(text)
    if value is None:
        size = size_mib(text, None)
        value = None if size is None else size / MIB * 1024
    return value


def _sums(row: dict[str, Any], cells: dict[str, str]) -> None:
    parts = [size_mib(cells[n], KIB) for n in ("kbbuffers", "kbcached") if n in cells]
    known = [p for p in parts if p is not None]
    if len(known) == 2:
        row["ram_cache_mib"] = known[0] + known[1]
    free, used = row.get("swap_free_mib"), row.get("swap_used_mib")
    if free is not None and used is not None:
        row["swap_total_mib"] = free + used
