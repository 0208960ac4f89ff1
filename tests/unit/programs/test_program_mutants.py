"""Seeded bugs: each makes the compiler wrong in silence, and random programs notice it within so many seeds.

Reads: random programs. Writes: nothing. Leaves: the mistakes of bufferization alone to test_bufferize_mutants.py.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation

from mlirad.analysis.loops import Loop, branches
from mlirad.autodiff import regions
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.adjoint import Adjoint
from mlirad.autodiff.naming import Naming
from mlirad.autodiff.tangent import Tangent
from mlirad.autodiff.tape import sweep
from mlirad.autodiff.tape.rows import Rows
from mlirad.contract.captures import Guard
from mlirad.dialect.arrays.elements import InsertOp
from mlirad.dialect.arrays.slices import InsertSliceOp
from mlirad.dialect.arrays.update_op import UpdateOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply
from mlirad.dialect.ops.arithmetic import MulOp, SubOp
from mlirad.dialect.ops.check import CheckOp
from mlirad.dialect.ops.compare import CastOp, cast
from mlirad.frontend import bound_arguments
from mlirad.frontend.build import Build
from mlirad.frontend.interpreter import grown_lists, iteration, range_values
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import comparisons, expressions
from mlirad.frontend.interpreter.loops import loop_ops
from mlirad.frontend.interpreter.statements import assigning, augmented, statements
from mlirad.frontend.join.merging import merge, references
from mlirad.frontend.numpy import numpy_elementwise, numpy_power, numpy_scalars, operators
from mlirad.frontend.values import assignment, nep50
from mlirad.frontend.values.values import Lazy, Ref, Static, Traced, Tuple
from mlirad.frontend.values.views.row_major import c_strides
from mlirad.frontend.values.views.strided_slice import StridedSlice
from mlirad.jit.specialization import Specialization
from mlirad.lowering.clean_up import cse
from mlirad.lowering.clean_up.cse import _Scopes
from mlirad.lowering.clean_up.dce import _Marks
from mlirad.lowering.to_buffers.last_use import LastUses
from mlirad.testing.programs.campaign import judged
from mlirad.testing.programs.generate import generate

Patch = pytest.MonkeyPatch

MOST = 200
"""Programs within which a bug is noticed."""


# The frontend.


def a_falling_range_ends_early(patch: Patch) -> None:
    right = range_values.length_of_range

    def wrong(context: Context, value: Lazy) -> Traced:
        made, step = right(context, value), value.parts[2]
        if not isinstance(step, Static) or step.value > 0:
            return made
        return Traced(apply(np.maximum, made.expr - 1, 0), weak=True, origins=made.origins)

    patch.setattr(iteration, "length_of_range", wrong)


def a_slice_of_a_slice_has_the_inner_stride(patch: Patch) -> None:
    right = StridedSlice.then

    def wrong(self: StridedSlice, other: StridedSlice) -> StridedSlice:
        made = right(self, other)
        same = len(made.strides) == len(other.strides)
        return dataclasses.replace(made, strides=list(other.strides)) if same else made

    patch.setattr(StridedSlice, "then", wrong)


def a_selector_says_the_first(patch: Patch) -> None:
    patch.setattr(references.References, "selector", staticmethod(lambda ref, positions, on_side: 0))


def an_update_makes_a_new_array(patch: Patch) -> None:
    right = augmented.in_place

    def wrong(context: Context, op: ast.operator, current: Any, given: Any) -> Any:
        return (
            expressions.binary(context, op, current, given)
            if isinstance(current, Ref)
            else right(context, op, current, given)
        )

    patch.setattr(augmented, "in_place", wrong)


def a_chain_is_its_first_comparison(patch: Patch) -> None:
    right = comparisons.chain
    patch.setattr(comparisons, "chain", lambda context, left, ops, nodes: right(context, left, ops[:1], nodes[:1]))


def or_is_and(patch: Patch) -> None:
    right = expressions.short_circuit
    patch.setattr(expressions, "short_circuit", lambda context, is_and, operands: right(context, True, operands))


def the_else_of_a_loop_is_lost(patch: Patch) -> None:
    right = loop_ops.after_exits

    def wrong(context: Context, loop: Any, outcome: Any) -> Any:
        without = type(loop.node)(**{**dict(ast.iter_fields(loop.node)), "orelse": []})
        return right(context, dataclasses.replace(loop, node=without), outcome)

    patch.setattr(loop_ops, "after_exits", wrong)


def reversed_runs_forwards(patch: Patch) -> None:
    right = iteration.lazy_element

    def wrong(context: Context, iterable: Lazy, index: Any) -> Any:
        return (
            iteration.element(context, iterable.parts[0], index)
            if iterable.kind is reversed
            else right(context, iterable, index)
        )

    patch.setattr(iteration, "lazy_element", wrong)


def enumerate_counts_from_0(patch: Patch) -> None:
    right = iteration.lazy_element

    def wrong(context: Context, iterable: Lazy, index: Any) -> Any:
        if iterable.kind is enumerate:
            return Tuple((index, iteration.element(context, iterable.parts[0], index)))
        return right(context, iterable, index)

    patch.setattr(iteration, "lazy_element", wrong)


def a_write_is_not_written_back(patch: Patch) -> None:
    right = Build.written

    def wrong(self: Build, raises: bool) -> Any:
        arguments, captures = right(self, raises)
        return dict(list(arguments.items())[:-1]), captures

    patch.setattr(Build, "written", wrong)


def the_first_branch_is_taken_where_the_test_fails(patch: Patch) -> None:
    right = statements.if_statement

    def wrong(context: Context, node: ast.If, rest: Any) -> Any:
        if isinstance(node.test, ast.BoolOp):
            node = ast.copy_location(ast.If(node.test, node.orelse or node.body, node.body), node)
        return right(context, node, rest)

    patch.setattr(statements, "if_statement", wrong)


def a_list_item_is_stored_in_the_first_place(patch: Patch) -> None:
    right = assigning.set_object_item

    def wrong(context: Context, base: Any, index: Any, value: Any) -> None:
        right(context, base, Static(0) if isinstance(index, Static) and index.value == 1 else index, value)

    patch.setattr(assigning, "set_object_item", wrong)


def a_float_joins_an_int_as_an_int(patch: Patch) -> None:
    right = merge.join_numbers

    def wrong(left: Any, other: Any) -> Any:
        joined = right(left, other)
        return replace(joined, dtype=np.dtype(np.int64)) if _is_int(left) and joined else joined

    patch.setattr(merge, "join_numbers", wrong)


def _is_int(value: Any) -> bool:
    return isinstance(value, Static) and type(value.value) is int


# Dtypes.


def a_number_of_python_joins_one_of_numpy_as_numpys(patch: Patch) -> None:
    right = merge.join_numbers

    def wrong(left: Any, other: Any) -> Any:
        joined = right(left, other)
        return joined and replace(joined, is_either=False, values=None)

    patch.setattr(merge, "join_numbers", wrong)


def an_exponent_has_no_dtype(patch: Patch) -> None:
    right = operators.power

    def wrong(x: Any, y: Any, of_numpy: bool = False) -> Any:
        return right(x, y.item() if isinstance(y, np.generic) else y, of_numpy)

    for module in (operators, numpy_power, numpy_scalars):
        patch.setattr(module, "power", wrong)


def a_float_beyond_the_integers_is_the_largest(patch: Patch) -> None:
    right = CastOp.reference

    def wrong(self: CastOp, *arrays: Any) -> Any:
        dtype, source = types.to_dtype(self.target), np.asarray(arrays[0])
        if dtype.kind in "iu" and source.dtype.kind == "f":
            source = np.clip(source, np.iinfo(dtype).min, np.iinfo(dtype).max)
        return right(self, source)

    patch.setattr(CastOp, "reference", wrong)


def an_integer_that_does_not_fit_is_stored(patch: Patch) -> None:
    patch.setattr(assignment, "check_range", lambda value, dtype: None)


def a_number_of_python_has_the_dtype_of_numpys(patch: Patch) -> None:
    right = nep50.loop_dtypes
    strong = {int: np.dtype(np.int64), float: np.dtype(np.float64)}

    def wrong(ufunc: Any, operands: Any) -> Any:
        return right(ufunc, [strong.get(each, each) for each in operands])

    patch.setattr(nep50, "loop_dtypes", wrong)


def a_sign_is_not_compared(patch: Patch) -> None:
    unsigned = types.from_dtype(np.dtype(np.uint64))
    patch.setattr(
        numpy_elementwise, "_compare_signs", lambda ufunc, x, y: apply(ufunc, cast(x, unsigned), cast(y, unsigned))
    )


# Captured objects.


def other_code_is_not_noticed(patch: Patch) -> None:
    right = Specialization.guards_hold

    def wrong(self: Specialization) -> bool:
        self._codes = []
        return right(self)

    patch.setattr(Specialization, "guards_hold", wrong)


def a_captured_number_is_a_constant(patch: Patch) -> None:
    right = Guard.holds
    patch.setattr(Guard, "holds", lambda self: isinstance(self.value, int | float) or right(self))


def every_argument_is_row_major(patch: Patch) -> None:
    patch.setattr(bound_arguments, "strides_of", lambda leaf: c_strides(leaf.shape))


def a_list_forgets_as_it_grows(patch: Patch) -> None:
    right = grown_lists.with_more_room

    def wrong(entry: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(grown_lists, "insert_slice", lambda old, new, start: new)
            return right(entry)

    patch.setattr(grown_lists, "with_more_room", wrong)


# The passes that make less of it.


def a_branch_knows_the_wrong_truth(patch: Patch) -> None:
    right = _Scopes._use_truth

    def wrong(self: _Scopes, op: Operation) -> None:
        known = self.truth
        self.truth = {value: not truth for value, truth in known.items()}
        right(self, op)
        self.truth = known

    patch.setattr(_Scopes, "_use_truth", wrong)


def ops_of_other_attributes_are_the_same(patch: Patch) -> None:
    def wrong(self: cse._Scopes, op: Operation) -> Hashable:
        return type(op), tuple(map(id, op.operands)), tuple(op.result_types), len(op.properties)

    patch.setattr(cse._Scopes, "_key", wrong)


def a_check_whose_result_nobody_needs_is_removed(patch: Patch) -> None:
    right = _Marks.is_root
    patch.setattr(_Marks, "is_root", lambda self, op: not isinstance(op, CheckOp) and right(self, op))


def moves_what_is_live(patch: Patch) -> None:
    right = LastUses._is_movable

    def wrong(self: LastUses, value: Any, op: Operation) -> bool:
        live = self._live
        self._live = set()
        try:
            return right(self, value, op)
        finally:
            self._live = live

    patch.setattr(LastUses, "_is_movable", wrong)


# Derivatives.


def an_accumulation_is_dropped(patch: Patch) -> None:
    right = Adjoint.add

    def wrong(self: Adjoint, cotangents: Any, value: Any, g: Any, at: Any) -> None:
        if isinstance(g, Expr):
            cotangents.pop(value, None)
        right(self, cotangents, value, g, at)

    patch.setattr(Adjoint, "add", wrong)


def the_second_factor_has_no_cotangent(patch: Patch) -> None:
    right = MulOp.vjp
    patch.setattr(MulOp, "vjp", lambda *args: (right(*args)[0], None))


def a_difference_has_one_sign(patch: Patch) -> None:
    patch.setattr(SubOp, "vjp", lambda self, g, out, *operands: (g, g))


def _keeps_the_cotangent(patch: Patch, op: type[UpdateOp]) -> None:
    right = op.cotangents

    def wrong(self: Any, gs: Any, outs: Any, operands: Any) -> Any:
        taken, _, *rest = right(self, gs, outs, operands)
        return (taken, *gs, *rest)

    patch.setattr(op, "cotangents", wrong)


def the_cotangent_of_an_overwritten_element_stays(patch: Patch) -> None:
    _keeps_the_cotangent(patch, InsertOp)


def the_cotangent_of_an_overwritten_slice_stays(patch: Patch) -> None:
    _keeps_the_cotangent(patch, InsertSliceOp)


def a_tape_of_two_loops_has_rows_for_one(patch: Patch) -> None:
    patch.setattr(Rows, "_scaled", lambda self, row, counters: row)


def a_reverse_loop_reads_forwards(patch: Patch) -> None:
    right = Naming.enter

    def wrong(self: Naming, forward: Any, outer: Any, counter: Any) -> Any:
        return right(self, forward, outer, counter.owner.operands[1] if counter is not None else None)

    patch.setattr(Naming, "enter", wrong)


def a_reverse_loop_makes_a_trip_less(patch: Patch) -> None:
    right = regions.reverse_loop

    def wrong(adjoint: Adjoint, op: Any, cotangents: Any, at: Any) -> None:
        name = adjoint.name
        count = regions._trip_count(Loop(op))
        adjoint.name = lambda value, at: name(value, at) - 1 if value is count else name(value, at)
        try:
            right(adjoint, op, cotangents, at)
        finally:
            del adjoint.name

    patch.setattr(regions, "reverse_loop", wrong)


def the_branches_of_a_reverse_if_are_swapped(patch: Patch) -> None:
    patch.setattr(regions, "branches", lambda op: branches(op)[::-1])


def what_a_loop_captures_gets_no_cotangent(patch: Patch) -> None:
    right = Activity.captured
    patch.setattr(
        Activity, "captured", lambda self, op: right(self, op) if isinstance(op, scf.IfOp) else right(self, op)[:-1]
    )


def the_tangents_of_a_loop_begin_as_zeros(patch: Patch) -> None:
    right = Tangent._loop

    def wrong(self: Tangent, op: scf.ForOp | scf.WhileOp) -> None:
        kept = {carry.init: self.tangents.pop(carry.init) for carry in Loop(op).carries if carry.init in self.tangents}
        right(self, op)
        self.tangents.update(kept)

    patch.setattr(Tangent, "_loop", wrong)


def a_rebuilt_counter_is_one_ahead(patch: Patch) -> None:
    right = sweep._count

    def wrong(*arguments: Any) -> Any:
        return (Expr(right(*arguments)) + 1).value

    patch.setattr(sweep, "_count", wrong)


@dataclass(frozen=True)
class Mutant:
    """`how`, `derivatives` and `biases`: with which campaign it is looked for."""

    seed: Callable[[Patch], None]
    how: str
    derivatives: bool = False
    biases: tuple[str, ...] = ("mixed", "alias")


MUTANTS = [
    *(
        Mutant(seed, "tensor")
        for seed in (
            a_falling_range_ends_early,
            a_slice_of_a_slice_has_the_inner_stride,
            a_selector_says_the_first,
            an_update_makes_a_new_array,
            a_chain_is_its_first_comparison,
            or_is_and,
            the_else_of_a_loop_is_lost,
            reversed_runs_forwards,
            enumerate_counts_from_0,
            a_write_is_not_written_back,
            the_first_branch_is_taken_where_the_test_fails,
            a_list_item_is_stored_in_the_first_place,
            a_float_joins_an_int_as_an_int,
        )
    ),
    *(
        Mutant(seed, "tensor", biases=("dtypes",))
        for seed in (
            a_number_of_python_joins_one_of_numpy_as_numpys,
            an_exponent_has_no_dtype,
            a_float_beyond_the_integers_is_the_largest,
            an_integer_that_does_not_fit_is_stored,
            a_number_of_python_has_the_dtype_of_numpys,
            a_sign_is_not_compared,
        )
    ),
    Mutant(other_code_is_not_noticed, "tensor", biases=("around",)),
    Mutant(a_captured_number_is_a_constant, "tensor", biases=("around",)),
    Mutant(a_list_forgets_as_it_grows, "tensor", biases=("around",)),
    Mutant(every_argument_is_row_major, "tensor", biases=("alias",)),
    Mutant(a_branch_knows_the_wrong_truth, "optimized"),
    Mutant(ops_of_other_attributes_are_the_same, "optimized"),
    Mutant(a_check_whose_result_nobody_needs_is_removed, "optimized"),
    Mutant(moves_what_is_live, "native"),
    *(
        Mutant(seed, "autodiff", derivatives=True)
        for seed in (
            an_accumulation_is_dropped,
            the_second_factor_has_no_cotangent,
            a_difference_has_one_sign,
            the_cotangent_of_an_overwritten_element_stays,
            the_cotangent_of_an_overwritten_slice_stays,
            a_tape_of_two_loops_has_rows_for_one,
            a_reverse_loop_reads_forwards,
            a_reverse_loop_makes_a_trip_less,
            the_branches_of_a_reverse_if_are_swapped,
            what_a_loop_captures_gets_no_cotangent,
            the_tangents_of_a_loop_begin_as_zeros,
            a_rebuilt_counter_is_one_ahead,
        )
    ),
]
QUICK = {
    "other_code_is_not_noticed",
    "an_integer_that_does_not_fit_is_stored",
    "a_write_is_not_written_back",
    "an_accumulation_is_dropped",
    "the_cotangent_of_an_overwritten_slice_stays",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.seed.__name__)
def test_a_bug_can_be_seeded(mutant: Mutant, monkeypatch: Patch) -> None:
    """The functions that it replaces are there."""
    mutant.seed(monkeypatch)


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(each, id=each.seed.__name__, marks=() if each.seed.__name__ in QUICK else pytest.mark.full)
        for each in MUTANTS
    ],
)
def test_a_seeded_bug_is_noticed(mutant: Mutant, monkeypatch: Patch, tmp_path: Path) -> None:
    mutant.seed(monkeypatch)
    for number in range(MOST):
        program = generate(400_000 + number // len(mutant.biases), mutant.biases[number % len(mutant.biases)])
        verdicts = judged(program, mutant.how, tmp_path, mutant.derivatives)
        if any(verdict.kind == "wrong" for verdict in verdicts):
            print(f"noticed by program {number + 1} of at most {MOST}")
            return
    pytest.fail(f"{MOST} programs do not notice it")
