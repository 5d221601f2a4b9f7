"""vLLM server log and offline tools, 0.2.7 to 0.33.0.

The statistics line (about every 10 s) sums requests and averages over its window, idle time included; up to 0.11 its
prompt rate counts cached tokens. ``Swapped: 0 reqs`` is a counter at zero and no swapping.
Facts: ``kv_tokens``, ``kv_mib``, ``spec_accept_pct``; events: throughput, queue, preempted, alloc_failed, load_failed.
"""

from __future__ import annotations

from loganalyze.formats import pairs
from loganalyze.formats.base import LogState
from loganalyze.formats.serving import fact, interval
from loganalyze.model.records import Buffer
from loganalyze.scan.line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Fields, Handler

NAME = "vllm"
GRAMMARS = ("vllm",)
GIB = 1024.0


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""

    def start() -> None:
        state.run.engine = NAME
        state.dialect(NAME)

    def version(fields: Fields, line: Line) -> None:
        start()
        state.run.version = fields["engine_version"]
        model = fields.get("quoted_model")
        if model:
            state.run.setup.model_name = model.strip("'")

    def stats(fields: Fields, line: Line) -> None:
        start()
        told = pairs.colon_pairs(fields["pairs"])
        waiting = told.get("Waiting", told.get("Pending"))
        usage = next((v for k, v in told.items() if k.endswith("KV cache usage") and not k.startswith("CPU")), None)
        interval(
            state,
            line,
            prompt_tps=fields["prompt_tps"],
            gen_tps=fields["gen_tps"],
            running=pairs.integer(told.get("Running")),
            waiting=pairs.integer(waiting),
            usage_pct=pairs.number(usage),
            hit_pct=pairs.number(told.get("Prefix cache hit rate")),
        )
        swapped, preempted = pairs.integer(told.get("Swapped")), pairs.integer(told.get("Preemptions"))
        if swapped or preempted:
            state.event("preempted", line, n=swapped or preempted, mode="swap" if swapped else "recompute")

    def spec(fields: Fields, line: Line) -> None:
        start()
        if fields["drafted"]:
            fact(state, line, "spec_accept_pct", fields["accepted"] / fields["drafted"] * 100)

    def old_spec(fields: Fields, line: Line) -> None:
        start()
        fact(state, line, "spec_accept_pct", fields["accept_share"] * 100)

    def weights(fields: Fields, line: Line) -> None:
        start()
        run = state.run
        if not any(b.kind == "model" for b in run.memory):
            run.memory.append(Buffer("GPU", "model", fields["weights_gib"] * GIB, state.source.path, line.number))
        if fields.get("load_s") is not None:
            run.load_ms = fields["load_s"] * 1000
            run.fact_lines["load_ms"] = line.number

    def kv_memory(fields: Fields, line: Line) -> None:
        start()
        run = state.run
        if not any(b.kind == "kv" for b in run.memory):
            run.memory.append(Buffer("GPU", "kv", fields["kv_gib"] * GIB, state.source.path, line.number))

    def kv_size(fields: Fields, line: Line) -> None:
        start()
        fact(state, line, "kv_tokens", fields.get("kv_tokens"))
        fact(state, line, "max_concurrency", fields.get("concurrency"))

    def preempted(fields: Fields, line: Line) -> None:
        start()
        state.event("preempted", line, n=fields["preemptions"], mode=fields["preempt_mode"].lower())

    def failed(fields: Fields, line: Line) -> None:
        start()
        need = fields.get("need_gib")
        state.event("alloc_failed", line, device="GPU", mib=None if need is None else need * GIB, recovered=False)

    def offload(fields: Fields, line: Line) -> None:
        start()
        if fields["offload_gb"]:
            state.event("host_weights", line, mib=fields["offload_gb"] * GIB)

    def budget(fields: Fields, line: Line) -> None:
        start()
        fact(state, line, "reserved_share", fields["fraction"])

    def throughput(fields: Fields, line: Line) -> None:
        start()
        fact(state, line, "bench_output_tps", fields["output_tps"])
        fact(state, line, "bench_total_tps", fields.get("total_tps"))

    def bar(fields: Fields, line: Line) -> None:
        start()
        fact(state, line, "bench_output_tps", fields["output_tps"])
        fact(state, line, "bench_input_tps", fields["input_tps"])

    return {
        "vllm.engine": version,
        "vllm.api_server": version,
        "vllm.stats": stats,
        "vllm.spec": spec,
        "vllm.old_spec": old_spec,
        "vllm.weights": weights,
        "vllm.old_weights": weights,
        "vllm.kv_memory": kv_memory,
        "vllm.kv_size": kv_size,
        "vllm.offload": offload,
        "vllm.preempted": preempted,
        "vllm.no_blocks": failed,
        "vllm.max_len_too_big": failed,
        "vllm.startup_memory": failed,
        "vllm.sampler_oom": failed,
        "vllm.budget": budget,
        "vllm.bench_throughput": throughput,
        "vllm.bar": bar,
    }
