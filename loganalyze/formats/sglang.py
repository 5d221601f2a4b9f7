"""SGLang server log, 0.1.16 to 0.5.23.

``gen throughput`` is tokens of all running requests over the wall gap since the last decode line, so it is kept as an
interval figure; one stream's rate is it over ``#running-req``. ``token usage`` is the share of the KV pool. "GB" are GiB.
Facts: ``kv_tokens``, ``weights_mib``, ``available_mib``; events: throughput, queue, preempted (retraction), alloc_failed.
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

NAME = "sglang"
GRAMMARS = ("sglang",)
GIB = 1024.0


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers by rule."""

    def start(line: Line) -> None:
        state.run.engine = NAME
        state.dialect(NAME)

    def decode(fields: Fields, line: Line) -> None:
        start(line)
        told = pairs.colon_pairs(fields.get("pairs") or fields["pairs_running"])
        usage = pairs.number(told.get("token usage") or told.get("full token usage"))
        interval(
            state,
            line,
            gen_tps=pairs.number(told.get("gen throughput (token/s)")),
            running=pairs.integer(told.get("#running-req")),
            waiting=pairs.integer(told.get("#queue-req")),
            usage_pct=None if usage is None else usage * 100,
            accept_len=pairs.number(told.get("accept len")),
            cuda_graph=told.get("cuda graph"),
        )

    def prefill(fields: Fields, line: Line) -> None:
        start(line)
        told = pairs.colon_pairs(fields["pairs"])
        usage = pairs.number(told.get("token usage") or told.get("full token usage"))
        interval(
            state,
            line,
            prompt_tps=pairs.number(told.get("input throughput (token/s)")) or None,
            running=pairs.integer(told.get("#running-req")),
            waiting=pairs.integer(told.get("#queue-req")),
            usage_pct=None if usage is None else usage * 100,
            new_tokens=pairs.integer(told.get("#new-token")),
            cached_tokens=pairs.integer(told.get("#cached-token")),
            new_seqs=pairs.integer(told.get("#new-seq")),
        )

    def old_prefill(fields: Fields, line: Line) -> None:
        start(line)
        told = pairs.colon_pairs(fields["pairs"], ". ")
        interval(
            state,
            line,
            running=pairs.integer(told.get("#running_req")),
            waiting=pairs.integer(told.get("#remaining_req")),
            new_tokens=pairs.integer(told.get("#new_token")),
            cached_tokens=pairs.integer(told.get("#cached_token")),
            new_seqs=pairs.integer(told.get("#seq")),
        )

    def retract(fields: Fields, line: Line) -> None:
        start(line)
        told = pairs.colon_pairs(fields["pairs"])
        state.event("preempted", line, n=pairs.integer(told.get("#retracted_reqs")))

    def load_end(fields: Fields, line: Line) -> None:
        start(line)
        used = fields.get("used_gib")
        if used is not None:
            run = state.run
            if not any(b.kind == "model" for b in run.memory):
                run.memory.append(Buffer("GPU", "model", used * GIB, state.source.path, line.number))
        fact(state, line, "available_mib", fields["avail_gib"] * GIB)

    def available(fields: Fields, line: Line) -> None:
        start(line)
        fact(state, line, "available_mib", fields["avail_gib"] * GIB)

    def kv_cache(fields: Fields, line: Line) -> None:
        start(line)
        run = state.run
        size = fields["kv_gib"] if "kv_gib" in fields else fields["k_gib"] + fields["v_gib"]
        if not any(b.kind == "kv" for b in run.memory):
            run.memory.append(Buffer("GPU", "kv", size * GIB, state.source.path, line.number))
        fact(state, line, "kv_tokens", fields.get("kv_tokens"))

    def limits(fields: Fields, line: Line) -> None:
        start(line)
        fact(state, line, "kv_tokens", fields["kv_tokens"])
        told = dict(p.split("=", 1) for p in fields["limit_pairs"].split(", ") if "=" in p)
        run = state.run
        run.setup.n_ctx = pairs.integer(told.get("context_len")) or run.setup.n_ctx
        run.setup.n_batch = pairs.integer(told.get("chunked_prefill_size")) or run.setup.n_batch
        run.setup.n_parallel = pairs.integer(told.get("max_running_requests")) or run.setup.n_parallel

    def server_args(fields: Fields, line: Line) -> None:
        state.opening("server_args").engine = NAME
        told = dict(p.split("=", 1) for p in fields["args"].split(", ") if "=" in p)
        run = state.run
        run.setup.model_path = told.get("model_path", "").strip("'\"") or run.setup.model_path
        offload = pairs.number(told.get("cpu_offload_gb"))
        if offload:
            state.event("host_weights", line, mib=offload * GIB)
        run.setup.n_ctx = pairs.integer(told.get("context_length")) or run.setup.n_ctx
        fact(state, line, "reserved_share", pairs.number(told.get("mem_fraction_static")))

    def out_of_memory(_fields: Fields, line: Line) -> None:
        start(line)
        state.event("alloc_failed", line, device="GPU", recovered=False)

    return {
        "sglang.decode": decode,
        "sglang.old_decode": decode,
        "sglang.prefill": prefill,
        "sglang.old_prefill": old_prefill,
        "sglang.retract": retract,
        "sglang.old_retract": retract,
        "sglang.load_end": load_end,
        "sglang.load_begin": available,
        "sglang.pool_end": available,
        "sglang.kv_cache": kv_cache,
        "sglang.limits": limits,
        "sglang.server_args": server_args,
        "sglang.no_memory": out_of_memory,
        "sglang.prefill_oom": out_of_memory,
        "sglang.decode_oom": out_of_memory,
        "sglang.slots_oom": out_of_memory,
    }
