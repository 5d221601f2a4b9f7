"""Files behind URLs (``s3://``, ``gs://``, ``hf://``, ``https://``, ``memory://``) through fsspec, the extra ``[remote]``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO, Any

from loganalyze.batch.discover import Item
from loganalyze.errors import LogAnalyzeError, UnreadableError


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise LogAnalyzeError("URLs need the extra [remote]", remedy="pip install 'loganalyze-llm[remote]'") from None
    return fsspec


def list_url(url: str) -> list[Item]:
    """Files at or below ``url``, sorted."""
    fsspec = _fsspec()
    try:
        system, path = fsspec.core.url_to_fs(url)
        names = sorted(system.glob(path)) if any(c in url for c in "*[") else _below(system, path)
        protocol = url.split("://", 1)[0]
        return [Item(name if "://" in name else f"{protocol}://{name}") for name in names if not system.isdir(name)]
    except ImportError as error:
        raise LogAnalyzeError(
            f"this kind of URL needs a package: {error}", path=url, remedy="Install it with pip"
        ) from None
    except LogAnalyzeError:
        raise
    except Exception as error:
        # Each storage has its own error classes.
        raise UnreadableError(
            f"cannot be listed: {error}", path=url, remedy="Check the address and your credentials"
        ) from None


def _below(system: Any, path: str) -> list[str]:
    return sorted(system.find(path)) if system.isdir(path) else [path]


@contextlib.contextmanager
def open_url(url: str) -> Iterator[IO[bytes]]:
    """A remote file as a stream."""
    fsspec = _fsspec()
    try:
        with fsspec.open(url, "rb") as stream:
            yield stream
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(f"cannot be read: {error}", path=url) from None
