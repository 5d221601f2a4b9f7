# Derived from grammars/dool.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        'name': 'csv_title',
        'pattern': '[ \\t]*+(?>"(?:[Dd]stat|dool) [0-9.]{1,20} CSV output")[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'CSV output',),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'csv_groups',
        'pattern': '[ \\t]*+(?>"(?:system|epoch|memory usage|total (?:cpu )?usage|swap|paging|dsk\\/total|procs|load avg)",)[ \\t]*+(?>[^\\s].*)[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'"memory usage"', b'"total cpu usage"', b'"total usage"', b'"paging"', b'"dsk/total"'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
    {
        'name': 'screen_groups',
        'pattern': '[ \\t]*+(?>(?:-|┄)+[a-z0-9\\/]{2,20}(?:-|┄)[^\n"]*)[ \\t]*+\\Z',
        'fields': (),
        'literals': (b'system', b'usage', b'dsk', b'swap', b'paging'),
        'anywhere': False,
        'heads': (),
        'since': None,
        'until': None,
    },
)
