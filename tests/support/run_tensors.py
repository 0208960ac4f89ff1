"""Reads: a function of stage `linalg` or `bufferized`. Writes: nothing. Leaves: what it computes, with NumPy arrays.

Tensors are arrays that are never changed; memrefs are arrays that really alias, temporaries with an offset lying in one
arena. New memory is full of garbage, the iterations of a linalg op that may run in any order do so, and copying
between memory that overlaps in part is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialect.core.types import to_dtype

Array = np.ndarray[Any, np.dtype[Any]]


class CheckFailed(Exception):
    """`@mlirad_check` was given a false condition."""


def dtype_of(element: Attribute) -> np.dtype[Any]:
    return np.dtype(np.int64) if isinstance(element, IndexType) else to_dtype(element)


def garbage(shape: Sequence[int], dtype: np.dtype[Any], random: np.random.Generator) -> Array:
    if dtype.kind == "f":
        return np.full(shape, np.nan, dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    return random.integers(-100, 100, shape).astype(dtype)


@dataclass
class Machine:
    """Runs one function of a module.

    allocs: allocations made. unplaced: of static size, outside the arena. copied: elements moved by memref.copy.
    """

    module: ModuleOp
    seed: int = 0
    allocs: int = 0
    unplaced: int = 0
    copies: int = 0
    copied: int = 0
    _values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        functions = [op for op in self.module.body.block.ops if isinstance(op, func.FuncOp)]
        self.function = next(op for op in functions if not op.is_declaration)
        size = self.function.attributes.get("mlirad.arena_size")
        self.arena = garbage([size.value.data if isinstance(size, IntegerAttr) else 0], np.dtype(np.int8), self.random)
        self.globals = {
            op.sym_name.data: _dense(op.initial_value)
            for op in self.module.body.block.ops
            if isinstance(op, memref.GlobalOp)
        }

    def run(self, *args: Any) -> list[Any]:
        return self._block(self.function.body.block, args)

    def _block(self, block: Block, args: Sequence[Any]) -> list[Any]:
        """The values that the block's terminator passes on."""
        for arg, value in zip(block.args, args, strict=True):
            self._set(arg, value)
        for op in block.ops:
            if isinstance(op, func.ReturnOp | scf.YieldOp | scf.ConditionOp | scf.ReduceOp | YieldOp):
                return [self._values[operand] for operand in op.operands]
            for result, value in zip(op.results, self._op(op), strict=True):
                self._set(result, value)
        return []

    def _set(self, value: SSAValue, content: Any) -> None:
        if isinstance(value.type, MemRefType):
            _check_layout(value.type, content)
        elif isinstance(value.type, TensorType):
            assert isinstance(content, np.ndarray)
            assert content.shape == tuple(
                actual if size == DYNAMIC_INDEX else size
                for size, actual in zip(value.type.get_shape(), content.shape, strict=True)
            ), f"{content.shape} is no {value.type}"
        self._values[value] = content

    def _all(self, values: Sequence[SSAValue]) -> list[Any]:
        return [self._values[value] for value in values]

    def _op(self, op: Operation) -> Sequence[Any]:
        if isinstance(op, LinalgStructuredOperation):
            return self._linalg(op)
        run = OPS.get(type(op))
        if run is None:
            raise NotImplementedError(op.name)
        return run(self, op)

    # Control.

    def _for(self, op: scf.ForOp) -> Sequence[Any]:
        lower, upper, step = self._all([op.lb, op.ub, op.step])
        carried = self._all(op.iter_args)
        for index in range(int(lower), int(upper), int(step)):
            carried = self._block(op.body.block, [np.int64(index), *carried])
        return carried

    def _parallel(self, op: scf.ParallelOp) -> Sequence[Any]:
        """One block after the other, in any order."""
        (lower,), (upper,), (step,) = map(self._all, (op.lowerBound, op.upperBound, op.step))
        for index in self.random.permutation(range(int(lower), int(upper), int(step))):
            self._block(op.body.block, [np.int64(index)])
        return []

    def _while(self, op: scf.WhileOp) -> Sequence[Any]:
        carried = self._all(op.arguments)
        while True:
            go, *passed = self._block(op.before_region.block, carried)
            if not go:
                return passed
            carried = self._block(op.after_region.block, passed)

    def _if(self, op: scf.IfOp) -> Sequence[Any]:
        region = op.true_region if self._values[op.cond] else op.false_region
        return self._block(region.block, []) if region.blocks else []

    def _call(self, op: func.CallOp) -> Sequence[Any]:
        name, args = op.callee.string_value(), self._all(op.operands)
        if name == "mlirad_check":
            if not args[0]:
                raise CheckFailed
            return []
        assert name.startswith("mlirad_grow"), name
        old, needed = args
        size = max(1, len(old))
        while size < needed + 1:
            size *= 2
        is_memref = isinstance(op.results[0].type, MemRefType)
        if is_memref and size == len(old):
            return [old]
        grown = garbage([size], old.dtype, self.random)
        grown[: len(old)] = old
        if is_memref:
            old[...] = garbage(old.shape, old.dtype, self.random)
        return [grown]

    def _linalg(self, op: LinalgStructuredOperation) -> Sequence[Any]:
        first = len(op.inputs)
        operands = self._all(op.operands)
        is_tensor = bool(op.results)
        if is_tensor:
            operands[first:] = [array.copy() for array in operands[first:]]
        maps = [attribute.data for attribute in op.get_indexing_maps()]
        places = [(place, number) for number, m in enumerate(maps) for place in range(len(m.results))]
        sizes: dict[int, int] = {}
        for place, number in places:
            dimension = getattr(maps[number].results[place], "position", None)
            if dimension is not None:
                sizes[dimension] = operands[number].shape[place]
        for indices in self._iterations(op, [sizes[number] for number in range(len(sizes))]):
            at = [m.eval(indices, ()) for m in maps]
            elements = [x[a] if isinstance(x, np.ndarray) else x for x, a in zip(operands, at, strict=True)]
            self._indices = indices
            results = self._block(op.body.block, elements)
            for array, place, result in zip(operands[first:], at[first:], results, strict=True):
                array[place] = result
        return operands[first:] if is_tensor else []

    def _iterations(self, op: LinalgStructuredOperation, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
        kinds = [attribute.data for attribute in op.get_iterator_types()]
        axes = [
            self.random.permutation(size) if kind is IteratorType.PARALLEL else np.arange(size)
            for kind, size in zip(kinds, sizes, strict=True)
        ]
        for indices in product(*axes):
            yield tuple(int(index) for index in indices)

    def _index(self, op: IndexOp) -> Sequence[Any]:
        return [np.int64(self._indices[op.dim.value.data])]

    # Tensors and memrefs.

    def _empty(self, op: tensor.EmptyOp) -> Sequence[Any]:
        return [self._new(op.tensor.type, self._all(op.dynamic_sizes))]

    def _new(self, type: TensorType | MemRefType, sizes: Sequence[Any]) -> Array:
        given = iter(sizes)
        shape = [int(next(given)) if size == DYNAMIC_INDEX else size for size in type.get_shape()]
        return garbage(shape, dtype_of(type.get_element_type()), self.random)

    def _alloc(self, op: memref.AllocOp) -> Sequence[Any]:
        self.allocs += 1
        new = self._new(op.memref.type, self._all(op.dynamic_sizes))
        offset = op.attributes.get("mlirad.offset")
        if not isinstance(offset, IntegerAttr):
            self.unplaced += not op.dynamic_sizes
            return [new]
        start = offset.value.data
        assert start % 64 == 0 and start + new.nbytes <= len(self.arena)
        placed = self.arena[start : start + new.nbytes].view(new.dtype).reshape(new.shape)
        placed[...] = new
        return [placed]

    def _get_global(self, op: memref.GetGlobalOp) -> Sequence[Any]:
        return [self.globals[op.name_.string_value()]]

    def _extract(self, op: tensor.ExtractOp | memref.LoadOp) -> Sequence[Any]:
        array, *indices = self._all(op.operands)
        return [array[_inside(array, indices)]]

    def _insert(self, op: tensor.InsertOp) -> Sequence[Any]:
        scalar, array, *indices = self._all(op.operands)
        result = array.copy()
        result[_inside(array, indices)] = scalar
        return [result]

    def _store(self, op: memref.StoreOp) -> Sequence[Any]:
        scalar, array, *indices = self._all(op.operands)
        array[_inside(array, indices)] = scalar
        return []

    def _places(self, op: tensor.ExtractSliceOp | tensor.InsertSliceOp | memref.SubviewOp) -> list[list[int]]:
        """Offsets, sizes and strides."""
        found: list[list[int]] = []
        for static, dynamic in (
            (op.static_offsets, op.offsets),
            (op.static_sizes, op.sizes),
            (op.static_strides, op.strides),
        ):
            given = iter(self._all(dynamic))
            found.append([int(next(given)) if size == DYNAMIC_INDEX else size for size in static.get_values()])
        return found

    def _extract_slice(self, op: tensor.ExtractSliceOp) -> Sequence[Any]:
        array = self._values[op.source]
        part = _part(array, *self._places(op))
        return [part.copy().reshape(_shape(op.result.type, part))]

    def _insert_slice(self, op: tensor.InsertSliceOp) -> Sequence[Any]:
        result = self._values[op.dest].copy()
        part = _part(result, *self._places(op))
        part[...] = self._values[op.source].reshape(part.shape)
        return [result]

    def _subview(self, op: memref.SubviewOp) -> Sequence[Any]:
        part = _part(self._values[op.source], *self._places(op))
        kept, shape = [], list(op.result.type.get_shape())
        if DYNAMIC_INDEX in shape:
            assert len(shape) == part.ndim
            return [part]
        for size, stride in zip(part.shape, part.strides, strict=True):
            if len(kept) < len(shape) and size == shape[len(kept)]:
                kept.append(stride)
        return [np.lib.stride_tricks.as_strided(part, shape, kept)]

    def _copy(self, op: memref.CopyOp) -> Sequence[Any]:
        source, destination = self._all(op.operands)
        assert source.shape == destination.shape
        self.copies += 1
        self.copied += source.size
        if np.shares_memory(source, destination):
            is_same = source.ctypes.data == destination.ctypes.data and source.strides == destination.strides
            assert is_same, "a copy between memory that overlaps in part"
        destination[...] = source
        return []

    def _reshape(self, op: Operation) -> Sequence[Any]:
        """Any op that returns its first operand in another shape."""
        array, type = self._values[op.operands[0]], op.results[0].type
        shape = _shape(type, array)
        if isinstance(op, tensor.ReshapeOp):
            shape = tuple(int(size) for size in self._values[op.shape])
        elif isinstance(op, memref.ReinterpretCastOp):
            given = iter(self._all(op.sizes))
            shape = tuple(int(next(given)) if size == DYNAMIC_INDEX else size for size in op.static_sizes.get_values())
        result = array.reshape(shape)
        assert not array.size or np.shares_memory(result, array), "a reshape that copies"
        return [result]

    def _dim(self, op: tensor.DimOp | memref.DimOp) -> Sequence[Any]:
        array, axis = self._all(op.operands)
        return [np.int64(array.shape[int(axis)])]

    def _from_elements(self, op: tensor.FromElementsOp) -> Sequence[Any]:
        type = op.result.type
        return [np.array(self._all(op.elements), dtype_of(type.get_element_type())).reshape(type.get_shape())]

    def _splat(self, op: tensor.SplatOp) -> Sequence[Any]:
        new = self._new(op.result.type, self._all(op.dynamicSizes))
        new[...] = self._values[op.input]
        return [new]

    # Scalars.

    def _constant(self, op: arith.ConstantOp) -> Sequence[Any]:
        value = op.value
        if isinstance(value, DenseIntOrFPElementsAttr):
            return [_dense(value)]
        assert isinstance(value, IntegerAttr | FloatAttr)
        return [dtype_of(op.result.type).type(value.value.data)]

    def _cast(self, op: Operation) -> Sequence[Any]:
        return [dtype_of(op.results[0].type).type(self._values[op.operands[0]])]

    def _compare(self, op: arith.CmpiOp) -> Sequence[Any]:
        left, right = self._all(op.operands)
        compare = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
        number = op.predicate.value.data
        if number >= len(compare):  # unsigned
            return [compare[number - 4](left.astype(np.uint64), right.astype(np.uint64))]
        return [compare[number](left, right)]

    def _compare_floats(self, op: arith.CmpfOp) -> Sequence[Any]:
        left, right = self._all(op.operands)
        assert op.predicate.value.data == 2, "only `ogt` is needed"
        return [np.greater(left, right)]

    def _select(self, op: arith.SelectOp) -> Sequence[Any]:
        condition, first, second = self._all(op.operands)
        return [first if condition else second]


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Machine, Any], Sequence[Any]]:
    def run(machine: Machine, op: Operation) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            return [function(*machine._all(op.operands))]

    return run


