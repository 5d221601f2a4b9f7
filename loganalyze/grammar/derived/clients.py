# Derived from grammars/clients.lark by `python -m loganalyze.grammar.build`; do not edit.
# ruff: noqa

# name, parts, fields, literals, anywhere, heads, since, until
RULES: tuple[object, ...] = (
    (
        'bench_head',
        (0, b'Serving Benchmark Result', 0),
        (),
        (b'Serving Benchmark Result',),
        False,
        (),
        None,
        None,
    ),
    (
        'bench_row',
        (('bench_key', 1), b':', ('bench_value', 2)),
        (('bench_key', 'bench_key', 'str'), ('bench_value', 'bench_value', 'float')),
        (b'(req/s):', b'(tok/s):', b'(ms):', b'duration (s):', b'Successful requests:', b'Failed requests:', b'tokens:', b'oncurrency:', b'request rate:', b'(RPS):', b'Backend:'),
        False,
        (),
        None,
        None,
    ),
    (
        'curl_time',
        (('|', (b'time_namelookup:',), (b'time_connect:',), (b'time_appconnect:',), (b'time_pretransfer:',), (b'time_starttransfer:',), (b'time_total:',)), ('curl_s', 3), ('?', b's')),
        (('curl_s', 'curl_s', 'decimal'),),
        (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        True,
        (b'time_appconnect:', b'time_connect:', b'time_namelookup:', b'time_pretransfer:', b'time_starttransfer:', b'time_total:'),
        None,
        None,
    ),
    (
        'curl_pair',
        (b'TTFB', ('|', (b':',), (b'=',)), ('ttfb_s', 3), ('?', b's'), ('?', b','), ('|', (b'Total',), (b'total',)), ('|', (b':',), (b'=',)), ('total_s', 3), ('?', b's')),
        (('ttfb_s', 'ttfb_s', 'decimal'), ('total_s', 'total_s', 'decimal')),
        (b'TTFB:', b'TTFB=', b'TTFB '),
        False,
        (),
        None,
        None,
    ),
    (
        'curl_json',
        (('curl_object', 4),),
        (('curl_object', 'curl_object', 'str'),),
        (b'"time_starttransfer"',),
        False,
        (),
        None,
        None,
    ),
)
TERMINALS: tuple[str, ...] = (
    '(?>=+)',
    '(?>(?:Successful requests|Failed requests|Benchmark duration \\(s\\)|Total (?:input|generated) (?:text )?tokens(?: \\(retokenized\\))?|(?:Request|Input token|Output token|Peak output token|Total token|Total Token) throughput \\((?:req|tok)\\/s\\)|Peak concurrent requests|Concurrency|(?:Mean|Median|P\\d+|Max|Std) (?:TTFT|TPOT|ITL|E2EL|E2E Latency) \\(ms\\)|Traffic request rate|Max(?:imum)? request concurrency|Request rate configured \\(RPS\\)))',
    '(?>-?(?:1\\.#[A-Z]+|\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?|inf|nan(?:\\(ind\\))?))',
    '(?>-?\\d+(?:[.,]\\d+)?)',
    '(?>\\{(?>[^\\n]*?"time_starttransfer")[^\\n]*\\})',
)
