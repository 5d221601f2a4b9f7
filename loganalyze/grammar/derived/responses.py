# Derived from grammars/responses.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'object_line',
        'pattern': '[ \\t]*+(?P<answer>(?>\\{(?>[^\\n]*?"(?:timings|usage|prompt_eval_count|eval_count|meta_info|stats)\\\\?":)[^\\n]*\\}))[ \\t]*+\\Z',
        'fields': (('answer', 'answer', 'str'),),
        'literals': (b'"timings":', b'"usage":', b'"prompt_eval_count":', b'"eval_count":', b'"meta_info":', b'"stats":', b'\\"usage\\":', b'\\"timings\\":', b'prompt_tokens_details'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'event',
        'pattern': '(?:[ \\t]*+(?P<stamp>(?>\\d{10}\\.\\d{1,6})))?[ \\t]*+data:[ \\t]*+(?P<object>(?>\\{ ?"[^\\n]*\\}))[ \\t]*+\\Z',
        'fields': (('stamp', 'stamp', 'str'), ('object', 'object', 'str')),
        'literals': (b'data: {',),
        'anywhere': False,
        'heads': (),
        'since': '2023',
        'until': None,
    },
    {
        'name': 'done',
        'pattern': '(?:[ \\t]*+(?P<stamp>(?>\\d{10}\\.\\d{1,6})))?[ \\t]*+data:[ \\t]*+\\[DONE\\][ \\t]*+\\Z',
        'fields': (('stamp', 'stamp', 'str'),),
        'literals': (b'data: [DONE]',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'metric_note',
        'pattern': '[ \\t]*+\\#(?:[ \\t]*+TYPE|[ \\t]*+HELP)[ \\t]*+llamacpp:[ \\t]*+(?>[^\\s].*)[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'llamacpp:',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'metric',
        'pattern': '[ \\t]*+llamacpp:[ \\t]*+(?P<metric_name>(?>[a-z_]+))(?:[ \\t]*+(?P<labels>(?>\\{[^}\\n]*\\})))?[ \\t]*+(?P<metric_value>(?>[0-9.eE+-]+|nan|inf))[ \\t]*+\\Z',
        'fields': (('metric_name', 'metric_name', 'str'), ('labels', 'labels', 'str'), ('metric_value', 'metric_value', 'str')),
        'literals': (b'llamacpp:',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
)
