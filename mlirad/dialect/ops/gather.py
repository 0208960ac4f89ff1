"""Reading and updating many places at once, through arrays of indices: `t[i]`, `t[:, i, j]`.

The index arrays are i64, of one shape, checked already and not negative; each indexes one of `axes`. What is read, or
written, has the remaining axes of t, with the axes of the index arrays in front of remaining axis `at`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, VarOperand, operand_def, prop_def, result_def, var_operand_def

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, emit, insert, where
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, infix, subscript, text, tuple_of
from mlirad.dialect.core.op import At, PureOp, Upstream, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.core.upstream import counted
from mlirad.dialect.ops.check import CheckFailed, EffectOp, call_check, raise_unless
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.elementwise import choose, compare, number, numbers
from mlirad.dialect.ops.indexing import UpdateOp, as_indices, wrap_index
from mlirad.dialect.ops.places import mask_of
from mlirad.errors import DTypeError, ShapeError
from mlirad.library import primitives

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@dataclass(frozen=True)
class Places(Subset):
    """array[..., i, j, ...]. places: the index arrays, one for each of `indexed`, the axes.

    at: before how many of the other axes the part has the axes of the index arrays.
    """

    indexed: tuple[int, ...] = ()
    at: int = 0

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        known = {axis: _range(index) for axis, index in zip(self.indexed, self.places, strict=True)}
        return tuple(known.get(axis) for axis in range(len(types.shape(self.array.type))))

    @property
    def shape(self) -> Hashable:
        return self.indexed, self.at

    @property
    def axes(self) -> tuple[int | None, ...]:
        kept = [axis for axis in range(len(types.shape(self.array.type))) if axis not in self.indexed]
        return (*kept[: self.at], *(None for _ in types.shape(self.places[0].type)), *kept[self.at :])

    @property
    def is_distinct(self) -> bool:
        return are_distinct(self.places)

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        return emit(GatherOp, array, *places, axes=self.indexed, at=self.at)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        return emit(ScatterOp, part, array, *places, axes=self.indexed, at=self.at)


def _range(index: SSAValue) -> Range | None:
    """From the lowest to the highest of the indices, where they are known."""
    known = constant_indices(index)
    if known is None or not known.size:
        return None
    return Range(int(known.min()), int(known.max() - known.min() + 1))


class IndexedOp(PureOp):
    """An op on the places of an array that index arrays say."""

    axes = prop_def(DenseArrayBase)
    at = prop_def(IntegerAttr)

    if TYPE_CHECKING:
        indices: VarOperand

    @classmethod
    def places(cls, t: Attribute, indices: Sequence[Attribute], properties: Properties) -> TensorType:
        """The type of what is at the places. Raises ShapeError or DTypeError."""
        at, axes = properties["at"], ints(properties["axes"])
        assert isinstance(at, IntegerAttr)
        if not isinstance(t, TensorType) or not indices or len(axes) != len(indices):
            raise ShapeError(f"{cls.name}: {len(indices)} index arrays for the axes {list(axes)} of {t}")
        first = indices[0]
        if any(index != first or types.element_type(index) != types.I64 for index in indices):
            raise DTypeError(f"{cls.name}: the index arrays {[str(index) for index in indices]} are not i64 and alike")
        shape = types.shape(t)
        rest = [size for axis, size in enumerate(shape) if axis not in axes]
        if list(axes) != sorted(set(axes)) or axes[-1] >= len(shape) or not 0 <= at.value.data <= len(rest):
            raise ShapeError(f"{cls.name}: no axes {list(axes)}, or no place {at.value.data}, in {t}")
        where_to = at.value.data
        return types.tensor([*rest[:where_to], *types.shape(first), *rest[where_to:]], t.element_type)

    @classmethod
    def values_for_places(cls, operands: Sequence[Attribute], properties: Properties) -> Attribute:
        """The type of operand 0, which has a value for each place in operand 1. Raises ShapeError."""
        expected = cls.places(operands[1], operands[2:], properties)
        if operands[0] != expected:
            raise ShapeError(f"{cls.name}: {operands[0]} for places of {expected}")
        return expected

    @property
    def position(self) -> int:
        return self.at.value.data

    @property
    def mask(self) -> SSAValue | None:
        """The mask of one axis that says which places are meant, if there is one."""
        mask = mask_of(self.indices[0]) if len(self.indices) == 1 else None
        return mask if mask is not None and len(types.shape(mask.type)) == 1 else None

    def _kept(self, rank: int) -> list[int]:
        """The axes that no index array is for."""
        return [axis for axis in range(rank) if axis not in ints(self.axes)]

    # By NumPy.

    def view(self, t: np.ndarray) -> np.ndarray:
        """t with the indexed axes first."""
        axes = ints(self.axes)
        return np.moveaxis(t, axes, range(len(axes)))

    def aligned(self, values: np.ndarray, rank: int) -> np.ndarray:
        """What is at the places, with the axes of the index arrays first."""
        return np.moveaxis(values, range(self.position, self.position + rank), range(rank))

    # As source.

    def place_text(self, source: NumpySource, array: int) -> tuple[NumpyText, list[NumpyText]]:
        """An array and the index of its places, with the axes of both in the order that NumPy has for the index."""
        axes, t = ints(self.axes), source.operand(array)
        index = {axis: source.operand(array + 1 + number) for number, axis in enumerate(axes)}
        is_run = axes == tuple(range(axes[0], axes[0] + len(axes)))
        if self.position == (axes[0] if is_run else 0):
            return t, [index.get(axis, text(":")) for axis in range(axes[-1] + 1)]
        kept = self._kept(len(types.shape(source.op.operands[array].type)))
        order = [*kept[: self.position], *axes, *kept[self.position :]]
        return called("np.transpose", t, tuple_of(order)), [text(":")] * self.position + list(index.values())

    # In loops.

    def each(
        self,
        shaped: SSAValue,
        indices: Sequence[SSAValue],
        carried: SSAValue,
        body: Callable[[list[SSAValue], list[SSAValue], SSAValue], SSAValue],
    ) -> SSAValue:
        """What `carried` becomes by `body` at each place in turn.

        shaped: an array of t's rank, whose kept axes have t's sizes. body gets the place in t, the place in what
        is read or written (both of `index`), and what is carried; it gives what is carried on.
        """
        at, kept = self.position, self._kept(len(types.shape(shaped.type)))
        rank = len(types.shape(indices[0].type))
        outer = [
            *(size_of(shaped, axis) for axis in kept[:at]),
            *(size_of(indices[0], axis) for axis in range(rank)),
        ]
        inner = [size_of(shaped, axis) for axis in kept[at:]]

        def of_place(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            heads = as_indices(counters)
            there = heads[at:]
            found = as_indices([insert(tensor.ExtractOp(index, there, i64)).result for index in indices])

            def of_element(rests: list[SSAValue], inside: list[SSAValue]) -> list[SSAValue]:
                tails = as_indices(rests)
                place = dict(zip(ints(self.axes), found, strict=True))
                place |= dict(zip(kept, [*heads[:at], *tails], strict=True))
                return [body([place[axis] for axis in sorted(place)], [*heads, *tails], inside[0])]

            return counted(inner, values, of_element)

        return counted(outer, [carried], of_place)[0]

    def empty(self, t: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Memory for what is at the places."""
        kept, at = self._kept(len(types.shape(t.type))), self.position
        sources = [(t, axis) for axis in kept]
        sources[at:at] = [(indices[0], axis) for axis in range(len(types.shape(indices[0].type)))]
        shape = [types.shape(value.type)[axis] for value, axis in sources]
        sizes = [_dim(value, axis) for (value, axis), size in zip(sources, shape, strict=True) if size < 0]
        return insert(tensor.EmptyOp(sizes, types.tensor(shape, types.element_type(t.type)))).tensor


