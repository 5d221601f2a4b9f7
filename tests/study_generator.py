"""Studies with a planted truth: runs of an imaginary machine with noise, drift, warm-up, outliers, or two changed settings."""

from __future__ import annotations

import random
from dataclasses import dataclass

from loganalyze.model.records import Judgement, Request, Run, Setup


@dataclass(frozen=True)
class Machine:
    """Speeds of an imaginary machine with one model."""

    reading_tps: float
    writing_tps: float
    load_s: float
    vram_mib: float = 24576.0
    model_mib: float = 9000.0


@dataclass(frozen=True)
class Ask:
    """What one run asks for."""

    prompt: int = 1200
    output: int = 256
    n_ctx: int = 8192
    n_batch: int = 2048
    n_gpu_layers: int = 99
    n_threads: int = 8
    model: str = "model-Q4_K_M.gguf"
    cached: int = 0


def machine(dice: random.Random) -> Machine:
    """A machine between a laptop and a data-centre card."""
    writing = dice.uniform(5, 250)
    return Machine(writing * dice.uniform(8, 60), writing, dice.uniform(0.5, 8))


def run(of: Machine, ask: Ask, dice: random.Random, *, noise: float = 0.01, slow: float = 1.0, index: int = 1) -> Run:
    """One run; ``slow`` multiplies every time, ``noise`` is the relative spread of each."""

    def wobble() -> float:
        return slow * (1 + dice.uniform(-noise, noise))

    prompt_ms = (ask.prompt - ask.cached) / of.reading_tps * 1000 * wobble()
    eval_ms = (ask.output - 1) / of.writing_tps * 1000 * wobble()
    request = Request(
        id="1",
        source=f"run{index}.log",
        line=10,
        prompt_tokens=ask.prompt - ask.cached,
        cached_tokens=ask.cached,
        prompt_ms=prompt_ms,
        prompt_tps=(ask.prompt - ask.cached) / prompt_ms * 1000,
        output_tokens=ask.output,
        eval_tokens=ask.output - 1,
        eval_ms=eval_ms,
        eval_tps=(ask.output - 1) / eval_ms * 1000,
        ttft_ms=prompt_ms,
        total_ms=prompt_ms + eval_ms,
    )
    setup = Setup(
        n_ctx=ask.n_ctx,
        n_predict=ask.output,
        n_batch=ask.n_batch,
        n_gpu_layers=ask.n_gpu_layers,
        n_threads=ask.n_threads,
        model_path=ask.model,
    )
    peak = of.model_mib + ask.n_ctx * 0.125 + dice.uniform(-5, 5)
    judgement = Judgement(telemetry={"vram_peak_mib": peak, "vram_total_mib": of.vram_mib})
    total_ms = prompt_ms + eval_ms
    made = Run(id=f"run{index}.log#1", engine="llama.cpp", setup=setup, requests=[request], total_ms=total_ms)
    made.facts["wall_s"] = total_ms / 1000 + of.load_s * wobble()
    made.judgement = judgement
    return made
