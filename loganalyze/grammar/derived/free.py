# Derived from grammars/free.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'names',
        '[ \\t]*+(?>[^\\s\\d:]{3,24})[ \\t]*+(?>[^\\s\\d:]{3,24})[ \\t]*+(?>[^\\s\\d:]{3,24})[ \\t]*+(?>[^\\s\\d:]{3,24})[ \\t]*+(?P<fifth_name>(?>[^\\s\\d:]{3,24}))(?:[ \\t]*+(?P<sixth_name>(?>[^\\s\\d:]{3,24})))?(?:[ \\t]*+(?P<seventh_name>(?>[^\\s\\d:]{3,24})))?[ \\t]*+\\Z',
        (('fifth_name', 'fifth_name', 'str'), ('sixth_name', 'sixth_name', 'str'), ('seventh_name', 'seventh_name', 'str')),
        (b'buff', b'uffer', b'ache', b'ach\xc3\xa9', b'bufor', b'\xd0\xba\xd0\xb5\xd1\x88', b'\xe7\xbc\x93'),
        False,
        (),
        'procps 3.2',
        None,
    ),
    (
        'row',
        '[ \\t]*+(?P<label>(?>[^\\s\\d:\\-+][^\\s:]*(?::|：)))[ \\t]*+(?P<total>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+(?P<used>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+(?P<free>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))(?:[ \\t]*+(?P<shared>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S))))?(?:[ \\t]*+(?P<fifth>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S))))?(?:[ \\t]*+(?P<sixth>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S))))?(?:[ \\t]*+(?P<seventh>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S))))?[ \\t]*+\\Z',
        (('label', 'label', 'str'), ('total', 'total', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str'), ('shared', 'shared', 'str'), ('fifth', 'fifth', 'str'), ('sixth', 'sixth', 'str'), ('seventh', 'seventh', 'str')),
        (b':', b'\xef\xbc\x9a'),
        False,
        (),
        None,
        None,
    ),
    (
        'adjusted',
        '[ \\t]*+\\-/\\+[ \\t]*+(?P<label>(?>[^\\s\\d:\\-+][^\\s:]*(?::|：)))[ \\t]*+(?P<used>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+(?P<free>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+\\Z',
        (('label', 'label', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str')),
        (b'-/+',),
        False,
        (),
        None,
        'procps 3.3.9; toybox',
    ),
    (
        'line',
        '[ \\t]*+SwapUse[ \\t]*+(?P<swap_used>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+CachUse[ \\t]*+(?P<cache>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+MemUse[ \\t]*+(?P<used>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+MemFree[ \\t]*+(?P<free>(?>\\d+(?:[.,]\\d+)?(?:[KMGTPE]i?B?|B)?(?!\\S)))[ \\t]*+\\Z',
        (('swap_used', 'swap_used', 'str'), ('cache', 'cache', 'str'), ('used', 'used', 'str'), ('free', 'free', 'str')),
        (b'SwapUse',),
        False,
        (),
        'procps 4.0.4 (free -L)',
        None,
    ),
)
