"""The random programs detect each of these mistakes in the passes: a test that cannot fail proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compare_buffers import check
from random_tensors import ARGUMENTS, RandomFunction
from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from mlirad.analysis import moves
from mlirad.lowering.to_buffers import borrow_slices, last_use, place_results, spare_buffers
from mlirad.lowering.to_buffers.buffer_webs import Web, Webs
from mlirad.lowering.to_buffers.last_use import LastUses
from mlirad.lowering.to_buffers.plan_arena import Arena, Lives
from mlirad.lowering.to_buffers.spare_buffers import FreeMemory

Patch = pytest.MonkeyPatch


def moves_what_is_live(patch: Patch) -> None:
    right = LastUses._is_movable

    def wrong(self: LastUses, value: SSAValue, op: Operation) -> bool:
        live = self._live
        self._live = set()
        try:
            return right(self, value, op)
        finally:
            self._live = live

    patch.setattr(LastUses, "_is_movable", wrong)


def moves_out_of_loops(patch: Patch) -> None:
    right = LastUses._walk
    patch.setattr(LastUses, "_walk", lambda self, block, loop: right(self, block, None))


def overwrites_read_only_arguments(patch: Patch) -> None:
    patch.setattr(moves, "_is_argument_of", lambda value, block: False)


def forgets_the_first_branch(patch: Patch) -> None:
    """Values that the first branch uses are not live before the `if`."""

    def wrong(self: LastUses, op: scf.IfOp) -> None:
        assert op.parent is not None
        start = len(self._log)
        self._walk(op.true_region.block, self._loop_of[op.parent])
        for where, value in self._log[start:]:
            where.discard(value)
        del self._log[start:]
        if op.false_region.blocks:
            self._walk(op.false_region.block, self._loop_of[op.parent])

    patch.setitem(moves._VISITS, scf.IfOp, wrong)


def keeps_views_of_what_is_overwritten(patch: Patch) -> None:
    patch.setattr(moves, "views_of", lambda value: ())


def reads_transposed_in_place(patch: Patch) -> None:
    patch.setattr(last_use, "is_written_where_read", lambda op, read, written: True)


def reuses_what_is_captured(patch: Patch) -> None:
    patch.setattr(last_use, "captured_reads", lambda op: ())


def borrows_what_others_look_at(patch: Patch) -> None:
    patch.setattr(borrow_slices, "_accesses", lambda value, slice=None: ())


def borrows_another_slice(patch: Patch) -> None:
    patch.setattr(borrow_slices, "is_same_slice", lambda first, second: True)


def spares_what_is_alive(patch: Patch) -> None:
    patch.setattr(Webs, "place_of", lambda self, op: -self.place.get(op, 0))


def gives_one_spare_twice(patch: Patch) -> None:
    right = FreeMemory.take

    def wrong(self: FreeMemory, kind: Any) -> Any:
        token = right(self, kind)
        self.dead[kind].append(token)
        return token

    patch.setattr(FreeMemory, "take", wrong)


def forgets_what_spares_join(patch: Patch) -> None:
    right = spare_buffers.carry_spare_buffers

    def wrong(webs: Webs) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Webs, "join", lambda self, value, other: self.of(value))
            right(webs)

    patch.setattr("mlirad.lowering.to_buffers.bufferize.carry_spare_buffers", wrong)


def places_results_over_what_is_read(patch: Patch) -> None:
    patch.setattr(place_results, "_is_dead", lambda argument, web, webs: True)


def places_two_buffers_in_one(patch: Patch) -> None:
    """As if the two sources of a result were never live at the same time."""
    right = place_results._is_placeable

    def wrong(web: Web, number: int, webs: Webs) -> bool:
        return all(right(Web([source], web.result_numbers), number, webs) for source in web.sources)

    patch.setattr(place_results, "_is_placeable", wrong)


def copies_results_in_any_order(patch: Patch) -> None:
    patch.setattr(place_results, "_is_needed", lambda web, copy, copies, sources: False)


def ends_lives_inside_loops(patch: Patch) -> None:
    patch.setattr(Lives, "_use", lambda self, value, depth: setattr(self._of(value), "end", self._now))


def parts_what_branches_join(patch: Patch) -> None:
    patch.setattr(Lives, "_join", lambda self, values: None)


def ends_lives_early(patch: Patch) -> None:
    right = Arena.place
    patch.setattr(Arena, "place", lambda self, size, begin, end: right(self, size, begin, min(end, begin + 2)))


# Each with the seed of a program that detects it.
MUTANTS: list[tuple[Callable[[Patch], None], int]] = [
    (moves_what_is_live, 0),
    (moves_out_of_loops, 33),
    (overwrites_read_only_arguments, 0),
    (forgets_the_first_branch, 88),
    (keeps_views_of_what_is_overwritten, 15),
    (reads_transposed_in_place, 14),
    (reuses_what_is_captured, 86),
    (borrows_what_others_look_at, 103),
    (borrows_another_slice, 397),
    (spares_what_is_alive, 3),
    (gives_one_spare_twice, 17),
    (forgets_what_spares_join, 12),
    (places_results_over_what_is_read, 3),
    (places_two_buffers_in_one, 12),
    (copies_results_in_any_order, 82),
    (ends_lives_inside_loops, 11),
    (parts_what_branches_join, 0),
    (ends_lives_early, 0),
]


def notices(seed: int) -> bool:
    random = np.random.default_rng(seed)
    args = [random.integers(-9, 9, shape) for shape in ARGUMENTS]
    try:
        check(
            RandomFunction(seed).text, [*args, np.int64(random.integers(0, 9)), np.int64(random.integers(0, 4))], seed
        )
    except (AssertionError, ValueError, VerifyException):
        return True
    return False


@pytest.mark.parametrize(("mutant", "seed"), MUTANTS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_mutant_is_noticed(mutant: Callable[[Patch], None], seed: int, monkeypatch: Patch) -> None:
    assert not notices(seed)
    mutant(monkeypatch)
    assert notices(seed)
