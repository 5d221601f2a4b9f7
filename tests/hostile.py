"""A run, its captures and its file names in which everything that a log can say is an attack on whoever shows it."""

from __future__ import annotations

import os
from pathlib import Path

MARK = "zqx"
"""Stands in every attack, so that a test can tell that one arrived at all."""

FLAVOURS = {
    "escape": f"\x1b[31m{MARK}\x1b[0m\x1b]0;title\x07\x1bP1$r\x1b\\",
    "osc8": f"\x1b]8;;https://evil.example/\x1b\\{MARK}\x1b]8;;\x1b\\",
    "c1": f"\x9b2J\x9d0;t\x9c{MARK}\x90q\x9c",
    "bidi": f"\u202egnp.{MARK}\u2066x\u2069\u200b\u061c\ufeff",
    "stacked": MARK + "\u0301" * 40,
    "controls": f"{MARK}\x00\x07\x08\x0b\x0c\x7f\x85\u2028",
    "script": f"</script></style></title><script>document.title='owned'</script>{MARK}",
    "img": f"<img src=https://evil.example/{MARK} onerror=\"document.title='owned'\">",
    "svg": f"</text></svg><svg onload=\"document.title='owned'\">{MARK}]]>--><!--",
    "attribute": f"{MARK}\" onmouseover=\"document.title='owned'\" x='",
    "style": f'{MARK} style="}}*{{background:url(https://evil.example/{MARK})}}" class="x" id="main"',
    "entity": f"&lt;b&gt;{MARK}&#x3c;img src=x&#x3e;&amp;colon;",
    "template": f"{{{{7*7}}}}{{% raw %}}${{7*7}}{MARK}%s%n{{0}}",
    "md_link": f"[{MARK}](javascript:alert(1)) [a]: https://evil.example/ [^1]",
    "md_image": f"![{MARK}](https://evil.example/p.png) <https://evil.example/{MARK}>",
    "md_fence": f"```` ``` ~~~ </details> `{MARK}` `` ` ``",
    "md_table": f"| {MARK} | --- | b |",
    "md_mention": f"@{MARK} @org/team #12 GH-3 a/b#4 {MARK}@evil.example www.evil.example https://evil.example/",
    "md_block": f"# {MARK} *a* _b_ ~c~ <details open><summary>x</summary> [!NOTE]",
    "math": f"$\\frac{{{MARK}$ $x^2$ \\href{{https://evil.example/}}{{x}}",
    "formula": f'=HYPERLINK("https://evil.example/?{MARK}","x")',
    "plus": f"+cmd|' /C calc'!A0{MARK}",
    "minus": f"-2+3+{MARK}",
    "at": f"@SUM(1){MARK}",
    "wide_formula": f"\uff1dSUM(1){MARK}",
    "number": f"-1e999{MARK}",
    "url": f"javascript:alert(1)//{MARK} data:text/html,<script>1</script>",
}

NAMES = {
    "newline": f"a\n{MARK}.log",
    "escape": f"\x1b[31m{MARK}.log",
    "bidi": f"\u202e{MARK}.log",
    "img": f"<img src=x onerror=document.title='owned'>{MARK}.log",
    "style": f'{MARK} style="}}*{{color:red}}" x.log',
    "option": f"-rf {MARK}.log",
    "formula": f"=1+1{MARK}.log",
    "markdown": f"`{MARK}` | ![x](y) @all #1 $x$.log",
    "dots": f"..{MARK}..log",
    "percent": f"%s%n%00{MARK}.log",
    "bytes": os.fsdecode(b"\xff\xfe" + MARK.encode() + b".log"),
    "quote": f"'\"; touch {MARK}; '.log",
    "hash": f"{MARK}#7#.log",
}
"""File names of POSIX systems; none leaves its folder."""


