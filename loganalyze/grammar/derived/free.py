# Derived from grammars/free.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'names',
        (0, 0, 0, 0, ('fifth_name', 0), ('?', ('sixth_name', 0)), ('?', ('seventh_name', 0))),
        (('fifth_name', 'fifth_name', 'str'), ('sixth_name', 'sixth_name', 'str'), ('seventh_name', 'seventh_name', 'str')),
        (b'buff', b'uffer', b'ache', b'ach\xc3\xa9', b'bufor', b'\xd0\xba\xd0\xb5\xd1\x88', b'\xe7\xbc\x93'),
        False,
        (),
        'procps 3.2',
        None,
    ),
    (
        'row',
        (('label', 1), ('total', 2), ('used', 2), ('free', 2), ('?', ('shared', 2)), ('?', ('fifth', 2)), ('?', ('sixth', 2)), ('?', ('seventh', 2))),
        (('label', 'label', 'str'), ('total', 'total', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str'), ('shared', 'shared', 'str'), ('fifth', 'fifth', 'str'), ('sixth', 'sixth', 'str'), ('seventh', 'seventh', 'str')),
        (b':', b'\xef\xbc\x9a'),
        False,
        (),
        None,
        None,
    ),
    (
        'adjusted',
        (b'-/+', ('label', 1), ('used', 2), ('free', 2)),
        (('label', 'label', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str')),
        (b'-/+',),
        False,
        (),
        None,
        'procps 3.3.9; toybox',
    ),
    (
        'line',
        (b'SwapUse', ('swap_used', 2), b'CachUse', ('cache', 2), b'MemUse', ('used', 2), b'MemFree', ('free', 2)),
        (('swap_used', 'swap_used', 'str'), ('cache', 'cache', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str')),
        (b'SwapUse',),
        False,
        (),
        'procps 4.0.4 (free -L)',
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>[^\\s\\d:]{3,24})',
    '(?>[^\\s\\d:\\-+][^\\s:]*(?::|：))',
    '(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S))',
)