def _dim(value: SSAValue, axis: int) -> SSAValue:
    return insert(tensor.DimOp(value, insert(arith.ConstantOp(IntegerAttr(axis, IndexType()))).result)).result


def size_of(value: SSAValue, axis: int) -> SSAValue:
    """The size of an axis, an i64."""
    size = types.shape(value.type)[axis]
    return number(size, i64) if size >= 0 else insert(arith.IndexCastOp(_dim(value, axis), i64)).result


def constant_indices(index: SSAValue) -> np.ndarray | None:
    """The elements of an index array, where they are known."""
    return index.owner.reference() if isinstance(index.owner, ConstantOp) else None


# --- reading ----------------------------------------------------------------------------------------------------


@op(partial=(0,))
class GatherOp(IndexedOp, LinearOp):
    """t[..., i, j, ...], an array."""

    name = "nd.gather"
    t = operand_def()
    indices = var_operand_def()
    result = result_def()
    assembly_format = "$t `[` $indices `]` attr-dict `:` type($t) `[` type($indices) `]` `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [cls.places(operands[0], operands[1:], properties)]

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        rank = len(types.shape(self.indices[0].type))
        if self.position <= axis < self.position + rank:
            return self.indices[0], axis - self.position
        kept = self._kept(len(types.shape(self.t.type)))
        return self.t, kept[axis if axis < self.position else axis - rank]

    def reference(self, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        rank = indices[0].ndim
        return np.moveaxis(self.view(t)[tuple(indices)], range(rank), range(self.position, self.position + rank)).copy()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        t, places = self.place_text(source, 0)
        return subscript(t, *places)

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> At:
        return At(lambda accumulator: emit(ScatterAddOp, g, accumulator, *places, **self.properties))

    def subset(self) -> Subset:
        return Places(self.t, 0, self.result, tuple(self.indices), indexed=ints(self.axes), at=self.position)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        element = types.element_type(t.type)

        def read(place: list[SSAValue], target: list[SSAValue], result: SSAValue) -> SSAValue:
            return insert(tensor.InsertOp(insert(tensor.ExtractOp(t, place, element)).result, result, target)).result

        return [self.each(t, indices, self.empty(t, indices), read)]


def require_checked(indices: Sequence[np.ndarray]) -> None:
    """NumPy would wrap a negative index, which a reference must not."""
    if any((index < 0).any() for index in indices):
        raise IndexError("an index array was not checked")


# --- writing ----------------------------------------------------------------------------------------------------


class ScatterUpdateOp(IndexedOp, UpdateOp):
    """`t` with what is at the places changed by the array `value`, in row-major order of the index arrays."""

    value = operand_def()
    t = operand_def(_T)
    indices = var_operand_def()
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `into` type($t) `[` type($indices) `]`"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        cls.values_for_places(operands, properties)
        return [operands[1]]

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        changed = t.copy()
        view, values = self.view(changed), self.aligned(value, indices[0].ndim)
        for point in np.ndindex(indices[0].shape):
            place = tuple(index[point] for index in indices)
            view[place] = self.changed(view[place], values[point])
        return changed

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, t = source.operand(0), source.operand(1)
        part, places = self.place_text(source, 1)
        value = value if value.lax is None else value.lax
        if self.CHANGE is Change.ADDED:
            whole = [text("slice(None)") if place.parts == (":",) else place for place in places]
            is_less = value.negated is not None
            name = "np.subtract.at" if is_less else "np.add.at"
            index = whole[0] if len(whole) == 1 else tuple_of(whole)
            source.line(called(name, part, index, value.negated if value.negated is not None else value))
        else:
            source.line(subscript(part, *places), " = ", value)
        return t

    @staticmethod
    @abstractmethod
    def changed(old: Any, value: Any) -> Any:
        """What NumPy puts at a place."""

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        element = types.element_type(t.type)

        def write(place: list[SSAValue], source: list[SSAValue], array: SSAValue) -> SSAValue:
            new = insert(tensor.ExtractOp(value, source, element)).result
            return insert(tensor.InsertOp(self.combined(array, place, new), array, place)).result

        return [self.each(t, indices, t, write)]

    @abstractmethod
    def combined(self, array: SSAValue, place: list[SSAValue], new: SSAValue) -> SSAValue:
        """What is put at a place, in upstream ops."""

    def subset(self) -> Subset:
        axes = ints(self.axes)
        return Places(self.t, 1, self.value, tuple(self.indices), self.CHANGE, axes, self.position)


@op(overwrites=1, partial=(0, 1))
class ScatterOp(ScatterUpdateOp):
    """t with t[..., i, j, ...] = value; if a place occurs more than once, the last value stays."""

    name = "nd.scatter"
    CHANGE: ClassVar = Change.REPLACED

    @staticmethod
    def changed(old: Any, value: Any) -> Any:
        return value

    def combined(self, array: SSAValue, place: list[SSAValue], new: SSAValue) -> SSAValue:
        return new

    def taken(self, g: Expr, value: Expr, places: Sequence[Expr]) -> Expr:
        taken = super().taken(g, value, places)
        if are_distinct([index.value for index in places]):
            return taken
        return emit(KeepLastOp, taken, g, *places, **self.properties)


def are_distinct(indices: Sequence[SSAValue]) -> bool:
    """Whether it is known that no place occurs in the index arrays more than once."""
    if len(indices) == 1 and mask_of(indices[0]) is not None:
        return True
    known = [found for index in indices if (found := constant_indices(index)) is not None]
    if len(known) < len(indices):
        return False
    flat = np.stack([index.ravel() for index in known])
    return np.unique(flat, axis=1).shape == flat.shape


@op(overwrites=1)
class ScatterAddOp(ScatterUpdateOp):
    """t with t[..., i, j, ...] += value, as often as a place occurs."""

    name = "nd.scatter_add"
    CHANGE: ClassVar = Change.ADDED

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, type) for type in super().infer(operands, properties, result_type)]

    @staticmethod
    def changed(old: Any, value: Any) -> Any:
        return old + value

    def combined(self, array: SSAValue, place: list[SSAValue], new: SSAValue) -> SSAValue:
        old = insert(tensor.ExtractOp(array, place, types.element_type(array.type))).result
        kind = arith.AddfOp if types.is_float(new.type) else arith.AddiOp
        return insert(kind(old, new)).result


