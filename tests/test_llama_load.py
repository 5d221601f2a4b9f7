"""llama.cpp load phase: hand-checked records for one log of each age, and a sweep by plain patterns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llama_lines import read

from loganalyze.formats.llama_devices import backend_of, working_set_mib
from loganalyze.formats.llama_fit import unwrap_mib
from loganalyze.formats.llama_names import ftype_name, quant_of_file
from loganalyze.model.records import Run

GIB = 2**30


def one(text: str | Path) -> Run:
    state = read(text)
    assert state.source.unread == []
    assert len(state.runs) == 1
    return state.runs[0]


def example(fixtures: Path, number: str) -> Run:
    return one(next((fixtures / "llama_cpp").glob(f"{number}_*")))


def memory(run: Run) -> list[tuple[str, str, float]]:
    return [(buffer.device, buffer.kind, buffer.mib) for buffer in run.memory]


def test_2023_03_everything_in_host_memory(fixtures: Path) -> None:
    run = example(fixtures, "01")
    assert memory(run) == [("CPU", "kv", 512.0), ("CPU", "model", 4017.27)]
    setup = run.setup
    assert (setup.n_ctx, setup.n_layer, setup.n_embd, setup.n_vocab) == (512, 32, 4096, 32000)
    assert (setup.n_threads, setup.n_threads_total, setup.temperature) == (4, 8, 0.8)
    assert setup.model_path == "./models/7B/ggml-model-q4_0.bin"
    assert setup.quant == "Q4_0"
    assert run.backend == "CPU"
    assert run.version is None


def test_2023_07_partial_offload_without_devices_in_buffer_lines(fixtures: Path) -> None:
    run = example(fixtures, "03")
    assert (run.version, run.backend, run.engine) == ("b885", "CUDA", "llama.cpp")
    assert [(d.id, d.name) for d in run.devices] == [("CUDA0", "NVIDIA GeForce RTX 3060")]
    assert memory(run) == [("CPU", "model", 4073.48), ("VRAM", "model", 3954.0), ("CPU", "kv", 1600.0)]
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (20, 43)
    assert (run.setup.n_batch, run.setup.n_predict, run.setup.n_head_kv) == (512, 128, 40)
    assert run.facts["vram_scratch_mib"] == 480.0
    assert run.facts["mem_required_mib"] == 4073.48
    assert run.facts["state_mib"] == 1608.0
    assert run.fact_lines["mem_required_mib"] == 24


def test_2023_11_cache_and_scratch_in_vram(fixtures: Path) -> None:
    run = example(fixtures, "04")
    assert memory(run) == [
        ("CPU", "model", 70.42),
        ("VRAM", "model", 3820.92),
        ("VRAM", "kv", 2048.0),
        ("VRAM", "compute", 288.5),
    ]
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (35, 35)
    assert run.setup.n_params == 6_740_000_000
    assert run.setup.model_bytes == round(3.80 * GIB)
    assert run.setup.quant == "Q4_K_M"
    assert run.facts["vram_used_mib"] == 6157.42
    assert run.facts["compute_total_mib"] == 291.57


def test_2024_04_buffers_by_device(fixtures: Path) -> None:
    run = example(fixtures, "06")
    assert memory(run) == [
        ("CPU", "model", 70.31),
        ("CUDA0", "model", 4095.05),
        ("CUDA0", "kv", 1024.0),
        ("CUDA_Host", "output", 0.24),
        ("CUDA0", "compute", 560.0),
        ("CUDA_Host", "compute", 24.01),
    ]
    assert (run.setup.n_ctx, run.setup.n_ubatch, run.setup.type_k, run.setup.type_v) == (8192, 512, "f16", "f16")
    (log,) = (fixtures / "llama_cpp").glob("06_*")
    printed = log.read_text("utf-8").splitlines()[run.fact_lines["n_ubatch"] - 1]
    assert printed.split() == ["llama_new_context_with_model:", "n_ubatch", "=", "512"]
    assert run.facts["graph_splits"] == 2
    assert run.setup.n_ctx_train == 32768


def test_2025_05_half_of_the_model_on_the_host(fixtures: Path) -> None:
    run = example(fixtures, "09")
    assert (run.version, run.backend) == ("b5308", "CUDA")
    assert [(d.id, d.free_mib, d.total_mib) for d in run.devices] == [("CUDA0", 5771.0, None)]
    assert memory(run) == [
        ("CUDA0", "model", 4238.29),
        ("CPU_Mapped", "model", 13459.31),
        ("CPU", "output", 0.58),
        ("CUDA0", "kv", 96.0),
        ("CPU", "kv", 288.0),
        ("CUDA0", "compute", 544.18),
        ("CUDA_Host", "compute", 16.01),
    ]
    setup = run.setup
    assert (setup.layers_on_gpu, setup.layers_total, setup.n_expert, setup.n_expert_used) == (12, 49, 128, 8)
    assert (setup.flash_attn, setup.mmap, setup.bpw) == ("off", True, 4.86)
    assert (run.facts["graph_splits"], run.facts["graph_splits_tg"], run.facts["kv_mib"]) == (616, 75, 384.0)
    assert (run.facts["kv_cells"], run.facts["kv_layers"]) == (4096, 48)
    assert "draft" not in run.facts


def test_2026_03_fit_and_table(fixtures: Path) -> None:
    run = example(fixtures, "12")
    assert [(d.name, d.total_mib, d.free_mib) for d in run.devices] == [("NVIDIA GeForce RTX 3090", 24124.0, 23560.0)]
    assert run.facts["fit_changed"] is False
    assert (run.facts["projected_mib"], run.facts["free_mib"], run.facts["fit_leave_mib"]) == (19143, 23560, 4417)
    assert run.fact_lines["projected_mib"] == 7
    assert [(event.kind, event.line, event.data["changed"]) for event in run.events] == [("fit", 8, False)]
    assert len(run.memory) == 6
    assert run.facts["unaccounted_mib"] == 565
    assert [row["self_mib"] for row in run.facts["memory_table"]] == [18592, 186]
    assert run.setup.flash_attn == "on"


def test_2026_05_default_log_says_devices_but_no_placement(fixtures: Path) -> None:
    run = example(fixtures, "14")
    assert [(d.id, d.total_mib, d.free_mib) for d in run.devices] == [("CUDA0", 24124.0, 23560.0)]
    assert run.facts["host_total_mib"] == 64217.0
    assert run.memory == []
    assert run.setup.layers_on_gpu is None
    assert run.setup.n_parallel == 4
    assert run.setup.model_path == "models/Qwen3-30B-A3B-Q4_K_M.gguf"


def test_2026_10_default_log_leaves_the_backend_open(fixtures: Path) -> None:
    run = example(fixtures, "15")
    assert (run.backend, run.memory, run.devices) == (None, [], [])
    assert run.facts["verbosity"] == 3


def test_real_two_cards(fixtures: Path) -> None:
    run = one(fixtures / "corpus" / "2gpu_27b_lv4" / "run.log")
    assert [(d.id, d.name, d.total_mib, d.free_mib) for d in run.devices] == [
        ("CUDA0", "NVIDIA H200", 143155.0, 142627.0),
        ("CUDA1", "NVIDIA H200", 143155.0, 142627.0),
    ]
    assert memory(run)[:3] == [("CPU_Mapped", "model", 87.89), ("CUDA0", "model", 7101.45), ("CUDA1", "model", 6758.96)]
    assert sum(buffer.mib for buffer in run.memory if buffer.kind == "kv") == 2048.0
    assert (run.setup.layers_on_gpu, run.setup.layers_total) == (65, 65)
    assert (run.facts["graph_nodes"], run.facts["graph_splits"]) == (1993, 3)
    assert run.facts["unaccounted_mib"] == 610


def test_real_jsonl_rows(fixtures: Path) -> None:
    run = one(fixtures / "corpus" / "jsonl_8b" / "run.log")
    assert memory(run) == [
        ("CUDA0", "model", 3815.0),
        ("CUDA0", "kv", 1024.0),
        ("CUDA0", "compute", 120.0),
        ("Host", "model", 70.0),
        ("Host", "compute", 36.0),
    ]
    assert [row["free_mib"] for row in run.facts["memory_table"]] == [137587, None]
    assert [(d.id, d.total_mib, d.free_mib) for d in run.devices] == [("CUDA0", 143155.0, 142629.0)]


def test_table_gives_way_to_buffer_lines() -> None:
    row = "common_memory_breakdown_print: |   - CUDA0 (A)   | 100 = 50 + (40 =  30 +  5 +  5) +  10 |\n"
    run = one(row + "load_tensors:        CUDA0 model buffer size =    30.12 MiB\n" + row)
    assert memory(run) == [("CUDA0", "model", 30.12)]
    assert run.facts["memory_table"][0]["model_mib"] == 30


def test_wrapped_unaccounted() -> None:
    assert unwrap_mib(17592186044040) == -376
    assert unwrap_mib(565) == 565
    assert unwrap_mib(2**63) is None
    run = one(
        "load_tensors:        CUDA0 model buffer size =    30.12 MiB\n"
        "sched_reserve:        CUDA0 compute buffer size =    3.00 MiB\n"
        "llama_memory_breakdown_print: |   - CUDA0 (A)   | 100 = 50 + (40 =  30 +  5 +  5) + 17592186044040 |\n"
    )
    assert run.facts["unaccounted_mib"] == -376


SWA = """llama_kv_cache_unified_iswa: creating non-SWA KV cache, size = 32768 cells
llama_kv_cache_unified:      CUDA0 KV buffer size =  2560.00 MiB
llama_kv_cache_unified: size = 2560.00 MiB ( 32768 cells,  10 layers,  1/1 seqs), K (f16): 1280.00 MiB, V (f16): 1280.00 MiB
llama_kv_cache_unified_iswa: creating     SWA KV cache, size = 1536 cells
llama_kv_cache_unified:      CUDA0 KV buffer size =   624.00 MiB
llama_kv_cache_unified: size =  624.00 MiB (  1536 cells,  52 layers,  1/1 seqs), K (f16):  312.00 MiB, V (f16):  312.00 MiB
"""


def test_sliding_window_has_two_caches_that_add() -> None:
    run = one(SWA)
    assert (run.facts["kv_mib"], run.facts["kv_cells"], run.facts["kv_layers"]) == (3184.0, 32768, 62)
    assert memory(run) == [("CUDA0", "kv", 2560.0), ("CUDA0", "kv", 624.0)]


LOAD = """llama_model_loader: loaded meta data with 20 key-value pairs and 291 tensors from {path} (version GGUF V3 (latest))
print_info: file size   = {gib:.2f} GiB (4.50 BPW)
load_tensors: offloaded 33/33 layers to GPU
load_tensors:        CUDA0 model buffer size = {mib:.2f} MiB
llama_context: constructing llama_context
llama_context: n_ctx         = {ctx}
llama_kv_cache:      CUDA0 KV buffer size =   100.00 MiB
llama_kv_cache: size =  100.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):   50.00 MiB, V (f16):   50.00 MiB
sched_reserve:      CUDA0 compute buffer size =   10.00 MiB
"""


def load(path: str, mib: float, ctx: int = 4096) -> str:
    return LOAD.format(path=path, gib=mib / 1024, mib=mib, ctx=ctx)


def test_draft_model_does_not_touch_the_main_one() -> None:
    text = load("/m/big.gguf", 8000) + "srv    load_model: loading draft model '/m/small.gguf'\n"
    run = one(text + load("/m/small.gguf", 500, 2048))
    assert memory(run) == [("CUDA0", "model", 8000.0), ("CUDA0", "kv", 100.0), ("CUDA0", "compute", 10.0)]
    assert (run.setup.n_ctx, run.setup.model_path, run.setup.draft_model) == (4096, "/m/big.gguf", "/m/small.gguf")
    draft = run.facts["draft"]
    assert [buffer.mib for buffer in draft.memory] == [500.0, 100.0, 10.0]
    assert draft.setup.n_ctx == 2048
    assert run.facts["kv_mib"] == 100.0


def test_second_load_of_the_model_is_a_second_run() -> None:
    state = read(load("/m/a.gguf", 8000) + load("/m/a.gguf", 8000))
    assert [memory(run)[0] for run in state.runs] == [("CUDA0", "model", 8000.0)] * 2


def test_second_banner_is_a_second_run() -> None:
    banner = "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA A, compute capability 8.6, VMM: yes\n"
    build = "build: 6170 (4227c9be) with cc (X) 13.3.0 for x86_64-linux-gnu\n"
    state = read((banner + build + load("/m/a.gguf", 8000)) * 2)
    assert len(state.runs) == 2
    assert [(run.version, len(run.devices), len(run.memory)) for run in state.runs] == [("b6170", 1, 3)] * 2


def test_another_context_of_the_model_is_kept_apart() -> None:
    second = (
        "llama_context: constructing llama_context\nllama_context: n_ctx         = 512\n"
        "llama_kv_cache:      CUDA0 KV buffer size =    7.00 MiB\n"
    )
    run = one(load("/m/a.gguf", 8000) + second)
    assert run.setup.n_ctx == 4096
    assert [buffer.mib for buffer in run.memory] == [8000.0, 100.0, 10.0]
    assert [buffer.mib for buffer in run.facts["contexts"][0].memory] == [7.0]


def test_fit_measures_with_a_model_that_is_not_loaded() -> None:
    measured = load("/m/a.gguf", 0.0)
    text = f"common_init_result: fitting params to device memory ...\n{measured}"
    text += "common_fit_params: successfully fit params to free device memory\n" + load("/m/a.gguf", 8000)
    run = one(text)
    assert [buffer.mib for buffer in run.memory] == [8000.0, 100.0, 10.0]
    assert run.facts["kv_mib"] == 100.0


FIT = """common_init_result: fitting params to device memory, for bugs during this step try to reproduce them with -fit off
llama_params_fit_impl: projected to use 30000 MiB of device memory vs. 23560 MiB of free device memory
llama_params_fit_impl: cannot meet free memory target of 1024 MiB, need to reduce device memory by 7464 MiB
llama_params_fit_impl: context size reduced from 131072 to 32768 -> need 3000 MiB less memory in total
llama_params_fit_impl: with only dense weights in device memory there is a total surplus of 9000 MiB
llama_params_fit_impl: filling dense-only layers back-to-front:
llama_params_fit_impl:   - CUDA0 (NVIDIA GeForce RTX 3090): 49 layers,   9000 MiB used,  14560 MiB free
llama_params_fit_impl: converting dense-only layers to full layers and filling them front-to-back with overflow to next device/system memory:
llama_params_fit_impl:   - CUDA0 (NVIDIA GeForce RTX 3090): 49 layers (20 overflowing),  22000 MiB used,   1560 MiB free
llama_params_fit: successfully fit params to free device memory
"""  # noqa: E501


def test_fit_that_changes_the_plan() -> None:
    run = one(FIT)
    assert run.facts["fit_changed"] is True
    assert (run.facts["fit_short_mib"], run.facts["fit_ctx_from"], run.facts["fit_ctx_to"]) == (7464, 131072, 32768)
    assert (run.facts["fit_layers"], run.facts["fit_overflow_layers"]) == ({"CUDA0": 49}, 20)
    (event,) = run.events
    assert (event.kind, event.line, event.data["overflow"]) == ("fit", 4, 20)


def test_fit_that_fails() -> None:
    run = one(
        "W llama_params_fit: failed to fit params to free device memory: n_gpu_layers already set by user to 99, abort\n"[
            2:
        ]
    )
    assert run.facts["fit_failed"] == "n_gpu_layers already set by user to 99, abort"
    assert run.facts["fit_changed"] is False


@pytest.mark.parametrize(
    ("text", "backend", "device"),
    [
        (
            "ggml_cuda_init: found 1 ROCm devices:\n"
            "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n",
            "ROCm",
            ("ROCm0", "AMD Radeon RX 7900 XTX", None),
        ),
        (
            "ggml_vulkan: Found 1 Vulkan devices:\n"
            "ggml_vulkan: 0 = Intel(R) Iris(R) Xe (ANV) | uma: 1 | fp16: 1 | warp size: 32 | matrix cores: none\n",
            "Vulkan",
            ("Vulkan0", "Intel(R) Iris(R) Xe (ANV)", None),
        ),
        (
            "ggml_metal_init: found device: Apple M1 Max\nggml_metal_init: picking default device: Apple M1 Max\n"
            "ggml_metal_init: hasUnifiedMemory              = true\n"
            "ggml_metal_init: recommendedMaxWorkingSetSize  = 22906.50 MB\n",
            "Metal",
            (None, "Apple M1 Max", 21845.34),
        ),
        (
            "| 0| [level_zero:gpu:0]|                Intel Arc A770 Graphics|   12.55|    512|    1024|   32| 16225M|  1.3|\n",
            "SYCL",
            ("SYCL0", "Intel Arc A770 Graphics", 16225.0),
        ),
        (
            "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24124 MiB):\n"
            "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes, VRAM: 24124 MiB\n",
            "CUDA",
            ("CUDA0", "NVIDIA GeForce RTX 3090", 24124.0),
        ),
        (
            "ggml_opencl: selecting device: 'QUALCOMM Adreno(TM) 830'\n",
            "OpenCL",
            (None, "QUALCOMM Adreno(TM) 830", None),
        ),
        (
            "llama_prepare_model_devices: using device Vulkan0 (AMD Radeon RX 6800 (RADV NAVI21)) (unknown id) - 16000 MiB free\n",
            "Vulkan",
            ("Vulkan0", "AMD Radeon RX 6800 (RADV NAVI21)", None),
        ),
    ],
)
def test_devices_of_every_backend(text: str, backend: str, device: tuple[str | None, str, float | None]) -> None:
    run = one(text)
    assert run.backend == backend
    assert [(d.id, d.name, d.total_mib) for d in run.devices] == [device]


def test_system_info_tells_what_the_build_can_use() -> None:
    line = "system_info: n_threads = 8 (n_threads_batch = 8) / 16 | {}CPU : SSE3 = 1 | AVX = 1 | \n"
    assert one(line.format("")).backend == "CPU"
    assert one(line.format("CUDA : ARCHS = 860 | USE_GRAPHS = 1 | ")).backend == "CUDA"
    early = "system_info: n_threads = 8 / 16 | {} | BLAS = {} | SSE3 = {} | \n"
    assert one(early.format("AVX = 1", 0, 1)).backend == "CPU"
    assert one(early.format("AVX = 1", 1, 1)).backend is None
    assert one(early.format("NEON = 1", 0, 0)).backend is None
    assert one(early.format("AVX = 1 | LLAMAFILE = 1", 0, 1)).backend is None


def test_apple_2023_counts_unified_memory_once() -> None:
    run = one(
        "llama_model_load_internal: mem required  = 3949.96 MB (+  256.00 MB per state)\n"
        "llama_new_context_with_model: kv self size  =  256.00 MB\n"
        "ggml_metal_add_buffer: allocated 'data            ' buffer, size =  3648.00 MB, ( 3648.42 / 10922.67)\n"
        "ggml_metal_add_buffer: allocated 'kv              ' buffer, size =   258.00 MB, ( 3906.42 / 10922.67)\n"
    )
    assert memory(run) == [("Metal", "model", 3648.0), ("Metal", "kv", 258.0)]
    assert run.facts["working_set_mib"] == 10922.67


def test_working_set_unit() -> None:
    assert working_set_mib(10922.67) == 10922.67
    assert working_set_mib(11453.25) == pytest.approx(10922.67, abs=0.01)
    assert working_set_mib(49152.0) == 49152.0


def test_values_per_layer_and_sticking_labels() -> None:
    run = one(
        "print_info: n_head_kv        = [8, 8, 8, 4]\nprint_info: rope_yarn_log_mul= 0.0000\n"
        "print_info: expert_weights_scale = 2.5\nllm_load_print_meta: model size     = 6.74 B\n"
    )
    assert run.setup.n_head_kv == 8
    assert run.setup.n_params == 6_740_000_000
    assert run.setup.model_bytes is None


def test_tensor_overrides_are_counted_once() -> None:
    run = one(
        "tensor blk.3.ffn_up_exps.weight (288 MiB q4_K) buffer type overridden to CPU\n"
        "tensor blk.4.ffn_up_exps.weight (288 MiB q4_K) buffer type overridden to CPU\n"
    )
    assert run.setup.tensor_overrides == ["blk.*.ffn_up_exps.weight=CPU"]
    (event,) = run.events
    assert (event.data["count"], event.data["mib"], event.data["buffer"]) == (2, 576.0, "CPU")
    assert (run.facts["overridden_tensors"], run.facts["overridden_mib"]) == (2, 576.0)


def test_names() -> None:
    assert ftype_name("mostly Q4_K - Medium") == "Q4_K_M"
    assert ftype_name("IQ4_XS - 4.25 bpw (guessed)") == "IQ4_XS"
    assert ftype_name("all F32") == "F32"
    assert quant_of_file(r"C:\models\Qwen3-30B-A3B-UD-Q4_K_XL.gguf") == "Q4_K_XL"
    assert quant_of_file("ggml-org/gpt-oss-20b-GGUF:MXFP4") == "MXFP4"
    assert quant_of_file("/models/m8.gguf") is None
    assert [backend_of(x) for x in ("CUDA_Host", "CPU_Mapped", "ROCm1", "MTL0_Private")] == [
        None,
        None,
        "ROCm",
        "Metal",
    ]


BUFFER = re.compile(r"(\S+) +(?:model |KV |RS |compute |output )?buffer size *= +([\d.]+) MiB")
OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers")
USING = re.compile(r"using device (\S+) .*- (\d+) MiB free")
IMPORTANT = re.compile(
    r"buffer size|offload|using device|KV self size|VRAM|cells,|graph splits|out of memory|failed to|memory_breakdown"
)


def logs(folder: Path) -> list[Path]:
    return sorted([*folder.glob("examples/llama_cpp/*"), *folder.glob("llama_cpp/*"), *folder.glob("corpus/*/run.log")])


def check(path: Path) -> None:
    """Every buffer, offload and device figure that plain patterns find is in the records; nothing of them is unread."""
    state = read(path)
    assert [text for _, text in state.source.unread if IMPORTANT.search(text)] == []
    targets = [t for run in state.runs for t in (run, run.facts.get("draft"), *run.facts.get("contexts", ())) if t]
    buffers = {(b.device, b.mib) for target in targets for b in target.memory}
    text = path.read_text(errors="replace").rpartition("fitting params to free memory took")[2]
    for device, mib in BUFFER.findall(text):
        assert (device, float(mib)) in buffers
    for found in OFFLOADED.findall(text):
        assert (int(found[0]), int(found[1])) in {(t.setup.layers_on_gpu, t.setup.layers_total) for t in targets}
    for device, mib in USING.findall(text):
        assert (device, float(mib)) in {(d.id, d.free_mib) for run in state.runs for d in run.devices}
    for mib in re.findall(r"(?:KV self size|KV cache: size|unified: size) += +([\d.]+) MiB", text):
        assert float(mib) in {target.facts.get("kv_mib") for target in targets}


def test_sweep_of_bundled_logs(fixtures: Path) -> None:
    found = logs(fixtures)
    assert found
    for path in found:
        check(path)


def test_sweep_of_the_wider_collection(shared: Path) -> None:
    for path in logs(shared):
        check(path)
