# Derived from grammars/vmstat.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'title',
        (('?', b'--'), b'procs', ('groups', 0)),
        (('groups', 'groups', 'str'),),
        (b'procs',),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'names',
        (b'r', b'b', ('swapped', 1), ('free', 1), ('third', 1), ('fourth', 1), b'si', b'so', b'bi', b'bo', b'in', b'cs', b'us', b'sy', b'id', b'wa', ('?', ('steal', b'st')), ('?', ('guest', b'gu')), ('?', ('zone', 2))),
        (('swapped', 'swapped', 'str'), ('free', 'free', 'str'), ('third', 'third', 'str'), ('fourth', 'fourth', 'str'), ('steal', 'steal', 'str'), ('guest', 'guest', 'str'), ('zone', 'zone', 'str')),
        (b'bi    bo',),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'summary',
        (('count', 3), ('summary_name', 4)),
        (('count', 'count', 'str'), ('summary_name', 'summary_name', 'str')),
        (b'memory', b'swap', b'swapped', b'paged', b'boot time'),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'disks',
        (b'disk-', 5, 6),
        (),
        (b'disk-',),
        False,
        (),
        'procps 3.3',
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>-[^\\s].*)',
    '(?>[^\\s]+)',
    '(?>[A-Z][A-Za-z]{1,5}|[+-]\\d+)',
    '(?>\\d+)',
    '(?>(?:[KMG] )?(?:total memory|used memory|free memory|active memory|inactive memory|buffer memory|swap cache|total swap|used swap|free swap|paged in|paged out)|pages (?:paged in|paged out|swapped in|swapped out)|boot time)',
    '(?>-+reads)',
    '(?>[^\\s].*)',
)
