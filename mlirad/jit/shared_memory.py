"""Finds the code for a call with arrays that share memory, if the code for separate arrays would be wrong.

Reads: the values of a call. Writes: the codes that it keeps, by how the arrays share memory. Leaves: compiling, which
`Recompile` does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mlirad import forking
from mlirad.contract.captures import Capture
from mlirad.errors import DEVIATIONS
from mlirad.jit.aliasing import Overlap, shared_groups, view_of_shared, views_of_one
from mlirad.jit.arguments import Input

if TYPE_CHECKING:
    from mlirad.frontend.aliases import Alias

MAX_ALIASED = 16
"""How many ways to share memory have their code kept."""


class Code(Protocol):
    """Code that is valid for some calls."""

    def fits(self, leaves: Sequence[Any]) -> bool: ...

    def guards_hold(self) -> bool: ...


CodeT = TypeVar("CodeT", bound=Code)
CodeT_co = TypeVar("CodeT_co", bound=Code, covariant=True)


class Recompile(Protocol[CodeT_co]):
    """Gets code for the same function and signature, for arrays that share memory."""

    def from_disk(self, leaves: Sequence[Any], sharing: Sequence[Any]) -> CodeT_co | None:
        """The code that an earlier process compiled for this `sharing` (as JSON), if any."""

    def compile(
        self, aliases: Mapping[int, Alias], captures: Sequence[Capture], leaves: Sequence[Any], sharing: Sequence[Any]
    ) -> CodeT_co:
        """Compile the function for arguments that share memory: some are views of others."""
        ...

    def probe(self, together: Sequence[Sequence[int]], captures: Sequence[Capture], leaves: Sequence[Any]) -> None:
        """Raises DifferentiationError if the function is wrong for arguments (their keys) that share memory."""


@dataclass(eq=False)
class SharedMemory(Generic[CodeT]):
    """The codes of a specialisation for arrays that share memory. is_aliased: it is itself one of these codes."""

    inputs: tuple[Input, ...]
    captures: Sequence[Capture]
    recompile: Recompile[CodeT]
    is_aliased: bool
    _codes: OrderedDict[Hashable, list[CodeT]] = field(init=False, default_factory=OrderedDict)
    _harmless: set[Hashable] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._lock = forking.new_lock()

    def codes(self) -> list[CodeT]:
        """All kept codes."""
        return [each for codes in self._codes.values() for each in codes]

    def code_for(self, leaves: Sequence[Any], values: Sequence[Any], written: Sequence[int]) -> CodeT:
        """The code for arrays that share memory in the same way as these values: one array, and views of it.

        written: the numbers of the inputs that the code writes. Raises ValueError if they are not such views.
        """
        groups = shared_groups(values, written)
        likely = self._pattern(groups, values, is_sure=False)
        code = self._kept(likely, leaves)
        if code is not None:
            return code
        with forking.whole():
            sharing = self._as_json(likely)
            code = self.recompile.from_disk(leaves, sharing) if sharing else None
            if code is not None:
                return self._keep(likely, code)
            pattern = self._pattern(groups, values, is_sure=True)
            code = self._kept(pattern, leaves)
            if code is not None:
                return code
            code = self.recompile.compile(self._aliases(pattern, values), self.captures, leaves, self._as_json(pattern))
        return self._keep(pattern, code)

    def require_harmless(self, leaves: Sequence[Any], values: Sequence[Any], arrays: Sequence[int]) -> None:
        """Raises DifferentiationError if a differentiated function writes arrays that share memory."""
        groups = tuple(tuple(self.inputs[number].key for number in group) for group in shared_groups(values, arrays))
        if groups not in self._harmless:
            with forking.whole():
                self.recompile.probe(groups, self.captures, leaves)
            self._harmless.add(groups)

    # --- how arrays share memory ----------------------------------------------------------------------------------

    def _pattern(self, groups: Sequence[Sequence[int]], values: Sequence[Any], is_sure: bool) -> tuple[Overlap, ...]:
        pattern: list[Overlap] = []
        for group in groups:
            views = None if self.is_aliased else views_of_one(values, group, is_sure=is_sure)
            if not isinstance(views, tuple):
                raise self._not_one(group)
            pattern += views
        return tuple(pattern)

    def _aliases(self, pattern: Sequence[Overlap], values: Sequence[Any]) -> Mapping[int, Alias]:
        from mlirad.frontend.aliases import Alias

        aliases: dict[int, Alias] = {}
        for each in pattern:
            alias = view_of_shared(each, values)
            assert alias is not None
            aliases[self.inputs[each.part].key] = Alias(self.inputs[each.base].key, alias.view)
        return aliases

    def _as_json(self, pattern: Sequence[Overlap]) -> list[Any]:
        """A pattern as JSON that means the same in every process; empty for captured arrays, because their
        numbers depend on earlier compilations."""
        keys = [(self.inputs[each.part].key, self.inputs[each.base].key) for each in pattern]
        if any(key < 0 for pair in keys for key in pair):
            return []
        return [
            [*pair, each.offset, list(each.part_strides), list(each.base_strides)]
            for pair, each in zip(keys, pattern, strict=True)
        ]

    def _not_one(self, group: Sequence[int]) -> ValueError:
        first, *others = sorted(group, key=lambda number: not self.inputs[number].is_written)
        names = " and ".join(self.inputs[number].name for number in others)
        return ValueError(
            f"{self.inputs[first].name} is written by the function and shares memory with {names}, but none of "
            f"them is known to hold the others as views; pass a copy of one of them, or the whole array and slice it "
            f"in the function (see {DEVIATIONS})"
        )

    # --- the codes that are kept ----------------------------------------------------------------------------------

    def _kept(self, pattern: tuple[Overlap, ...], leaves: Sequence[Any]) -> CodeT | None:
        with self._lock:
            codes = self._codes.get(pattern)
            if codes is None:
                return None
            self._codes.move_to_end(pattern)
            return next((each for each in codes if each.fits(leaves)), None)

    def _keep(self, pattern: tuple[Overlap, ...], code: CodeT) -> CodeT:
        with self._lock:
            codes = self._codes.setdefault(pattern, [])
            codes[:] = [code, *(each for each in codes if each.guards_hold())][:MAX_ALIASED]
            self._codes.move_to_end(pattern)
            while len(self._codes) > MAX_ALIASED:
                self._codes.popitem(last=False)
        return code
