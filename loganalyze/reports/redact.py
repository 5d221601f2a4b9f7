"""Takes names, addresses, keys and texts out of what is to be published, and lists what went.

The same secret becomes the same placeholder everywhere (``[host-1]``), so that a report stays readable. Loopback and
bind-all addresses stay: they tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loganalyze.reports import redact_rules as rules

_PLACEHOLDER = re.compile(r"\[[a-z\-]{2,12}-\d{1,6}\]")
_OPEN_ADDRESSES = frozenset({"127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1"})
_LONGEST = 200_000
"""Longer texts are cut before they are searched, so that a hostile line costs bounded time."""
_MOST_NAMES = 500


class Redactor:
    """Redacts texts. ``names`` are further user or host names to hide wherever they stand as words."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        for name in names:
            self._learn("name", name)

    @property
    def removed(self) -> list[tuple[str, int]]:
        """``(category, times)`` of what was taken out so far, by category."""
        return sorted(self._counts.items())

    def summary(self) -> str:
        """``3 home paths, 1 key``, or that nothing was found."""
        words = [f"{n} {category}{'' if n == 1 else 's'}" for category, n in self.removed]
        return ", ".join(words) if words else "nothing had to be removed"

    def learn(self, texts: Iterable[str]) -> None:
        """Note user and host names that ``texts`` give away, so that they go from every later text."""
        for text in texts:
            text = text[:_LONGEST]
            for pattern in (rules.HOME_SPACED, rules.HOME, rules.TILDE, rules.SHELL, rules.NAMED_USER):
                for match in pattern.finditer(text):
                    self._learn("user", match["user"])
            for pattern in (
                rules.JOURNAL,
                rules.SHELL,
                rules.NAMED,
                rules.UNC,
                rules.HOST_LOCAL,
                rules.SSH,
                rules.HOST_OPTION,
            ):
                for match in pattern.finditer(text):
                    self._learn("host", match["host"])

    def text(self, text: str) -> str:
        """``text`` without what is private."""
        if not text:
            return text
        if len(text) > _LONGEST:
            text = text[:_LONGEST] + "…"
        self.learn([text])
        for category, pattern in rules.RULES:
            text = pattern.sub(lambda m, c=category: self._hide(m, c), text)  # type: ignore[misc]
        text = self._addresses(text)
        text = rules.HOME_SPACED.sub(self._home, text)
        text = rules.HOME.sub(self._home, text)
        for pattern, group, category in _PLACES:
            text = pattern.sub(lambda m, g=group, c=category: self._group(m, g, c), text)  # type: ignore[misc]
        text = rules.RANDOM.sub(self._random, text)
        return self._known_names(text)

    def tree(self, value: Any) -> Any:
        """``value`` (dicts, lists, strings) with every string redacted; keys of dicts stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.tree(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(item) for item in value]
        return value

    def tree_learned(self, value: Any) -> Any:
        """Like `tree`, after learning names from all strings of ``value``, so that their order does not matter."""
        self.learn(_strings(value))
        return self.tree(value)

    def _learn(self, category: str, name: str) -> None:
        name = name.strip(".-")
        if len(name) < 3 or name.isdigit() or name.lower() in rules.COMMON or _PLACEHOLDER.search(f"[{name}]"):
            return
        if name.lower() in rules.PUBLIC_HOSTS or name.lower() in self._names or len(self._names) >= _MOST_NAMES:
            return
        self._names[name.lower()] = category
        words = sorted(self._names, key=lambda word: (-len(word), word))
        self._pattern = re.compile(
            r"(?i)(?<![A-Za-z0-9])(?:" + "|".join(re.escape(word) for word in words) + r")(?![A-Za-z0-9])"
        )

    def _known_names(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda m: self._mark(self._names[m[0].lower()], m[0]), text)

    def _hide(self, match: re.Match[str], category: str) -> str:
        if "hide" in match.re.groupindex:
            return self._group(match, "hide", category)
        return match[0] if _PLACEHOLDER.fullmatch(match[0]) else self._mark(category, match[0])

    def _group(self, match: re.Match[str], group: str, category: str) -> str:
        hidden, whole = match[group], match[0]
        done = _PLACEHOLDER.match(match.string, match.start(group))
        if done is not None and done.end() >= match.end(group):
            return whole
        if category == "host" and (hidden.lower() in rules.PUBLIC_HOSTS or hidden in _OPEN_ADDRESSES):
            return whole
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return whole[:start] + self._mark(category, hidden) + whole[end:]

    def _home(self, match: re.Match[str]) -> str:
        return match[0] if match["user"].startswith("[") else self._mark("home", match[0])

    def _addresses(self, text: str) -> str:
        stamps = {match.start() for match in rules.STAMP.finditer(text)}

        def four(match: re.Match[str]) -> str:
            parts = match[0].split(".")
            stamp = match.start() in stamps or any(len(p) > 1 and p[0] == "0" for p in parts)
            address = not stamp and all(int(p) < 256 for p in parts)
            return self._mark("ip", match[0]) if address and match[0] not in _OPEN_ADDRESSES else match[0]

        text = rules.IPV4.sub(four, text) if text.count(".") >= 3 else text
        return rules.IPV6.sub(self._six, text) if text.count(":") >= 2 else text

    def _six(self, match: re.Match[str]) -> str:
        from ipaddress import IPv6Address

        found = match[0]
        tail = ":" if found.endswith(":") and not found.endswith("::") else ""
        try:
            IPv6Address(found.removesuffix(tail))
        except ValueError:
            return found
        if found in _OPEN_ADDRESSES:
            return found
        return self._mark("ip", found.removesuffix(tail)) + tail

    def _random(self, match: re.Match[str]) -> str:
        """A long mixed string is a key until proven otherwise; hashes in hexadecimal and words with dashes are not."""
        found = match[0]
        kinds = (any(c.islower() for c in found), any(c.isupper() for c in found), any(c.isdigit() for c in found))
        return self._mark("key", found) if all(kinds) and found.count("/") <= 3 else found

    def _mark(self, category: str, secret: str) -> str:
        self._counts[category] = self._counts.get(category, 0) + 1
        key = (category, secret.lower() if category in ("user", "host", "name") else secret)
        found = self._numbers.get(key)
        if found is None:
            number = 1 + sum(1 for known, _ in self._numbers if known == category)
            found = self._numbers[key] = f"[{category}-{number}]"
        return found


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


_PLACES = (
    (rules.TILDE, "user", "user"),
    (rules.JOURNAL, "host", "host"),
    (rules.SHELL, "host", "host"),
    (rules.SHELL, "user", "user"),
    (rules.UNC, "host", "host"),
    (rules.NAMED, "host", "host"),
    (rules.NAMED_USER, "user", "user"),
    (rules.SSH, "host", "host"),
    (rules.HOST_OPTION, "host", "host"),
    (rules.HOST_LOCAL, "host", "host"),
    (rules.URL_HOST, "host", "host"),
)
