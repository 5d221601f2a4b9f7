"""Ollama: server log, ``ollama run --verbose`` block, ``ollama ps`` table.

The engine's own lines (llama.cpp's, raw) stand between its ``time=... level=... msg=...`` lines and are read by their own
formats; here is only what Ollama itself says: where the layers went, which card, what did not fit, how long a request
took. Since the Go runner (0.4) its prompt count holds cached tokens while the time does not, so an impossible prompt
rate is dropped. Sizes in the log are binary, in ``ollama ps`` decimal. Durations are Go's.
Facts: ``http_max_s``, ``http_count``; events: host_weights, no_gpu,
``gpu_unsupported`` (a card was seen and left out), alloc_failed, evicted, truncated, error.
"""

from __future__ import annotations

from loganalyze.formats import pairs
from loganalyze.formats.base import LogState
from loganalyze.formats.engine_rates import plausible_prompt_tps, rate
from loganalyze.formats.serving import fact
from loganalyze.model.records import Buffer, Device, Request
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler

NAME = "ollama"
GRAMMARS = ("ollama",)

# Message (or its beginning) -> event kind; the sense of each is in its words.
MESSAGES: tuple[tuple[str, str], ...] = (
    ("model requires more memory than is currently available", "evicted"),
    ("llama-server model predicted to exceed available memory, evicting", "evicted"),
    ("llama-server load failed; evicting all other models", "evicted"),
    ("runtime OOM detected", "alloc_failed"),
    ("model request too large for system", "alloc_failed"),
    ("model requires more system memory", "alloc_failed"),
    ("model is too large for system memory", "alloc_failed"),
    ("predicted usage exceeds VRAM", "warning"),
    ("model layout did not fit, applying backoff", "warning"),
    ("llama-server load failed; reducing automatic context", "alloc_retry"),
    ("not enough vram available, falling back to CPU only", "no_gpu"),
    ("GPU not available, falling back to CPU", "no_gpu"),
    ("no compatible GPUs were discovered", "no_gpu"),
    ("insufficient VRAM to load any model layers", "no_gpu"),
    ("amdgpu is not supported", "gpu_unsupported"),
    ("amdgpu too old", "gpu_unsupported"),
    ("amdgpu devices detected but permission problems", "gpu_unsupported"),
    ("unsupported Radeon iGPU detected", "gpu_unsupported"),
    ("old CUDA driver detected", "gpu_unsupported"),
    ("failure during GPU discovery", "gpu_unsupported"),
    ("filtering device which didn't fully initialize", "gpu_unsupported"),
    ("truncating input prompt", "truncated"),
    ("disabling mmap for llama-server load due to host memory pressure", "mmap_off"),
    ("llama runner process no longer running", "error"),
    ("llama-server process no longer running", "error"),
)
# Messages that carry the reason why the runner ended as their error.
ENDED = (
    "error loading llama server",
    "llama runner terminated",
    "llama-server terminated",
    "Load failed",
    "do load request",
)
OUT_OF_MEMORY = ("out of memory", "cudaMalloc failed", "failed to allocate", "unable to allocate", "OutOfDeviceMemory")


