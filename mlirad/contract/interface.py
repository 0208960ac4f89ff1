"""How compiled code is called, and when it is valid: everything a run needs besides the code. Needs no xDSL.

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

    Its only public function `name` takes the traced leaves of the arguments in order (`leaves` has their numbers), then
    the captures with the numbers `passed`; views of other arguments are not passed. structure, results: of the Python
    function's return value. written: the leaves with arrays that the function changes; captures_written: the same for
    captures. Each has the number of the result that is its final content (the function's arguments carry it as
    `mlirad.written`). writes_copies: the code may be wrong for arrays that share memory, because a differentiated
    function writes; `build(..., together=...)` decides. changes_copies: it is wrong for a list, dict or dataclass that
    is passed twice, because it changes one. changes: the changes to the caller's containers; if there are any, the
    function returns a tuple of its value and the new items. guards: the conditions that must hold at each call.
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
    """Other facts that the code relies on: constant in a process, but perhaps different in another one.

    used: functions and classes that are compiled in. unkeyed: objects that were read without a guard, in words.
    """

    used: tuple[Hashable, ...]
    unkeyed: tuple[str, ...]

    @property
    def is_keyed(self) -> bool:
        """Whether functions, classes and guards cover everything that the code relies on."""
        return not self.unkeyed
