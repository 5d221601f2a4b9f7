"""Numbers that are none (infinite, not a number, negative, absurd) become unknown before anything is measured.

Formats keep such values out; a damaged log or another reader may not. The run itself stays as it is: only records that
hold such a value are copied.
"""

from __future__ import annotations

from functools import cache

from loganalyze.light import fields, is_dataclass, replace
from loganalyze.model.records import Event, Run

LIMIT = 1e15
# -1 is a value of its own in these: all layers, no limit, the parent slot.
SIGNED = frozenset(
    {"n_gpu_layers", "n_predict", "slot", "task", "t_s", "start_s", "end_s", "offset_s", "first_epoch_s"}
)
_NUMBERS = (int, float)
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _T = TypeVar("_T")


def cleaned(run: Run) -> Run:
    """``run`` without such numbers; the same object where there are none."""
    changes: dict[str, Any] = {}
    for name in ("devices", "memory", "requests", "events", "phases"):
        before: list[Any] = getattr(run, name)
        after: list[Any] = [_event(item) if isinstance(item, Event) else _record(item) for item in before]
        if name == "phases":
            after = [p for p in after if p.start_s is not None and p.end_s is not None and p.end_s >= p.start_s]
        if name == "memory":
            after = [b for b in after if b.mib is not None]
        if len(after) != len(before) or any(a is not b for a, b in zip(after, before, strict=True)):
            changes[name] = after
    for name in ("setup", "clock"):
        one = getattr(run, name)
        after_one = _record(one)
        if after_one is not one:
            changes[name] = after_one
    bad = _bad_fields(run)
    changes.update(dict.fromkeys(bad))
    return replace(run, **changes) if changes else run


def good(value: object, signed: bool = False) -> bool:
    """True for a finite number within reason, not negative unless ``signed``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (-LIMIT if signed else 0) <= value < LIMIT


@cache
def _numeric(cls: type[Any]) -> tuple[tuple[str, float], ...]:
    """Fields that may hold a number, and the least it can be."""
    if not is_dataclass(cls):
        return ()
    names = [f.name for f in fields(cls) if str(f.type).startswith(("int", "float")) and f.name != "line"]
    return tuple((name, -LIMIT if name in SIGNED else 0.0) for name in names)


def _bad_fields(record: Any) -> list[str]:
    bad = []
    for name, least in _numeric(record.__class__):
        value = getattr(record, name)
        if value is None or (value.__class__ in _NUMBERS and least <= value < LIMIT):
            continue
        if not good(value, least < 0):
            bad.append(name)
    return bad


def _record(record: _T) -> _T:
    changes: dict[str, Any] = dict.fromkeys(_bad_fields(record))
    samples = getattr(record, "samples", None)
    if samples:
        after = [_record(sample) for sample in samples]
        if any(a is not b for a, b in zip(after, samples, strict=True)):
            changes["samples"] = after
    return replace(record, **changes) if changes else record  # type: ignore[type-var]


def _event(event: Event) -> Event:
    if not event.data:
        return event
    keep = {k: v for k, v in event.data.items() if isinstance(v, bool) or not isinstance(v, int | float) or good(v)}
    return event if len(keep) == len(event.data) else replace(event, data=keep)