class _Ollama:
    def __init__(self, state: LogState) -> None:
        self.state = state
        self.block: Request | None = None

    # server log -------------------------------------------------------------------------------------------------

    def slog(self, fields: Fields, line: Line) -> None:
        message = fields.get("message") or fields.get("quoted", "").strip('"').replace('\\"', '"')
        told = pairs.equal_pairs(fields.get("pairs", ""))
        if message in (
            "offload to cuda",
            "offload to gpu",
            "offload to rocm",
            "offload to metal",
            "offload to oneapi",
            "offload",
        ):
            self.offload(told, line)
        elif message == "offload to cpu":
            self.state.event("no_gpu", line)
        elif message.startswith("offloaded "):
            self.layers(message, line)
        elif message == "inference compute":
            self.device(told, line)
        elif message in ("model weights", "kv cache", "compute graph"):
            self.buffer(message, told, line)
        elif message in ("starting llama server", "starting llama-server", "starting runner"):
            self.state.opening("ollama runner").engine = NAME
            self.command(told, line)
        else:
            self.trouble(message, told, line)
        self.state.run.engine = self.state.run.engine or NAME

    def command(self, told: dict[str, str], line: Line) -> None:
        command = told.get("cmd")
        if command:
            from loganalyze.formats.command_line import parse
            from loganalyze.formats.llama_command import record

            parsed = parse(command.strip("[]"))
            if parsed is not None:
                record(self.state, parsed, line)

    def layers(self, message: str, line: Line) -> None:
        """``offloaded 40/41 layers to GPU`` of the Go engine (0.6 on)."""
        on_gpu, _, total = message.removeprefix("offloaded ").partition(" ")[0].partition("/")
        if on_gpu.isdigit() and total.isdigit():
            setup = self.state.run.setup
            setup.layers_on_gpu, setup.layers_total = int(on_gpu), int(total)
            self.state.run.fact_lines["layers_on_gpu"] = line.number

    def wrapped(self, fields: Fields, line: Line) -> None:
        """The tail of an offload line that was wrapped by hand."""
        self.state.run.engine = self.state.run.engine or NAME
        self.offload(pairs.equal_pairs(fields["tail"]), line)

    def offload(self, told: dict[str, str], line: Line) -> None:
        run = self.state.run
        if told.get("library", "").lower() == "cpu":
            self.state.event("no_gpu", line)
            return
        on_gpu = pairs.integer(told.get("layers.offload", told.get("layers.real")))
        total = pairs.integer(told.get("layers.model"))
        if on_gpu is not None and total is not None:
            run.setup.layers_on_gpu, run.setup.layers_total = on_gpu, total
            run.fact_lines["layers_on_gpu"] = line.number
        fact(self.state, line, "required_mib", pairs.mib(told.get("memory.required.full")))
        free = pairs.mib_list(told.get("memory.available"))
        fact(self.state, line, "free_mib", sum(free) if free else None)

    def device(self, told: dict[str, str], line: Line) -> None:
        library = told.get("library", "").lower()
        if library == "cpu":
            self.state.event("no_gpu", line)
            return
        name = told.get("name") or told.get("description")
        run = self.state.run
        if any(d.name == name and d.id == told.get("id") for d in run.devices):
            return
        backend = {"cuda": "CUDA", "rocm": "ROCm", "metal": "Metal", "vulkan": "Vulkan", "oneapi": "SYCL"}.get(library)
        run.devices.append(
            Device(
                name=name,
                id=told.get("id"),
                index=len(run.devices),
                backend=backend,
                total_mib=pairs.mib(told.get("total")),
                free_mib=pairs.mib(told.get("available")),
                uma=told.get("type") == "iGPU" or None,
                source=self.state.source.path,
                line=line.number,
            )
        )
        run.backend = run.backend or backend

    def buffer(self, message: str, told: dict[str, str], line: Line) -> None:
        size = pairs.mib(told.get("size"))
        device = told.get("device") or told.get("buffer")
        if size is None or not device:
            return
        kinds: dict[str, Any] = {"model weights": "model", "kv cache": "kv", "compute graph": "compute"}
        run = self.state.run
        run.memory.append(Buffer(device, kinds[message], size, self.state.source.path, line.number))

    def ended(self, reason: str, line: Line) -> None:
        """What ended the runner, in the words that Ollama passes on."""
        if "signal: killed" in reason:
            self.state.event("killed", line, signal="KILL")
        elif any(words in reason for words in OUT_OF_MEMORY):
            self.state.event("alloc_failed", line, recovered=False, host="system memory" in reason)
        else:
            self.state.event("error", line, reason=reason)

    def failed(self, fields: Fields, line: Line) -> None:
        self.state.run.engine = self.state.run.engine or NAME
        self.ended(fields["ended_by"], line)

    def needs_memory(self, fields: Fields, line: Line) -> None:
        self.state.run.engine = self.state.run.engine or NAME
        self.trouble("model requires more system memory", {}, line)

    def trouble(self, message: str, told: dict[str, str], line: Line) -> None:
        if message.startswith(ENDED):
            self.ended(told.get("error", "").strip('"').replace('\\"', '"') or message, line)
            return
        for text, kind in MESSAGES:
            if message.startswith(text):
                data: dict[str, Any] = {"recovered": False} if kind == "alloc_failed" else {}
                if kind == "truncated":
                    data = {"limit": pairs.integer(told.get("limit")), "prompt": pairs.integer(told.get("prompt"))}
                if kind == "alloc_failed":
                    data["host"] = "system" in message
                self.state.event(kind, line, **data)
                return

    def old_log(self, fields: Fields, line: Line) -> None:
        self.state.run.engine = self.state.run.engine or NAME
        self.trouble(fields["old_message"], {}, line)

    def gin(self, fields: Fields, line: Line) -> None:
        seconds = pairs.duration_s(fields["duration"])
        path = fields["path"].strip('"')
        run = self.state.run
        if path.startswith("/api/"):
            run.engine = run.engine or NAME
        if fields["method"] != "POST" or not path.startswith(("/api/generate", "/api/chat", "/v1/")) or seconds is None:
            return
        run.engine = run.engine or NAME
        run.facts["http_count"] = run.facts.get("http_count", 0) + 1
        if seconds > run.facts.get("http_max_s", -1.0):
            fact(self.state, line, "http_max_s", seconds)
        if fields["status"] >= 499:
            self.state.event("cancelled" if fields["status"] == 499 else "error", line, status=fields["status"])

    # --verbose block --------------------------------------------------------------------------------------------

    def request(self, line: Line) -> Request:
        if self.block is None:
            self.block = self.state.request(line)
            self.state.run.engine = self.state.run.engine or NAME
            self.state.dialect("ollama_verbose")
        return self.block

    def total(self, fields: Fields, line: Line) -> None:
        self.block = None
        request = self.request(line)
        request.total_ms = _ms(fields)
        request.lines["total"] = line.number

    def load(self, fields: Fields, line: Line) -> None:
        self.request(line)
        run = self.state.run
        if run.load_ms is None:
            run.load_ms = _ms(fields)
            run.fact_lines["load_ms"] = line.number

    def prompt_count(self, fields: Fields, line: Line) -> None:
        if self.block is not None and (self.block.prompt_tokens is not None or self.block.output_tokens is not None):
            # Excerpts leave lines out: a second count begins another block.
            self.block = None
        self.request(line).prompt_tokens = fields["prompt_tokens"]

    def prompt_duration(self, fields: Fields, line: Line) -> None:
        request = self.request(line)
        request.prompt_ms = request.ttft_ms = _ms(fields)
        request.lines["prompt"] = line.number

    def prompt_rate(self, fields: Fields, line: Line) -> None:
        self.request(line).prompt_tps = fields["prompt_tps"]

    def eval_count(self, fields: Fields, line: Line) -> None:
        self.request(line).output_tokens = fields["output_tokens"]

    def eval_duration(self, fields: Fields, line: Line) -> None:
        request = self.request(line)
        request.eval_ms = _ms(fields)
        request.lines["eval"] = line.number

    def eval_rate(self, fields: Fields, line: Line) -> None:
        request = self.request(line)
        request.eval_tokens = request.output_tokens
        request.eval_tps = fields["eval_tps"] if (request.output_tokens or 2) > 1 else None
        request.prompt_tps = plausible_prompt_tps(request.prompt_tps, request.eval_tps)
        if request.prompt_tps is None and request.prompt_tokens:
            # The count holds cached tokens: how many were computed is unknown.
            request.cached_tokens, request.prompt_tokens = request.prompt_tokens, None
        self.block = None

    # ollama ps --------------------------------------------------------------------------------------------------

    def ps(self, fields: Fields, line: Line) -> None:
        run = self.state.run
        run.engine = run.engine or NAME
        run.setup.model_name = run.setup.model_name or fields["model"]
        run.setup.n_ctx = run.setup.n_ctx or pairs.integer(fields.get("ctx"))
        share = cpu_share_pct(fields["processor"])
        if share:
            size = pairs.size_mib(fields["size"], fields["size_unit"])
            self.state.event("host_weights", line, share_pct=share, mib=None if size is None else size * share / 100)
        elif share == 0:
            fact(self.state, line, "gpu_share_pct", 100.0)


