"""Verdict: combine the findings of a run into one answer.

``judge(run, limits, baseline) -> Judgement`` judges one run; ``overall(runs)`` picks the run that lost the most time.
Memory comes first, a cause outranks its symptoms, and a verdict of healthy needs positive evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loganalyze.model.records import Judgement, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.findings.thresholds import Thresholds


def judge(run: Run, limits: Thresholds | None = None, baseline: Mapping[str, Any] | None = None) -> Judgement:
    """Judge ``run``. ``baseline`` is the content of a saved baseline; ``run`` itself is not changed. Never raises."""
    from loganalyze.findings import find_all
    from loganalyze.findings.facts import measure
    from loganalyze.findings.thresholds import Thresholds as Limits
    from loganalyze.verdict.decide import decide

    limits = limits or Limits()
    facts = measure(run, limits, baseline)
    return decide(facts, find_all(facts, limits), limits)


def overall(runs: Iterable[Run]) -> Run | None:
    """The judged run that lost the most time, None without one; the rule is that of the report."""
    from loganalyze.model.report import main_run

    return main_run(list(runs))
