"""llama.cpp: ``--fit`` (b7407 on) and the memory table (b6569 on).

One ``fit`` event tells whether the plan was changed. Facts: ``fit_changed``, ``projected_mib``, ``free_mib`` (device
memory free before the load), ``host_projected_mib``, ``host_leave_mib``, ``fit_target_mib``, ``fit_leave_mib``,
``fit_short_mib``, ``fit_ctx_from``, ``fit_ctx_to``, ``fit_layers`` (device -> layers), ``fit_overflow_layers`` (layers with
tensors in system memory), ``fit_failed``, ``fit_s``; ``memory_table`` (rows of the last table: device, name, total_mib, free_mib,
self_mib, model_mib, context_mib, compute_mib, unaccounted_mib) and ``unaccounted_mib`` (largest of its rows).

A table printed while fit measures is a plan; the last one, at the exit, is the truth. Its rows become buffers only
where no buffer line was printed, as in every default log.
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.formats.llama_blocks import TABLE, Loads
from loganalyze.formats.llama_devices import Devices, backend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.model.records import Event, MemoryKind
    from loganalyze.scan.line import Line

# b6569-b8947 print the difference of two counts of bytes as unsigned, divided by 2^20.
WRAP_MIB = 1 << 44
HALF_WRAP_MIB = 1 << 43


def unwrap_mib(value: int | None) -> int | None:
    """A count of MiB that may have wrapped below zero; None for what is no count."""
    if value is None or value >= WRAP_MIB or value < -HALF_WRAP_MIB:
        return None
    return value - WRAP_MIB if value >= HALF_WRAP_MIB else value


class Fit:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)
        self.devices = Devices(state)
        self._rows: list[dict[str, Any]] = []

    def handlers(self) -> dict[str, Handler]:
        found: dict[str, Handler] = listening(self, "llama_load", "", "fit_")
        names = ("table_head", "table_device", "table_host", "table_json")
        return found | {f"llama_memory.{name}": getattr(self, name) for name in names}

    def _fact(self, name: str, value: Any, line: Line) -> None:
        run = self.state.run
        run.facts[name] = value
        run.fact_lines[name] = line.number

    def _decide(self, changed: bool, line: Line, **data: Any) -> None:
        """Set what fit decided; one event a run, which the later lines of the decision refine."""
        own = self.state.own()
        event: Event | None = own.get("fit")
        if event is None:
            event = own["fit"] = self.state.event("fit", line, changed=changed)
        elif changed and not event.data["changed"]:
            event.text, event.line, event.t_s = line.str, line.number, line.t_s
        event.data["changed"] = changed or event.data["changed"]
        event.data.update(data)
        self._fact("fit_changed", event.data["changed"], line)

    # ---- fit

    def fit_begin(self, fields: Fields, line: Line) -> None:
        self.loads.fitting(True)

    def fit_device(self, fields: Fields, line: Line) -> None:
        name = fields["fit_name"][1:-1]
        device = self.devices.find(line, backend_of(fields["device"]), fields["device"], name)
        device.name = device.name or name
        device.total_mib = float(fields["total_mib"])
        if "target_mib" in fields:
            self._fact("fit_target_mib", fields["target_mib"], line)

    def fit_projected(self, fields: Fields, line: Line) -> None:
        if "host_mib" in fields:
            self._fact("host_projected_mib", fields["projected_mib"], line)
            self._fact("host_total_mib", float(fields["host_mib"]), line)
        else:
            self._fact("projected_mib", fields["projected_mib"], line)
            self._fact("free_mib", fields["free_mib"], line)

    def fit_unchanged(self, fields: Fields, line: Line) -> None:
        if "leave_mib" in fields:
            self._fact("fit_leave_mib", fields["leave_mib"], line)
            self._fact("fit_target_mib", fields["target_mib"], line)
        elif "host_leave_mib" in fields:
            self._fact("host_leave_mib", fields["host_leave_mib"], line)
        self._decide(False, line)

    def fit_short(self, fields: Fields, line: Line) -> None:
        self._fact("fit_short_mib", fields["short_mib"], line)
        if "target_mib" in fields:
            self._fact("fit_target_mib", fields["target_mib"], line)

    def fit_context(self, fields: Fields, line: Line) -> None:
        self._fact("fit_ctx_from", fields["from_ctx"], line)
        self._fact("fit_ctx_to", fields["to_ctx"], line)
        self._decide(True, line, n_ctx_from=fields["from_ctx"], n_ctx_to=fields["to_ctx"])

    def fit_layers(self, fields: Fields, line: Line) -> None:
        # Printed once after the dense pass and again, final, after the pass that lets layers overflow.
        facts = self.state.run.facts
        layers = {**facts.get("fit_layers", {}), fields["device"]: fields["layers"]}
        overflow = {**facts.get("fit_overflow", {}), fields["device"]: fields.get("overflow", 0)}
        self._fact("fit_layers", layers, line)
        self._fact("fit_overflow", overflow, line)
        self._fact("fit_overflow_layers", sum(overflow.values()), line)
        self._decide(True, line, layers=sum(layers.values()), overflow=sum(overflow.values()))

    def fit_result(self, fields: Fields, line: Line) -> None:
        self.loads.fitting(False)
        if "failure" not in fields:
            return
        self._fact("fit_failed", fields["failure"].strip(), line)
        self._decide(False, line, failed=fields["failure"].strip())

    def fit_time(self, fields: Fields, line: Line) -> None:
        self.loads.fitting(False)
        self._fact("fit_s", fields["seconds"], line)

    # ---- table

    def table_head(self, fields: Fields, line: Line) -> None:
        self._rows = []

    def table_device(self, fields: Fields, line: Line) -> None:
        device, _, name = fields["row_name"].partition(" (")
        self._row(device.strip(), name.rstrip(") ") or None, fields, line)

    def table_host(self, fields: Fields, line: Line) -> None:
        self._row(fields["row_name"].strip(), None, fields, line)

    def table_json(self, fields: Fields, line: Line) -> None:
        import json

        try:
            rows = json.loads('{"type":0,' + fields["json_rest"])["data"]["rows"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        self._rows = []
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and isinstance(row.get("name"), str):
                parts = {f"{key}_mib_int": row.get(key) for key in ("model", "context", "compute")}
                figures = {f"{key}_mib": row.get(key) for key in ("total", "free", "self", "unaccounted")}
                self._row(row["name"], row.get("description"), _ints({**parts, **figures}), line)

    def _row(self, device: str, name: Any, fields: Fields, line: Line) -> None:
        row: dict[str, Any] = {"device": device, "name": name if isinstance(name, str) else None}
        for key in ("total", "free", "self", "unaccounted"):
            row[f"{key}_mib"] = unwrap_mib(fields.get(f"{key}_mib"))
        for key in ("model", "context", "compute"):
            row[f"{key}_mib"] = unwrap_mib(fields.get(f"{key}_mib_int"))
        row["line"] = line.number
        self._rows.append(row)
        self._publish(row, line)

    def _publish(self, row: dict[str, Any], line: Line) -> None:
        planned = not self.state.run.requests and (self.loads.is_fitting or not self.loads.has_run)
        self._fact("memory_table", list(self._rows), line)
        self._fact("memory_table_planned", planned, line)
        left = [other["unaccounted_mib"] for other in self._rows if other["unaccounted_mib"] is not None]
        self._fact("unaccounted_mib", None if planned or not left else max(left), line)
        if row["total_mib"] is not None:
            found = self.devices.find(line, backend_of(row["device"]), row["device"], row["name"])
            found.total_mib = found.total_mib or float(row["total_mib"])
            if planned and found.free_mib is None and row["free_mib"] is not None:
                found.free_mib = float(row["free_mib"])
        self._buffers(row, line, first=len(self._rows) == 1)
        self.loads.is_llama()

    def _buffers(self, row: dict[str, Any], line: Line, *, first: bool) -> None:
        memory = self.loads.main.memory
        if first:
            memory[:] = [buffer for buffer in memory if buffer.detail != TABLE]
        if any(buffer.detail != TABLE for buffer in memory):
            return
        kinds: dict[str, MemoryKind] = {"model": "model", "context": "kv", "compute": "compute"}
        for key, kind in kinds.items():
            mib = row[f"{key}_mib"]
            if mib is not None:
                self.loads.table_buffer(row["device"], kind, float(mib), line)


def _ints(values: dict[str, Any]) -> dict[str, int]:
    return {key: value for key, value in values.items() if type(value) is int}


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of fit (grammar ``llama_load``) and the table (grammar ``llama_memory``)."""
    return Fit(state).handlers()
