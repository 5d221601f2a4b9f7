"""Prompts are read in batches too small for the card.

Data, in order: the micro-batch and batch of the log or the command line, computed prompt tokens, reading share and time
to the first token.
Algorithm: the smaller of batch and micro-batch counts. Critical when it is small, the prompt is longer than a batch,
and reading takes most of the time and is felt.
Thresholds: ``small_ubatch``, ``small_batch_prompt``, ``half_share``, ``ttft_long_unproven_s``.
Known false positives: a small batch chosen to save memory, on a card whose bandwidth is filled by it (old cards).
"""

from __future__ import annotations

from loganalyze.findings import reading_signs
from loganalyze.findings.answers import clear, finding, prompt_line
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured import command
from loganalyze.findings.measured.placement import line_of
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "small_batch"
# A batch of 512 read 3 to 4 times as fast as one of 16 and about twice as fast as one of 64 (two corpus runs and
# their neighbours): the part of the reading time that a normal batch would save.
SAVED = 0.6


def batch_of(facts: Facts) -> int | None:
    """Tokens computed in one go, None when nothing tells."""
    setup = facts.run.setup
    micro = setup.n_ubatch or command.whole(setup, command.UBATCH)
    batch = setup.n_batch or command.whole(setup, command.BATCH)
    known = [n for n in (micro, batch) if n]
    return min(known) if known else None


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when small batches make long prompts slow to read."""
    size, prompt = batch_of(facts), facts.timing.prompt_max
    if size is None:
        return clear(CAUSE, "no small batch was asked for")
    if size > limits.small_ubatch:
        return clear(CAUSE, f"prompts are read {min(size, 512)} or more tokens at a time", value=float(size), unit="tokens",
                     threshold=float(limits.small_ubatch))  # fmt: skip
    if prompt is None or prompt < limits.small_batch_prompt:
        return finding(CAUSE, "warning", f"a micro-batch of {size} is small, but prompts are short", value=float(size),
                       unit="tokens", threshold=float(limits.small_ubatch))  # fmt: skip
    felt = reading_signs.felt(facts, limits, limits.ttft_long_unproven_s / 2)
    ms = facts.timing.reading.ms
    micro = facts.run.setup.n_ubatch == size or facts.run.setup.n_batch is None
    line = line_of(facts.run, *(("n_ubatch",) if micro else ("n_batch",)), "command")
    return finding(
        CAUSE, "critical" if felt else "warning", f"a prompt of {prompt} tokens is read {size} tokens at a time",
        value=float(size), unit="tokens", threshold=float(limits.small_ubatch), confidence="high" if felt else "medium",
        explains_s=ms / 1000 * SAVED if ms is not None and felt else None,
        evidence=[Evidence(facts.source, line, f"micro-batch {size}"), *prompt_line(facts.timing.slow_read)],
    )  # fmt: skip
