# Derived from grammars/responses.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'object_line',
        '[ \\t]*+(?P<answer>(?>\\{(?>[^\\n]*?"(?:timings|usage|prompt_eval_count|eval_count|meta_info|stats)\\\\?":)[^\\n]*\\}))[ \\t]*+\\Z',
        (('answer', 'answer', 'str'),),
        (b'"timings":', b'"usage":', b'"prompt_eval_count":', b'"eval_count":', b'"meta_info":', b'"stats":', b'\\"usage\\":', b'\\"timings\\":', b'prompt_tokens_details'),
        False,
        (),
        None,
        None,
    ),
    (
        'event',
        '(?:[ \\t]*+(?P<stamp>(?>\\d{10}\\.\\d{1,6})))?[ \\t]*+data:[ \\t]*+(?P<object>(?>\\{ ?"[^\\n]*\\}))[ \\t]*+\\Z',
        (('stamp', 'stamp', 'str'), ('object', 'object', 'str')),
        (b'data: {',),
        False,
        (),
        '2023',
        None,
    ),
    (
        'done',
        '(?:[ \\t]*+(?P<stamp>(?>\\d{10}\\.\\d{1,6})))?[ \\t]*+data:[ \\t]*+\\[DONE\\][ \\t]*+\\Z',
        (('stamp', 'stamp', 'str'),),
        (b'data: [DONE]',),
        False,
        (),
        None,
        None,
    ),
    (
        'metric_note',
        '[ \\t]*+\\#(?:[ \\t]*+TYPE|[ \\t]*+HELP)[ \\t]*+llamacpp:[ \\t]*+(?>[^\\s].*)[ \\t]*+\\Z',
        (),
        (b'llamacpp:',),
        False,
        (),
        None,
        None,
    ),
    (
        'metric',
        '[ \\t]*+llamacpp:[ \\t]*+(?P<metric_name>(?>[a-z_]+))(?:[ \\t]*+(?P<labels>(?>\\{[^}\\n]*\\})))?[ \\t]*+(?P<metric_value>(?>[0-9.eE+-]+|nan|inf))[ \\t]*+\\Z',
        (('metric_name', 'metric_name', 'str'), ('labels', 'labels', 'str'), ('metric_value', 'metric_value', 'str')),
        (b'llamacpp:',),
        False,
        (),
        None,
        None,
    ),
)
