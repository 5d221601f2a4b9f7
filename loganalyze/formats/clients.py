"""Client side: summaries of SGLang ``bench_serving`` and ``vllm bench serve``, ``curl -w`` timings.

A summary becomes one request that stands for all: totals of tokens, median TTFT, and 1000 / median TPOT as the rate of
one stream. The table's ``Output token throughput`` includes prompts, sums streams and stays a fact (``bench_output_tps``).
``time_starttransfer`` is the first token only when the answer streams; when it is nearly ``time_total`` it says nothing.
"""

from __future__ import annotations

from loganalyze.formats.base import LogState
from loganalyze.formats.serving import fact
from loganalyze.light import lazy_pattern
from loganalyze.model.records import Request
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler

NAME = "clients"
GRAMMARS = ("clients",)
_NUMBER = lazy_pattern(r'"(time_starttransfer|time_total)": ?(\d{1,9}(?:\.\d{1,9})?)')
# The first byte of an answer that does not stream comes with the last: closer than this share of the total is no TTFT.
STREAM_SHARE = 0.98
# Servers that send headers at once answer within this time whatever the prompt.
HEADER_S = 0.05


class _Reader:
    def __init__(self, state: LogState) -> None:
        self.state = state
        self.bench: Request | None = None
        self.curl: dict[str, float] = {}

    def head(self, _fields: Fields, line: Line) -> None:
        self.bench = None
        self.bench_request(line)

    def bench_request(self, line: Line) -> Request:
        if self.bench is None:
            self.bench = self.state.request(line)
            self.state.dialect("bench_serving")
            self.state.run.facts["bench_table"] = True
        return self.bench

    def row(self, fields: Fields, line: Line) -> None:
        key, value = fields["bench_key"], fields["bench_value"]
        if value != value or value in (float("inf"), float("-inf")):
            return
        request = self.bench_request(line)
        if key == "Total input tokens":
            request.prompt_tokens = int(value)
        elif key == "Total generated tokens":
            request.output_tokens = int(value)
        elif key == "Median TTFT (ms)":
            request.ttft_ms = value
        elif key == "Median TPOT (ms)" and value > 0:
            request.eval_tps = 1000 / value
            request.lines["eval"] = line.number
        elif key == "Benchmark duration (s)":
            fact(self.state, line, "bench_duration_s", value)
        elif key == "Output token throughput (tok/s)":
            fact(self.state, line, "bench_output_tps", value)
        elif key == "Successful requests":
            fact(self.state, line, "bench_requests", int(value))
        elif key in ("Max request concurrency", "Maximum request concurrency", "Concurrency"):
            fact(self.state, line, "bench_concurrency", value)
        elif key == "Mean TTFT (ms)" and request.ttft_ms is None:
            request.ttft_ms = value

    def curl_time(self, fields: Fields, line: Line) -> None:
        name = line.text.strip().split(b":", 1)[0].rsplit(b" ", 1)[-1].decode("ascii", "replace")
        self.curl[name] = fields["curl_s"]
        if name == "time_total" or ("time_total" in self.curl and name == "time_starttransfer"):
            self.finish(self.curl.get("time_starttransfer"), self.curl["time_total"], line)
            self.curl = {}

    def curl_pair(self, fields: Fields, line: Line) -> None:
        self.finish(fields["ttfb_s"], fields["total_s"], line)

    def curl_json(self, fields: Fields, line: Line) -> None:
        told = {key: float(value) for key, value in _NUMBER.findall(fields["curl_object"])}
        if "time_total" in told:
            self.finish(told.get("time_starttransfer"), told["time_total"], line)

    def finish(self, first_s: float | None, total_s: float, line: Line) -> None:
        request = self.state.request(line)
        self.state.dialect("curl")
        request.total_ms = total_s * 1000
        if first_s is not None and HEADER_S <= first_s < STREAM_SHARE * total_s:
            request.ttft_ms = first_s * 1000
        request.lines = {"total": line.number}


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Reader(state)
    names = {
        "bench_head": reader.head,
        "bench_row": reader.row,
        "curl_time": reader.curl_time,
        "curl_pair": reader.curl_pair,
        "curl_json": reader.curl_json,
    }
    return {f"clients.{name}": handler for name, handler in names.items()}
