"""Options of reading and judging, as the API and the command line share them."""

from __future__ import annotations

from loganalyze.light import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(slots=True)
class Options:
    """``as_format``: path -> format name; ``tz``: zone of stamps without one; ``starts``: path -> wall time of its
    zero; ``group``: auto, one, folder or stem; ``overrides``: threshold -> value; ``baseline``: a saved baseline's
    content."""

    as_format: dict[str, str] = field(default_factory=dict)
    tz: str | None = None
    starts: dict[str, str] = field(default_factory=dict)
    group: str = "auto"
    overrides: dict[str, Any] = field(default_factory=dict)
    baseline: dict[str, Any] | None = None