def log(evil: str, layers: int = 20, rate: float = 5.9, device: str = "") -> str:
    """A llama.cpp run in which each text from outside is ``evil``, the card's name ``device`` when given."""
    device = device or evil
    quoted = evil.replace("\\", "").replace("'", "")
    return "\n".join(
        [
            f"+ ./llama-cli -m '/models/{quoted}.gguf' -ngl {layers} -c 8192 -t 16 -ot '{quoted}=CPU' --{MARK}-odd '{quoted}'",
            "ggml_cuda_init: found 1 CUDA devices:",
            f"  Device 0: {device}, compute capability 9.0, VMM: yes",
            f"build: 6173 ({evil}) with {evil} for x86_64-linux-gnu",
            f"llama_model_load_from_file_impl: using device CUDA0 ({device}) - 142629 MiB free",
            f"llama_model_loader: loaded meta data with 23 key-value pairs and 579 tensors from /models/{evil}.gguf"
            " (version GGUF V3 (latest))",
            f"llama_model_loader: - kv   1:                               general.name str              = {evil}",
            f"llama_model_loader: - kv   2:      {evil} str              = {evil}",
            f"print_info: file type   = {evil}",
            "print_info: file size   = 13.62 GiB (4.50 BPW) ",
            f"print_info: model type       = {evil}",
            "print_info: model params     = 26.00 B",
            f"print_info: general.name     = {evil}",
            f"load_tensors: offloaded {layers}/65 layers to GPU",
            "load_tensors:   CPU_Mapped model buffer size =  9644.39 MiB",
            "load_tensors:        CUDA0 model buffer size =  4303.91 MiB",
            f"load_tensors: {evil} model buffer size =  3.91 MiB",
            "llama_context: n_ctx         = 8192",
            "llama_context:        CPU  output buffer size =     0.12 MiB",
            f"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 99.00 MiB on device 0: cudaMalloc failed: {evil}",
            f"CUDA error: out of memory {evil}",
            f"llama_model_load: error loading model: {evil}" if layers == 0 else "main: llama backend init",
            f"error: {evil}",
            f"warning: {evil}",
            "system_info: n_threads = 16 (n_threads_batch = 16) / 32 | CUDA : ARCHS = 900 | CPU : SSE3 = 1 | ",
            f"prompt eval time is {evil} ms / tokens",
            f"llama_perf_context_print:        load time =    1848.38 ms {evil}",
            "llama_perf_context_print:        load time =    1848.38 ms",
            "llama_perf_context_print: prompt eval time =    1704.46 ms /   230 tokens (    7.41 ms per token, "
            "  134.94 tokens per second)",
            "llama_perf_context_print:        eval time =    7969.44 ms /    47 runs   (  169.56 ms per token, "
            f"    {rate:.2f} tokens per second)",
            "llama_perf_context_print:       total time =    9684.82 ms /   277 tokens",
            "",
        ]
    )  # fmt: skip


def smi(evil: str) -> str:
    """A capture of ``nvidia-smi`` in which the card's name is ``evil``."""
    name = evil.replace(",", ";").replace("\n", " ")
    head = f"timestamp, index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%], {name}"
    rows = [f"2026/11/30 22:14:{s:02d}.566, 0, {name}, {8000 + s} MiB, 143771 MiB, {s} %, {name}" for s in range(5, 20)]
    return "\n".join([head, *rows, ""])


def pmon(evil: str) -> str:
    """A capture of ``nvidia-smi pmon`` in which processes are called ``evil``."""
    name = evil.replace("\n", " ")
    rows = [f"    0      30{i}     C     30      1      -      -      -      -    {name}" for i in range(9)]
    head = "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command "
    return "\n".join([head, "# Idx           #    C/G      %      %      %      %      %      %    name ", *rows, ""])


def time_v(evil: str) -> str:
    """What GNU ``time -v`` says of a command that is ``evil``."""
    return (
        f'\tCommand being timed: "{evil}"\n\tUser time (seconds): 134.25\n\tSystem time (seconds): 2.02\n'
        "\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:12.57\n\tMaximum resident set size (kbytes): 9000000\n"
        f"\tExit status: 0\n{evil}\n"
    )


def plant(folder: Path, evil: str, name: str = "run.log") -> Path:
    """One run with captures in ``folder``, everything in it ``evil``."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in ((name, log(evil)), ("smi.csv", smi(evil)), ("pmon.txt", pmon(evil)), ("time.txt", time_v(evil))):
        (folder / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def everything(*names: str) -> str:
    """One log with a run for each flavour named (default: all), the slowest first."""
    return "\n".join(log(FLAVOURS[name], rate=2.0 + i) for i, name in enumerate(names or FLAVOURS))
