"""What a sweep means, in the words of the field guide: one function a setting."""

from __future__ import annotations

from collections.abc import Callable

from loganalyze.studies.figures import METRIC_INFO
from loganalyze.studies.sweep import Effect, Sweep, vram_full

Answer = tuple[str, str]
THREE = "Take three runs of the same input after the change."


def answer(study: Sweep) -> Answer:
    """Sentence and next step for a study."""
    known: dict[str, Callable[[Sweep], Answer]] = {
        "n_ctx": _context,
        "n_predict": _output_limit,
        "prompt_tokens": _prompt_length,
        "n_batch": _batch,
        "n_ubatch": _batch,
        "n_parallel": _slots,
        "n_gpu_layers": _gpu_layers,
        "n_threads": _threads,
    }
    return known.get(study.setting, _other)(study)


def _moves(study: Sweep, name: str) -> str | None:
    effect = study.effects.get(name)
    return effect.direction if effect else None


def _pct(effect: Effect) -> str:
    return f"{effect.change_pct:+.0f} %"


def _span(study: Sweep, name: str) -> str:
    """``writing 108 -> 8 t/s``."""
    label, unit, _ = METRIC_INFO[name]
    values = [level.metrics[name] for level in study.levels]
    first, last = values[0], values[-1]
    if first is None or last is None:
        return label
    return f"{label} {_number(first)} -> {_number(last)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _range(study: Sweep) -> str:
    return f"{study.levels[0].value} to {study.levels[-1].value}"


def _context(study: Sweep) -> Answer:
    slower = [n for n in ("total_s", "ttft_ms") if _moves(study, n) == "rises"]
    falls = _moves(study, "writing_tps") == "falls" or _moves(study, "reading_tps") == "falls"
    full = vram_full(study)
    if not slower and not falls:
        if full:
            return (
                f"Context {_range(study)} has no effect on speed, but the card is at its limit: it is memory, not context.",
                "Take one step lower quantisation or fewer parallel requests; a smaller context only hides it.",
            )
        return (
            f"Context {_range(study)} has no effect: {_span(study, 'writing_tps')}. The context size is not the limit.",
            "Leave -c where you need it and look at prompt length, batch and output length instead.",
        )
    what = "; ".join(_span(study, n) for n in ("total_s", "ttft_ms", "writing_tps") if n in study.effects)
    if full:
        return (
            f"Larger contexts are slower and the card is at its limit ({what}): the KV cache pushes memory over.",
            "Free memory first (lower quantisation, -ctk q8_0 -ctv q8_0 or fewer slots), then cut -c.",
        )
    return (
        f"Time rises with the context and there is memory left ({what}): context is worth cutting.",
        f"Lower -c. {THREE}",
    )


def _output_limit(study: Sweep) -> Answer:
    first_token = _moves(study, "ttft_ms")
    total = _moves(study, "total_s")
    rate = _moves(study, "writing_tps")
    if first_token in ("flat", None) and total != "flat" and rate in ("flat", None):
        return (
            f"The first token does not move, only the tail grows ({_span(study, 'total_s')}, {_span(study, 'writing_tps')}): "
            "the output limit decides the time.",
            "Lower -n to what you read; if the rate itself is too low, take one step lower quantisation.",
        )
    if rate == "falls":
        return (
            f"Longer answers are written more slowly ({_span(study, 'writing_tps')}): the rate falls as the context fills.",
            "Lower -n or shorten the context; check the KV type and flash attention.",
        )
    return (
        f"The output limit changes little ({_span(study, 'total_s')}): the time goes elsewhere, mostly before the first token.",
        "Look at prompt length and load time.",
    )


def _prompt_length(study: Sweep) -> Answer:
    first_token = _moves(study, "ttft_ms")
    full = vram_full(study)
    if first_token == "rises":
        rate = study.effects.get("reading_tps")
        held = (
            "at a rate that holds" if rate is None or rate.direction in ("flat", "rises") else "and the rate falls too"
        )
        if full:
            return (
                f"Longer prompts take longer to the first token ({_span(study, 'ttft_ms')}) with the card at its limit.",
                "Free memory first (lower quantisation, fewer slots), then shorten the prompt.",
            )
        return (
            f"Only the prompt length makes the first token late ({_span(study, 'ttft_ms')}), {held}: it is reading "
            "(prefill and KV), not memory and not the quantisation.",
            "Shorten the prompt, reuse its beginning (prompt cache), or raise -ub; fewer bits would not help the first token.",
        )
    return (
        f"Prompt length {_range(study)} does not move the first token: reading is not the limit.",
        "Look at writing and load time.",
    )


