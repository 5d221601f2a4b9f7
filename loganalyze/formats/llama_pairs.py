"""``key=value`` extras of the 2024 server, and its JSON twin brought into the same shape.

b694-b2258 print ``{"timestamp":..,"level":..,"function":..,"line":..,"message":..,<extras>}``; b2259-b3760 print ``tid``
and ``msg`` besides, with all keys sorted to b2499. As text the latter is ``LEVEL [function] msg | key=value ...`` with
JSON values. Both carry the same unrounded numbers.
"""

from __future__ import annotations

from loganalyze.light import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PAIR = lazy_pattern(r'(?<!\w)([A-Za-z_]\w*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]\S*))')
_HEAD = frozenset({"level", "function", "line", "msg", "message"})
# A JSON line of the server is below 1 KB but for the chat template; longer objects are something else.
MAX_JSON_BYTES = 64 << 10


def parse_pairs(text: str | None) -> dict[str, Any]:
    """Values by key: numbers as int or float, ``true`` and ``false`` as bool, all else as text."""
    found: dict[str, Any] = {}
    for key, quoted, plain in _PAIR.findall(text or ""):
        found[key] = _value(plain) if plain else quoted
    return found


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text) if len(text) < 40 else text
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def json_as_text(raw: bytes) -> bytes | None:
    """``LEVEL [function] msg | key=value ...`` of a server's JSON line; None when it is no such line."""
    if len(raw) > MAX_JSON_BYTES or b'"timestamp"' not in raw or b'"function"' not in raw:
        return None
    import json

    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    message = record.get("msg", record.get("message"))
    level = record.get("level")
    if not isinstance(message, str) or not isinstance(level, str):
        return None
    extras = " ".join(f"{key}={json.dumps(value)}" for key, value in record.items() if key not in _HEAD)
    return f"{level} [{record.get('function')}] {message} | {extras}".encode(errors="replace")
