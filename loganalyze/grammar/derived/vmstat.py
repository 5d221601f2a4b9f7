# Derived from grammars/vmstat.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'title',
        '(?:[ \\t]*+\\-\\-)?[ \\t]*+procs[ \\t]*+(?P<groups>(?>-[^\\s].*))[ \\t]*+\\Z',
        (('groups', 'groups', 'str'),),
        (b'procs',),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'names',
        '[ \\t]*+r[ \\t]*+b[ \\t]*+(?P<swapped>(?>[^\\s]+))[ \\t]*+(?P<free>(?>[^\\s]+))[ \\t]*+(?P<third>(?>[^\\s]+))[ \\t]*+(?P<fourth>(?>[^\\s]+))[ \\t]*+si[ \\t]*+so[ \\t]*+bi[ \\t]*+bo[ \\t]*+in[ \\t]*+cs[ \\t]*+us[ \\t]*+sy[ \\t]*+id[ \\t]*+wa(?:[ \\t]*+(?P<steal>st))?(?:[ \\t]*+(?P<guest>gu))?(?:[ \\t]*+(?P<zone>(?>[A-Z][A-Za-z]{1,5}|[+-]\\d+)))?[ \\t]*+\\Z',
        (('swapped', 'swapped', 'str'), ('free', 'free', 'str'), ('third', 'third', 'str'), ('fourth', 'fourth', 'str'), ('steal', 'steal', 'str'), ('guest', 'guest', 'str'), ('zone', 'zone', 'str')),
        (b'bi    bo',),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'summary',
        '[ \\t]*+(?P<count>(?>\\d+))[ \\t]*+(?P<summary_name>(?>(?:[KMG] )?(?:total memory|used memory|free memory|active memory|inactive memory|buffer memory|swap cache|total swap|used swap|free swap|paged in|paged out)|pages (?:paged in|paged out|swapped in|swapped out)|boot time))[ \\t]*+\\Z',
        (('count', 'count', 'str'), ('summary_name', 'summary_name', 'str')),
        (b'memory', b'swap', b'swapped', b'paged', b'boot time'),
        False,
        (),
        'procps 3.3',
        None,
    ),
    (
        'disks',
        '[ \\t]*+disk\\-[ \\t]*+(?>-+reads)[ \\t]*+(?>[^\\s].*)[ \\t]*+\\Z',
        (),
        (b'disk-',),
        False,
        (),
        'procps 3.3',
        None,
    ),
)
