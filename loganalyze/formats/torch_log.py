"""PyTorch, Transformers, accelerate, bitsandbytes, and what people print around them.

Out-of-memory texts of all eras, ``hf_device_map`` (any ``cpu`` or ``disk`` entry means weights cross the bus for each
token), offload warnings, memory footprint (bytes when larger than 1e7), ``torch.cuda.memory_summary()`` retries, and
measurements of users as Python or JSON dictionaries (``{'seconds': 4.2, 'new_tokens': 64}``), whose time is the whole
call. Facts: ``footprint_mib``, ``device_map``, ``host_share_pct``, ``alloc_retries``.
"""

from __future__ import annotations

from loganalyze.formats import pairs
from loganalyze.formats.base import LogState
from loganalyze.formats.serving import fact
from loganalyze.light import lazy_pattern
from loganalyze.model.records import Device
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler

NAME = "transformers"
GRAMMARS = ("torch",)

_ENTRY = lazy_pattern(
    r"""['"]([A-Za-z_][\w.]*)['"]: ?(?:np\.float\d*\()?(?:tensor\()?(-?\d{1,15}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?)"""
)
_PLACE = lazy_pattern(r"'([A-Za-z0-9_.]*)': ?'?([a-z:0-9]+)'?")
# Clauses of the message since 2.1, in any order: who holds the card's memory.
_SHARES = {
    "process_mib": lazy_pattern(r"this process has (\d+(?:\.\d+)?) ([A-Za-z]+) memory in use"),
    "allocated_mib": lazy_pattern(r"Of the allocated memory (\d+(?:\.\d+)?) ([A-Za-z]+) is allocated by PyTorch"),
    "private_mib": lazy_pattern(r"with (\d+(?:\.\d+)?) ([A-Za-z]+) allocated in private pools"),
    "unallocated_mib": lazy_pattern(r"(?<!\d)(\d+(?:\.\d+)?) ([A-Za-z]+) is reserved by PyTorch but unallocated"),
}
_OTHERS = lazy_pattern(r"Process \d+ has (\d+(?:\.\d+)?) ([A-Za-z]+) memory in use")
SECONDS = ("seconds", "elapsed", "time", "duration", "latency")
FIRST = ("ttft", "first_token")
WRITTEN = ("new_tokens", "generated", "output_tokens", "completion_tokens", "n_tokens")
READ = ("prompt_tokens", "input_tokens")
RATE = ("tps", "tok_s", "tokens_per_second", "tokens_per_s", "throughput")


