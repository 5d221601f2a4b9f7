"""llama.cpp trouble (grammar ``llama_trouble``): what failed, what was placed elsewhere than asked for.

Events: ``alloc_failed``, ``alloc_retry``, ``load_failed`` (see ``llama_failures``), ``no_gpu``, ``gpu_ignored``,
``mlock_failed``, ``mmap_off``, ``pinned_failed``, ``working_set``, ``flash_attn_off``, ``buffer_fallback`` and ``error``
with ``reason`` for errors that are not of memory.
"""

from __future__ import annotations

from loganalyze.formats.base import listening
from loganalyze.formats.llama_failures import MIB, Failures, gpu_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

NAME = "llama_cpp"
GRAMMARS = ("llama_trouble",)
# How the drivers word it; all of them mean device memory.
OUT_OF_MEMORY = (
    "out of memory",
    "memory allocation",
    "OutOfMemory",
    "OutOfDeviceMemory",
    "bad_alloc",
    "Insufficient Memory",
    "maximum allowed buffer size",
)
HOST_MEMORY = ("OutOfHostMemory", "bad_alloc", "Cannot allocate memory")
# Tensors whose place never mattered: one row is read per token.
HARMLESS = ("token_embd", "per_layer_token_embd", "rope_freqs")


class Trouble:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.failures = Failures(state)

    def handlers(self) -> dict[str, Handler]:
        return listening(self, "llama_trouble", "on_")

    # ---- allocation

    def on_device_alloc(self, fields: Fields, line: Line) -> None:
        device = f"{gpu_prefix(self.state.run)}{fields['index']}"
        self.failures.alloc(line, device, mib=fields["mib"], head=True, shared=True)

    def on_buffer_alloc(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, fields.get("buffer_device", "CPU"), fields["n_bytes"])

    def on_output_alloc(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, "CPU", mib=fields["mib"])

    def on_aligned_alloc(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, "CPU", mib=fields["mib"])

    def on_pool_full(self, fields: Fields, line: Line) -> None:
        self._error(line, "memory pool too small")

    def on_pinned(self, fields: Fields, line: Line) -> None:
        self.state.event("pinned_failed", line, mib=fields["mib"])

    def on_vulkan_pinned(self, fields: Fields, line: Line) -> None:
        self.state.event("pinned_failed", line, mib=None)

    def on_alloc_retry(self, fields: Fields, line: Line) -> None:
        self.failures.retry(line)

    def on_thrown(self, fields: Fields, line: Line) -> None:
        text = fields.get("thrown_text", "")
        metal = "maximum allowed buffer size" in text
        self._error_or_alloc(line, text if metal else fields["thrown_type"].strip("'"), "Metal" if metal else None)

    def on_thrown_what(self, fields: Fields, line: Line) -> None:
        self._error_or_alloc(line, fields["what"].strip(), None)

    def on_windows_memory(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, "CPU")

    def on_metal_alloc(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, "Metal", mib=fields["mib"], head=True)

    def on_metal_alloc_bytes(self, fields: Fields, line: Line) -> None:
        self.failures.alloc(line, "Metal", fields["n_bytes"], head=True)

    def on_sycl_alloc(self, fields: Fields, line: Line) -> None:
        device = "CPU" if fields["sycl_where"] == "host" else "SYCL"
        self.failures.alloc(line, device, fields["n_bytes"], head=True)

    def on_vulkan_alloc(self, fields: Fields, line: Line) -> None:
        device = "Vulkan" if fields["vulkan_memory"].startswith("Device") else "Vulkan_Host"
        self.failures.alloc(line, device, fields["n_bytes"], head=True)

    def on_vulkan_error(self, fields: Fields, line: Line) -> None:
        error = fields["vk_error"]
        data = {"limit": fields["limit"].strip()} if "limit" in fields else {}
        if error.startswith("ErrorOutOfHost"):
            self.failures.alloc(line, "Vulkan_Host", **data)
        elif error.startswith("ErrorOut"):
            self.failures.alloc(line, "Vulkan", **data)
        else:
            self._error(line, error)

    # ---- errors of the drivers

    def on_cuda_error_old(self, fields: Fields, line: Line) -> None:
        self._error_or_alloc(line, fields["reason"].strip(), None, head=True)

    def on_cuda_error(self, fields: Fields, line: Line) -> None:
        if fields["gpu_kind"] != "CUDA":
            self.failures.loads.backend(fields["gpu_kind"])
        self._error_or_alloc(line, fields["reason"].strip(), None, head=True)

    def on_cuda_where(self, fields: Fields, line: Line) -> None:
        self.failures.place(line, fields["index"])

    def on_assert(self, fields: Fields, line: Line) -> None:
        self._error(line, "assertion")

    def on_metal_failed(self, fields: Fields, line: Line) -> None:
        if any(event.kind == "working_set" for event in self.state.run.events):
            # The line itself names no reason; above the memory granted to the GPU it is that memory.
            self.failures.alloc(line, "Metal")
        elif fields["status"]:
            self._error(line, f"command buffer status {fields['status']}")

    def on_metal_error(self, fields: Fields, line: Line) -> None:
        self._error_or_alloc(line, f"{fields['metal_reason']} {fields['metal_code']}", "Metal")

    def on_metal_over(self, fields: Fields, line: Line) -> None:
        self.state.event("working_set", line)

    def on_compute_failed(self, fields: Fields, line: Line) -> None:
        self._error(line, "compute failed", status=fields.get("status"))

    def _error_or_alloc(self, line: Line, reason: str, device: str | None, *, head: bool = False) -> None:
        if any(word in reason for word in OUT_OF_MEMORY):
            host = any(word in reason for word in HOST_MEMORY)
            self.failures.alloc(line, "CPU" if host else device, head=head)
        else:
            self._error(line, reason)

    def _error(self, line: Line, reason: str, **data: object) -> None:
        self.state.event("error", line, reason=reason, **data)

    # ---- loads

    def on_load_error(self, fields: Fields, line: Line) -> None:
        if "buffer_device" in fields or line.str.rstrip().endswith("failed to allocate buffer"):
            device = fields.get("buffer_device")
            self.failures.alloc(line, None if device in (None, "backend") else device)
            self.failures.load(line, "out of memory")
        elif "mmap_reason" in fields:
            reason = fields["mmap_reason"].strip()
            if any(word in reason for word in HOST_MEMORY):
                self.failures.alloc(line, "CPU")
            self.failures.load(line, f"mmap failed: {reason}")
        else:
            self.failures.load(line, fields["load_reason"].strip())

    def on_option_refused(self, fields: Fields, line: Line) -> None:
        self._error(line, "option refused", option=fields["option"].strip())

    def on_load_failed(self, fields: Fields, line: Line) -> None:
        self.failures.load(line, None)

    on_load_gave_up = on_load_failed

    def on_context_failed(self, fields: Fields, line: Line) -> None:
        reason = fields.get("context_reason")
        stage = "kv" if "kv_stage" in fields else "compute" if "compute_stage" in fields else "context"
        if reason is None and not self.failures.has_alloc(line):
            self.failures.alloc(line, None, stage=stage)
        self.failures.load(line, reason.strip() if reason else "out of memory", stage)

    # ---- other placement than asked for

    def on_no_device(self, fields: Fields, line: Line) -> None:
        self.state.event("no_gpu", line, reason=fields.get("reason", "no devices").strip())

    def on_no_usable_gpu(self, fields: Fields, line: Line) -> None:
        self.state.event("no_gpu", line, reason="no usable GPU found")
        self._cpu()

    def on_gpu_ignored(self, fields: Fields, line: Line) -> None:
        self.state.event("gpu_ignored", line, reason="built without GPU support")
        self._cpu()

    def _cpu(self) -> None:
        if self.state.run.backend is None:
            self.state.run.backend = "CPU"

    def on_other_buffer(self, fields: Fields, line: Line) -> None:
        tensor = fields["quoted"].strip("'")
        self.state.event(
            "buffer_fallback",
            line,
            tensor=tensor,
            n=fields["n_others"] + 1,
            wanted=fields["wanted"],
            used=fields["used"],
            harmless=tensor.startswith(HARMLESS) and fields["n_others"] == 0,
        )

    def on_flash_off(self, fields: Fields, line: Line) -> None:
        self.state.event("flash_attn_off", line)
        self.failures.loads.target.setup.flash_attn = "off"

    def on_flash_elsewhere(self, fields: Fields, line: Line) -> None:
        self.state.event("flash_attn_off", line, layer=fields["index"], wanted=fields["wanted"], used=fields["used"])

    def on_flash_needed(self, fields: Fields, line: Line) -> None:
        self.failures.load(line, "a quantised V cache needs flash attention", "context")

    # ---- host memory

    def on_mlock(self, fields: Fields, line: Line) -> None:
        mib = round(fields["n_bytes"] / MIB, 2)
        self.state.event("mlock_failed", line, mib=mib, locked_mib=round(fields["locked_bytes"] / MIB, 2))

    def on_mlock_unsupported(self, fields: Fields, line: Line) -> None:
        self.state.event("mlock_failed", line, mib=None)

    def on_mmap_off(self, fields: Fields, line: Line) -> None:
        self.state.event("mmap_off", line)
        self.failures.loads.target.setup.mmap = False

    def on_mmap_missing(self, fields: Fields, line: Line) -> None:
        self.state.event("mmap_off", line, tensor=fields["key"], mib=fields["mib"])

    def on_mmap_overrides(self, fields: Fields, line: Line) -> None:
        self.state.event("tensor_override", line, pattern=None, buffer="CPU")

    def on_madvise(self, fields: Fields, line: Line) -> None:
        self.state.event("warning", line, reason="read-ahead refused")


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_trouble``."""
    return Trouble(state).handlers()
