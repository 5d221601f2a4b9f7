"""Join the fragments of one message of ``--log-jsonl``: each object holds what one call printed, not one line."""

from __future__ import annotations

from loganalyze.scan.limits import LINE_BYTES
from loganalyze.scan.wrappers.jsonlog import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOG = b'{"type":"log"'
# Objects are printed compact, with the level among the first keys.
_LEVEL_BYTES = 80


class Joiner:
    """A message without a line end goes on in the next object if that is of level ``cont`` (or both are ``none``)."""

    def __init__(self) -> None:
        self._number = 0
        self._held: dict[str, Any] | None = None
        self._parts: list[str] = []
        self._size = 0

    def feed(self, number: int, raw: bytes) -> list[tuple[int, bytes]]:
        """Lines (number of their first fragment, text) that are complete with ``raw``."""
        if self._held is None and raw.endswith(b'\\n"}') and b'"level":"cont"' not in raw[:_LEVEL_BYTES]:
            return [(number, raw)]
        found = load(raw) if raw.startswith(_LOG) else None
        message = found.get("msg") if found is not None else None
        if found is None or not isinstance(message, str):
            return [*self.flush(), (number, raw)]
        done: list[tuple[int, bytes]] = []
        if not self._goes_on(found.get("level")):
            done = self.flush()
            self._number, self._held = number, found
        if self._size < LINE_BYTES:
            self._parts.append(message)
            self._size += len(message)
        return done + self.flush() if message.endswith("\n") else done

    def flush(self) -> list[tuple[int, bytes]]:
        """What is held, as an object of its own."""
        held, self._held = self._held, None
        if held is None:
            return []
        import json

        held["msg"] = "".join(self._parts)
        self._parts, self._size = [], 0
        return [(self._number, json.dumps(held, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))]

    def _goes_on(self, level: object) -> bool:
        held = self._held
        return held is not None and (level == "cont" or (level == "none" and held.get("level") == "none"))
