# Derived from grammars/clients.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa
from typing import Any

# name, pattern, fields, literals, anywhere, heads, since, until
RULES: tuple[Any, ...] = (
    (
        'bench_head',
        '[ \\t]*+(?>=+)[ \\t]*+Serving\\ Benchmark\\ Result[ \\t]*+(?>=+)[ \\t]*+\\Z',
        (),
        (b'Serving Benchmark Result',),
        False,
        (),
        None,
        None,
    ),
    (
        'bench_row',
        '[ \\t]*+(?P<bench_key>(?>(?:Successful requests|Failed requests|Benchmark duration \\(s\\)|Total (?:input|generated) (?:text )?tokens(?: \\(retokenized\\))?|(?:Request|Input token|Output token|Peak output token|Total token|Total Token) throughput \\((?:req|tok)\\/s\\)|Peak concurrent requests|Concurrency|(?:Mean|Median|P\\d+|Max|Std) (?:TTFT|TPOT|ITL|E2EL|E2E Latency) \\(ms\\)|Traffic request rate|Max(?:imum)? request concurrency|Request rate configured \\(RPS\\))))[ \\t]*+:[ \\t]*+(?P<bench_value>(?>-?(?:1\\.#[A-Z]+|\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?|inf|nan(?:\\(ind\\))?)))[ \\t]*+\\Z',
        (('bench_key', 'bench_key', 'str'), ('bench_value', 'bench_value', 'float')),
        (b'(req/s):', b'(tok/s):', b'(ms):', b'(s):', b'Successful requests:', b'Failed requests:', b'tokens:', b'oncurrency:', b'request rate:', b'(RPS):', b'Backend:'),
        False,
        (),
        None,
        None,
    ),
    (
        'curl_time',
        '(?:[ \\t]*+time_namelookup:|[ \\t]*+time_connect:|[ \\t]*+time_appconnect:|[ \\t]*+time_pretransfer:|[ \\t]*+time_starttransfer:|[ \\t]*+time_total:)[ \\t]*+(?P<curl_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?[ \\t]*+\\Z',
        (('curl_s', 'curl_s', 'decimal'),),
        (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        True,
        (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        None,
        None,
    ),
    (
        'curl_pair',
        '[ \\t]*+TTFB(?:[ \\t]*+:|[ \\t]*+=)[ \\t]*+(?P<ttfb_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?(?:[ \\t]*+,)?(?:[ \\t]*+Total|[ \\t]*+total)(?:[ \\t]*+:|[ \\t]*+=)[ \\t]*+(?P<total_s>(?>-?\\d+(?:[.,]\\d+)?))(?:[ \\t]*+s)?[ \\t]*+\\Z',
        (('ttfb_s', 'ttfb_s', 'decimal'), ('total_s', 'total_s', 'decimal')),
        (b'TTFB',),
        False,
        (),
        None,
        None,
    ),
    (
        'curl_json',
        '[ \\t]*+(?P<curl_object>(?>\\{[^\\n]*"time_starttransfer"[^\\n]*\\}))[ \\t]*+\\Z',
        (('curl_object', 'curl_object', 'str'),),
        (b'"time_starttransfer"',),
        False,
        (),
        None,
        None,
    ),
)
