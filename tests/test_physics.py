"""Cards, weights and predicted rates, against the public measurements."""

from __future__ import annotations

import csv
import dataclasses
import statistics
from pathlib import Path

import pytest

from loganalyze.physics import gpu, quants, roofline, tables, weights


@pytest.mark.parametrize("card", tables.gpus(), ids=lambda c: f"{c.name}-{c.vram_gib}")
def test_each_printed_name_is_recognised_with_its_memory(card: tables.Gpu) -> None:
    found = gpu.recognise(card.name, None if card.vram_gib is None else card.vram_gib * 1024 - 400)
    assert found is not None
    assert (found.name, found.vram_gib) == (card.name, card.vram_gib)


@pytest.mark.parametrize(
    ("name", "total_mib", "expected"),
    [
        ("RTX 3090", None, "NVIDIA GeForce RTX 3090"),
        ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 24560, "AMD Radeon RX 7900 XTX"),
        ("Radeon RX 7900 XT, gfx1100", None, "AMD Radeon RX 7900 XT"),
        ("AMD Radeon Graphics (RADV GFX1151)", None, "AMD Radeon 8060S Graphics"),
        ("Intel(R) Arc(TM) A770 Graphics (DG2)", 16225, "Intel(R) Arc(TM) A770 Graphics"),
        ("Apple M3 Max", 98304, "Apple M3 Max"),
        ("NVIDIA GeForce RTX 4090 (NVIDIA)", 24564, "NVIDIA GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("NVIDIA H200", 143771, "NVIDIA H200"),
    ],
)
def test_other_spellings(name: str, total_mib: float | None, expected: str) -> None:
    found = gpu.recognise(name, total_mib)
    assert found is not None
    assert found.name == expected


def test_memory_tells_twins_apart() -> None:
    small, large = gpu.recognise("NVIDIA GeForce RTX 4060 Ti", 7800), gpu.recognise("NVIDIA GeForce RTX 4060 Ti", 16379)
    assert small is not None and large is not None  # noqa: PT018
    assert (small.vram_gib, large.vram_gib) == (8, 16)


@pytest.mark.parametrize("name", ["", None, "llvmpipe (LLVM 15.0.7)", "Some Future Card", "\x1b[31m" * 30])
def test_unknown_names_give_nothing(name: str | None) -> None:
    assert gpu.recognise(name) is None


@pytest.mark.parametrize(
    ("name", "params", "active"),
    [
        ("Qwen3-30B-A3B-Q4_K_M.gguf", 30.0, 0.1),
        ("mixtral-8x7b-instruct.Q4_K_M.gguf", 46.5, 0.275),
        ("gpt-oss-20b-mxfp4.gguf", 20.0, 0.21),
        ("llama3.1:8b-instruct-q4_K_M", 8.0, None),
        ("Meta-Llama-3.1-70B-Instruct-IQ2_M.gguf", 70.0, None),
        ("gemma-3-270m-it-Q8_0.gguf", 0.27, None),
        ("models/phi-4-Q4_K_M.gguf", None, None),
        (r"C:\llm\Qwen2.5-0.5B.gguf", 0.5, None),
    ],
)
def test_sizes_in_names(name: str, params: float | None, active: float | None) -> None:
    found = weights.params_in(name)
    assert found == (None if params is None else pytest.approx(params, rel=0.02))
    assert weights.active_share(name, found, None, None) == (
        None if active is None else pytest.approx(active, abs=0.01)
    )


def test_sources_of_weights_in_order_of_trust() -> None:
    by_buffers = weights.estimate(name="a-8B-Q4_K_M.gguf", device_mib=4403.5, host_mib=281.8, model_bytes=4_920_000_000)
    by_size = weights.estimate(name="a-8B-Q4_K_M.gguf", model_bytes=4_920_000_000)
    by_name = weights.estimate(name="a-8B-Q4_K_M.gguf")
    grown = weights.estimate(grown_mib=16000.0)
    assert by_buffers is not None and by_buffers.total_mib == 4403.5  # noqa: PT018
    assert by_size is not None and by_size.total_mib == pytest.approx(4692, abs=1)  # noqa: PT018
    assert by_name is not None and by_name.total_mib == pytest.approx(4600, rel=0.05)  # noqa: PT018
    assert grown is not None and grown.high == 1.0 and grown.low < 0.5  # noqa: PT018
    assert weights.estimate(name="m27.gguf") is None


def test_kv_bytes_of_the_table() -> None:
    assert weights.kv_bytes_per_token(32, 1024, 1024) == 131072  # Llama-3 8B
    assert weights.kv_bytes_per_token(32, 4096, 4096) == 524288  # Llama-2 7B
    assert weights.kv_bytes_per_token(36, 1024, 1024) == 147456  # Qwen3 8B
    assert weights.kv_bytes_per_token(32, 1024, 1024, "q8_0", "q8_0") == pytest.approx(69632)
    assert weights.kv_bytes_per_token(None, 1024, 1024) is None