def _dense(value: Attribute) -> Array:
    assert isinstance(value, DenseIntOrFPElementsAttr)
    type = value.get_type()
    assert isinstance(type, TensorType)
    shape = type.get_shape()
    array = np.array(list(value.get_values()), dtype_of(value.get_element_type()))
    array = np.full(shape, array[0]) if value.is_splat() else array.reshape(shape)
    array.flags.writeable = False
    return array


def _inside(array: Array, indices: Sequence[Any]) -> tuple[int, ...]:
    assert all(0 <= index < size for index, size in zip(indices, array.shape, strict=True)), "an index out of range"
    return tuple(int(index) for index in indices)


def _part(array: Array, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Array:
    for offset, size, stride, length in zip(offsets, sizes, strides, array.shape, strict=True):
        last = offset + (size - 1) * stride
        assert not size or (0 <= offset < length and 0 <= last < length), "a slice out of range"
    if 0 in sizes:
        return array.reshape(-1)[:0].reshape(sizes)
    start = array[tuple(slice(offset, None) for offset in offsets)]
    steps = [stride * step for stride, step in zip(array.strides, strides, strict=True)]
    return np.lib.stride_tricks.as_strided(start, sizes, steps)


def _shape(type: Attribute, array: Array) -> tuple[int, ...]:
    assert isinstance(type, TensorType | MemRefType)
    shape = list(type.get_shape())
    if DYNAMIC_INDEX in shape:
        known = int(np.prod([size for size in shape if size != DYNAMIC_INDEX]))
        shape[shape.index(DYNAMIC_INDEX)] = array.size // max(known, 1)
    return tuple(shape)


def _check_layout(type: MemRefType, array: Array) -> None:
    """Check that the array has the layout of its type."""
    strides = type.get_strides()
    assert strides is not None
    assert array.dtype == dtype_of(type.get_element_type())
    for size, said, actual, length in zip(type.get_shape(), strides, array.strides, array.shape, strict=True):
        assert size in (DYNAMIC_INDEX, length), f"{array.shape} is no {type}"
        is_right = length <= 1 or array.size == 0 or said is None or said * array.itemsize == actual
        assert is_right, f"{type} has other strides than {array.strides}"


_reshape: Callable[[Machine, Any], Sequence[Any]] = Machine._reshape
OPS: dict[type[Operation], Callable[[Machine, Any], Sequence[Any]]] = {
    scf.ForOp: Machine._for,
    scf.ParallelOp: Machine._parallel,
    scf.WhileOp: Machine._while,
    scf.IfOp: Machine._if,
    func.CallOp: Machine._call,
    IndexOp: Machine._index,
    tensor.EmptyOp: Machine._empty,
    memref.AllocOp: Machine._alloc,
    memref.GetGlobalOp: Machine._get_global,
    tensor.ExtractOp: Machine._extract,
    memref.LoadOp: Machine._extract,
    tensor.InsertOp: Machine._insert,
    memref.StoreOp: Machine._store,
    tensor.ExtractSliceOp: Machine._extract_slice,
    tensor.InsertSliceOp: Machine._insert_slice,
    memref.SubviewOp: Machine._subview,
    memref.CopyOp: Machine._copy,
    tensor.DimOp: Machine._dim,
    memref.DimOp: Machine._dim,
    tensor.FromElementsOp: Machine._from_elements,
    tensor.SplatOp: Machine._splat,
    **dict.fromkeys(
        (
            tensor.CollapseShapeOp,
            tensor.ExpandShapeOp,
            tensor.CastOp,
            tensor.ReshapeOp,
            memref.CollapseShapeOp,
            memref.ExpandShapeOp,
            memref.CastOp,
            memref.ReinterpretCastOp,
        ),
        _reshape,
    ),
    arith.ConstantOp: Machine._constant,
    arith.IndexCastOp: Machine._cast,
    arith.CmpiOp: Machine._compare,
    arith.CmpfOp: Machine._compare_floats,
    arith.SelectOp: Machine._select,
    arith.AddiOp: _binary(lambda x, y: x + y),
    arith.SubiOp: _binary(lambda x, y: x - y),
    arith.MuliOp: _binary(lambda x, y: x * y),
    arith.DivUIOp: _binary(lambda x, y: x // y),
    arith.MaxSIOp: _binary(max),
    arith.MinSIOp: _binary(min),
    arith.RemSIOp: _binary(np.fmod),
    arith.RemUIOp: _binary(np.fmod),
    arith.AndIOp: _binary(lambda x, y: x & y),
    arith.AddfOp: _binary(lambda x, y: x + y),
    arith.SubfOp: _binary(lambda x, y: x - y),
    arith.MulfOp: _binary(lambda x, y: x * y),
}
