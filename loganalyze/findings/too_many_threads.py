"""More threads than the processor has: they wait for one another at every layer.

Data, in order: ``n_threads = N / M`` of the system line, the command line; a number that no machine has counts alone.
Algorithm: critical when threads exceed the logical processors and the host computes a part of the model; a warning when
everything is on the card (the threads then only spin).
Thresholds: ``threads_over``.
Known false positives: containers that show fewer processors than they may use.
"""

from __future__ import annotations

from loganalyze.findings import signs
from loganalyze.findings.answers import clear, eval_line, finding
from loganalyze.findings.facts import Facts
from loganalyze.findings.measured.placement import line_of
from loganalyze.findings.thresholds import Thresholds
from loganalyze.model.records import Evidence, Finding

CAUSE = "too_many_threads"
MOST = 1024
"""Beyond the logical processors of any machine with two sockets (768): people who count a GPU's cores ask for more."""


def find(facts: Facts, limits: Thresholds) -> Finding:
    """Critical when oversubscribed threads do the work."""
    threads, total = facts.run.setup.n_threads, facts.run.setup.n_threads_total
    if threads and not total and threads > MOST:
        return _absurd(facts, threads)
    if not threads or not total:
        return clear(CAUSE, "threads and processors are not both known")
    ratio = threads / total
    if ratio < limits.threads_over:
        return clear(CAUSE, f"{threads} threads on {total} processors", value=ratio, unit="times",
                     threshold=limits.threads_over)  # fmt: skip
    computes = signs.on_processors(facts) or bool(facts.place.by_choice)
    ms = facts.timing.writing.ms
    line = line_of(facts.run, "n_threads", "system_info")
    return finding(
        CAUSE, "critical" if computes else "warning", f"{threads} threads on {total} processors", value=ratio,
        unit="times", threshold=limits.threads_over, explains_s=ms / 1000 * (1 - 1 / ratio) if ms and computes else None,
        evidence=[Evidence(facts.source, line, f"n_threads = {threads} / {total}"), *eval_line(facts.timing.slow_write)],
        confidence="medium",
    )  # fmt: skip


def _absurd(facts: Facts, threads: int) -> Finding:
    computes = facts.place.weights != "device" and facts.writing_tps is not None
    ms = facts.timing.writing.ms
    line = line_of(facts.run, "n_threads", "command")
    return finding(
        CAUSE, "critical" if computes else "warning", f"{threads} threads are more than any machine has processors",
        value=float(threads), unit="threads", threshold=float(MOST), explains_s=ms / 1000 if ms and computes else None,
        evidence=[Evidence(facts.source, line, f"{threads} threads asked for"), *eval_line(facts.timing.slow_write)],
        confidence="medium",
    )  # fmt: skip