class _Reader:
    def __init__(self, state: LogState) -> None:
        self.state = state

    def start(self) -> None:
        self.state.run.engine = self.state.run.engine or NAME
        self.state.dialect(NAME)

    def oom(self, fields: Fields, line: Line) -> None:
        self.start()
        total = pairs.size_mib(fields.get("capacity"), fields.get("capacity_unit"))
        free = pairs.size_mib(fields.get("free"), fields.get("free_unit"))
        want = pairs.size_mib(fields.get("want"), fields.get("want_unit"))
        gpu = fields.get("gpu")
        shares = _shares(fields.get("oom_tail", ""))
        if "reserved" in fields:
            shares["reserved_mib"] = pairs.size_mib(fields["reserved"], fields["reserved_unit"])
        self.state.event(
            "alloc_failed",
            line,
            device=f"GPU {gpu}",
            mib=want,
            free_mib=free,
            total_mib=total,
            host=False,
            recovered=False,
            **shares,
        )
        run = self.state.run
        if total is not None and not any(d.index == gpu for d in run.devices):
            run.devices.append(
                Device(
                    None,
                    id=f"cuda:{gpu}",
                    index=gpu,
                    total_mib=total,
                    source=self.state.source.path,
                    line=line.number,
                )
            )

    def summary(self, fields: Fields, line: Line) -> None:
        self.start()
        fact(self.state, line, "alloc_retries", fields["retries"])

    def offloaded(self, _fields: Fields, line: Line) -> None:
        self.start()
        self.state.event("host_weights", line)
        self.bare_footprint()

    def shards(self, fields: Fields, _line: Line) -> None:
        self.start()
        if fields["percent"] == 100:
            self.bare_footprint()

    def bare_footprint(self) -> None:
        """``print(model.get_memory_footprint())`` right after loading: a line that is one large number, in bytes."""
        scanner = self.state.scanner
        if scanner is None:
            return
        for line in scanner.take_while(lambda raw: raw.text.isdigit() and 8 <= len(raw.text) <= 13):
            fact(self.state, line, "footprint_mib", int(line.text) / 2**20)

    def device_map(self, fields: Fields, line: Line) -> None:
        self.start()
        places = [place for _, place in _PLACE.findall(fields["map"])]
        away = sum(place in ("cpu", "disk") for place in places)
        if places:
            fact(self.state, line, "device_map", {p: places.count(p) for p in sorted(set(places))})
            if away and away < len(places):
                self.state.event("host_weights", line, share_pct=100 * away / len(places), disk="disk" in places)
            elif away:
                self.state.event("host_weights", line, share_pct=100.0, disk="disk" in places)

    def footprint(self, fields: Fields, line: Line) -> None:
        self.start()
        size = fields["size"]
        unit = fields.get("size_unit")
        if unit is not None:
            fact(self.state, line, "footprint_mib", pairs.size_mib(size, unit))
        elif size > 1e7:
            fact(self.state, line, "footprint_mib", size / 2**20)

    def measure(self, fields: Fields, line: Line) -> None:
        told = {key.lower(): float(value) for key, value in _ENTRY.findall(fields["dict"])}
        seconds = _pick(told, SECONDS)
        written = _pick(told, WRITTEN)
        if seconds is None and _pick(told, RATE) is None:
            return
        self.start()
        request = self.state.request(line)
        request.total_ms = seconds
        request.output_tokens = None if written is None else int(written)
        prompt = _pick(told, READ)
        request.prompt_tokens = None if prompt is None else int(prompt)
        request.ttft_ms = _pick(told, FIRST)
        request.lines = {"total": line.number}
        request.end_to_end_tps = True
        if request.total_ms and written and written > 1:
            rest = request.total_ms - (request.ttft_ms or 0.0)
            if request.ttft_ms is not None and rest > 0:
                request.end_to_end_tps = False
                request.eval_tokens, request.eval_ms = int(written) - 1, rest
                request.eval_tps = (written - 1) / rest * 1000
                request.prompt_ms = request.ttft_ms
            else:
                request.eval_tps = written / request.total_ms * 1000
        elif request.total_ms is None:
            request.eval_tps = _pick(told, RATE)


def _shares(text: str) -> dict[str, float | None]:
    found = {name: pattern.search(text) for name, pattern in _SHARES.items()}
    shares = {name: pairs.size_mib(float(m.group(1)), m.group(2)) for name, m in found.items() if m}
    others = [pairs.size_mib(float(value), unit) for value, unit in _OTHERS.findall(text)]
    if others:
        shares["others_mib"] = sum(o for o in others if o is not None)
    return shares


def _pick(told: dict[str, float], names: tuple[str, ...]) -> float | None:
    """First known spelling; times come back in ms (suffix ``_ms``, or seconds)."""
    for key, value in told.items():
        base = key.removesuffix("_ms").removesuffix("_s").removesuffix("_sec").removesuffix("_seconds")
        if key in names:
            return value * 1000 if names in (SECONDS, FIRST) else value
        if base in names and names in (SECONDS, FIRST):
            return value if key.endswith("_ms") else value * 1000
    return None


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""
    reader = _Reader(state)
    names: dict[str, Any] = {
        "oom": reader.oom,
        "oom_old": reader.oom,
        "summary_head": reader.summary,
        "offloaded": reader.offloaded,
        "dispatched": reader.offloaded,
        "disk": reader.offloaded,
        "cannot_move": reader.offloaded,
        "device_map": reader.device_map,
        "footprint": reader.footprint,
        "footprint_call": reader.footprint,
        "measure": reader.measure,
        "shards": reader.shards,
    }
    return {f"torch.{name}": handler for name, handler in names.items()}
