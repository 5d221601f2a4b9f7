"""One thing to try where reading is slow: prompt, batch, prefill."""

from __future__ import annotations

from loganalyze.findings import reading_signs, record
from loganalyze.findings.facts import Facts
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Finding
from loganalyze.verdict.options import LLAMA, options_of

DEFAULT_UBATCH = 512
SHORTER = (
    "shorten the prompt (shorter history, fewer passages), or keep its beginning unchanged so that it stays cached."
)


def small_batch(facts: Facts, main: Finding, limits: Thresholds) -> str:
    """A batch as large as the default."""
    words = options_of(facts.engine)
    if words is not LLAMA:
        return f"Use the default batch again ({words.batch}; more if memory allows)."
    return f"Use the default batch again: -ub {DEFAULT_UBATCH} -b 2048 (more if memory allows)."


def long_prompt(facts: Facts, main: Finding, limits: Thresholds) -> str:
    """Less to read; first where it is read, when nothing tells."""
    if facts.timing.reading_windows is not None:
        return "Shorten the prompts or share their beginning (prefix caching); else fewer requests at once or another card."
    rate = facts.timing.reading.tps
    if rate is not None and rate < limits.writing_steady_tps and facts.reading_expected is None:
        return f"Find out first why it reads so slowly: {record.memory(facts)} beside {record.load(facts)}"
    ratio, place = facts.timing.ratio, facts.place
    middling = ratio is not None and ratio < limits.ratio_card and reading_signs.rate_normal(facts, limits) is not True
    if facts.reading_expected is None and place.weights == "unknown" and not place.unified and middling:
        # Between a processor's ratio and a card's: whether the prompt is long or read in the wrong place is not known.
        return f"Find out where prompts are computed ({record.load(facts)}); else {SHORTER}"
    return SHORTER.capitalize()


def prompt_reprocessed(facts: Facts, main: Finding, limits: Thresholds) -> str:
    """What keeps the cached beginning usable."""
    reprocess = facts.event("reprocess")
    if reprocess is not None and "swa" in reprocess.text.lower():
        return "Add --swa-full (or keep each chat on its own slot) so that the cached prefix can be used again."
    return "Keep the beginning of the prompt identical between turns and each chat on its own slot (id_slot, -np)."


def prefill_on_host(facts: Facts, main: Finding, limits: Thresholds) -> str:
    """Prompts onto the card."""
    if facts.place.weights == "host" or facts.gpu_meant is False:
        return "Shorten the prompt or reuse its beginning; a GPU reads 10 to 50 times as fast."
    return (
        f"Check that weights are on the card ({record.load(facts)}) and raise {options_of(facts.engine).batch} to 2048."
    )


def prefill_below_hardware(facts: Facts, main: Finding, limits: Thresholds) -> str:
    """What speeds up reading on the card."""
    if facts.reading_expected is None:
        return f"Find out where prompts are computed: {record.load(facts)}"
    if options_of(facts.engine) is LLAMA:
        return "Turn flash attention on (-fa on) with KV type f16, and try -ub 1024."
    return f"Turn flash attention on with an f16 cache, and raise {options_of(facts.engine).batch}."
