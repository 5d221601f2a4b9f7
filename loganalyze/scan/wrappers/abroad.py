"""Months of a journal printed in the reader's own language: ``Okt 12``, ``avril 27``, ``7月 24``."""

from __future__ import annotations

import re

from loganalyze.scan.wrappers.stamps import MONTHS

# By month, without dots and in small letters: German, French, Spanish, Italian, Portuguese, Dutch, Scandinavian, Polish,
# Russian, Turkish.
_NAMES = (
    "jan jän janv ene gen sty янв oca", "feb févr fev fév lut фев şub", "mar mär märz mars mrt мар",
    "apr abr avril avr kwi апр nis", "mai may mag mei maj май мая", "jun juin giu cze июн haz", "jul juil lug lip июл tem",
    "aug ago août sie авг ağu", "sep sept set wrz сен eyl", "okt oct ott out paź окт eki", "nov lis ноя kas",
    "dec dez dic déc des gru дек ara",
)  # fmt: skip
_MONTH_OF = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
_ENGLISH = {month: name for name, month in MONTHS.items()}
_DATE = re.compile(
    rb"([^\s\d.]{2,8}\.?|[0-9]{1,2}\xe6\x9c\x88) {1,2}([0-9]{1,2}) (?=[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)? \S+ \S+\[[0-9]+\]: )"
)


def month_of(word: bytes) -> int | None:
    """Number of the month that ``word`` names, None for anything else."""
    text = word.decode("utf-8", "replace").rstrip(".").lower()
    number = text[:-1] if text.endswith("\u6708") else ""
    if number.isdigit():
        return int(number) if 1 <= int(number) <= 12 else None
    return _MONTH_OF.get(text)


def in_english(text: bytes) -> bytes:
    """A journal's line with its month as C programs print it; every other line as it is."""
    found = _DATE.match(text)
    month = month_of(found[1]) if found else None
    if found is None or month is None:
        return text
    return b"%s %s %s" % (_ENGLISH[month], found[2].rjust(2), text[found.end() :])


def is_abroad(lines: list[bytes]) -> bool:
    """Most of ``lines`` are a journal's with months that are not English."""
    found = [m[1] for line in lines if (m := _DATE.match(line))]
    return len(found) * 2 > len(lines) and any(w not in MONTHS and month_of(w) is not None for w in found)
