"""Files and their names: the last part of a path of any system."""

from __future__ import annotations


def base_name(path: str | None) -> str:
    """Last part of a path written on Windows, macOS or Linux; empty for None."""
    return (path or "").replace("\\", "/").rsplit("/", 1)[-1]


def is_url(path: str) -> bool:
    """Whether ``path`` names a place on the network: a scheme of two letters or more, as ``C://logs`` is a drive's."""
    scheme, mark, _ = path.partition("://")
    return bool(mark) and len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum()
