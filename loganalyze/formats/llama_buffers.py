"""llama.cpp: buffers, KV cache, graphs and VRAM totals (grammar ``llama_memory`` without the table).

``Run.memory`` holds what was allocated, device as printed. Logs before b1843 name no device: ``VRAM`` stands for device
memory and ``CPU`` for host memory there. MB of those years are MiB.

Facts: ``kv_mib`` (all caches of the context), ``kv_cells``, ``kv_layers``, ``kv_streams``, ``kv_caches``,
``kv_layers_by_device``, ``graph_nodes``, ``graph_splits`` (prompt batches), ``graph_splits_tg`` (single tokens),
``compute_total_mib``, ``vram_used_mib``, ``vram_context_mib``, ``vram_scratch_mib``, ``mem_required_mib``,
``state_mib``, ``metal_allocated_mib``, ``working_set_mib``, ``sched_copies``.
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.formats.llama_blocks import Loads
from loganalyze.formats.llama_devices import backend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.model.records import MemoryKind
    from loganalyze.scan.line import Line

KINDS: dict[str, tuple[MemoryKind, str | None]] = {
    "model": ("model", None),
    "LoRA": ("model", "LoRA"),
    "KV": ("kv", None),
    "RS": ("kv", "recurrent state"),
    "compute": ("compute", None),
    "output": ("output", None),
    "input": ("compute", "input"),
}
# Buffers of Apple's first backend (to 2023-12), by name.
METAL_KINDS: dict[str, MemoryKind] = {"data": "model", "kv": "kv", "eval": "compute", "alloc": "compute"}
# Extra copies of weights in a layout of the CPU.
COPIES = ("CPU_REPACK", "CPU_AARCH64", "AMX")
REQUIRED = "mem required"
CACHE = "kv self size"
# Old lines round to 0.01 MiB.
ROUNDING_MIB = 0.05


class Buffers:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.loads = Loads.of(state)

    def handlers(self) -> dict[str, Handler]:
        found: dict[str, Handler] = listening(self, "llama_memory", "on_")
        found["llama_device.metal_buffer"] = self.metal_buffer
        return found

    def on_buffer(self, fields: Fields, line: Line) -> None:
        device = fields["device"]
        printed = fields.get("buffer_kind", "model")
        kind, detail = KINDS["RS" if printed.startswith("DSV4") else printed]
        if fields.get("at", "").startswith("clip"):
            detail = "image encoder"
        elif device.startswith(COPIES):
            detail = "repacked copy"
        self.loads.buffer(device, kind, fields["mib"], line, detail)
        backend = backend_of(device)
        run = self.state.run
        if backend is not None and backend != "RPC":
            self.loads.backend(backend)
        elif backend is None and kind == "model" and run.backend is None:
            run.backend = "CPU"

    def on_unnamed_buffer(self, fields: Fields, line: Line) -> None:
        """The buffer of a device whose type has no name yet: host buffers have one."""
        device = next((d.id for d in self.state.run.devices if d.id), None)
        self.loads.buffer(device or self.state.run.backend or "GPU", "model", fields["mib"], line)

    # ---- to b1842

    def on_mem_required(self, fields: Fields, line: Line) -> None:
        self.loads.fact("mem_required_mib", fields["mib"], line)
        if "state_mib" in fields:
            self.loads.fact("state_mib", fields["state_mib"], line)
        self.loads.buffer("CPU", "model", fields["mib"], line, REQUIRED)

    def on_system_used(self, fields: Fields, line: Line) -> None:
        self.loads.buffer("CPU", "model", fields["mib"], line)

    def on_vram_used(self, fields: Fields, line: Line) -> None:
        self.loads.fact("vram_used_mib", fields["mib"], line)
        self.loads.buffer("VRAM", "model", fields["mib"], line)

    def on_vram_total(self, fields: Fields, line: Line) -> None:
        self.loads.fact("vram_used_mib", fields["mib"], line)
        if "context_mib" in fields:
            # Its parts have lines of their own.
            self.loads.fact("vram_context_mib", fields["context_mib"], line)
        else:
            self.loads.buffer("VRAM", "model", fields["mib"], line, "weights, scratch and cache")

    def on_vram_scratch_plan(self, fields: Fields, line: Line) -> None:
        self.loads.fact("vram_scratch_mib", fields["mib"], line)

    def on_compute_total(self, fields: Fields, line: Line) -> None:
        self.loads.fact("compute_total_mib", fields["mib"], line)
        self.loads.buffer("CPU", "compute", fields["mib"], line)

    def on_vram_scratch(self, fields: Fields, line: Line) -> None:
        # The scratch buffer is the part of the total that went to the device.
        self.loads.reserve()
        self.loads.fact("vram_scratch_mib", fields["mib"], line)
        self.loads.buffer("VRAM", "compute", fields["mib"], line)

    def on_vram_kv(self, fields: Fields, line: Line) -> None:
        self.loads.buffer("VRAM", "kv", fields["mib"], line)

    def metal_buffer(self, fields: Fields, line: Line) -> None:
        """Apple: named buffers are buffers; nameless ones (b1843 on) repeat the loader's."""
        if "used_mib" in fields:
            self.loads.fact("metal_allocated_mib", fields["used_mib"], line)
            self.loads.fact("working_set_mib", fields["limit_mib"], line)
        if "over" in fields:
            self.state.event("working_set", line, used_mib=fields.get("used_mib"), limit_mib=fields.get("limit_mib"))
        name = fields.get("buffer_name", "").strip("' ")
        if not name:
            return
        memory = self.loads.target.memory
        kind = METAL_KINDS.get(name, "compute")
        if kind in ("model", "kv"):
            # Unified memory: the bytes that the loader counted as host memory are these.
            host = REQUIRED if kind == "model" else CACHE
            memory[:] = [buffer for buffer in memory if buffer.detail != host]
        self.loads.buffer("Metal", kind, fields["mib"], line, name)

    # ---- KV cache

    def on_ggml1_kv(self, fields: Fields, line: Line) -> None:
        self.loads.fact("kv_mib", fields["mib"], line)
        self.loads.buffer("CPU", "kv", fields["mib"], line)

    def on_kv_self(self, fields: Fields, line: Line) -> None:
        target = self.loads.target
        self.loads.fact("kv_mib", fields["mib"], line)
        target.setup.type_k = fields.get("type_k", target.setup.type_k)
        target.setup.type_v = fields.get("type_v", target.setup.type_v)
        self._rest_on_host(fields["mib"], line)

    def _rest_on_host(self, mib: float, line: Line) -> None:
        """Before b1843 only the part in VRAM had a line: what is left of the total is in host memory."""
        target = self.loads.target
        known = [buffer for buffer in target.memory if buffer.kind == "kv"]
        if any(buffer.device != "VRAM" for buffer in known):
            return
        on_gpu = target.facts.get("kv_on_gpu", "")
        left = mib - sum(buffer.mib for buffer in known)
        if not known and on_gpu:
            # b670-b1288: counted in "total VRAM used"; half of it with only one of k and v offloaded.
            left = 0.0 if len(set(on_gpu)) == 2 else mib / 2
        if left > ROUNDING_MIB:
            self.loads.buffer("CPU", "kv", round(left, 2), line, CACHE)

    def on_kv_size(self, fields: Fields, line: Line) -> None:
        target = self.loads.target
        caches = target.facts.get("kv_caches", 0)
        self.loads.fact("kv_mib", round(fields["mib"] + (target.facts.get("kv_mib", 0.0) if caches else 0.0), 2), line)
        self.loads.fact("kv_caches", caches + 1, line)
        self.loads.fact("kv_cells", max(fields["cells"], target.facts.get("kv_cells", 0) if caches else 0), line)
        self.loads.fact("kv_layers", fields["layers"] + (target.facts.get("kv_layers", 0) if caches else 0), line)
        if "streams" in fields:
            self.loads.fact("kv_streams", fields["streams"], line)
        target.setup.type_k, target.setup.type_v = fields["type_k"], fields["type_v"]

    def on_rs_size(self, fields: Fields, line: Line) -> None:
        self.loads.fact("rs_mib", fields["mib"], line)

    def on_kv_init(self, fields: Fields, line: Line) -> None:
        target = self.loads.target
        target.setup.type_k, target.setup.type_v = fields["type_k"], fields["type_v"]
        if "offload" in fields:
            target.setup.kv_offload = fields["offload"] == 1
        self.loads.fact("kv_cells", max(fields["cells"], target.facts.get("kv_cells", 0)), line)
        self.loads.fact("kv_layers", fields["layers"], line)

    def on_kv_layer(self, fields: Fields, line: Line) -> None:
        layers = self.loads.target.facts.get("kv_layers_by_device", {})
        count = layers.get(fields["device"], 0) + 1
        self.loads.fact("kv_layers_by_device", {**layers, fields["device"]: count}, line)

    # ---- graphs

    def on_graph_splits(self, fields: Fields, line: Line) -> None:
        self.loads.fact("graph_splits", fields["graphs"], line)
        self.loads.fact("graph_splits_tg", fields.get("graphs_one", fields["graphs"]), line)

    def on_graph_nodes(self, fields: Fields, line: Line) -> None:
        self.loads.fact("graph_nodes", fields["graphs"], line)

    def on_graph_line(self, fields: Fields, line: Line) -> None:
        self.loads.fact("graph_nodes", fields["nodes"], line)
        self.on_graph_splits(fields, line)

    def on_reserve(self, fields: Fields, line: Line) -> None:
        if "copies" in fields:
            self.loads.fact("sched_copies", fields["copies"], line)
            self.loads.fact("reserve_ms", fields["reserve_ms"], line)
        else:
            self.loads.reserve()


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_memory``, without those of the table."""
    buffers = Buffers(state)
    found = buffers.handlers()
    found["llama_load.ggml1_kv"] = found.pop("llama_memory.ggml1_kv")
    found["llama_load.ggml1_size"] = lambda fields, line: _old_weights(buffers, fields, line)
    found["llama_load.ctx_size"] = lambda fields, line: buffers.loads.fact("ggml_ctx", fields["size"], line)
    return found


def _old_weights(buffers: Buffers, fields: Fields, line: Line) -> None:
    """To b307: the size of one file part, all of it in host memory."""
    buffers.loads.buffer("CPU", "model", fields["mib"], line)
    setup = buffers.loads.target.setup
    setup.model_bytes = (setup.model_bytes or 0) + round(fields["mib"] * 2**20)
