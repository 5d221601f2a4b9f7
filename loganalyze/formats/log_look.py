"""Whether a text is a log of llama.cpp, said from its looks alone, so that no capture format need be loaded for it."""

from __future__ import annotations

LINES = 400
# A text is a capture from 60 % of capture lines on; this many lines that cannot be such leave no room for them.
SHARE = 0.5
# How llama.cpp's own lines begin, behind any stamp; no tool of telemetry prints such words in front of a colon.
_WORDS = (
    b"llama_", b"llm_load_", b"load_tensors:", b"load_backend:", b"load_model:", b"load:", b"ggml_", b"print_info:",
    b"print_timing",
    b"srv  ", b"slot ", b"que  ", b"cmn  ", b"common_", b"main: ", b"sched_reserve:", b"init_tokenizer:",
    b"create_tensor:", b"build: ", b"system_info:", b"set_abort_callback:", b"update_slots",
)  # fmt: skip


def is_llama_log(head: bytes) -> bool:
    """True when most lines of ``head`` (the first ``LINES`` of a text) are surely llama.cpp's. False says nothing."""
    lines = list(filter(bytes.strip, head.split(b"\n", LINES)[:LINES]))
    needed = len(lines) * SHARE
    sure = 0
    for number, line in enumerate(lines, 1):
        sure += is_llama_line(line)
        if sure > needed:
            return True
        if number - sure > needed:
            return False
    return False


def is_llama_line(line: bytes) -> bool:
    """True when ``line``, which is not empty, is surely llama.cpp's and no telemetry. False says nothing."""
    if not 48 <= line[0] <= 57:
        return line.startswith(_WORDS)
    stamp, _, rest = line.partition(b" ")
    # minutes.seconds.milliseconds.microseconds and a level: "0.02.266.301 I llama_context: ..."
    return stamp.count(b".") == 3 and rest[1:2] == b" " and rest[:1] in b"DIWE" and stamp.replace(b".", b"").isdigit()
