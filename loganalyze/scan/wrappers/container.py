"""``service-1  | `` of docker compose."""

from __future__ import annotations

from loganalyze.scan.wrappers.told import Lazy, Told

COMPOSE = Lazy(rb"([A-Za-z0-9][\w.-]{0,100}) *\|(?: |$)")


def peel_compose(text: bytes, told: Told) -> bytes | None:
    """A service name and a bar. A name that does not end in its number is only taken where all lines have one."""
    bar = text.find(b"|", 2, 104)
    if bar < 0:
        return None
    name = text[:bar].rstrip(b" ")
    if b" " in name or not (told.context.modes.compose or _numbered(name)):
        return None
    found = COMPOSE.match(text)
    if not found:
        return None
    told.container = name.decode("utf-8", "replace")
    told.kinds.append("compose")
    return text[found.end() :]


def _numbered(name: bytes) -> bool:
    base = name.rstrip(b"0123456789")
    return len(base) < len(name) and base[-1:] in (b"-", b"_") and len(base) > 1


PEELS = ((b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", peel_compose),)
