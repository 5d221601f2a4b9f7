"""Allocations and loads that fail, joined: one failure prints up to six lines and must count once.

``alloc_failed`` data: ``device`` as printed or None, ``mib`` or None, ``host`` (host memory), ``recovered`` (the next
lines tried again with less and it worked, or the run went on all the same), ``lines`` (all lines of the failure).
``load_failed`` data: ``reason``, ``stage`` (``model``, ``kv``, ``compute``, ``context``), ``lines``.
"""

from __future__ import annotations

from loganalyze.formats.llama_blocks import Loads
from loganalyze.formats.llama_devices import backend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import LogState
    from loganalyze.model.records import Event, Run
    from loganalyze.scan.line import Line

MIB = 1024 * 1024
# The lines of one failure stand together; back traces and other threads' lines may come between.
NEAR_LINES = 12
# Sizes of the same buffer: MiB are printed with two decimals.
SAME_MIB = 0.01


class Failures:
    """Failures of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)
        self._alloc: Event | None = None
        self._load: Event | None = None
        self._run: Run | None = None

    def alloc(
        self,
        line: Line,
        device: str | None = None,
        n_bytes: int | None = None,
        mib: float | None = None,
        *,
        head: bool = False,
        **data: Any,
    ) -> Event:
        """An allocation failed: another line of the failure at hand, or a new one (always, for its ``head`` line)."""
        backend = backend_of(device) if device is not None else None
        if backend not in (None, "RPC"):
            self.loads.backend(str(backend))
        size = round(n_bytes / MIB, 2) if n_bytes is not None else mib
        known = self._near(self._alloc, line)
        if known is not None and not head and _same(known.data, device, size):
            self._refine(known, device, size, line, data)
            return known
        host = device is not None and backend is None
        self._alloc = self.state.event(
            "alloc_failed", line, device=device, mib=size, host=host, recovered=False, lines=[line.number]
        )
        self._alloc.data.update(data)
        self._run = self.state.run
        return self._alloc

    def _near(self, event: Event | None, line: Line) -> Event | None:
        if event is None or self._run is not self.state.run or line.number - event.data["lines"][-1] > NEAR_LINES:
            return None
        return event

    def _refine(self, event: Event, device: str | None, size: float | None, line: Line, data: dict[str, Any]) -> None:
        event.data["lines"].append(line.number)
        guessed = event.data["device"] is None or event.data.pop("shared", False)
        if device is not None and (guessed or backend_of(device) is None):
            # "device 0" of an earlier line becomes the buffer's own name; pinned memory has no other.
            event.data["device"] = device
            event.data["host"] = backend_of(device) is None
        if event.data["mib"] is None:
            event.data["mib"] = size
        for name, value in data.items():
            event.data.setdefault(name, value)

    def retry(self, line: Line) -> None:
        """The program tries again with less."""
        self.state.event("alloc_retry", line)
        known = self._near(self._alloc, line)
        if known is not None:
            known.data["recovered"] = True

    def load(self, line: Line, reason: str | None, stage: str = "model") -> Event:
        """The load ended: the first line tells why, those after it repeat it."""
        known = self._near(self._load, line)
        if known is not None and not (self._alloc is not None and self._alloc.line > known.line):
            known.data["lines"].append(line.number)
            if known.data["reason"] is None and reason is not None:
                known.data.update(reason=reason, stage=stage)
                known.text, known.line = line.str, line.number
            return known
        self._load = self.state.event("load_failed", line, reason=reason, stage=stage, lines=[line.number])
        self._run = self.state.run
        if self._near(self._alloc, line) is not None and self._alloc is not None:
            self._alloc.data["recovered"] = False
        self.loads.fail()
        return self._load

    def has_alloc(self, line: Line) -> bool:
        """True when an allocation failed just before."""
        return self._near(self._alloc, line) is not None

    def place(self, line: Line, index: int) -> None:
        """``current device: N`` under a CUDA error."""
        known = self._near(self._alloc, line)
        if known is not None and known.data["device"] is None:
            known.data["device"] = f"{gpu_prefix(self.state.run)}{index}"


def _same(data: dict[str, Any], device: str | None, size: float | None) -> bool:
    if size is not None and data["mib"] is not None and abs(size - data["mib"]) > SAME_MIB + 1e-9:
        return False
    known = data["device"]
    if data.get("shared") and device is not None and backend_of(device) is not None:
        # CUDA's function names are printed by ROCm and MUSA builds, too: only the number is known.
        return known is None or known.lstrip(_LETTERS) == device.lstrip(_LETTERS)
    return device is None or known is None or device == known or _family(device) == _family(known)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _family(device: str) -> str:
    return (backend_of(device) or device.partition("_")[0]).upper().rstrip("0123456789")


def gpu_prefix(run: Run) -> str:
    """Name of devices in CUDA's shared code: ROCm builds print CUDA's function names."""
    return "ROCm" if run.backend == "ROCm" else "MUSA" if run.backend == "MUSA" else "CUDA"
