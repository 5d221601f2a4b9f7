# Derived from grammars/responses.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'object_line',
        (('answer', 0),),
        (('answer', 'answer', 'str'),),
        (b'"timings":', b'"usage":', b'"prompt_eval_count":', b'"eval_count":', b'"meta_info":', b'"stats":', b'\\"usage\\":', b'\\"timings\\":', b'prompt_tokens_details'),
        False,
        (),
        None,
        None,
    ),
    (
        'event',
        (('?', ('stamp', 1)), b'data:', ('object', 2)),
        (('stamp', 'stamp', 'str'), ('object', 'object', 'str')),
        (b'data: {',),
        False,
        (),
        '2023',
        None,
    ),
    (
        'done',
        (('?', ('stamp', 1)), b'data:', b'[DONE]'),
        (('stamp', 'stamp', 'str'),),
        (b'data: [DONE]',),
        False,
        (),
        None,
        None,
    ),
    (
        'metric_note',
        (b'#', ('|', (b'TYPE',), (b'HELP',)), b'llamacpp:', 3),
        (),
        (b'llamacpp:',),
        False,
        (),
        None,
        None,
    ),
    (
        'metric',
        (b'llamacpp:', ('metric_name', 4), ('?', ('labels', 5)), ('metric_value', 6)),
        (('metric_name', 'metric_name', 'str'), ('labels', 'labels', 'str'), ('metric_value', 'metric_value', 'str')),
        (b'llamacpp:',),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>\\{(?>[^\\n]*?"(?:timings|usage|prompt_eval_count|eval_count|meta_info|stats)\\\\?":)[^\\n]*\\})',
    '(?>\\d{10}\\.\\d{1,6})',
    '(?>\\{ ?"[^\\n]*\\})',
    '(?>[^\\s].*)',
    '(?>[a-z_]+)',
    '(?>\\{[^}\\n]*\\})',
    '(?>[0-9.eE+-]+|nan|inf)',
)
