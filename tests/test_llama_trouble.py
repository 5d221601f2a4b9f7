"""Trouble lines of every backend, limits of the context, and ends of processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llama_lines import read

from loganalyze.model.records import EVENT_KINDS, Event


def events(text: str | Path, *kinds: str) -> list[Event]:
    state = read(text)
    assert state.source.unread == []
    found = [event for run in state.runs for event in run.events]
    assert {event.kind for event in found} <= set(EVENT_KINDS)
    return [event for event in found if not kinds or event.kind in kinds]


def kinds(text: str) -> list[str]:
    return [event.kind for event in events(text)]


def test_every_shape_of_the_collection(fixtures: Path) -> None:
    path = next((fixtures / "llama_cpp").glob("17_*"))
    found = events(path)
    allocs = [(e.line, e.data["device"], e.data["mib"], e.data["host"]) for e in found if e.kind == "alloc_failed"]
    assert allocs == [
        (2, None, None, False),
        (5, "CUDA0", None, False),
        (8, "CUDA0", None, False),
        (14, "CUDA0", 17524.42, False),
        (23, "CUDA0", 3840.0, False),
        (28, "CUDA0", 1210.02, False),
        (32, "CUDA0", None, False),
        (36, "Vulkan", 4096.0, False),
        (38, "Vulkan", 5120.0, False),
        (43, "Metal", 18432.0, False),
        (49, "SYCL", 5120.0, False),
        (53, "CPU", 32768.0, True),
    ]
    loads = [(e.line, e.data["stage"], e.data["lines"]) for e in found if e.kind == "load_failed"]
    assert loads[:3] == [(16, "model", [16, 17, 18, 19, 21]), (25, "kv", [25, 26]), (30, "compute", [30])]
    counts = {kind: sum(event.kind == kind for event in found) for kind in {event.kind for event in found}}
    assert counts["kv_full"] == 6
    assert counts["context_full"] == 5
    assert counts["no_gpu"] == 2
    assert counts["flash_attn_off"] == 3
    assert counts["pinned_failed"] == counts["mlock_failed"] == counts["working_set"] == counts["gpu_ignored"] == 1
    assert counts["context_shift"] == counts["truncated"] == counts["reprocess"] == counts["buffer_fallback"] == 1


@pytest.mark.parametrize("case", ["oom_load_27b", "b6173_oom_load"])
def test_real_load_that_does_not_fit(fixtures: Path, case: str) -> None:
    found = events(fixtures / "corpus" / case / "run.log")
    assert [event.kind for event in found] == ["alloc_failed", "load_failed"]
    alloc, load = found
    assert (alloc.data["device"], alloc.data["mib"], alloc.data["recovered"]) == ("CUDA0", 13860.41, False)
    assert len(alloc.data["lines"]) == 3
    assert load.data["reason"] == "out of memory"


ALLOC = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 435.00 MiB on device 1: cudaMalloc failed: out of memory\n"
)
GALLOC = "ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size 456130560\n"
RETRY = "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n"


def test_retry_that_works_is_recovered() -> None:
    alloc, retry = events(ALLOC + GALLOC + RETRY + "llama_context:      CUDA1 compute buffer size =   200.00 MiB\n")
    assert (alloc.data["device"], alloc.data["mib"], alloc.data["recovered"]) == ("CUDA1", 435.0, True)
    assert retry.kind == "alloc_retry"


def test_retry_that_fails_is_not() -> None:
    failed = "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers\n"
    found = events(ALLOC + GALLOC + RETRY + ALLOC + GALLOC + failed, "alloc_failed", "load_failed")
    assert [event.kind for event in found] == ["alloc_failed", "alloc_failed", "load_failed"]
    assert found[1].data["recovered"] is False
    assert found[2].data["stage"] == "compute"


def test_a_load_that_goes_on_has_recovered() -> None:
    found = events(ALLOC + "sched_reserve:      CUDA0 compute buffer size =   200.00 MiB\n", "alloc_failed")
    assert [event.data["recovered"] for event in found] == [True]


def test_a_new_attempt_after_a_failed_load_is_another_run() -> None:
    load = (
        "llama_model_loader: loaded meta data with 20 key-value pairs and 291 tensors from a.gguf (version GGUF V3)\n"
    )
    failed = ALLOC + "llama_model_load: error loading model: unable to allocate CUDA1 buffer\n"
    state = read(load + failed + load + "load_tensors:        CUDA0 model buffer size =    30.12 MiB\n")
    assert [[event.kind for event in run.events] for run in state.runs] == [["alloc_failed", "load_failed"], []]


def test_a_load_that_fails_for_another_reason() -> None:
    (event,) = events(
        "llama_model_load: error loading model: unknown model architecture: 'qwen9'\n"
        "llama_model_load_from_file_impl: failed to load model\nmain: error: unable to load model\n"
    )
    assert event.kind == "load_failed"
    assert event.data["reason"] == "unknown model architecture: 'qwen9'"
    assert event.data["lines"] == [1, 2, 3]


def test_truncated_head_still_names_the_memory() -> None:
    found = events("llama_model_load: error loading model: unable to allocate CUDA0 buffer\n")
    assert [event.kind for event in found] == ["alloc_failed", "load_failed"]
    assert found[0].data["device"] == "CUDA0"


@pytest.mark.parametrize(
    ("text", "kind", "data"),
    [
        (
            "CUDA error: an illegal memory access was encountered\n",
            "error",
            {"reason": "an illegal memory access was encountered"},
        ),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", "alloc_failed", {"host": True}),
        ("  what():  vk::Queue::submit: ErrorDeviceLost\n", "error", {"reason": "ErrorDeviceLost"}),
        ("ggml_vulkan: Failed to allocate pinned memory.\n", "pinned_failed", {"mib": None}),
        (
            "ggml_cuda_host_malloc: failed to allocate 4096.00 MiB of pinned memory: out of memory\n",
            "pinned_failed",
            {"mib": 4096.0},
        ),
        (
            "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 34359738368\n",
            "alloc_failed",
            {"mib": 32768.0, "host": True},
        ),
        (
            "ggml_sycl_host_malloc: can't allocate 1048576 Bytes of memory on host\n",
            "alloc_failed",
            {"mib": 1.0, "host": True},
        ),
        (
            "ggml_metal_buffer_init: failed to allocate Metal buffer of 1048576 bytes (out of memory)\n",
            "alloc_failed",
            {"device": "Metal", "mib": 1.0},
        ),
        (
            "warning: failed to VirtualLock 1048576-byte buffer (after previously locking 0 bytes): quota\n",
            "mlock_failed",
            {"mib": 1.0},
        ),
        (
            "ggml_cuda_init: failed to initialize CUDA: driver version is insufficient\n",
            "no_gpu",
            {"reason": "driver version is insufficient"},
        ),
        ("warning: no usable GPU found, --gpu-layers option will be ignored\n", "no_gpu", {}),
        ("llama_model_load: direct I/O is enabled, disabling mmap\n", "mmap_off", {}),
        (
            "load_tensors: mmap is not available, so tensor a.weight (size = 500 MiB) is loaded into RAM in full\n",
            "mmap_off",
            {"mib": 500.0},
        ),
        ("The paging file is too small for this operation to complete.\n", "alloc_failed", {"host": True}),
        (
            "load_tensors: tensor 'token_embd.weight' (q4_0) (and 0 others) cannot be used with preferred buffer type "
            "CUDA_Host, using CPU instead\n",
            "buffer_fallback",
            {"harmless": True, "n": 1},
        ),
        (
            "srv    send_error: task id = 9, error: request (52011 tokens) exceeds the available "
            "context size (40960 tokens), try increasing it\n",
            "context_full",
            {"task": 9, "tokens": 52011, "n_ctx": 40960},
        ),
        (
            "srv    send_error: task id = 9, error: input is too large to process. increase the physical batch size\n",
            "error",
            {"task": 9},
        ),
        ("srv  update_slots: Compute error. i = 0, n_batch = 512, ret = -3\n", "error", {"reason": "Compute error"}),
        (
            "slot   operator(): id  3 | task 540 | slot context shift, n_keep = 0, n_left = 40959, n_discard = 20479\n",
            "context_shift",
            {"slot": 3, "task": 540, "discarded": 20479},
        ),
    ],
)
def test_one_line(text: str, kind: str, data: dict[str, object]) -> None:
    (event,) = events(text)
    assert event.kind == kind
    assert {name: event.data.get(name) for name in data} == data


KERNEL = (
    "llama-server invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0\n"
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/x,task_memcg=/x,task=llama-server,pid=4567,uid=0\n"
    "Memory cgroup out of memory: Killed process 4567 (llama-server) total-vm:41210044kB, anon-rss:29810232kB, "
    "file-rss:1024kB, shmem-rss:0kB, UID:1000 pgtables:61240kB oom_score_adj:0\n"
    "oom_reaper: reaped process 4567 (llama-server), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n"
)


def test_one_kernel_kill_is_one_event() -> None:
    (event,) = events(KERNEL)
    assert event.kind == "kernel_oom"
    assert (event.data["process"], event.data["pid"], event.data["cgroup"]) == ("llama-server", 4567, True)
    assert event.data["rss_mib"] == round((29810232 + 1024) / 1024, 1)
    assert event.line == 3


def test_two_kernel_kills_are_two() -> None:
    assert kinds(KERNEL + KERNEL.replace("4567", "4568")) == ["kernel_oom", "kernel_oom"]


def test_kernel_lines_belong_to_the_run_beside_them() -> None:
    state = read("load_tensors:        CUDA0 model buffer size =    30.12 MiB\n" + KERNEL)
    assert [len(run.events) for run in state.runs] == [1]


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("Killed", "KILL"),
        ("...........................Killed", "KILL"),
        ("Killed: 9", "KILL"),
        ("./run.sh: line 3:  4567 Killed                  ./llama-cli -m x.gguf", "KILL"),
        ("[1]+  Killed                  ./llama-server -m x.gguf", "KILL"),
        ("zsh: killed     ./llama-server -m x.gguf", "KILL"),
        ("zsh: segmentation fault  ./llama-cli", "SEGV"),
        ("Segmentation fault (core dumped)", "SEGV"),
        ("Aborted (core dumped)", "ABRT"),
        ("fish: Job 1, './llama-server -m x.gguf' terminated by signal SIGKILL (Forced quit)", "KILL"),
        ("llama.service: Main process exited, code=killed, status=9/KILL", "KILL"),
    ],
)
def test_signals(line: str, signal: str) -> None:
    (event,) = events(line + "\n")
    assert (event.kind, event.data["signal"]) == ("killed" if signal == "KILL" else "error", signal)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("llama-1 exited with code 137", 137),
        ("Process exited with code -1073741819 (0xC0000005)", -1073741819),
        ("command terminated with exit code 137", 137),
        ("      Exit Code:    1", 1),
        ("ollama.service: Main process exited, code=exited, status=2/INVALIDARGUMENT", 2),
    ],
)
def test_exit_codes(line: str, status: int) -> None:
    state = read(line + "\n")
    (event,) = state.runs[0].events
    assert (event.kind, event.data["status"], state.runs[0].exit_status) == ("exit", status, status)


@pytest.mark.parametrize(
    "line",
    [
        '            "OOMKilled": true,',
        "      Reason:       OOMKilled",
        "systemd-oomd[726]: Killed /user.slice/a.scope due to memory pressure for /user.slice being 61.20% > 50.00% for > 20s",
        "llama.service: Failed with result 'oom-kill'.",
    ],
)
def test_other_ways_to_say_killed_for_memory(line: str) -> None:
    assert kinds(line + "\n") == ["kernel_oom"]


@pytest.mark.parametrize(
    "line",
    [
        "The knight was Killed by the dragon.",
        "amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0",
        '            "OOMKilled": false,',
        "I got an exit code and it said no",
    ],
)
def test_lines_that_are_no_trouble(line: str) -> None:
    assert [event for run in read(line + "\n").runs for event in run.events] == []


TROUBLE = re.compile(
    r"out of memory|OutOfMemory|failed to (?:alloc|load|mlock|find)|Killed$|context size|context shift"
)


def test_nothing_of_the_wider_collection_is_unread(shared: Path) -> None:
    for path in [*shared.glob("examples/llama_cpp/*"), *shared.glob("corpus/*/run.log")]:
        assert [text for _, text in read(path).source.unread if TROUBLE.search(text)] == []


def test_shared_device_code_gives_way_to_the_name_of_the_buffer() -> None:
    run = read(
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14136.04 MiB on device 1: cudaMalloc failed: out of memory\n"
        "ggml_gallocr_reserve_n: failed to allocate ROCm1 buffer of size 14822711296\n"
    )
    assert [(e.kind, e.data["device"], e.data["mib"]) for e in run.runs[0].events] == [
        ("alloc_failed", "ROCm1", 14136.04)
    ]
