"""Output of programs that draw a screen (``watch``, ``top``, ``nvtop``): the first frame can be read, updates cannot.

After its first frame ``watch`` moves the cursor and sends changed characters only; without the frame before they are
digits that mean nothing, and without the moves they would run into numbers that were never shown.
"""

from __future__ import annotations

from loganalyze.scan.wrappers.told import Lazy

# Larger than any terminal; what lies outside is left out.
MAX_ROWS, MAX_COLUMNS = 1000, 2000
_ADDRESSED = Lazy(rb"\x1b\[[0-9]{1,4};[0-9]{1,4}H")
_CLEAR = (b"\x1b[2J", b"\x1b[?1049h", b"\x1b[J")
_TOKEN = Lazy(
    rb"\x1b\[([0-9;?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[()][0-9A-Z]|\x1b[0-~]|([^\x1b\r]+)|(\r)|\x1b"
)


def is_screen(raw: bytes) -> bool:
    """Whether ``raw`` writes at cursor addresses."""
    return b"\x1b[" in raw and _ADDRESSED.search(raw) is not None


def first_frame(raw: bytes) -> list[bytes]:
    """Rows of the frame that ``raw`` begins with; none where it only updates a frame before it."""
    if not any(clear in raw for clear in _CLEAR):
        return []
    rows: dict[int, bytearray] = {}
    row = column = deepest = 1
    for token in _TOKEN.finditer(raw):
        text = token[3]
        if text is not None:
            _put(rows, row, column, text)
            column += len(text)
        elif token[4] is not None:
            column = 1
        elif token[2] is not None:
            row, column = _moved(row, column, token[1], token[2])
            if row < deepest and rows:
                break
            deepest = max(deepest, row)
    return [bytes(rows.get(n, b"")).rstrip() for n in range(1, max(rows, default=0) + 1)]


def _put(rows: dict[int, bytearray], row: int, column: int, text: bytes) -> None:
    if row > MAX_ROWS or column > MAX_COLUMNS:
        return
    line = rows.setdefault(row, bytearray())
    line.extend(b" " * (column - 1 - len(line)))
    line[column - 1 : column - 1 + len(text)] = text[:MAX_COLUMNS]


def _moved(row: int, column: int, parameters: bytes, final: bytes) -> tuple[int, int]:
    """Where a control sequence puts the cursor."""
    numbers = [int(part) if part.isdigit() and len(part) < 6 else 1 for part in parameters.lstrip(b"?").split(b";")]
    first = max(1, numbers[0])
    if final in b"Hf":
        return first, max(1, numbers[1]) if len(numbers) > 1 else 1
    if final == b"G":
        return row, first
    if final == b"d":
        return first, column
    if final in b"AB":
        return max(1, row + (first if final == b"B" else -first)), column
    if final in b"CD":
        return row, max(1, column + (first if final == b"C" else -first))
    return row, column
