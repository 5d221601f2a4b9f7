# Derived from grammars/dool.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'csv_title',
        '[ \\t]*+(?>"(?:[Dd]stat|dool) [0-9.]+ CSV output")[ \\t]*+\\Z',
        (),
        (b'CSV output',),
        False,
        (),
        None,
        None,
    ),
    (
        'csv_groups',
        '[ \\t]*+(?>"(?:system|epoch|memory usage|total (?:cpu )?usage|swap|paging|dsk\\/total|procs|load avg)",)[ \\t]*+(?>[^\\s].*)[ \\t]*+\\Z',
        (),
        (b'"memory usage"', b'"total cpu usage"', b'"total usage"', b'"paging"', b'"dsk/total"'),
        False,
        (),
        None,
        None,
    ),
    (
        'screen_groups',
        '[ \\t]*+(?>(?:-|┄)+[a-z0-9\\/]+(?:-|┄)[^\n"]*)[ \\t]*+\\Z',
        (),
        (b'system', b'usage', b'dsk', b'swap', b'paging'),
        False,
        (),
        None,
        None,
    ),
)
