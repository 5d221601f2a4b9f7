"""Files behind URLs (``s3://``, ``gs://``, ``hf://``, ``https://``, ``memory://``) through fsspec, the extra ``[remote]``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import IO, Any

from loganalyze.batch.discover import Item
from loganalyze.errors import LogAnalyzeError, UnreadableError
from loganalyze.inputs import SKIPPED_SUFFIXES

# What storages call the value that changes with an object's content.
TAGS = ("ETag", "etag", "md5Hash", "content_md5", "blob_id", "sha")


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise LogAnalyzeError("URLs need the extra [remote]", remedy="pip install 'loganalyze-llm[remote]'") from None
    return fsspec


def list_url(url: str) -> tuple[list[list[Item]], int]:
    """Files at or below ``url`` by folder, in the order in which a local folder is walked, and how many were left out."""
    fsspec = _fsspec()
    protocol = url.split("://", 1)[0]
    try:
        system, path = fsspec.core.url_to_fs(url)
        found = system.glob(path, detail=True) if any(c in url for c in "*[") else _below(system, path)
    except ImportError as error:
        raise LogAnalyzeError(
            f"{protocol}:// needs a package: {error}", path=url, remedy="pip install 'loganalyze-llm[remote]'"
        ) from None
    except Exception as error:
        # Each storage has its own error classes.
        raise _listing(error, url) from None
    folders: dict[str, list[Item]] = {}
    left_out = 0
    root = path.rstrip("/")
    for name, info in found.items():
        if info.get("type") == "directory":
            continue
        inner = name.removeprefix(root).lstrip("/") if name != root else ""
        if any(part.startswith(".") for part in inner.split("/")):
            continue
        if name.lower().endswith(SKIPPED_SUFFIXES) and inner:
            left_out += 1
            continue
        item = Item(name if "://" in name else f"{protocol}://{name}", tag=_tag(info))
        folders.setdefault(os.path.dirname(item.path), []).append(item)
    if not folders and not left_out:
        raise UnreadableError("no file there", path=url, remedy="Check the address")
    ordered = sorted(folders, key=lambda folder: folder.split("/"))
    return [sorted(folders[folder], key=lambda i: i.path) for folder in ordered], left_out


def _below(system: Any, path: str) -> dict[str, Any]:
    found: dict[str, Any] = system.find(path, detail=True)
    if not found:
        # An empty answer does not tell a missing bucket from an empty folder; asking for the place itself does.
        info = system.info(path)
        found = {path: info} if info.get("type") != "directory" else {}
    return found


def _tag(info: dict[str, Any]) -> str | None:
    told = next((str(info[name]) for name in TAGS if info.get(name)), None)
    return None if told is None else f"{told};{info.get('size')}"


def _listing(error: Exception, url: str) -> UnreadableError:
    """What went wrong and what to do about it, by the kind of the error or, last, by its words."""
    words = " ".join(str(error).split())[:300] or type(error).__name__
    low = f"{type(error).__name__} {words} {error.__cause__ or ''}".lower()
    if isinstance(error, FileNotFoundError) or "nosuchbucket" in low or "404" in low:
        return UnreadableError("no such bucket or folder", path=url, remedy="Check the name and the region or endpoint")
    if isinstance(error, PermissionError) or "denied" in low or "forbidden" in low or "403" in low:
        return UnreadableError(
            f"access denied: {words}",
            path=url,
            remedy="Give credentials that may list and read it, as its tools expect",
        )
    if "credential" in low:
        return UnreadableError(
            f"no credentials: {words}", path=url, remedy="Set them in the environment as the storage's own tools expect"
        )
    if isinstance(error, ConnectionError | TimeoutError) or any(
        word in low for word in ("connect", "endpoint", "timed out", "timeout", "resolve", "unreachable")
    ):
        return UnreadableError(
            f"the storage does not answer: {words}",
            path=url,
            remedy="Check the network, and the endpoint (for S3: AWS_ENDPOINT_URL)",
        )
    return UnreadableError(f"cannot be listed: {words}", path=url, remedy="Check the address and your credentials")


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
        words = " ".join(str(error).split())[:300] or type(error).__name__
        raise UnreadableError(f"cannot be read: {words}", path=url) from None