def cpu_share_pct(processor: str) -> float | None:
    """``48%/52% CPU/GPU`` -> 48, ``100% GPU`` -> 0, ``100% CPU`` -> 100."""
    value = pairs.number(processor)
    if value is None:
        return None
    if processor.endswith("CPU/GPU"):
        return value
    return value if processor.endswith("CPU") else 100 - value


def _ms(fields: Fields) -> float | None:
    seconds = pairs.duration_s(fields["duration"])
    return None if seconds is None else round(seconds * 1000, 6)


def api_request(request: Request, record: dict[str, Any]) -> None:
    """Fill ``request`` from the last object of Ollama's API (nanoseconds; keys that are 0 are left out)."""
    request.prompt_tokens = record.get("prompt_eval_count")
    request.prompt_ms = request.ttft_ms = _ns(record.get("prompt_eval_duration"))
    request.output_tokens = request.eval_tokens = record.get("eval_count")
    request.eval_ms = _ns(record.get("eval_duration"))
    request.total_ms = _ns(record.get("total_duration"))
    request.eval_tps = rate(request.output_tokens, request.eval_ms)
    request.prompt_tps = plausible_prompt_tps(rate(request.prompt_tokens, request.prompt_ms), request.eval_tps)
    if request.prompt_tps is None and request.prompt_tokens and request.prompt_tokens > 1:
        request.cached_tokens, request.prompt_tokens = request.prompt_tokens, None


def _ns(value: Any) -> float | None:
    return value / 1e6 if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18 else None


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Ollama(state)
    names = {
        "slog": reader.slog,
        "wrapped": reader.wrapped,
        "failed": reader.failed,
        "needs_memory": reader.needs_memory,
        "old_log": reader.old_log,
        "gin": reader.gin,
        "total_duration": reader.total,
        "load_duration": reader.load,
        "prompt_count": reader.prompt_count,
        "prompt_duration": reader.prompt_duration,
        "prompt_rate": reader.prompt_rate,
        "eval_count": reader.eval_count,
        "eval_duration": reader.eval_duration,
        "eval_rate": reader.eval_rate,
        "ps": reader.ps,
    }
    return {f"ollama.{name}": handler for name, handler in names.items()}