def _batch(study: Sweep) -> Answer:
    reading, writing = study.effects.get("reading_tps"), study.effects.get("writing_tps")
    memory = _moves(study, "vram_peak_mib")
    if reading is not None and reading.direction == "rises":
        best = f" up to {reading.saturates_at}" if reading.saturates_at is not None else ""
        return (
            f"A larger {study.label} reads faster{best} ({_span(study, 'reading_tps')}, {_pct(reading)}).",
            f"Keep the larger value while memory allows. {THREE}",
        )
    grown = " and costs memory" if memory == "rises" else ""
    if writing is not None and writing.direction == "falls":
        return (
            f"A larger {study.label} writes more slowly ({_span(study, 'writing_tps')}){grown}.",
            "Go back to the smaller value.",
        )
    return (
        f"A larger {study.label} changes no rate{grown} ({_span(study, 'writing_tps')}): the batch is not the limit.",
        "Keep the smaller value; single-stream decoding or the card itself is the limit.",
    )


def _slots(study: Sweep) -> Answer:
    busiest = max(r.n_requests for level in study.levels for r in level.runs)
    if busiest < 2:
        return (
            "Slots matter only with several requests at once; these runs sent one at a time, so they say nothing.",
            "Repeat with as many requests in flight as the largest number of slots.",
        )
    total = study.effects.get("throughput_tps")
    if total is None:
        return (
            "The logs do not tell when requests started and ended, so the total throughput is unknown.",
            "Log with --log-timestamps --log-prefix.",
        )
    single = _span(study, "writing_tps")
    if total.direction == "rises":
        memory = " while memory tightens" if vram_full(study) else ""
        return (
            f"More slots raise the total throughput ({_span(study, 'throughput_tps')}){memory}; one request alone: {single}.",
            "Keep tuning slots on this engine; stop where the single-request rate gets too slow to read.",
        )
    if total.direction == "falls":
        return (
            f"More slots lower the total throughput ({_span(study, 'throughput_tps')}); one request alone: {single}.",
            "Use fewer slots.",
        )
    return (
        f"More slots do not raise the total throughput ({_span(study, 'throughput_tps')}); one request alone: {single}.",
        "Decoding or the scheduler is the limit: compare with another engine (loganalyze compare).",
    )


def _gpu_layers(study: Sweep) -> Answer:
    writing = study.effects.get("writing_tps")
    if writing is not None and writing.direction == "rises":
        return (
            f"Every layer on the GPU counts ({_span(study, 'writing_tps')}, {_pct(writing)}): layers in host memory are the limit.",
            "Raise -ngl to all layers; if they do not fit, take one step lower quantisation before cutting context.",
        )
    if writing is not None and writing.direction in ("falls", "peaks"):
        return (
            f"More GPU layers do not pay beyond a point ({_span(study, 'writing_tps')}): the card spills or runs out.",
            "Lower -ngl to the best value, or free device memory.",
        )
    return (
        f"GPU layers {_range(study)} change little ({_span(study, 'writing_tps')}).",
        "Look elsewhere: check that the GPU is used at all.",
    )


def _threads(study: Sweep) -> Answer:
    writing = study.effects.get("writing_tps")
    if writing is None:
        return _other(study)
    best = max(
        (level for level in study.levels if level.metrics["writing_tps"]), key=lambda x: x.metrics["writing_tps"] or 0.0
    )
    if writing.direction == "flat":
        return (
            f"Threads {_range(study)} change nothing ({_span(study, 'writing_tps')}): the CPU is not the limit.",
            "Leave -t alone.",
        )
    if best is study.levels[-1]:
        return (
            f"More threads help ({_span(study, 'writing_tps')}).",
            "Go up to the number of physical cores, not beyond.",
        )
    return (
        f"{best.value} threads write fastest ({_number(best.metrics['writing_tps'] or 0.0)} t/s); more only compete for memory.",
        f"Use -t {best.value}.",
    )


def _other(study: Sweep) -> Answer:
    moved = [e for e in study.effects.values() if e.direction != "flat"]
    if not moved:
        return (f"{study.label} has no effect on any figure.", "Keep the value that costs least memory.")
    words = "; ".join(f"{_span(study, e.name)} ({_pct(e)})" for e in moved)
    return (f"{study.label} matters: {words}.", f"Keep the better value. {THREE}")
