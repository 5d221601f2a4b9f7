"""Timing summaries of llama.cpp's command line tools and relatives, every age: ``grammars/llama_timings.lark``.

One block is one request: its tool answered once, or llama-cpp-python was called once. ``Run.load_ms`` is the load time
(it ends behind the first evaluation, so it holds the first prompt where there was no warm-up), ``Run.total_ms`` the
last total. Blocks of one process share their load time; another load time is another process.
Facts: ``prompt_tokens_printed`` (``--verbose-prompt``), ``interactive`` (total holds the user's thinking time),
``samplers_ms``, ``samplers_tokens``, ``total_tokens``, ``unaccounted_pct``, ``mem_per_token_bytes``, ``draft_*`` (block
of the draft model), ``target_*`` (block of the target model where the tool printed better figures),
``decoded_tokens``, ``decoded_s``, ``decoded_tps``, ``total_prompt_tokens``, ``total_prompt_tps``, ``total_gen_tokens``,
``total_gen_tps``, ``total_tps`` (parallel), ``draft_accept_pct``, ``cumulative`` (blocks were sums over the process; the
requests are their differences).
"""

from __future__ import annotations

from loganalyze.formats import llama_kobold, llama_spec
from loganalyze.formats.llama_block import Blocks
from loganalyze.formats.llama_figures import count, rate, time_ms
from loganalyze.formats.llama_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

NAME = "llama_cpp"
GRAMMARS = ("llama_timings",)
DIALECTS = {
    "main": "main_predict_time",
    "llama_print_timings": "print_timings",
    "llama_perf_print": "perf_print",
    "llama_perf_context_print": "perf_context_print",
    "llama_perf_sampler_print": "perf_context_print",
    "common_perf_print": "common_perf_print",
}


