# Derived from grammars/dool.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'csv_title',
        (0,),
        (),
        (b'CSV output',),
        False,
        (),
        None,
        None,
    ),
    (
        'csv_groups',
        (1, 2),
        (),
        (b'"memory usage"', b'"total cpu usage"', b'"total usage"', b'"paging"', b'"dsk/total"'),
        False,
        (),
        None,
        None,
    ),
    (
        'screen_groups',
        (3,),
        (),
        (b'system', b'usage', b'dsk', b'swap', b'paging'),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>"(?:[Dd]stat|dool) [0-9.]+ CSV output")',
    '(?>"(?:system|epoch|memory usage|total (?:cpu )?usage|swap|paging|dsk\\/total|procs|load avg)",)',
    '(?>[^\\s].*)',
    '(?>(?:-|┄)+[a-z0-9\\/]+(?:-|┄)[^\n"]*)',
)
