"""Recognise a card from any printed name; memory size tells twins apart.

Names come from CUDA and ROCm banners, Vulkan lines with driver in brackets, Metal, SYCL tables, ``nvidia-smi`` and
Ollama; a memory table strips ``NVIDIA GeForce`` so the bare model must do. Drivers report 0.2 to 1 GiB less than the
board carries. A ROCm name can be plain ``AMD Radeon Graphics``; then the gfx id decides.
"""

from __future__ import annotations

import re
from functools import lru_cache

from loganalyze.light import lazy_pattern
from loganalyze.physics.tables import Gpu, gpus, gpus_with

_GFX = lazy_pattern(r"\bgfx[0-9a-f]{3,5}\b")
_NUMBER = lazy_pattern(r"(?<![a-z])[a-z]*\d[a-z0-9]*")
_BACKEND = lazy_pattern(r"^(?:CUDA|ROCm|Vulkan|SYCL|Metal|MTL|HIP|OpenCL|CANN)\d*\s*[:(]?\s*", re.IGNORECASE)
_CPU_NAME = lazy_pattern(
    r"\b(?:llvmpipe|swiftshader|lavapipe|Xeon|EPYC|Ryzen|Threadripper|Core\(?(?:TM)?\)?\s*i\d|Core Ultra)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def recognise(name: str | None, total_mib: float | None = None) -> Gpu | None:
    """The card printed as ``name`` with ``total_mib`` of memory, None when no row fits."""
    if not name:
        return None
    text = _BACKEND.sub("", name.strip()) or name
    found = _named(text) or _named(f"NVIDIA {text}")
    if not found or all(gpu.bandwidth_gbs is None and gpu.fp16_tflops is None for gpu in found):
        found = _by_gfx(text) or found
    return _nearest(found, total_mib)


@lru_cache(maxsize=256)
def largest_mib(name: str | None) -> float | None:
    """Memory of the largest card printed as ``name``, in MiB; None where a row shares its memory with the host."""
    if not name:
        return None
    text = _BACKEND.sub("", name.strip()) or name
    sizes = [None if gpu.unified else gpu.vram_gib for gpu in _named(text) or _named(f"NVIDIA {text}")]
    known = [size for size in sizes if size is not None]
    return max(known) * 1024 if known and len(known) == len(sizes) else None


def _named(text: str) -> list[Gpu]:
    """Rows that ``text`` names: those that share a model number with it are tried first."""
    numbers = set(_NUMBER.findall(text.lower()))
    likely = [gpu for gpu in gpus_with(numbers) if not numbers.isdisjoint(_NUMBER.findall(gpu.name.lower()))]
    return [g for g in likely if g.named_in(text)] or [g for g in gpus() if g.named_in(text)]


def is_software(name: str | None) -> bool:
    """True for a processor or a software renderer listed as a device (llvmpipe, a Xeon under OpenCL)."""
    return bool(name) and bool(_CPU_NAME.search(name or "")) and recognise(name) is None


def _by_gfx(text: str) -> list[Gpu]:
    match = _GFX.search(text)
    return [gpu for gpu in gpus() if gpu.arch == match.group(0)] if match else []


def _nearest(found: list[Gpu], total_mib: float | None) -> Gpu | None:
    if not found:
        return None
    if total_mib is None:
        return found[0]
    total = total_mib / 1024
    return min(found, key=lambda gpu: abs((gpu.vram_gib if gpu.vram_gib is not None else total) - total))
