"""Text of large llama-server logs: the start-up, requests, and what ``-v`` prints between them."""

from __future__ import annotations

import random
from pathlib import Path

REQUEST_LINES = 8
START = b"""\
0.00.031.020 I build_info: b9982-d2a3151 with GNU 13.3.0 for Linux x86_64
0.00.031.034 I system_info: n_threads = 16 (n_threads_batch = 16) / 32 | CUDA : ARCHS = 890 | USE_GRAPHS = 1 | CPU : SSE3 = 1 |
0.00.192.040 I srv  llama_server: initializing ...
0.00.195.652 I srv    load_model: loading model '/models/m8.gguf'
0.00.235.002 I llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23529 MiB free
0.00.333.380 I llama_model_loader: loaded meta data with 23 key-value pairs and 291 tensors from m8.gguf (version GGUF V3)
0.00.334.822 I print_info: file type   = Q4_0
0.00.334.826 I print_info: file size   = 3.79 GiB (4.50 BPW)
0.00.359.238 I print_info: n_layer               = 32
0.00.359.300 I print_info: model params          = 7.24 B
0.01.026.300 I load_tensors: offloaded 33/33 layers to GPU
0.01.026.310 I load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
0.01.026.311 I load_tensors:        CUDA0 model buffer size =  3597.34 MiB
0.01.326.311 I llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB
0.01.426.311 I sched_reserve:      CUDA0 compute buffer size =   560.00 MiB
0.02.026.429 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'false'
0.02.028.718 I srv  llama_server: model loaded
0.02.028.725 I srv  llama_server: listening on http://127.0.0.1:8080
"""
_PROSE = (
    "the a model of and to in is that it was for on are as with his they at be this from have or by one had not but "
    "what all were when we there can an your which their said if do will each about how up out them then she many some "
    "so these would other into has more her two like him see time could no make than first been its who now people my "
    "made over did down only way find use may water long little very after words called just where most know get "
    "through back much before go good new write our used me man too any day same right look think also around another "
    "came come work three word must because does part even place well such here take why things help put years "
    "different away again off went old number great tell men say small every found still between name should home "
    "answer question summary table value function return import class self print list string über größer naïve 日本"
)
_WORDS = _PROSE.split()
_TEXT_LINES = (
    "D Parsing chat message: {text}",
    'D Parsed message: {{"role":"assistant","content":"{text}"}}',
    "D srv  log_server_r: prompt {text}",
    "D srv  update_slots: batch for {text}",
    "{text}",
)
_SHORT_LINES = (
    "D que    start_loop: processing new tasks",
    "D que    start_loop: update slots",
    "D que    start_loop: waiting for new tasks",
    "D que          post: new task, id = {n}, front = 0",
    "D srv  update_slots: posting NEXT_RESPONSE",
    "D srv        decode: n_batch (effective) = 2048, off = 0",
    "D srv  process_sing: decoding, decline task, id_task = {n}",
    "D que  yield_to_que: done yielding to queue",
    "D set_embeddings: value = 0",
    "D CUDA Graph id {n} reused",
    "D set_adapters_lora: adapters = (nil)",
    "D llama_graph_n_input_tensors: input tensor '                         inp_pos' [i32, ne = {{     4,     1,     1,     1}}]",
    "D llama_graph_n_input_tensors: input tensor '                attn_inp_kq_mask' [f32, ne = {{ {n},     4,     1,     1}}]",
    "D llama_graph_n_input_tensors: input tensor '                 attn_inp_k_idxs' [i64, ne = {{     4,     1,     1,     1}}]",
)


def stamp(number: int) -> str:
    """The time of a line, as the log's own stamps."""
    return f"{number // 600000}.{number // 10000 % 60:02d}.{number // 10 % 1000:03d}.{number % 10 * 100:03d} "


def ordinary(random_: random.Random) -> str:
    """A line that says nothing about speed or memory."""
    if random_.random() < 0.45:
        text = " ".join(random_.choices(_WORDS, k=random_.choice((8, 20, 30, 45, 80))))
        return random_.choice(_TEXT_LINES).format(text=text)
    return random_.choice(_SHORT_LINES).format(n=random_.randrange(100000))


def request(task: int, random_: random.Random) -> list[str]:
    """The lines of one request (``REQUEST_LINES`` of them)."""
    slot = task % 4
    head = f"id  {slot} | task {task} | "
    prompt, output = random_.randrange(20, 4000), random_.randrange(20, 900)
    prompt_ms, eval_ms = prompt / random_.uniform(1900, 2300) * 1000, output / random_.uniform(82, 88) * 1000
    per = (prompt_ms / prompt, prompt / prompt_ms * 1000, eval_ms / output, output / eval_ms * 1000)
    timing, a, b = f"I slot print_timing: {head}", "ms per token", "tokens per second"
    return [
        f"I slot get_availabl: id  {slot} | task -1 | selected slot by LRU, t_last = {task * 977}",
        f"I slot launch_slot_: {head}processing task, is_child = 0",
        f"{timing}prompt eval time = {prompt_ms:10.2f} ms / {prompt:5d} tokens ({per[0]:8.2f} {a}, {per[1]:8.2f} {b})",
        f"{timing}       eval time = {eval_ms:10.2f} ms / {output:5d} tokens ({per[2]:8.2f} {a}, {per[3]:8.2f} {b})",
        f"I slot print_timing: {head}      total time = {prompt_ms + eval_ms:10.2f} ms / {prompt + output:5d} tokens",
        f"I slot print_timing: {head}   graphs reused = {output - 3:10d}",
        f"I slot      release: {head}stop processing: n_tokens = {prompt + output}, truncated = 0",
        "I srv  update_slots: all slots are idle",
    ]


def write(path: Path, size: int, share: float, seed: int = 1) -> int:
    """Write a log of about ``size`` bytes in which ``share`` of the lines are of requests; returns the requests."""
    random_ = random.Random(seed)
    pool = [ordinary(random_) for _ in range(20_000)]
    gap = max(0, round(REQUEST_LINES / share) - REQUEST_LINES)
    written = number = task = 0
    with path.open("wb", buffering=1 << 20) as out:
        written += out.write(START)
        number = 13000
        while written < size:
            rows = request(task, random_)
            task += 1
            at = random_.randrange(len(pool))
            rows[2:2] = (pool[at:] + pool)[:gap] if gap <= len(pool) else (pool * (gap // len(pool) + 1))[:gap]
            text = "".join([f"{stamp(number + i)}{row}\n" for i, row in enumerate(rows)])
            number += len(rows)
            written += out.write(text.encode())
    return task
