"""What all HTML pages share: templates with autoescape, one style sheet, and a content security policy by hash.

Nothing is allowed but the page's own style sheet and, where a page has one, its own script: no inline style or event
handler, no picture, font, frame, form or connection.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from loganalyze import __version__
from loganalyze.reports.neutral import terminal


def render(template: str, css: str = "", script: str = "", **values: Any) -> str:
    """The page ``template`` with ``values``. ``css`` is added to the shared sheet; markup must be ``Markup``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("loganalyze.reports", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    source = environment.loader.get_source(environment, "page.css")[0] if environment.loader else ""
    sheet = "\n" + source.strip() + "\n" + css + "\n"
    return environment.get_template(template).render(
        css=Markup(sheet), script=Markup(script), csp=policy(sheet, script), version=__version__, **values
    )


def policy(css: str, script: str = "") -> str:
    """Content security policy that allows exactly this style sheet and script."""
    parts = ["default-src 'none'", f"style-src 'sha256-{_digest(css)}'"]
    if script:
        parts.append(f"script-src 'sha256-{_digest(script)}'")
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'"])


def inert(value: Any, clean: Callable[[str], str]) -> Any:
    """``value`` (dicts, lists, strings) with every string cleaned and made inert; markup and keys stay."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return "\n".join(terminal(line) for line in clean(value).split("\n"))
    if isinstance(value, dict):
        return {key: inert(item, clean) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [inert(item, clean) for item in value]
    return value


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
