"""Lines of ``nvidia-smi`` that are no rows: failures, lost cards, events. They may stand between good rows."""

from __future__ import annotations

import re

_MESSAGE = re.compile(
    rb"^\s*(?:NVIDIA-SMI has failed|NVIDIA-SMI couldn't|Failed to initialize NVML|Unable to determine the device handle"
    rb"|No devices were found|No running (?:compute )?processes found|Field \"[^\"]*\" is not a valid field"
    rb"|Invalid combination of input arguments|GPU is lost|Terminating early due to previous errors"
    rb"|WARNING: infoROM is corrupted|Not supported on the device|Insufficient Permissions"
    rb"|Device [0-9]+ .{0,40}not supported|Attempting to reset|Unable to read the GPU)"
)


def is_message(line: bytes) -> bool:
    """True when ``line`` is a message of the tool itself."""
    return _MESSAGE.match(line) is not None
