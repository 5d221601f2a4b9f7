"""llama.cpp: context and cache that are full, requests cut or refused, prompts read again (grammar ``llama_limits``).

Events: ``kv_full``, ``context_full``, ``context_shift``, ``truncated``, ``reprocess``, ``evicted`` (a slot's cache was
dropped for another), ``error``. Data: ``slot``, ``task``, ``tokens``, ``n_ctx``, ``n_batch`` where printed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loganalyze.formats.base import Fields, Handler, LogState
    from loganalyze.scan.line import Line

NAME = "llama_cpp"
GRAMMARS = ("llama_limits",)
# Field of a line -> name in the event's data.
DATA = {"slot": "slot", "task": "task", "n_tokens": "tokens", "n_ctx": "n_ctx", "n_batch": "n_batch", "ret": "ret"}
DATA |= {"n_discard": "discarded", "n_left": "n_left"}


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of grammar ``llama_limits``."""

    def event(kind: str) -> Handler:
        def handle(fields: Fields, line: Line) -> None:
            state.event(kind, line, **_data(fields))

        return handle

    def decode_failed(fields: Fields, line: Line) -> None:
        text = fields["decode_text"]
        kind = "context_full" if text.startswith("Context size") else "error"
        if "KV cache is full" in text or (text == "failed to decode the batch" and fields["ret"] == 1):
            kind = "kv_full"
        data = _data(fields) if kind != "error" else {**_data(fields), "reason": text.rstrip(".")}
        state.event(kind, line, **data)

    def send_error(fields: Fields, line: Line) -> None:
        if "other_error" in fields:
            state.event("error", line, reason=fields["other_error"].strip(), **_data(fields))
        else:
            state.event("context_full", line, **_data(fields))

    kinds = {
        "no_slot": "kv_full",
        "no_space": "kv_full",
        "context_shift": "context_shift",
        "truncated": "truncated",
        "reprocess": "reprocess",
        "purged": "evicted",
        "context_full": "context_full",
    }
    found = {f"llama_limits.{rule}": event(kind) for rule, kind in kinds.items()}
    return found | {"llama_limits.decode_failed": decode_failed, "llama_limits.send_error": send_error}


def _data(fields: Fields) -> dict[str, Any]:
    return {name: fields[field] for field, name in DATA.items() if field in fields}
