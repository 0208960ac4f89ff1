"""How compiled code is called, and when it may be used: all that a run needs besides the code. Needs no xDSL.

Reads: nothing. Writes: nothing. Leaves: an Interface.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from mlirad import tree
from mlirad.contract.captures import Capture, Guard
from mlirad.contract.results import ContainerChange, ResultLeaf


@dataclass(frozen=True)
class Interface:
    """How a module is called.

    Its one public function `name` takes the traced leaves of the arguments in order (`leaves` has their numbers), then
    the captures with the numbers `passed`; what is a view of another argument is not passed. structure, results: of
    what the Python function returns. written: the leaves, and captures_written: the captures, whose arrays the function
    changes, each with the number of the result that is its final content (the function's arguments carry it as
    `mlirad.written`). writes_copies: it may be wrong for arrays that share memory, as a function that is differentiated
    writes something; `build(..., together=...)` says. changes_copies: it is wrong for a list, dict or dataclass that
    is passed twice, as it changes one. changes: what of the caller's containers changes; if anything does, the function
    returns a tuple, of its value and the new items. guards: what must hold at each call.
    """

    name: str
    leaves: tuple[int, ...]
    structure: tree.Structure
    results: tuple[ResultLeaf, ...]
    written: Mapping[int, int]
    captures: tuple[Capture, ...]
    passed: tuple[int, ...]
    captures_written: Mapping[int, int]
    writes_copies: bool
    changes_copies: bool
    changes: tuple[ContainerChange, ...]
    guards: tuple[Guard, ...]


@dataclass(frozen=True)
class Reliance:
    """What else the code relies on: constant in a process, but perhaps different in another one.

    used: functions and classes whose code is compiled in. unkeyed: what was read without a guard, in words.
    """

    used: tuple[Hashable, ...]
    unkeyed: tuple[str, ...]

    @property
    def is_keyed(self) -> bool:
        """Whether functions, classes and guards cover all that the code relies on."""
        return not self.unkeyed
