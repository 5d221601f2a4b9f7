# Derived from grammars/llama_command.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'command',
        'pattern': '[ \\t]*(?P<command_text>(?:(?![{\\[]|time=|.*s user .*% cpu|[^\\s:]*: line \\d|[\\w.]+:[ \\t]|(?:srv|slot|cmn|que|res)[ \\t]|\\d{4}-\\d\\d)(?:[^\\s].*?[\\s\\/"\'\\\\])?(?:llama-(?!cpp)[a-z0-9-]+|(?<=[\\/\\\\])(?:main|server|perplexity)|[\\w.-]+\\.llamafile|llama_cpp\\.server|llama\\.cpp:(?:server|full|light)[\\w.-]*|koboldcpp[\\w.-]*)(?:\\.exe)?["\']?[ \\t]+(?:[\\\\`^]$|--?[A-Za-z].*)))[ \\t]*\\Z',
        'fields': (('command_text', 'command_text', 'str'),),
        'literals': (b'llama-server -', b'llama-cli -', b'llama-completion -', b'llama-bench -', b'llama-batched-bench -', b'llama-perplexity -', b'llama-speculative -', b'llama-mtmd-cli -', b'llama-run -', b'llama-simple -', b'llama-parallel -', b'llama-server \\', b'llama-cli \\', b'llama-completion \\', b'llama-bench \\', b'/main -', b'/main \\', b'/server -', b'/server \\', b'.exe -', b'.exe" -', b'.exe `', b'.exe ^', b'.llamafile -', b'llama_cpp.server -', b'llama.cpp:server', b'llama.cpp:full', b'llama.cpp:light', b'koboldcpp.py', b'koboldcpp -', b'koboldcpp-linux'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'command_part',
        'pattern': '[ \\t]*(?P<part_text>(?:--?[A-Za-z](?:[\\w-]*\\w)?(?:[ =\\t].*)?$))[ \\t]*\\Z',
        'fields': (('part_text', 'part_text', 'str'),),
        'literals': (b' -m ', b'\t-m ', b'-hf ', b'-ngl ', b'-ub ', b'-np ', b'-ctk ', b'-ctv ', b'-ot ', b'-nkvo', b'-sm ', b'-dev ', b'-md ', b' -c ', b'\t-c ', b' -b ', b' -t ', b' -n ', b' -fa', b'--model ', b'--hf-repo ', b'--n-gpu-layers ', b'--gpu-layers ', b'--ctx-size ', b'--batch-size ', b'--ubatch-size ', b'--parallel ', b'--threads ', b'--n-predict ', b'--flash-attn', b'--cache-type-', b'--no-kv-offload', b'--no-mmap', b'--load-mode', b'--n-cpu-moe ', b'--cpu-moe', b'--override-tensor ', b'--split-mode ', b'--tensor-split ', b'--device ', b'--model-draft '),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
)
