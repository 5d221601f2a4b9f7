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

    def meant_for(self, files: list[str]) -> Options:
        """These options without the formats and times of other files than ``files``, for those read by themselves."""
        from loganalyze.light import replace

        def mine(pairs: dict[str, str]) -> dict[str, str]:
            return {name: value for name, value in pairs.items() if any(is_named(file, name) for file in files)}

        return replace(self, as_format=mine(self.as_format), starts=mine(self.starts))

    def check_names(self, files: list[str]) -> None:
        """Raise UsageError when a format or a time is given for a file that is not among ``files``."""
        from loganalyze.errors import UsageError

        for flag, pairs in (("--as", self.as_format), ("--start", self.starts)):
            for name in pairs:
                if not any(is_named(file, name) for file in files):
                    raise UsageError(
                        f"{flag} {name}: no file of that name is read",
                        remedy="Name one as it is given, or by its last part",
                    )


def is_named(path: str, name: str) -> bool:
    """Whether ``name`` means the file ``path``: written as it is, or its last part alone."""
    path = path.replace("\\", "/")
    return path == name.replace("\\", "/") or path.rsplit("/", 1)[-1] == name
