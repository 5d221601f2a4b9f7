"""Break text the ways that files get broken, and the ways an attacker would. Needs the standard library only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_NUMBER = re.compile(rb"-?[0-9]+(?:[.,][0-9]+)*")
_YEAR = re.compile(rb"\b(?:19|20)[0-9]{2}\b")
_SPACE = re.compile(rb"[ \t]+")
_DIGIT = re.compile(rb"[0-9]")
_LETTERS = re.compile(rb"[A-Za-z]+")
NUMBERS: tuple[bytes, ...] = (
    b"0",
    b"-0",
    b"-1",
    b"1",
    b"255",
    b"256",
    b"65536",
    b"2147483647",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9007199254740993",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"1e308",
    b"1e309",
    b"-1e309",
    b"1e-400",
    b"5e-324",
    b"1e400",
    b"1" + b"0" * 400,
    b"9" * 5000,
    b"0." + b"0" * 400 + b"1",
    b"0.0000001",
    b"inf",
    b"-inf",
    b"Infinity",
    b"nan",
    b"-nan",
    b"-nan(ind)",
    b"1.#INF",
    b"NaN",
    b"null",
    b"true",
    b"N/A",
    b"[N/A]",
    b"0x10",
    b"1_000",
    b"1,000",
    b"1.000,5",
    b"00000000012",
    b"",
    b"+5",
    b".",
    b"-",
    "٣٤٥".encode(),
    "１２３".encode(),
    "²".encode(),
    "½".encode(),
    "Ⅷ".encode(),
    "−5".encode(),
)
YEARS: tuple[bytes, ...] = (
    b"0000",
    b"0001",
    b"0999",
    b"1582",
    b"1601",
    b"1899",
    b"1969",
    b"1970",
    b"2038",
    b"9999",
    b"10000",
)
SPACES: tuple[bytes, ...] = (
    *(
        chr(code).encode()
        for code in (0xA0, 0x3000, 9, 11, 12, 0x2003, 0x2007, 0x2009, 0x202F, 0x205F, 0x1680, 0x85, 0x200B, 0xFEFF)
    ),
    *(b"\xa0", b"\x1c", b"\x1d", b"\x1e", b"\x1f", b"\x85"),
)
BITS: tuple[bytes, ...] = (
    b"\0",
    b"\0\0",
    b"\b",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n",
    b"\x1b[31m",
    b"\x1b]0;x\x07",
    b"\x1b",
    b"\x1b[2J\x1b[H",
    b"\xff",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf4\x90\x80\x80",
    b"\xc0\xaf",
    "\u202e".encode(),
    "\u200f".encode(),
    "\u2066".encode(),
    "\u2028".encode(),
    "\u0301".encode(),
    "\U0001f600".encode(),
    "\U0010ffff".encode(),
    b"\\ud800",
    b"\\u0000",
    b"\\",
    b'"',
    b"'",
    b"`",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"|",
    b",",
    b":",
    b"=",
    b"/",
    b"%",
    b"#",
    b"<",
    b">",
    b"&",
    b"<b>",
    b"&gt;",
    b"%s",
    b"{0}",
    b"$(id)",
    b"\x1f\x8b",
    b"PK\x03\x04",
)
WHOLE: tuple[tuple[str, str], ...] = (
    ("utf-8", "utf-16-le"),
    ("utf-8", "utf-16-be"),
    ("utf-8", "utf-16"),
    ("utf-8", "utf-8-sig"),
    ("utf-8", "cp1252"),
    ("cp1252", "utf-8"),
    ("latin-1", "utf-8"),
    ("utf-8", "utf-7"),
    ("utf-8", "utf-32-le"),
)
MAX_BYTES = 1 << 16
TYPICAL_BYTES = 4096

Change = Callable[[bytes, Random, Sequence[bytes]], bytes]


def _place(data: bytes, rnd: Random) -> int:
    return rnd.randint(0, len(data))


def _cut(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    a, b = sorted((_place(data, rnd), _place(data, rnd)))
    return rnd.choice((data[:a], data[b:], data[:a] + data[b:]))


def _splice(data: bytes, rnd: Random, seeds: Sequence[bytes]) -> bytes:
    other = rnd.choice(seeds)[:TYPICAL_BYTES]
    a, b = sorted((_place(other, rnd), _place(other, rnd)))
    at = _place(data, rnd)
    return data[:at] + other[a:b] + data[at:]


def _splice_lines(data: bytes, rnd: Random, seeds: Sequence[bytes]) -> bytes:
    lines, other = data.split(b"\n"), rnd.choice(seeds)[:TYPICAL_BYTES].split(b"\n")
    at, start = rnd.randint(0, len(lines)), rnd.randrange(len(other))
    return b"\n".join(lines[:at] + other[start : start + rnd.randint(1, 8)] + lines[at:])


def _shuffle_lines(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    if rnd.random() < 0.5 or len(lines) < 3:
        rnd.shuffle(lines)
    else:
        a, b = rnd.randrange(len(lines)), rnd.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def _repeat(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    a, b = sorted((_place(data, rnd), _place(data, rnd)))
    part = data[a:b][:512]
    times = rnd.choice((2, 2, 3, 5, 10, 100 if rnd.random() < 0.1 else 4))
    return data[:a] + part * times + data[b:]


def _repeat_line(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    at = rnd.randrange(len(lines))
    times = rnd.choice((2, 3, 5, 20, 200 if rnd.random() < 0.05 else 2))
    return b"\n".join(lines[:at] + [lines[at][:2048]] * times + lines[at + 1 :])


def _drop_line(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    del lines[rnd.randrange(len(lines))]
    return b"\n".join(lines)


def _flip(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    for _i in range(rnd.choice((1, 1, 1, 2, 4, 8))):
        out[rnd.randrange(len(out))] ^= 1 << rnd.randrange(8)
    return bytes(out)


def _byte(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    out[rnd.randrange(len(out))] = rnd.randrange(256)
    return bytes(out)


def _swap(pattern: re.Pattern[bytes], choices: Sequence[bytes]) -> Change:
    def change(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
        # Looking from a random place on finds one without listing all.
        start = _place(data, rnd)
        found = pattern.search(data, start) or pattern.search(data)
        if found is None:
            return data
        return data[: found.start()] + rnd.choice(choices) + data[found.end() :]

    return change


def _all_numbers(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    put = rnd.choice(NUMBERS)[:40]
    return _NUMBER.sub(lambda _m: put, data[:TYPICAL_BYTES])


def _digits(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    return _DIGIT.sub(lambda m: b"%d" % rnd.randrange(10) if rnd.random() < 0.3 else m[0], data[:TYPICAL_BYTES])


def _other_digits(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    zero = rnd.choice((0x0660, 0x06F0, 0x0966, 0xFF10, 0x1D7CE))
    return _DIGIT.sub(lambda m: chr(zero + m[0][0] - 48).encode() if rnd.random() < 0.5 else m[0], data[:TYPICAL_BYTES])


def _spaces(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    put = rnd.choice(SPACES)
    return _SPACE.sub(lambda m: put if rnd.random() < 0.5 else m[0], data)


def _insert(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, rnd)
    return data[:at] + rnd.choice(BITS) + data[at:]


def _insert_many(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    at = _place(data, rnd)
    return data[:at] + rnd.choice(BITS) * rnd.choice((10, 100, 1000)) + data[at:]


def _line_ends(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    return data.replace(b"\n", rnd.choice((b"\r\n", b"\r", b"\r\r\n", b"\n\r", b"\n\n", b" \n", b"\0\n", b"\\n", b" ")))


def _reencode(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    old, new = rnd.choice(WHOLE)
    part = data if rnd.random() < 0.7 else data[: _place(data, rnd)]
    return part.decode(old, "replace").encode(new, "replace") + data[len(part) :]


def _case(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    return rnd.choice((data.upper, data.lower, data.swapcase, data.title))()


def _word(data: bytes, rnd: Random, seeds: Sequence[bytes]) -> bytes:
    other = rnd.choice(seeds)
    found = _LETTERS.search(other, _place(other, rnd))
    return _swap(_LETTERS, (found[0] if found else b"",))(data, rnd, seeds)


def _field(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    """Drop, double or swap cells of one line."""
    lines = data.split(b"\n")
    at = rnd.randrange(len(lines))
    by = rnd.choice((b",", b"|", b" ", b":", b"=", b"\t"))
    cells = lines[at].split(by)
    place = rnd.randrange(len(cells))
    kind = rnd.randrange(3)
    if kind == 0:
        del cells[place]
    elif kind == 1:
        cells.insert(place, rnd.choice(cells))
    else:
        rnd.shuffle(cells)
    lines[at] = by.join(cells)
    return b"\n".join(lines)


def _deep(data: bytes, rnd: Random, _: Sequence[bytes]) -> bytes:
    """JSON nested beyond any parser's patience."""
    depth = rnd.choice((50, 500, 2000, 20000))
    opening = rnd.choice((b"[", b'{"a":', b'[{"timings":'))
    at = data.find(b":", _place(data, rnd)) + 1
    return data[:at] + (opening * depth)[:MAX_BYTES] + data[at:]


