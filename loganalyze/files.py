"""Files and their names: the last part of a path of any system."""

from __future__ import annotations


def base_name(path: str | None) -> str:
    """Last part of a path written on Windows, macOS or Linux; empty for None."""
    return (path or "").replace("\\", "/").rsplit("/", 1)[-1]
