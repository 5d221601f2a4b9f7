# Derived from grammars/llama_command.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'command',
        (('command_text', 0),),
        (('command_text', 'command_text', 'str'),),
        (b'-m ', b'--model', b'-hf ', b'--hf-repo', b'-ngl ', b'gpu-layers ', b'gpulayers', b'--n_gpu_layers', b' -c ', b'\t-c ', b'ctx-size', b' -b ', b' -t ', b' -n ', b' -fa', b'-ub ', b'-np ', b'batch-size ', b'-ctk ', b'-ctv ', b'--cache-type-', b'-ot ', b'-nkvo', b'kv-offload', b'-sm ', b'-dev ', b'-md ', b'--parallel ', b'--threads ', b'--n-predict ', b'--flash-attn', b'--no-mmap', b'--load-mode', b'cpu-moe', b'-cmoe', b'-ncmoe ', b'--override-tensor ', b'--split-mode ', b'--tensor-split ', b'--device ', b'llama-server \\', b'llama-cli \\', b'llama-completion \\', b'llama-bench \\', b'/main \\', b'/server \\', b'.exe `', b'.exe ^'),
        False,
        (),
        None,
        None,
    ),
    (
        'command_part',
        (('part_text', 1),),
        (('part_text', 'part_text', 'str'),),
        (b'-m ', b'--model', b'-hf ', b'--hf-repo', b'-ngl ', b'gpu-layers ', b'gpulayers', b'--n_gpu_layers', b' -c ', b'\t-c ', b'ctx-size', b' -b ', b' -t ', b' -n ', b' -fa', b'-ub ', b'-np ', b'batch-size ', b'-ctk ', b'-ctv ', b'--cache-type-', b'-ot ', b'-nkvo', b'kv-offload', b'-sm ', b'-dev ', b'-md ', b'--parallel ', b'--threads ', b'--n-predict ', b'--flash-attn', b'--no-mmap', b'--load-mode', b'cpu-moe', b'-cmoe', b'-ncmoe ', b'--override-tensor ', b'--split-mode ', b'--tensor-split ', b'--device '),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>(?![{\\[]|time=|.{0,400}s user .{0,80}% cpu|[^\\s:]*: line \\d|[\\w.]+:[ \\t]|(?:srv|slot|cmn|que|res)[ \\t]|\\d{4}-\\d\\d)(?:[^\\s].*?[\\s\\/>"\'\\\\])?(?:llama-(?!cpp)[a-z0-9-]+|(?<=[\\/\\\\])(?:main|server|perplexity)|[\\w.-]+\\.llamafile|llama_cpp\\.server|llama\\.cpp:(?:server|full|light)[\\w.-]*|koboldcpp[\\w.-]*)(?:\\.exe)?["\']?[ \\t]+(?:[\\\\`^]$|--?[A-Za-z].*))',
    '(?>--?[A-Za-z](?:[\\w-]*\\w)?(?:[ =\\t].*)?$)',
)
