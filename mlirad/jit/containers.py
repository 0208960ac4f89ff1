"""The lists, dicts and dataclasses in the arguments of a call, and a function's changes to them.

Reads: arguments, and the structure that code was made for. Writes: the caller's containers, after the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlirad import tree
from mlirad.contract.results import ContainerChange
from mlirad.signature import Signature


def containers_of(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The containers in the order of the frontend's numbers: from the outside in, without tuples."""
    assert isinstance(signature.structure, tree.Node)
    positional, named = signature.structure.children
    assert isinstance(positional, tree.Node) and isinstance(named, tree.Node)
    arguments = zip((*positional.children, *named.children), (*args, *kwargs.values()), strict=True)
    return [each for structure, value in arguments for each in _containers(structure, value)]


def _containers(structure: tree.Structure, value: Any) -> Iterator[Any]:
    if isinstance(structure, tree.Leaf):
        return
    if not isinstance(value, tuple):
        yield value
    inner = tree.children(value)
    assert inner is not None
    for child, item in zip(structure.children, inner[1], strict=True):
        yield from _containers(child, item)


def change(changes: Sequence[ContainerChange], containers: Sequence[Any], items: Sequence[Any]) -> None:
    """Put the function's new items into the containers."""
    for each in changes:
        container = containers[each.container]
        keys, old = tree.children(container) or ((), ())
        before: dict[Any, Any] = dict(zip(range(len(old)) if keys is None else keys, old, strict=True))
        after = {
            key: before[key] if place is None else items[place]
            for key, place in zip(each.keys, each.places, strict=True)
        }
        if isinstance(container, list):
            container[:] = after.values()
        elif isinstance(container, dict):
            if tuple(before) != each.keys:
                container.clear()
            container.update(after)
        else:
            for (name, value), place in zip(after.items(), each.places, strict=True):
                if place is not None:
                    setattr(container, str(name), value)
