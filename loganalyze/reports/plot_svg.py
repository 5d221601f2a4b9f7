"""SVG that follows light and dark pages and carries nothing but the picture.

matplotlib writes a ``style`` attribute on every element. Each distinct one becomes a class of one style sheet, which
is smaller, works under a strict content security policy, and lets a media query swap the colours.
"""

from __future__ import annotations

import re
from html import escape

from loganalyze.reports import plot_style as look

_METADATA = re.compile(r"<metadata>(?:[^<]|<(?!metadata>))*?</metadata>\s*", re.DOTALL)
_HEAD = re.compile(r"\A<\?xml[^>]*>\s*(?:<!DOCTYPE[^>]*>\s*)?")
_STYLE = re.compile(r' style="([^"]*)"')
_POINTS = re.compile(r' (width|height)="([\d.]+)pt"')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"\bfont: (?:(bold) )?([\d.]+)px [^;]*")
_GROUP_ID = re.compile(r'<g id="[^"]*"')
_ID = re.compile(r'(<(?:path|clipPath|image|use|g|linearGradient|pattern)[^>]{0,40} id="|"#|url\(#)([A-Za-z0-9_\-]+)')
_DEFS = re.compile(r"<defs>\s*<style type=\"text/css\">[^<]*</style>\s*</defs>\s*")
_TAG = re.compile(r"<[a-z][^<>]*>")
_NUMBER = re.compile(r"(?<!\d)(\d+\.\d\d)\d+")

FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def adapted(svg: str, title: str) -> str:
    """``svg`` of matplotlib as a standalone picture with a title, its own style sheet, and dark colours."""
    body, rules = split(svg, "p")
    css = sheet(rules) + variables("svg")
    return body.replace(">", f">\n<title>{escape(title)}</title>\n<style>{css}</style>", 1) + "\n"


def split(svg: str, prefix: str) -> tuple[str, list[tuple[str, str]]]:
    """The ``<svg>`` element with classes for styles, and those ``(class, declarations)`` by first use."""
    body = _DEFS.sub("", _METADATA.sub("", _HEAD.sub("", svg)), count=1)
    classes: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        style = match.group(1)
        return f' class="{classes.setdefault(style, f"{prefix}{len(classes)}")}"'

    # Only inside tags: text of a log may look like an attribute.
    body = _TAG.sub(lambda m: _STYLE.sub(name, _NUMBER.sub(r"\1", m[0])), body)
    body = _GROUP_ID.sub("<g", body)
    body = _ID.sub(lambda m: f"{m[1]}{prefix}-{m[2]}", body)
    body = _POINTS.sub(lambda m: f' {m[1]}="{float(m[2]) / 0.72:.0f}"', body, count=2)
    return body.strip(), [(cls, _themed(style)) for style, cls in classes.items()]


def described(body: str, words: str) -> str:
    """The ``<svg>`` element as one picture with ``words`` in place of its parts for screen readers."""
    return body.replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)


def sheet(rules: list[tuple[str, str]], everything: str = "*") -> str:
    """CSS text of ``rules``; lines are joined as matplotlib's default style sheet asks for."""
    lines = [f"{everything}{{stroke-linejoin:round;stroke-linecap:butt}}"]
    return "\n".join([*lines, *(f".{cls}{{{style}}}" for cls, style in rules)])


def variables(selector: str) -> str:
    """CSS variables of both colour schemes."""
    light = ";".join(f"--{key[1:]}:{key}" for key in look.DARK)
    dark = ";".join(f"--{key[1:]}:{value}" for key, value in look.DARK.items())
    return f"\n{selector}{{{light}}}\n@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"


def _themed(style: str) -> str:
    style = _FONT.sub(lambda m: f"font: {m[1] + ' ' if m[1] else ''}{m[2]}px {FONTS}", style)
    return _COLOUR.sub(lambda m: f"var(--{m[0][1:]},{m[0]})" if m[0] in look.DARK else m[0], style)
