"""Old build against new: same model, device and settings, grouped by version.

Users ask again and again whether an update made it slower. When the layers on the card changed between the versions, the
placement moved and the program did not get slower; only with equal placement is a lower rate a regression.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from loganalyze.batch.row import Row
from loganalyze.batch.summary import quantile

# Like runs agree within 2 % in writing (base_8b, b6173_8b); the same limit as studies.sweep leaves room for busier machines.
CHANGE_PCT = 10.0
KEY = ("model", "quantisation", "device", "n_ctx", "n_batch", "n_ubatch", "n_parallel", "type_k", "type_v")
PLACES = ("n_gpu_layers", "layers_on_gpu")
HOST_CAUSES = ("partial_offload", "cpu_fallback", "experts_on_host", "kv_on_host", "vram_spill", "prefill_on_host")


@dataclass(slots=True)
class Step:
    """Two neighbouring versions of one model and setting. ``word``: faster, slower, same, moved."""

    setting: str
    old: str
    new: str
    runs: tuple[int, int]
    measure: str
    before: float
    after: float
    word: str
    reason: str


class Versions:
    """Collects rows for the comparison."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Any, ...], dict[str, list[Row]]] = {}

    def add(self, row: Row) -> None:
        """Keep what the comparison needs of a row."""
        if row.get("version") is None or row.get("verdict") is None:
            return
        kept = {n: row.get(n) for n in ("writing_tps", "reading_tps", "cause", "vram_peak_mib", *PLACES)}
        self._groups.setdefault(tuple(row.get(c) for c in KEY), {}).setdefault(row["version"], []).append(kept)

    def steps(self) -> list[Step]:
        """Every pair of neighbouring versions, slower ones first."""
        found: list[Step] = []
        for key, versions in self._groups.items():
            ordered = sorted(versions, key=version_order)
            for old, new in itertools.pairwise(ordered):
                found += _compare(_setting(key), old, new, versions[old], versions[new])
        rank = {"slower": 0, "moved": 1, "faster": 2, "same": 3}
        return sorted(found, key=lambda s: (rank[s.word], s.setting, s.measure))


def version_order(version: str) -> tuple[int, ...]:
    """``b6173`` and ``0.5.23`` in the order of release."""
    return tuple(int(n) for n in re.findall(r"\d{1,9}", version)[:6])


def _setting(key: tuple[Any, ...]) -> str:
    return ", ".join(str(v) for v in (*key[:3], key[3] and f"-c {key[3]}") if v)


def _compare(setting: str, old: str, new: str, before: list[Row], after: list[Row]) -> list[Step]:
    steps = []
    moved = _moved(before, after)
    for measure in ("writing_tps", "reading_tps"):
        a = quantile([r[measure] for r in before if r[measure] is not None], 0.5)
        b = quantile([r[measure] for r in after if r[measure] is not None], 0.5)
        if not a or not b:
            continue
        change = (b - a) / a * 100
        word = "same" if abs(change) < CHANGE_PCT else "faster" if change > 0 else "slower"
        reason = {
            "same": "no difference beyond noise",
            "faster": "faster with equal placement and settings",
            "slower": "slower with equal placement and settings: a regression worth reporting",
        }[word]
        if moved and word != "same":
            word, reason = "moved", f"{moved}: memory placement changed, not a regression of the program"
        steps.append(Step(setting, old, new, (len(before), len(after)), measure, a, b, word, reason))
    return steps


def _moved(before: list[Row], after: list[Row]) -> str | None:
    for name in PLACES:
        a, b = {r[name] for r in before} - {None}, {r[name] for r in after} - {None}
        if a and b and a != b:
            return f"layers on the card {_some(a)} -> {_some(b)}"
    causes = [{r["cause"] for r in rows} & set(HOST_CAUSES) for rows in (before, after)]
    if causes[0] != causes[1]:
        return f"{_some(causes[0]) or 'all on the card'} -> {_some(causes[1]) or 'all on the card'}"
    return None


def _some(values: set[Any]) -> str:
    return ", ".join(sorted(map(str, values))[:3])
