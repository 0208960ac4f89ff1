"""Undoes writes: threads arrays through the reverse sweep, beside their cotangents, from their final versions back to
the first, and re-reads values from the live versions.

Reads: a decision. Writes: the reverse sweep of its histories. Leaves: the re-read values, each at its point. Writes are
undone as early as possible: at the head of a reverse block. The exceptions are writes before a loop or branch that
undoes other writes, or that reads the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Loop, StructuredOp, add_results, add_yields, block_of, branches, yields
from mlirad.autodiff.tape.decision.in_time import reverse_of
from mlirad.autodiff.tape.decision.plans import Undoing
from mlirad.autodiff.tape.sweep import Point, Sweep
from mlirad.autodiff.updates import subset_of
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.dialect.core.op import NdOp, written_subset
from mlirad.dialect.core.subset import Subset

LiveVersions = dict[SSAValue, SSAValue]
"""The live forward versions of arrays, each with its value in the reverse sweep."""


@dataclass
class Undo:
    """The backward walk over the reverse sweep of one function."""

    sweep: Sweep
    undoing: Undoing

    def __call__(self) -> None:
        for root, finals in self.undoing.finals.items():
            self._region(root, {final: final for final in finals})

    def _region(self, op: StructuredOp, live: LiveVersions) -> Operation | None:
        """Walk through a loop or branch. Returns its reverse, if it has one."""
        threaded = [k for k in self.undoing.threaded.get(op, ()) if op.results[k] in live]
        given = {k: live.pop(op.results[k]) for k in threaded}
        for value, version in self.undoing.through.get(op, ()):
            self.sweep.heads[value] = live[version]
        reverse = reverse_of(op, self.sweep.replays)
        if isinstance(op, scf.IfOp):
            self._branch(op, reverse, given, live)
        else:
            self._loop(op, reverse, given, live)
        return reverse

    def _is_changed(self, op: StructuredOp) -> bool:
        """Whether the op changes the live arrays."""
        return op in self.undoing.exchanging or any(op.is_ancestor(write) for write in self.undoing.undone)

    def _loop(
        self, op: scf.ForOp | scf.WhileOp, reverse: Operation | None, given: dict[int, SSAValue], live: LiveVersions
    ) -> None:
        loop, carries = Loop(op), Loop(op).carries
        threaded = [k for k in given if reverse is not None and self._is_changed(op)]
        inside, after = dict(given), dict(given)
        if threaded:
            assert isinstance(reverse, scf.ForOp)
            args, results = Loop(reverse).add([given[k] for k in threaded])
            inside.update(zip(threaded, args, strict=True))
            after.update(zip(threaded, results, strict=True))
            for k, arg, result in zip(threaded, args, results, strict=True):
                arg.name_hint = result.name_hint = carries[k].arg.name_hint
        if reverse is not None:
            ends = self._block(loop.body, {carries[k].yielded: inside[k] for k in given})
            if threaded:
                assert isinstance(reverse, scf.ForOp)
                add_yields(Loop(reverse).body, [ends[carries[k].arg] for k in threaded])
        live.update((carries[k].init, after[k]) for k in given)

    def _branch(self, op: scf.IfOp, reverse: Operation | None, given: dict[int, SSAValue], live: LiveVersions) -> None:
        restored = self.undoing.restored.get(op, ())
        ends = [self._block(block, {yields(block)[k]: x for k, x in given.items()}) for block in branches(op)]
        restored = [version for version in restored if all(version in end for end in ends)]
        changed = [version for version in restored if ends[0][version] is not ends[1][version]]
        if changed:
            assert reverse is not None
            for block, end in zip(branches(op), ends, strict=True):
                replay = self.sweep.replays[block]
                assert replay.parent is not None
                add_yields(replay.parent, [end[version] for version in changed])
            results = add_results(reverse, changed)
            for version, result in zip(changed, results, strict=True):
                result.name_hint = version.name_hint
            live.update(zip(changed, results, strict=True))
        live.update((version, ends[0][version]) for version in restored if version not in changed)

    def _block(self, block: Block, live: LiveVersions) -> LiveVersions:
        """Walk through a block. `live`: the live versions at its end. Returns the live versions at its beginning."""
        replay = self.sweep.replays.get(block)
        for value, version in self.undoing.at_head.get(block, ()):
            self.sweep.heads[value] = live[version]
        point = None if replay is None else Point(1, replay)
        self._note(live, block, point)
        for op in reversed(list(block.ops)):
            if isinstance(op, StructuredOp):
                if op in self.undoing.through or any(result in live for result in op.results):
                    reverse = self._region(op, live)
                    if reverse is not None:
                        assert point is not None and reverse.next_op is not None
                        point = Point(point.level + 1, reverse.next_op)
                    self._note(live, block, point)
            elif isinstance(op, NdOp) and (write := written_subset(op)) is not None and op.results[0] in live:
                self._undo(op, write, live, point)
            elif isinstance(op, NdOp) and op.results and (plan := self.undoing.in_place.get(op.results[0])) is not None:
                if plan.op is op:
                    self._read(op.results[0], op, live[plan.version], point)
        return live

    def _note(self, live: LiveVersions, block: Block, point: Point | None) -> None:
        """Note the re-read whole arrays of the block. An array from around it is live once the reverse of the block's
        loop or branch has returned it."""
        for version, array in live.items():
            is_own = block_of(version) is block
            if is_own and version in self.undoing.in_place and version not in self.sweep.recovered:
                assert point is not None
                self.sweep.put(version, array, point)

    def _undo(self, op: NdOp, write: Subset, live: LiveVersions, point: Point | None) -> None:
        array = live.pop(op.results[0])
        plan = self.undoing.in_place.get(write.part)
        if plan is not None and plan.op is op:
            self._read(write.part, op, array, point)
        if op in self.undoing.undone:
            old = self.sweep.value(self.undoing.undone[op])
            self.sweep.count(block_of(op.results[0]), "undone")
            array = self._emit(op, point, lambda places: write.put(Expr(old), Expr(array), places))
        live[write.array] = array
        self._note({write.array: array}, block_of(op.results[0]), point)

    def _read(self, value: SSAValue, op: NdOp, array: SSAValue, point: Point | None) -> None:
        assert point is not None
        recovered = self._emit(op, point, lambda places: subset_of(op).read(Expr(array), places))
        self.sweep.count(block_of(value), "re_read")
        self.sweep.put(value, recovered, point)

    def _emit(self, op: NdOp, point: Point | None, build: Callable[[Sequence[Expr]], Expr]) -> SSAValue:
        places = [Expr(self.sweep.value(place)) for place in subset_of(op).places]
        assert point is not None
        with building(InsertPoint.before(point.before)), located(op.location):
            value = build(places).value
        if point.level == 1:
            self.sweep.begin(value)
        return value
