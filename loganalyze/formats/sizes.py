"""Printed sizes to MiB: suffixes of 1000 and 1024, decimal commas, and the unit of figures that carry none."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIZE = re.compile(r"(\d{1,20}(?:[.,]\d{1,6})?)\s?(?:([KMGTPEkmgtpe])(i)?)?(B|b)?\Z")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
# MiB of one unit.
BYTE, KB, KIB, MIB, GIB = 1 / 2**20, 1000 / 2**20, 1 / 2**10, 1.0, 1024.0
# A machine that runs models has 4 GiB to 4 TiB; the limits between the units follow.
BYTES_ABOVE, KIB_FROM, MIB_FROM = 4e9, 4e6, 4e3
SMALL_KIB_FROM = 5e5
SMALL_MIB_FROM = 1024
# KiB figures are multiples of a 4 KiB page; of other units a quarter is by chance.
PAGED_SHARE = 0.5


def size_mib(text: str, plain: float | None = BYTE, *, decimal: bool = False) -> float | None:
    """MiB of ``8.7Mi``, ``8,7Mi``, ``23G``, ``512``; None when it is no size.

    ``plain`` is the MiB of one unit of a bare number. ``decimal`` makes a suffix without ``i`` count 1000.
    """
    found = _SIZE.match(text)
    if found is None:
        return None
    number = float(found[1].replace(",", "."))
    if found[2]:
        base = 1000 if decimal and not found[3] else 1024
        return float(number * base ** _POWER[found[2].upper()] / 2**20)
    if found[4]:
        return number * BYTE
    return None if plain is None else number * plain


def has_suffix(text: str) -> bool:
    """True for a size that names its unit."""
    return text[-1:].isalpha()


def multiples_of_four(figures: Sequence[float]) -> float | None:
    """Share of multiples of 4 among the figures that are not 0; None without any."""
    counted = [f for f in figures if f]
    return sum(f % 4 == 0 for f in counted) / len(counted) if counted else None


def unit_of(total: float, figures: Sequence[float], shared: float | None = None) -> tuple[float, str]:
    """``(MiB of one unit, its name)`` for bare memory figures of a machine whose memory is ``total`` of them."""
    paged = multiples_of_four(figures)
    if total > BYTES_ABOVE:
        return BYTE, "B"
    if total >= KIB_FROM or (total >= SMALL_KIB_FROM and paged == 1):
        return (KB, "kB") if paged is not None and paged < PAGED_SHARE else (KIB, "KiB")
    # A small machine in MiB has some shared memory; a large one in GiB rounds it to 0.
    if total >= MIB_FROM or (total >= SMALL_MIB_FROM and shared):
        return MIB, "MiB"
    return GIB, "GiB"
