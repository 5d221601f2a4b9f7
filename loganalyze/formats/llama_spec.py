"""Tools that print figures of their own: speculative, lookup, lookahead, simple, batched, parallel, and ``--logdir``."""

from __future__ import annotations

from loganalyze.formats.llama_block import Blocks
from loganalyze.formats.llama_figures import count, rate, set_prompt, time_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.model.records import Request
    from loganalyze.scan.line import Line


class Tools:
    """Handlers of one source."""

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.blocks = state.part(Blocks)
        self._yaml: Request | None = None
        self._yaml_keys: set[str] = set()

    def draft(self, f: Fields, line: Line) -> None:
        self.blocks.role = "draft" if self._expects_block() else ""

    def target(self, f: Fields, line: Line) -> None:
        self.blocks.role = "target"

    def _expects_block(self) -> bool:
        """``draft:`` heads the draft model's block only behind the figures of the whole run."""
        return self.blocks.spec is not None

    def encoded(self, f: Fields, line: Line) -> None:
        self.blocks.books.name_engine()
        request = self.state.request(line, complete=False)
        self.state.dialect("speculative")
        set_prompt(request, round(f["encoded_s"] * 1000, 3), f["encoded_tokens"], f["encoded_tps"], line.number)
        self.blocks.begin_spec(request)

    def decoded(self, f: Fields, line: Line) -> None:
        request = self.blocks.spec
        if request is None:
            request = self.state.request(line)
            self.blocks.begin_spec(request)
        ms = round(f["decoded_s"] * 1000, 3)
        request.output_tokens = request.eval_tokens = count(f["decoded_tokens"])
        request.eval_ms, request.eval_tps = time_ms(ms), rate(f["decoded_tps"], f["decoded_tokens"], ms)
        request.complete = True
        request.lines["eval"] = line.number

    def count(self, f: Fields, line: Line) -> None:
        key, request = f["spec_key"], self.blocks.spec
        if key == "n_drafted" and request is not None:
            request.draft_tokens = f["spec_value"]
            request.lines["draft"] = line.number
        elif key == "n_accept" and request is not None:
            request.draft_accepted = f["spec_value"]
        else:
            self.blocks.fact(key, f["spec_value"], line)

    def accept(self, f: Fields, line: Line) -> None:
        self.blocks.fact("draft_accept_pct", f["accept_pct"], line)

    def draft_time(self, f: Fields, line: Line) -> None:
        self.blocks.fact("draft_lookup_ms", f["draft_ms"], line)

    def simple(self, f: Fields, line: Line) -> None:
        """Prompt and generation together; the block that may follow knows better."""
        self.blocks.books.name_engine()
        seconds, tokens = f["decoded_s"], f["decoded_tokens"]
        for name, value in (("tokens", tokens), ("s", seconds), ("tps", f["decoded_tps"])):
            self.blocks.fact(f"decoded_{name}", value, line)
        request = self.state.request(
            line, output_tokens=tokens, total_ms=time_ms(round(seconds * 1000, 3)), end_to_end_tps=True
        )
        request.eval_tps = rate(f["decoded_tps"], tokens, seconds)
        request.lines["eval"] = line.number
        self.blocks.begin_simple(request)
        self.state.dialect("simple")

    def client(self, f: Fields, line: Line) -> None:
        self.blocks.books.name_engine()
        self.state.dialect("parallel")
        request = self.state.request(line, slot=f["client"], task=f["sequence"], end_to_end_tps=True, end_s=line.t_s)
        request.prompt_tokens, request.output_tokens = count(f["prompt_tokens"]), count(f["output_tokens"])
        request.total_ms = time_ms(round(f["total_s"] * 1000, 3))
        request.eval_tps = rate(f["tps"], f["output_tokens"], f["total_s"])
        request.lines["total"] = line.number

    def clients(self, f: Fields, line: Line) -> None:
        kind = "prompt" if "prompt" in f["parallel_what"] else "gen"
        self.blocks.fact(f"total_{kind}_tokens", f["total_count"], line)
        self.blocks.fact(f"total_{kind}_tps", f["tps"], line)

    def clients_speed(self, f: Fields, line: Line) -> None:
        self.blocks.fact("total_tps", f["tps"], line)

    # ---- --logdir

    def _yaml_request(self, key: str, line: Line) -> Request:
        if self._yaml is None or key in self._yaml_keys:
            self.blocks.books.name_engine()
            self.state.dialect("yaml")
            self._yaml, self._yaml_keys = self.state.request(line), set()
        self._yaml_keys.add(key)
        return self._yaml

    def yaml_count(self, f: Fields, line: Line) -> None:
        key, value = f["yaml_key"].rstrip(":"), f["yaml_value"]
        request = self._yaml_request(key, line)
        if key == "n_eval":
            request.eval_tokens, request.output_tokens = value, value + 1
        elif key == "n_p_eval":
            request.prompt_tokens = value
        elif key == "t_eval_us":
            request.eval_ms = value / 1000
        elif key == "t_p_eval_us":
            request.prompt_ms = value / 1000
            request.ttft_ms = request.prompt_ms or None
        elif key == "t_load_us":
            self.state.run.load_ms = value / 1000
        elif key == "t_sample_us":
            request.sampling_ms = value / 1000
        request.lines[{"t_eval_us": "eval", "t_p_eval_us": "prompt"}.get(key, key)] = line.number

    def yaml_rate(self, f: Fields, line: Line) -> None:
        key, value = f["yaml_rate_key"].rstrip(":"), f["yaml_number"]
        request = self._yaml_request(key, line)
        if key == "ts_eval":
            request.eval_tps = rate(value, request.eval_tokens, request.eval_ms)
        elif key == "ts_p_eval":
            request.prompt_tps = rate(value, request.prompt_tokens, request.prompt_ms)


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of these tools' rules."""
    tools = Tools(state)
    return {
        "llama_timings.draft_head": tools.draft,
        "llama_timings.target_head": tools.target,
        "llama_timings.spec_encoded": tools.encoded,
        "llama_timings.spec_decoded": tools.decoded,
        "llama_timings.spec_count": tools.count,
        "llama_timings.spec_accept": tools.accept,
        "llama_timings.spec_draft_time": tools.draft_time,
        "llama_timings.simple_decoded": tools.simple,
        "llama_timings.parallel_client": tools.client,
        "llama_timings.parallel_total": tools.clients,
        "llama_timings.parallel_speed": tools.clients_speed,
        "llama_timings.yaml_count": tools.yaml_count,
        "llama_timings.yaml_rate": tools.yaml_rate,
    }
