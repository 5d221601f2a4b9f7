"""Formats: one module a format. A new format is one new module and one line here.

``LOG_FORMATS`` read line by line through the grammars and may share one text; ``CAPTURE_FORMATS`` read telemetry into
frames.
"""

LOG_FORMATS: tuple[str, ...] = (
    "llama_command",
    "llama_load",
    "llama_trouble",
    "llama_limits",
    "system_trouble",
    "llama_timings",
    "llama_server",
    "sglang",
    "vllm",
    "ollama",
    "openers",
    "torch_log",
    "clients",
    "bench",
    "responses",
    "time_log",
)
CAPTURE_FORMATS: tuple[str, ...] = (
    "nvidia_apps",
    "nvidia_csv",
    "nvidia_dmon",
    "nvidia_pmon",
    "nvidia_table",
    "nvidia_q",
    "nvidia_xml",
    "vmstat",
    "free",
    "meminfo",
    "vmstat_s",
    "vmstat_d",
    "swapon",
    "sysstat",
    "sadf",
    "dool",
    "time_cmd",
)
