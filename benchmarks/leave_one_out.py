"""Leave-one-out over the labelled runs: thresholds fitted without a case must still judge it right.

Fitting: each threshold is scaled by a row of factors; the factors that keep all other cases right form its plateau, and
the fitted value is the (geometric) middle of the plateau around the default. All thresholds are fitted together and the
left-out case is judged with them. Prints the share that is still right, the cases that are not, and the thresholds whose
plateau is narrow: those are the ones a new case may move.
"""

from __future__ import annotations

import math
import sys
from dataclasses import fields
from pathlib import Path

from labelled import Case, load

from loganalyze.findings.thresholds import Thresholds

FACTORS = (0.5, 0.63, 0.8, 0.9, 1.0, 1.12, 1.25, 1.6, 2.0)


def main() -> None:
    cases = load(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    names = [f.name for f in fields(Thresholds)]
    table = {(name, factor): _row(cases, name, factor) for name in names for factor in FACTORS}
    wrong = []
    for index, case in enumerate(cases):
        fitted = {name: _scaled(name, _middle(_plateau(table, name, index))) for name in names}
        if not case.right(case.judged(Thresholds().with_overrides(fitted))):
            wrong.append(case.name)
    share = 1 - len(wrong) / len(cases)
    print(f"leave one out: {len(cases) - len(wrong)} of {len(cases)} right ({share:.1%})")
    print("wrong:", ", ".join(wrong) or "none")
    narrow = [(name, plateau) for name in names if len(plateau := _plateau(table, name, None)) < len(FACTORS)]
    print("thresholds that some case holds (factors that keep every case right):")
    for name, plateau in narrow:
        print(f"  {name:28} {min(plateau):.2f} to {max(plateau):.2f}")


def _scaled(name: str, factor: float) -> float:
    value = getattr(Thresholds(), name)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def _row(cases: list[Case], name: str, factor: float) -> list[bool]:
    limits = Thresholds().with_overrides({name: _scaled(name, factor)})
    return [case.right(case.judged(limits)) for case in cases]


def _plateau(table: dict[tuple[str, float], list[bool]], name: str, left_out: int | None) -> list[float]:
    """Neighbouring factors around 1 that judge every other case right."""
    good = {f: all(ok for i, ok in enumerate(table[name, f]) if i != left_out) for f in FACTORS}
    start = FACTORS.index(1.0)
    low = high = start
    while low > 0 and good[FACTORS[low - 1]]:
        low -= 1
    while high + 1 < len(FACTORS) and good[FACTORS[high + 1]]:
        high += 1
    return list(FACTORS[low : high + 1])


def _middle(plateau: list[float]) -> float:
    return math.sqrt(plateau[0] * plateau[-1])


if __name__ == "__main__":
    main()
