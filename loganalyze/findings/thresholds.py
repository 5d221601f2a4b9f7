"""Every threshold of every finding, in one table. Each names the run or the document that set it.

``Thresholds()`` holds the defaults; ``with_overrides({"ratio_low": 4})`` gives a checked copy; ``changed()`` lists what
differs from the defaults, for the report. Runs named below are those of ``fixtures/corpus``; "points" are the public
measurements of ``fixtures/physics/measured.csv``; the guide is ``docs/causes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from loganalyze.errors import UsageError
from loganalyze.light import dataclass, fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits. Names carry their unit; ``_share`` is 0..1, ``_ratio`` has no unit."""

    # -- measured over expected
    decode_healthy_ratio: float = 0.75  # points: 0.75 and more is healthy (73 % of the points)
    decode_abnormal_ratio: float = 0.45  # points: all but 2 of 145 typical ones lie above, both faulty ones below 0.3
    decode_too_fast_ratio: float = 1.35  # points: none above 1.28; beyond it the inputs are wrong
    prefill_abnormal_ratio: float = 0.12  # points: lowest typical 0.27 except one 2024 build of a new card
    baseline_healthy_ratio: float = 0.85  # three equal runs differ by less than 3 % (base_8b_r1 to r3)
    baseline_abnormal_ratio: float = 0.6  # ngl64_27b, the mildest fault, reaches 0.67 of n64_27b
    # -- reading against writing
    ratio_low: float = 5.0  # points: CUDA 16 to 179, Metal 5 to 35, Vulkan 10 to 40; CPU 1.8 to 4.3
    ratio_card: float = 16.0  # the lowest of CUDA; between it and ratio_low placement cannot be told by the ratio
    ratio_broken: float = 1.5  # below every processor of the points (1.8)
    ratio_min_tokens: int = 200  # below about three times the break-even length a prompt rate says nothing
    rate_min_prompt_tokens: int = 100  # the same for judging a prompt rate at all
    rate_min_output_tokens: int = 20  # fewer written tokens: start-up effects rule
    # -- felt by a person
    ttft_long_s: float = 10.0  # attention span; read_27b_ub16 11.6 s is felt, plen4000_27b 1.3 s is not
    ttft_long_unproven_s: float = 5.0  # same, where nothing shows that the rate is normal
    writing_long_s: float = 15.0  # contended_8b 20 s is felt, n768_27b 7.2 s is not
    writing_long_tokens: int = 1000  # a long answer, not a slow one
    writing_slow_tps: float = 5.0  # about 250 words a minute: slower than a person reads
    cpu_doubt_tps: float = 1.0  # slower on a CPU: swap_nommap_8b_4 0.12, thrash_mmap_8b_2 0.2; a 70B at 40 GB/s does 1
    writing_steady_tps: float = 10.0  # comfortable reading; below it a CPU run is felt as slow
    writing_fast_tps: float = 20.0  # no placement in host memory was seen above it, but small models (ngl48_27b: 13)
    half_share: float = 0.5  # most of the time; seconds beside it keep short waits out (plen4000_27b 0.67, 1.3 s)
    # -- placement
    layers_partial_max: int = 24  # fewer than any model above 1.5B has (Llama-3.2-3B 28, Qwen2.5-3B 36)
    host_weights_share: float = 0.02  # embeddings of an 8B are 1.8 % of the device part (b6173_8b_r1)
    kv_host_share: float = 0.05  # of all KV memory
    # -- device memory
    vram_full_pct: float = 97.0  # fit_27b_8g 98.8 %; full_27b_22g runs at full speed with 95.3 %
    vram_foreign_share: float = 0.1  # of the card, held by other processes before the run: worth naming
    spill_mib: float = 300.0  # shared GPU memory that a desktop without a model does not reach
    spill_mem_util_pct: float = 10.0  # memory controller while weights cross the bus: a few per cent
    spill_gpu_util_pct: float = 80.0  # and the card is said to be busy
    # -- the card while writing
    gpu_idle_pct: float = 30.0  # ngl48_27b 9 %, fit_27b_8g 4 %; 2gpu_27b 49 % a card, others above 85 %
    pcie_busy_mb_s: float = 1500.0  # healthy runs read below 50 MB/s while writing (n256_27b: 13)
    cpu_busy_cores: float = 1.8  # healthy runs keep one core busy (n256_27b 0.9 of wall time); ngl64_27b 2.5
    cpu_busy_share: float = 0.7  # of the threads asked for
    # -- host paging
    swap_in_kib_s: float = 2000.0  # one stray page-in burst stays below; swap_nommap_8b_4 moves 400,000
    swap_out_kib_s: float = 5000.0  # loading a model may push out idle pages for a second; swap runs write 200,000
    swap_rows: int = 2  # rows with paging: one row is a burst
    block_in_kib_s: float = 50_000.0  # re-reading weights while answering; a cached model reads nothing
    major_faults_s: float = 200.0  # pages from disk a second while answering
    queue_per_cpu: float = 2.0  # threads that want to run, per processor: cpu_8b 1.1; the same work beside others 4
    cpu_wait_pct: float = 15.0  # swap_nommap_8b_4 50 %, healthy runs 0
    implied_gbs_low: float = 3.0  # bytes per token x t/s below any memory stick: the weights come from a disk
    load_rate_mib_s: float = 150.0  # slower than a hard disk
    ram_low_share: float = 0.04  # available over total host memory
    # -- inside a request
    drop_ratio: float = 0.6  # contended_8b falls to 0.15; ordinary fluctuation between windows stays above 0.9
    drop_min_samples: int = 3  # windows on the slow side or in all
    decline_ratio: float = 0.75  # first to last window of a gradual decline with growing context
    context_long_tokens: int = 8000  # below it the cache is a small part of the bytes read
    outlier_ratio: float = 0.5  # a request's rate over the median of the others
    # -- throttling
    throttle_share: float = 0.5  # of busy samples held back by heat or hardware
    power_cap_share: float = 0.8  # of busy samples at the power limit
    clock_ratio: float = 0.7  # core clock over its highest while busy
    # -- settings
    small_ubatch: int = 128  # read_27b_ub16 reaches 0.23 and b6173_read_long (64) 0.4 of the rate with 512
    small_batch_prompt: int = 512  # shorter prompts fit one batch anyway
    reprocess_tokens: int = 2000  # re-read tokens that are felt; 98 tokens are not
    sampling_share: float = 0.15  # of writing time; default chain 1 % (n256_27b)
    sampling_ms_per_token: float = 1.0  # n256_27b 0.08 ms, mirostat on a large vocabulary 34 ms
    acceptance_low: float = 0.35  # below it drafting costs more than it brings
    threads_over: float = 1.25  # threads over the cores there are
    # -- serving
    kv_pool_pct: float = 90.0  # share of the KV pool in use, with requests waiting
    preempted_min: int = 1  # engines print the line only when work was thrown away
    streams_shared: float = 1.5  # mean requests at work together
    # -- too little
    short_output_tokens: int = 8  # swap_nommap_8b_4 and thrash_mmap_8b_2 write 5: no rate worth a name
    short_prompt_tokens: int = 32  # llama.cpp's smallest batch that is computed on a card when weights are on the host

    def with_overrides(self, overrides: Mapping[str, Any]) -> Thresholds:
        """A copy with ``overrides`` (name -> number or its text). Raises ``UsageError`` for unknown names and values."""
        known = {field.name: field for field in fields(self)}
        values: dict[str, Any] = {}
        for name, value in overrides.items():
            if name not in known:
                import difflib

                near = difflib.get_close_matches(name[:60], known, n=3)
                hint = f"Did you mean {', '.join(near)}?" if near else "The table is in docs/thresholds.md."
                raise UsageError(f"unknown threshold '{name[:60]}'", remedy=hint)
            values[name] = _number(name, value, isinstance(getattr(self, name), int))
        return replace(self, **values)

    def changed(self) -> dict[str, int | float]:
        """Names and values that differ from the defaults."""
        if self is DEFAULTS:
            return {}
        return {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != getattr(DEFAULTS, f.name)
        }


DEFAULTS = Thresholds()


def _number(name: str, value: Any, whole: bool) -> int | float:
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        if not 0 <= number < 1e12 or (whole and number != int(number)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"threshold '{name}' needs {kind} of 0 or more, not '{_shown(value)}'") from None
    return int(number) if whole else number


def _shown(value: Any) -> str:
    try:
        return str(value)[:60]
    except ValueError:  # Python refuses to write whole numbers of more than 4300 digits
        return "a number of thousands of digits"


def page() -> str:
    """The whole of ``docs/thresholds.md``: name, default and what set it, from the comments above."""
    import inspect
    import re

    rows = re.findall(r"^    (\w+): \w+ = ([\d._]+)  # (.+)$", inspect.getsource(Thresholds), re.MULTILINE)
    out = ["# Thresholds", "", "Override one with `--set name=value`; the report prints what was changed.", "",
           "| name | default | set by |", "| --- | --- | --- |"]  # fmt: skip
    out += [f"| `{name}` | {value.replace('_', '')} | {why} |" for name, value, why in rows]
    return "\n".join(out) + "\n"