class Timings:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.blocks = state.part(Blocks)
        self.text = Text(state)

    def _dialect(self, f: Fields) -> None:
        self.state.dialect(DIALECTS.get(f.get("func", ""), "print_timings"))

    def load(self, f: Fields, line: Line) -> None:
        self.blocks.load(f["load_ms"], line)

    def sample(self, f: Fields, line: Line) -> None:
        self.blocks.hold("sample", {"ms": f["sample_ms"], "runs": f.get("sample_runs")}, line)

    def samplers(self, f: Fields, line: Line) -> None:
        self.blocks.hold("samplers", {"ms": f["samplers_ms"], "tokens": f["samplers_tokens"]}, line)

    def prompt(self, f: Fields, line: Line) -> None:
        if f.get("func") == "print_timings":
            self.text.prompt(f, line)
            return
        self._dialect(f)
        self.blocks.prompt(f["prompt_ms"], f["prompt_tokens"], f.get("tps"), line)

    def eval(self, f: Fields, line: Line) -> None:
        if f.get("func") == "print_timings":
            self.text.eval(f, line)
            return
        self._dialect(f)
        self.blocks.eval(f["eval_ms"], f["eval_runs"], f.get("tps"), line)

    def total(self, f: Fields, line: Line) -> None:
        if f.get("func") == "print_timings":
            self.text.total(f, line)
            return
        self.blocks.total(f["total_ms"], f.get("total_tokens"), line)

    def unaccounted(self, f: Fields, line: Line) -> None:
        self.blocks.unaccounted(f["unaccounted_ms"], f["unaccounted_pct"], line)

    def graphs(self, f: Fields, line: Line) -> None:
        self.blocks.graphs(f["graphs_reused"], line)

    def predict(self, f: Fields, line: Line) -> None:
        """Prompt and generation together: no rate of either half."""
        self._dialect(f)
        request = self.blocks.take("predict", line)
        request.prompt_tokens = self.state.run.facts.get("prompt_tokens_printed")
        request.end_to_end_tps = True
        ms, per_token = time_ms(f["predict_ms"]), time_ms(f["ms_per_token"])
        request.eval_ms = ms
        if ms is not None and per_token:
            request.eval_tokens = count(round(ms / per_token))
            request.eval_tps = rate(1000 / per_token, request.eval_tokens, ms)
        request.complete = True
        request.lines["eval"] = line.number

    def mem_per_token(self, f: Fields, line: Line) -> None:
        self.blocks.fact("mem_per_token_bytes", f["mem_per_token_bytes"], line)

    def cli_rates(self, f: Fields, line: Line) -> None:
        """The only figures of llama-cli since b7348; 0.0 means that nothing ran."""
        self.state.dialect("llama_cli_rates")
        self.blocks.rates(f["prompt_tps"], f["eval_tps"], line)

    def prompt_count(self, f: Fields, line: Line) -> None:
        self.blocks.fact("prompt_tokens_printed", f["prompt_tokens"], line)

    def interactive(self, f: Fields, line: Line) -> None:
        self.blocks.fact("interactive", True, line)

    def consumed(self, f: Fields, line: Line) -> None:
        self.blocks.fact("n_ctx_used", f["n_ctx_used"], line)

    def log_start(self, f: Fields, line: Line) -> None:
        self.state.opening("log_start")

    def media(self, f: Fields, line: Line) -> None:
        self.state.event("phase", line, stage=str(f.get("media", "image")), seconds=f["media_ms"] / 1000)

    # ---- llama-cpp-python, llamafile

    def python_prefix(self, f: Fields, line: Line) -> None:
        self.blocks.books.identify("llama-cpp-python")
        self.blocks.prefix = (f.get("cached_tokens"), f.get("remaining_tokens"))
        if "cached_tokens" in f:
            self.state.event("cache_reuse", line, tokens=f["cached_tokens"])

    def python(self, f: Fields, line: Line) -> None:
        self.blocks.books.identify("llama-cpp-python")

    def llamafile(self, f: Fields, line: Line) -> None:
        self.blocks.books.identify("llamafile")
        if "version" in f:
            self.state.run.version = f["version"]

    def llamafile_prompt(self, f: Fields, line: Line) -> None:
        self.llamafile(f, line)
        self.blocks.fact("llamafile_prompt_tps", f["prompt_tps"], line)

    def prefill(self, f: Fields, line: Line) -> None:
        """Prompt of llamafiler: no time is printed."""
        self.llamafile(f, line)
        self.state.dialect("llamafiler")
        request = self.state.request(line, prompt_tokens=f["evaluated_tokens"], cached_tokens=f["kept_tokens"])
        request.lines["prompt"] = line.number
        request.complete = False


_NAMES = {
    "load_time": "load",
    "sample_time": "sample",
    "samplers_time": "samplers",
    "prompt_time": "prompt",
    "eval_time": "eval",
    "total_time": "total",
    "unaccounted_time": "unaccounted",
    "graphs_time": "graphs",
    "other_load": "load",
    "other_sample": "sample",
    "other_prompt": "prompt",
    "other_eval": "eval",
    "other_total": "total",
    "predict_time": "predict",
    "mem_per_token": "mem_per_token",
    "cli_rates": "cli_rates",
    "prompt_count": "prompt_count",
    "interactive": "interactive",
    "tokens_consumed": "consumed",
    "log_start": "log_start",
    "media_encoded": "media",
    "media_decoded": "media",
    "media_processed": "media",
    "media_segments": "media",
    "python_prefix": "python_prefix",
    "python_cache": "python",
    "python_state": "python",
    "llamafile_version": "llamafile",
    "llamafile_prompt": "llamafile_prompt",
    "llamafiler_prefill": "prefill",
}


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_timings``."""
    timings = Timings(state)
    found: dict[str, Any] = {f"llama_timings.{rule}": getattr(timings, name) for rule, name in _NAMES.items()}
    return found | llama_spec.handlers(state) | llama_kobold.handlers(state)