CHANGES: tuple[tuple[Change, int], ...] = (
    (_cut, 6),
    (_splice, 4),
    (_splice_lines, 6),
    (_shuffle_lines, 4),
    (_repeat, 3),
    (_repeat_line, 3),
    (_drop_line, 3),
    (_flip, 6),
    (_byte, 6),
    (_swap(_NUMBER, NUMBERS), 14),
    (_swap(_YEAR, YEARS), 4),
    (_swap(_SPACE, SPACES), 3),
    (_all_numbers, 2),
    (_digits, 4),
    (_other_digits, 1),
    (_spaces, 1),
    (_insert, 6),
    (_insert_many, 1),
    (_line_ends, 2),
    (_reencode, 2),
    (_case, 1),
    (_word, 3),
    (_field, 4),
    (_deep, 1),
)
_CHOICES = tuple(change for change, weight in CHANGES for _ in range(weight))


def mutate(data: bytes, rnd: Random, seeds: Sequence[bytes], limit: int = MAX_BYTES) -> bytes:
    """``data`` with one to six changes, at most ``limit`` bytes; now and then left as it is."""
    for _ in range(rnd.choice((0, 1, 1, 1, 2, 2, 3, 4, 6))):
        data = rnd.choice(_CHOICES)(data, rnd, seeds)
        if len(data) > limit:
            start = rnd.randint(0, len(data) - limit) if rnd.random() < 0.5 else 0
            data = data[start : start + limit]
    return data
