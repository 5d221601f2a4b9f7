"""Curves of a capture, scaled to 0..1, that can be matched against the shape of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loganalyze.model.records import Capture, Run
from loganalyze.timeline.shape import Level, Shape, Zone, activity_zones, inside_zones, memory_zones

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[np.float64]]

Zones = Callable[[Shape, float, float], list[Zone]]


@dataclass(frozen=True, slots=True)
class CurveKind:
    """``columns`` are added up; ``span`` is the least range that shows anything; ``step`` the tool's rounding."""

    name: str
    columns: tuple[str, ...]
    zones: Zones
    span: float
    step: float
    weight: float
    window: float | None = None
    """Seconds that a value looks back; None: one sample interval; 0: a moment."""
    falls: bool = False


# Rounding: nvidia-smi and vmstat print whole MiB and %. Windows: NVML averages use over up to 1 s and power over 1 s.
KINDS = (
    CurveKind("device memory", ("vram_used_mib",), memory_zones, 2.0, 1.0, 1.0, 0.0),
    CurveKind("GPU use", ("gpu_util_pct",), activity_zones, 4.0, 1.0, 1.0, 1.0),
    CurveKind("power", ("power_w",), activity_zones, 20.0, 1.0, 0.3, 3.0),
    CurveKind("PCIe traffic", ("pcie_rx_mb_s", "pcie_tx_mb_s"), inside_zones, 50.0, 1.0, 0.5, 1.0),
    CurveKind("CPU use", ("cpu_user_pct", "cpu_system_pct"), activity_zones, 3.0, 1.0, 1.0),
    CurveKind("host memory", ("ram_free_mib",), memory_zones, 100.0, 20.0, 0.5, 0.0, True),
    CurveKind("swap traffic", ("swap_in_kib_s", "swap_out_kib_s"), inside_zones, 1000.0, 4.0, 0.5),
    CurveKind("block input", ("block_in_kib_s",), inside_zones, 20000.0, 4.0, 0.3),
)


@dataclass(slots=True)
class Curve:
    """Times (seconds, ascending) and scaled values of one kind on one device."""

    kind: CurveKind
    t: Array
    y: Array
    sigma: float
    window: float
    weight: float
    slack: float = 0.0
    sums: dict[Level, Array] = field(default_factory=dict)
    """Running sums of costs per level, made when first asked for."""

    def index(self, times: Array, offsets: Array) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Rows in front of each of ``times`` (down) less each of ``offsets`` (across); may exceed the rows there are."""
        import numpy as np

        step = float(self.t[1] - self.t[0]) if len(self.t) > 1 else 0.0
        if step <= 0 or not self.regular:
            return np.searchsorted(self.t, np.subtract.outer(times, offsets))
        at: Array = np.subtract.outer((times - self.t[0]) / step - 1e-9, offsets / step)
        rows: np.ndarray[Any, np.dtype[np.intp]] = np.ceil(at).astype(np.intp)
        return rows

    @property
    def regular(self) -> bool:
        """True when rows are equally far apart, so that positions can be reckoned."""
        if self._regular is None:
            import numpy as np

            steps = np.diff(self.t)
            self._regular = bool(len(steps) and np.abs(steps - steps[0]).max() < 1e-6 * abs(steps[0]))
        return self._regular

    _regular: bool | None = None


def curves(capture: Capture, interval_s: float, run: Run | None = None, scale: float = 1.0) -> list[Curve]:
    """Curves of ``capture`` that show something.

    Without stamps a row's time is its number times ``interval_s * scale``. ``run`` helps to scale device memory by
    what the run planned.
    """
    frame = capture.frame
    if frame is None or frame.height < 2:
        return []
    found = []
    for device, part in _by_device(frame):
        t = row_times(part, interval_s * scale)
        if t is None:
            continue
        for kind in KINDS:
            curve = _curve(capture, kind, part, t, interval_s, device, run)
            if curve is not None:
                found.append(curve)
    return found


def _by_device(frame: pl.DataFrame) -> list[tuple[int | None, pl.DataFrame]]:
    if "device" not in frame.columns:
        return [(None, frame)]
    keys = frame["device"].unique().sort().to_list()[:16]
    if len(keys) == 1:
        return [(keys[0], frame)]
    return [(k, frame.filter(frame["device"] == k if k is not None else frame["device"].is_null())) for k in keys]


def row_times(frame: pl.DataFrame, interval_s: float) -> Array | None:
    """Seconds of each row from the capture's zero; None when stamps are too few to use."""
    import numpy as np

    stamps = frame["t_s"].cast(float).to_numpy()
    known = np.isfinite(stamps)
    if known.any():
        return stamps if known.sum() >= 2 else None
    return frame["row"].cast(float).to_numpy() * interval_s


def _curve(
    capture: Capture,
    kind: CurveKind,
    part: pl.DataFrame,
    t: Array,
    interval_s: float,
    device: int | None,
    run: Run | None,
) -> Curve | None:
    import numpy as np

    columns = [part[c].cast(float, strict=False).to_numpy() for c in kind.columns if c in part.columns]
    if not columns:
        return None
    y = np.sum(np.nan_to_num(np.array(columns)), axis=0)
    known = np.isfinite(np.array(columns)).any(axis=0) & np.isfinite(t)
    if kind.window is None and capture.first_row_since_boot:
        known &= part["row"].to_numpy() > 0
    t, y = t[known], y[known]
    if len(y) < 2:
        return None
    y = y.max() - y if kind.falls else y - y.min()
    span = float(y.max())
    if span < kind.span:
        return None
    reference = _planned_mib(run, device, span) if kind.name == "device memory" else span
    order = np.argsort(t, kind="stable")
    scaled = np.clip(y[order] / reference, 0.0, 1.0)
    window = interval_s if kind.window is None else kind.window
    # What a model gets wrong it gets wrong for a second or so: quicker rows say the same again.
    weight = kind.weight * min(1.0, interval_s)
    return Curve(kind, t[order], scaled, kind.step / reference, window, weight)


def _planned_mib(run: Run | None, device: int | None, span: float) -> float:
    """Device memory the run planned on ``device``; the range seen when that is unknown or larger than it."""
    if run is None or not run.memory:
        return span
    number = str(device if device is not None else 0)
    planned = sum(b.mib for b in run.memory if b.device.endswith(number) and not b.device.startswith("CPU"))
    return min(planned, span) if planned > 0 else span