def test_quantisation_in_names() -> None:
    assert quants.quant_in("model-UD-Q4_K_XL.gguf") == "Q4_K_XL"
    assert quants.quant_in("Model-IQ3_XXS.gguf") == "IQ3_XXS"
    assert quants.bits_of("Q4_K - Medium") == 4.82
    assert quants.bits_of("nothing") is None


def _points(fixtures: Path) -> list[dict[str, str]]:
    with open(fixtures / "physics" / "measured.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _prediction(point: dict[str, str]) -> roofline.Rate:
    moe = point["kind"] == "MoE"
    size = weights.layers_for(weights.params_in(point["model"]), moe)
    read = float(point["read_gb_per_token"]) * 1e9 / weights.MIB
    model = weights.Weights(float(point["file_gib"]) * 1024, read, size, False, moe, 1.0, 1.0, "measured.csv")
    bandwidth = float(point["bandwidth_gbs"])
    card = dataclasses.replace(tables.gpus()[0], bandwidth_gbs=bandwidth, arch="8.6")
    cpu = point["backend"] == "CPU"
    rate = roofline.decode(model, roofline.Machine(point["backend"], () if cpu else (card,), host_gbs=bandwidth))
    assert rate is not None
    return rate


def test_measured_over_predicted_is_as_documented(fixtures: Path) -> None:
    """Median 0.96, p5 0.62, p95 1.15 of 145 typical points; both faulty submissions below 0.3."""
    points = _points(fixtures)
    ratio = {i: float(p["tg_tps"]) / _prediction(p).tps for i, p in enumerate(points)}
    typical = sorted(ratio[i] for i, p in enumerate(points) if p["typical"] == "1")
    assert len(typical) == 145
    assert statistics.median(typical) == pytest.approx(0.96, abs=0.02)
    assert typical[int(0.05 * 145)] == pytest.approx(0.62, abs=0.03)
    assert typical[int(0.95 * 145)] == pytest.approx(1.15, abs=0.03)
    assert all(ratio[i] < 0.3 for i, p in enumerate(points) if p["typical"] == "0")


def test_bands_hold_nearly_all_typical_points(fixtures: Path) -> None:
    points = [p for p in _points(fixtures) if p["typical"] == "1"]
    inside = [p for p in points if _prediction(p).low <= float(p["tg_tps"]) <= _prediction(p).high]
    assert len(inside) >= 0.97 * len(points)


@pytest.mark.parametrize(
    ("gpu_gb", "host_gb", "host_gbs", "measured"),
    [(6.92, 1.63, 102.0, 20.8), (4.29, 1.47, 102.0, 23.7), (5.36, 8.59, 102.0, 5.2)],
)
def test_partial_offload_within_forty_per_cent(gpu_gb: float, host_gb: float, host_gbs: float, measured: float) -> None:
    """Dense points of an RTX 2080 with quad-channel memory."""
    card = gpu.recognise("NVIDIA GeForce RTX 2080", 8192)
    assert card is not None
    both = (gpu_gb + host_gb) * 1e9 / weights.MIB
    model = weights.Weights(both, both, 48, False, False, 1.0, 1.0, "test")
    machine = roofline.Machine("CUDA", (card,), host_gbs=host_gbs)
    rate = roofline.decode(model, machine, host_share=host_gb / (gpu_gb + host_gb))
    assert rate is not None
    assert measured == pytest.approx(rate.tps, rel=0.4)
    assert rate.low <= measured <= rate.high


def test_two_equal_cards_give_the_speed_of_one() -> None:
    card = gpu.recognise("NVIDIA GeForce RTX 3090", 24576)
    assert card is not None
    model = weights.estimate(name="x-70B-Q4_K_M.gguf")
    assert model is not None
    one = roofline.decode(model, roofline.Machine("CUDA", (card,)))
    two = roofline.decode(model, roofline.Machine("CUDA", (card, card)))
    assert one is not None and two is not None and one.tps == pytest.approx(two.tps)  # noqa: PT018


def test_unknown_bandwidth_gives_no_prediction() -> None:
    card = gpu.recognise("NVIDIA GeForce RTX 3090")
    assert card is not None
    model = weights.estimate(name="x-8B-Q4_K_M.gguf")
    assert model is not None
    unknown = dataclasses.replace(card, bandwidth_gbs=None)
    assert roofline.decode(model, roofline.Machine("CUDA", (unknown,))) is None
    assert roofline.prefill(model, roofline.Machine("CUDA", ())) is None


def test_links() -> None:
    assert tables.link_gbs(4, 16) == pytest.approx(31.5, abs=0.1)
    assert tables.link_gbs(None, 16) is None
