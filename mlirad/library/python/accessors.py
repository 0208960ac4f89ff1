"""Functions of the module operator that are not operators: they return closures."""

from __future__ import annotations

from typing import Any

from mlirad.library.spells import spells


@spells("operator.itemgetter")
def itemgetter(item: Any, /, *items: Any) -> Any:
    if len(items) == 0:
        return lambda obj: obj[item]
    return lambda obj: (obj[item], *[obj[each] for each in items])


@spells("operator.attrgetter")
def attrgetter(attr: str, /, *attrs: str) -> Any:
    if len(attrs) == 0:
        return lambda obj: _attribute(obj, attr)
    return lambda obj: (_attribute(obj, attr), *[_attribute(obj, each) for each in attrs])


def _attribute(value: Any, path: str) -> Any:
    first, _, rest = path.partition(".")
    return _attribute(getattr(value, first), rest) if rest else getattr(value, first)


@spells("operator.methodcaller")
def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return lambda obj: getattr(obj, name)(*args, **kwargs)


@spells("_operator.countOf")
def count_of(a: Any, b: Any, /) -> int:
    return sum([1 for each in a if each == b])


@spells("_operator.indexOf")
def index_of(a: Any, b: Any, /) -> int:
    found, place = False, 0
    for each in a:
        if not found and each == b:
            found = True
        if not found:
            place += 1
    if not found:
        raise ValueError("sequence.index(x): x not in sequence")
    return place


@spells("_operator.length_hint")
def length_hint(obj: Any, /) -> int:
    return len(obj)