@op(shape_only=(1,), partial=(0,))
class KeepLastOp(IndexedOp, LinearOp):
    """The values that a scatter of them into an array like t would leave there, and 0 for those that it overwrites.

    A linear projection, and its own transpose: what makes the cotangent of a scatter's values right where places
    occur in the index arrays more than once.
    """

    name = "nd.keep_last"
    value = operand_def(_T)
    t = operand_def()
    indices = var_operand_def()
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `of` type($t) `[` type($indices) `]`"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, cls.values_for_places(operands, properties))]

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        return primitives.keep_last(value, self.position, *indices)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, _, *indices = source.operands()
        return source.called(primitives.keep_last, value, self.position, *indices)

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return self.result_on(g, *places)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        # Each place is stamped with the number of the last value for it. The stamps need no beginning: only those that
        # have been written are read.
        element = types.element_type(value.type)
        shape = [types.shape(t.type)[axis] for axis in ints(self.axes)]
        unknown = [_dim(t, axis) for axis in ints(self.axes) if types.shape(t.type)[axis] < 0]
        empty = insert(tensor.EmptyOp(unknown, types.tensor(shape, i64))).tensor
        rank = len(types.shape(indices[0].type))
        sizes = [size_of(indices[0], axis) for axis in range(rank)]
        zero = number(0, element)

        def number_of(counters: Sequence[SSAValue]) -> SSAValue:
            total = counters[0]
            for counter, size in zip(counters[1:], sizes[1:], strict=True):
                total = insert(arith.AddiOp(insert(arith.MuliOp(total, size)).result, counter)).result
            return total

        def stamp(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            there = as_indices(counters)
            place = as_indices([insert(tensor.ExtractOp(index, there, i64)).result for index in indices])
            return [insert(tensor.InsertOp(number_of(counters), values[0], place)).result]

        (stamps,) = counted(sizes, [empty], stamp)

        def keep(place: list[SSAValue], source: list[SSAValue], result: SSAValue) -> SSAValue:
            there = source[self.position : self.position + rank]
            own = number_of([insert(arith.IndexCastOp(index, i64)).result for index in there])
            stamped = insert(tensor.ExtractOp(stamps, [place[axis] for axis in ints(self.axes)], i64)).result
            old = insert(tensor.ExtractOp(value, source, element)).result
            new = choose(compare("eq", stamped, own), old, zero)
            return insert(tensor.InsertOp(new, result, source)).result

        return [self.each(t, indices, self.empty(t, indices), keep)]


# --- checking ---------------------------------------------------------------------------------------------------


@op()
class CheckIndicesOp(EffectOp):
    """An array of indices made non-negative; raises IndexError unless -size <= i < size holds for all of them."""

    name = "nd.check_indices"
    indices = operand_def(_T)
    size = operand_def(types.I64)
    axis = prop_def(IntegerAttr)
    result = result_def(_T)
    assembly_format = "$indices `,` $size attr-dict `:` type($indices)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if not isinstance(operands[0], TensorType) or types.element_type(operands[0]) != types.I64:
            raise DTypeError(f"{cls.name}: {operands[0]} is no array of i64")
        return [operands[0]]

    @property
    def message(self) -> str:
        return f"index {{0}} is out of bounds for axis {self.axis.value.data} with size {{1}}"

    def reference(self, indices: Any, size: Any) -> Any:
        wrong = indices[(indices < -size) | (indices >= size)]
        if wrong.size:
            raise CheckFailed("IndexError", self.message.format(int(wrong[0]), int(size)))
        return np.where(indices < 0, indices + size, indices)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        indices, size = source.operands()
        is_low = infix(indices, "<", text("-", size.within(Rank.SIGN), rank=Rank.SIGN), Rank.COMPARISON)
        is_high = infix(indices, ">=", size, Rank.COMPARISON)
        wrong = infix(is_low, "|", is_high, Rank.BIT_OR)
        ok = text("not ", called("np.any", wrong), rank=Rank.NOT)
        raise_unless(source, ok, "IndexError", self.message, [subscript(subscript(indices, wrong), text("0")), size])
        wrapped = infix(indices, "+", size, Rank.SUM)
        return called("np.where", infix(indices, "<", text("0"), Rank.COMPARISON), wrapped, indices)

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({0, 1})

    def recomputed(self, *operands: SSAValue) -> tuple[Expr, ...]:
        return (wrapped_indices(*map(Expr, operands)),)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, indices: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
        shape = types.shape(indices.type)
        unknown = [_dim(indices, axis) for axis, length in enumerate(shape) if length < 0]
        is_used = self.result.first_use is not None
        carried = [insert(tensor.EmptyOp(unknown, types.tensor(shape, i64))).tensor] if is_used else []

        def check(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            there = as_indices(counters)
            index = insert(tensor.ExtractOp(indices, there, i64)).result
            (wrapped,) = wrap_index(index, size)
            # One unsigned comparison: a wrapped index that is still negative is larger than any size.
            call_check(compare("ult", wrapped, size), [index, size], "IndexError", self.message)
            return [insert(tensor.InsertOp(wrapped, array, there)).result for array in values]

        return counted([size_of(indices, axis) for axis in range(len(shape))], carried, check)


def wrapped_indices(indices: Expr, size: Expr) -> Expr:
    """i, or i + size where i is negative: no check."""
    return where(indices < 0, indices + size, indices)
