"""Facts about values, known in the current block and the blocks around it; forgotten when the block ends.

Reads: nothing. Writes: nothing. Leaves: remembered facts: iteration numbers for affine.py, shapes for sizes.py.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Scopes(threading.local):
    scopes: list[dict[Hashable, Any]] = field(default_factory=lambda: [{}])
    answers: list[dict[Hashable, Any]] = field(default_factory=lambda: [{}])


_scopes = _Scopes()


class scope:
    """Facts remembered inside may refer to values of this block, and are forgotten at its end."""

    __slots__ = ()

    def __enter__(self) -> None:
        _enter()

    def __exit__(self, *_error: object) -> None:
        _leave()


class trial:
    """Facts remembered inside are forgotten if it ends by an exception, and kept otherwise."""

    __slots__ = ()

    def __enter__(self) -> None:
        _enter()

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        facts, found = _leave()
        if kind is None:
            _scopes.answers[-1] = found
            for key, fact in facts.items():
                remember(key, fact)


def _enter() -> None:
    _scopes.scopes.append({})
    _scopes.answers.append(dict(_scopes.answers[-1]))  # no fact is added yet


def _leave() -> tuple[dict[Hashable, Any], dict[Hashable, Any]]:
    return _scopes.scopes.pop(), _scopes.answers.pop()


def remember(key: Hashable, fact: Any) -> None:
    _scopes.scopes[-1].setdefault(key, fact)


def answers() -> dict[Hashable, Any]:
    """What affine.py computed from the facts that are known now. It empties this when it adds a fact that matters."""
    return _scopes.answers[-1]


def recall(key: Hashable) -> Any:
    """The fact remembered under a key, searched from the innermost block outwards; None if there is none."""
    for facts in reversed(_scopes.scopes):
        if key in facts:
            return facts[key]
    return None


def is_recent(key: Hashable) -> bool:
    """Whether a fact was remembered in the innermost block."""
    return key in _scopes.scopes[-1]
