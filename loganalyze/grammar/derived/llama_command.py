# Derived from grammars/llama_command.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'command',
        (('command_text', 0),),
        (('command_text', 'command_text', 'str'),),
        (b'server -', b'server \\', b'cli -', b'cli \\', b'completion -', b'completion \\', b'bench -', b'bench \\', b'main -', b'main \\', b'perplexity -', b'perplexity \\', b'speculative -', b'simple -', b'parallel -', b'embedding -', b'llama-run -', b'llama-tts -', b'diffusion -', b'.exe -', b'.exe" -', b".exe' -", b'.exe `', b'.exe ^', b'.llamafile -', b'koboldcpp -', b'koboldcpp.py -', b'koboldcpp-linux', b'llama.cpp:server', b'llama.cpp:full', b'llama.cpp:light', b'--model', b'--hf-repo', b'-ngl ', b'gpu-layers ', b'gpulayers', b'--n_gpu_layers', b'ctx-size', b'batch-size ', b'-ctk ', b'-ctv ', b'--cache-type-', b'-nkvo', b'kv-offload', b'-dev ', b'--parallel ', b'--threads ', b'--n-predict ', b'--flash-attn', b'--no-mmap', b'--load-mode', b'cpu-moe', b'-cmoe', b'-ncmoe ', b'--override-tensor ', b'--split-mode ', b'--tensor-split ', b'--device '),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>(?![{\\[]|time=|.{0,400}s user .{0,80}% cpu|[^\\s:]*: line \\d|[\\w.]+:[ \\t]|(?:srv|slot|cmn|que|res)[ \\t]|\\d{4}-\\d\\d)(?:[^\\s].*?[\\s\\/>"\'\\\\])?(?:llama-(?!cpp)[a-z0-9-]+|(?<=[\\/\\\\])(?:main|server|perplexity)|[\\w.-]+\\.llamafile|llama_cpp\\.server|llama\\.cpp:(?:server|full|light)[\\w.-]*|koboldcpp[\\w.-]*)(?:\\.exe)?["\']?[ \\t]+(?:[\\\\`^]$|--?[A-Za-z].*))',
)
