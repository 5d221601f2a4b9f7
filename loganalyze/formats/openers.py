"""Engines that print one kind of line each: LM Studio, text-generation-webui, TabbyAPI, ExLlama, MLX-LM, MLC-LLM.

text-generation-webui (and the Transformers chat tool) divide by the whole call, prompt included: such a rate is marked
``end_to_end_tps`` and never judged as writing. TabbyAPI's and MLX's prompt rates count computed tokens. LM Studio's log
tells whole seconds only, so its first-token time is good to about one second. MLX "GB" is decimal.
"""

from __future__ import annotations

from loganalyze.formats.base import LogState
from loganalyze.formats.engine_rates import elapsed_ms, plausible_prompt_tps
from loganalyze.formats.serving import fact
from loganalyze.model.records import RateSample, Request
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler

NAME = "openers"
GRAMMARS = ("openers",)


class _Reader:
    def __init__(self, state: LogState) -> None:
        self.state = state
        self.open: Request | None = None

    def start(self, engine: str, line: Line) -> Request:
        self.state.run.engine = self.state.run.engine or engine
        self.state.dialect(engine)
        return self.state.request(line)

    # LM Studio

    def lms_start(self, _fields: Fields, line: Line) -> None:
        self.open = self.start("lm studio", line)
        self.open.start_s = line.t_s
        self.open.complete = False

    def lms_progress(self, fields: Fields, line: Line) -> None:
        share = fields["progress_pct"] / 100
        before = self.open.samples[-1].progress if self.open is not None and self.open.samples else None
        if self.open is None or (before is not None and share < before):
            self.lms_start(fields, line)
        request, path = self.open, self.state.source.path
        if request is None:
            return
        request.samples.append(RateSample("reading", line.t_s, None, None, None, share, path, line.number))
        if line.t_s is not None and request.start_s is not None and line.t_s > request.start_s:
            # The prompt's time so far; the last progress line completes it.
            request.prompt_ms = (line.t_s - request.start_s) * 1000
            request.lines["prompt"] = line.number
            if share >= 1:
                request.ttft_ms = request.prompt_ms

    def lms_packet(self, _fields: Fields, line: Line) -> None:
        request = self.open
        if request is not None and request.ttft_ms is None:
            request.ttft_ms = elapsed_ms(request.start_s, line.t_s)

    def lms_end(self, _fields: Fields, line: Line) -> None:
        request, self.open = self.open, None
        if request is None:
            return
        request.complete = True
        request.end_s = line.t_s
        request.total_ms = elapsed_ms(request.start_s, line.t_s)
        if request.total_ms is not None and request.prompt_ms is not None and request.total_ms > request.prompt_ms:
            request.eval_ms = request.total_ms - request.prompt_ms

    def lms_footer(self, fields: Fields, line: Line) -> None:
        request = self.start("lm studio", line)
        request.eval_tps, request.output_tokens = fields["eval_tps"], fields["output_tokens"]
        request.ttft_ms = fields["ttft_s"] * 1000
        request.lines = {"eval": line.number}

    # whole-call rates

    def textgen(self, fields: Fields, line: Line) -> None:
        request = self.start("text-generation-webui", line)
        self._whole_call(request, fields, line)

    def hf_chat(self, fields: Fields, line: Line) -> None:
        self._whole_call(self.start("transformers", line), fields, line)

    @staticmethod
    def _whole_call(request: Request, fields: Fields, line: Line) -> None:
        request.total_ms = fields["total_s"] * 1000
        request.output_tokens = fields["output_tokens"]
        request.prompt_tokens = fields.get("prompt_tokens")
        request.eval_tps = fields["end_tps"] if fields["output_tokens"] > 1 else None
        request.end_to_end_tps = True
        request.lines = {"total": line.number}

    # TabbyAPI, ExLlama

    def tabby(self, fields: Fields, line: Line) -> None:
        request = self.start("tabbyapi", line)
        output, context = fields["output_tokens"], fields["context_tokens"]
        request.output_tokens = request.eval_tokens = output
        request.total_ms = fields["total_s"] * 1000
        request.cached_tokens = fields.get("cached_tokens")
        new = fields.get("new_tokens")
        request.prompt_tokens = context if new is None else new
        request.eval_tps = fields.get("eval_tps") or None
        request.prompt_tps = plausible_prompt_tps(fields.get("prompt_tps"), None)
        if request.prompt_tps and request.prompt_tokens:
            request.prompt_ms = request.prompt_tokens / request.prompt_tps * 1000
            request.ttft_ms = request.prompt_ms + fields["queue_s"] * 1000
        if request.eval_tps:
            request.eval_ms = output / request.eval_tps * 1000
        request.lines = {"total": line.number}

    def exl_prefill(self, fields: Fields, line: Line) -> None:
        request = self.start("exllama", line)
        request.prompt_tokens, request.prompt_tps = fields["prompt_tokens"], fields["prompt_tps"]
        request.prompt_ms = fields["prompt_tokens"] / fields["prompt_tps"] * 1000 if fields["prompt_tps"] else None
        request.lines = {"prompt": line.number}

    def exl_decode(self, fields: Fields, line: Line) -> None:
        request = self.start("exllama", line)
        request.output_tokens = request.eval_tokens = fields["output_tokens"]
        request.eval_tps = fields["eval_tps"]
        request.eval_ms = fields["output_tokens"] / fields["eval_tps"] * 1000 if fields["eval_tps"] else None
        request.n_ctx_used = fields["depth"]
        request.lines = {"eval": line.number}

    # MLX-LM, MLC-LLM

    def mlx_prompt(self, fields: Fields, line: Line) -> None:
        request = self.open = self.start("mlx-lm", line)
        request.prompt_tokens = fields.get("prompt_tokens")
        request.prompt_tps = plausible_prompt_tps(fields["prompt_tps"], None)
        if request.prompt_tps and request.prompt_tokens:
            request.prompt_ms = request.ttft_ms = request.prompt_tokens / request.prompt_tps * 1000
            if request.prompt_tokens < 2:
                request.prompt_tps = None
        request.lines["prompt"] = line.number

    def mlx_generation(self, fields: Fields, line: Line) -> None:
        request = self.open or self.start("mlx-lm", line)
        self.open = None
        request.output_tokens = request.eval_tokens = fields.get("output_tokens")
        request.eval_tps = fields["eval_tps"] or None
        if request.eval_tps and request.output_tokens:
            request.eval_ms = request.output_tokens / request.eval_tps * 1000
        request.lines["eval"] = line.number

    def mlx_trial(self, fields: Fields, line: Line) -> None:
        request = self.start("mlx-lm", line)
        request.prompt_tps, request.eval_tps = fields["prompt_tps"], fields["eval_tps"]
        if fields.get("total_s") is not None:
            request.total_ms = fields["total_s"] * 1000
        request.lines = {"eval": line.number}

    def mlx_memory(self, fields: Fields, line: Line) -> None:
        self.state.run.engine = self.state.run.engine or "mlx-lm"
        fact(self.state, line, "peak_mib", fields["peak_gb"] * 1e9 / 2**20)

    def mlx_wired(self, fields: Fields, line: Line) -> None:
        self.state.run.engine = self.state.run.engine or "mlx-lm"
        self.state.event(
            "working_set", line, mib=fields["need_mb"] * 1e6 / 2**20, limit_mib=fields["limit_mb"] * 1e6 / 2**20
        )

    def mlc(self, fields: Fields, line: Line) -> None:
        request = self.start("mlc-llm", line)
        request.prompt_tps, request.eval_tps = fields["prompt_tps"], fields["eval_tps"]
        request.lines = {"eval": line.number}


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Reader(state)
    same = {"mlx_old_prompt": reader.mlx_prompt, "mlx_old_generation": reader.mlx_generation}
    names = (
        "lms_start",
        "lms_progress",
        "lms_packet",
        "lms_end",
        "lms_footer",
        "textgen",
        "hf_chat",
        "tabby",
        "exl_prefill",
        "exl_decode",
        "mlx_prompt",
        "mlx_generation",
        "mlx_trial",
        "mlx_memory",
        "mlx_wired",
        "mlc",
    )
    found: dict[str, Handler] = {f"openers.{n}": getattr(reader, n) for n in names}
    return found | {f"openers.{n}": h for n, h in same.items()}
