"""``dataclass`` and ``re.compile`` for modules that every start of the command line loads, at a fraction of the price.

The standard decorator compiles its methods for every class at import, and imports ``inspect`` for it. This one shares
the methods and compiles a class's ``__init__`` once it was called often. Type checkers see the standard names.

It gives slots, defaults, ``==``, ``repr`` and, for ``frozen``, a hash; that a frozen record is not written to is left to
type checkers. Functions of the standard module (``fields``, ``replace``, ``asdict``) work on such records.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
    from re import compile

    lazy_pattern = compile
else:

    class lazy_pattern:  # noqa: N801
        """A regular expression that is compiled when first used: a log meets few of them."""

        def __init__(self, text, flags=0):
            self._text = text
            self._flags = flags

        def __getattr__(self, name):
            import re

            found = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, found)
            return found

    # Compiling an ``__init__`` pays from about so many calls on.
    CALLS = 16
    MISSING = object()

    class Field:
        """Name, annotation and default of one field."""

        __slots__ = ("default", "default_factory", "name", "type")

        def __init__(self, default=MISSING, default_factory=None):
            self.default = default
            self.default_factory = default_factory

    def field(*, default=MISSING, default_factory=None):
        return Field(default, default_factory)

    def dataclass(*, slots, frozen=False):
        """``slots`` is always meant; it is asked for so that the call is that of the standard decorator."""

        def decorate(cls):
            names = dict(cls.__dict__)
            found = {}
            for name, annotation in names.get("__annotations__", {}).items():
                default = names.pop(name, MISSING)
                one = found[name] = default if isinstance(default, Field) else Field(default)
                one.name, one.type = name, annotation
            names.pop("__dict__", None)
            names.pop("__weakref__", None)
            names["__slots__"] = names["__match_args__"] = tuple(found)
            names["_light_fields"] = tuple(found.values())
            names["__dataclass_fields__"] = _Standard()
            names["__init__"] = _first_init(names["_light_fields"])
            names.setdefault("__eq__", _equal)
            names.setdefault("__repr__", _repr)
            names["__hash__"] = _hash if frozen else None
            return type(cls)(cls.__name__, cls.__bases__, names)

        return decorate

    def fields(record):
        """Fields of a record or its class, in order."""
        return record._light_fields

    def is_dataclass(value):
        return hasattr(value, "_light_fields")

    def replace(record, /, **changes):
        """A copy with ``changes``."""
        for one in record._light_fields:
            if one.name not in changes:
                changes[one.name] = getattr(record, one.name)
        return record.__class__(**changes)

    def _first_init(own):
        calls = 0
        names = tuple(one.name for one in own)

        def __init__(self, *args, **given):  # noqa: N807
            nonlocal calls
            calls += 1
            if calls > CALLS:
                self.__class__.__init__ = _compiled(own)
                self.__init__(*args, **given)
                return
            if len(args) > len(own):
                raise TypeError(f"{self.__class__.__name__} takes {len(own)} values, {len(args)} were given")
            for name, value in zip(names, args):  # noqa: B905
                if name in given:
                    raise TypeError(f"{self.__class__.__name__}: {name} was given twice")
                setattr(self, name, value)
            for one in own[len(args) :]:
                name = one.name
                if name in given:
                    value = given.pop(name)
                elif one.default_factory is not None:
                    value = one.default_factory()
                elif one.default is not MISSING:
                    value = one.default
                else:
                    raise TypeError(f"{self.__class__.__name__}: {name} is missing")
                setattr(self, name, value)
            if given:
                raise TypeError(f"{self.__class__.__name__} has no field {next(iter(given))}")

        return __init__

    def _compiled(own):
        known = {"MISSING": MISSING}
        head, body = ["self"], []
        for at, one in enumerate(own):
            value = one.name
            if one.default_factory is not None:
                known[f"f{at}"] = one.default_factory
                head.append(f"{one.name}=MISSING")
                value = f"f{at}() if {one.name} is MISSING else {one.name}"
            elif one.default is not MISSING:
                known[f"d{at}"] = one.default
                head.append(f"{one.name}=d{at}")
            else:
                head.append(one.name)
            body.append(f" self.{one.name} = {value}")
        exec(f"def __init__({', '.join(head)}):\n" + "\n".join(body or [" pass"]), known)
        return known["__init__"]

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def _repr(self):
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self.__class__.__qualname__}({told})"

    def _hash(self):
        return hash(tuple(getattr(self, name) for name in self.__slots__))

    class _Standard:
        """Gives the standard module its table of fields, built when it is asked for."""

        def __get__(self, record, owner):
            from dataclasses import field, make_dataclass

            rows = []
            for one in owner._light_fields:
                if one.default_factory is not None:
                    rows.append((one.name, one.type, field(default_factory=one.default_factory)))
                else:
                    rows.append(
                        (one.name, one.type, *(() if one.default is MISSING else (field(default=one.default),)))
                    )
            owner.__dataclass_fields__ = table = make_dataclass(owner.__name__, rows).__dataclass_fields__
            return table
