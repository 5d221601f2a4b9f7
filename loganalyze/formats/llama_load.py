"""llama.cpp load phase, every age (2023-03 on), as printed by its tools, its relatives and engines that embed it.

Fills ``Run.devices``, ``Run.memory``, ``Run.setup``, ``Run.backend``, ``Run.version`` and facts; see
``llama_devices``, ``llama_model``, ``llama_buffers`` and ``llama_fit`` for the facts each sets. A log of a default
server since 2026-05 has none of these lines: nothing is then known about placement.
"""

from __future__ import annotations

from loganalyze.formats import llama_buffers, llama_devices, llama_fit, llama_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loganalyze.formats.base import Handler, LogState

NAME = "llama_cpp"
GRAMMARS = ("llama_device", "llama_load", "llama_memory")


def handlers(state: LogState) -> dict[str, Handler]:
    """Handlers of the three load grammars."""
    found: dict[str, Handler] = {}
    for part in (llama_devices, llama_model, llama_buffers, llama_fit):
        found |= part.handlers(state)
    return found
