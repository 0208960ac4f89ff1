"""Runs a module of stage `linalg` with NumPy: the oracle of the lowering from nd, before there are buffers.

Reads: func, scf, arith, math, tensor, and linalg.generic, fill and copy on tensors. Gives: NumPy values. A generic is
evaluated point by point, every write makes a new array, and reading a tensor that is still empty gives nan.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, IntegerType, ModuleOp, TensorType
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.traits import SymbolTable

from mlirad.analysis.memory import GUFUNC, NATIVE, ties
from mlirad.contract.gufunc_loops import core_labels, run_loop
from mlirad.contract.native_functions import address_of, data_of
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import value_of
from mlirad.dialect.effects.print_op import printed_by
from mlirad.dialect.ops.check import CHECK, CheckFailed
from mlirad.evaluator.control_flow import run_regions
from mlirad.raised_exceptions import message_of
from mlirad.testing.scalar_ops import Value, dtype_of, is_scalar, scalar

Environment = dict[SSAValue, Value]

_TERMINATORS = (func.ReturnOp, scf.YieldOp, scf.ConditionOp, YieldOp)


def run(module: ModuleOp, name: str, *arguments: Value) -> tuple[Value, ...]:
    """Call the function `name` of the module. Arguments and results are NumPy arrays and scalars."""
    with np.errstate(all="ignore"):
        return _Run(module).call(name, arguments)


class _Run:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.point: Sequence[int] = ()

    def call(self, name: str, arguments: Sequence[Value]) -> tuple[Value, ...]:
        function = SymbolTable.lookup_symbol(self.module, name)
        if not isinstance(function, func.FuncOp):
            raise KeyError(f"no function @{name}")
        values = [_bits_as(value, type) for value, type in zip(arguments, function.function_type.inputs, strict=True)]
        return self._block(function.body.block, values, {})

    def _block(self, block: Block, arguments: Sequence[Value], environment: Environment) -> tuple[Value, ...]:
        environment.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            operands = [environment[operand] for operand in op.operands]
            if isinstance(op, _TERMINATORS):
                return tuple(operands)
            results = self._op(op, operands, environment)
            for result, value in zip(op.results, results, strict=True):
                _require_shape(op, result.type, value)
                environment[result] = value
        return ()

    def _op(self, op: Operation, operands: Sequence[Value], environment: Environment) -> Sequence[Value]:
        if is_scalar(op):
            return [scalar(op, operands)]
        match op:
            case arith.ConstantOp():
                return [_constant(op)]
            case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                return run_regions(op, operands, lambda block, arguments: self._block(block, arguments, environment))
            case func.CallOp():
                return self._call(op, operands)
            case GenericOp():
                return self._generic(op, operands, environment)
            case IndexOp():
                return [np.int64(self.point[op.dim.value.data])]
        return _tensor_op(op, operands)

    def _call(self, op: func.CallOp, operands: Sequence[Value]) -> Sequence[Value]:
        """A run-time function, or a function of the module."""
        name = op.callee.string_value()
        if NATIVE in op.attributes:
            return _native(op, operands)
        if (printed := printed_by(op)) is not None:
            dtypes = printed.dtypes()
            printed.write([np.asarray(x).view(dtypes[i])[() if np.ndim(x) else ...] for i, x in enumerate(operands)])
            return []
        if name == CHECK:
            ok, *arguments = operands
            if not ok:
                error, message = (op.attributes[f"mlirad.{part}"] for part in ("error", "message"))
                raise CheckFailed(_text(error), message_of(_text(message), [int(a) for a in arguments]))
            return []
        if name.startswith("mlirad_grow"):
            array, index = operands
            size = max(len(array), 1)
            while size <= index:
                size *= 2
            return [np.concatenate([array, np.zeros(size - len(array), array.dtype)])]
        return self.call(name, operands)

    def _generic(self, op: GenericOp, operands: Sequence[Value], environment: Environment) -> Sequence[Value]:
        maps = [attribute.data for attribute in op.indexing_maps.data]
        outs = [np.array(value) for value in operands[len(op.inputs) :]]
        arrays = [*operands[: len(op.inputs)], *outs]
        for point in product(*map(range, _bounds(maps, arrays))):
            places = [tuple(affine_map.eval(point, [])) for affine_map in maps]
            elements = [
                array[place] if isinstance(array, np.ndarray) else array
                for array, place in zip(arrays, places, strict=True)
            ]
            outer, self.point = self.point, point
            yielded = self._block(op.body.block, elements, environment)
            self.point = outer
            for out, place, value in zip(outs, places[len(op.inputs) :], yielded, strict=True):
                out[place] = value
        return outs


def _bounds(maps: Sequence[AffineMap], arrays: Sequence[Value]) -> list[int]:
    """The size of each dimension of a generic, from the shapes of the operands."""
    found: dict[int, int] = {}
    for affine_map, array in zip(maps, arrays, strict=True):
        for expr, size in zip(affine_map.results, np.shape(array), strict=True):
            if not isinstance(expr, AffineDimExpr):
                continue  # a sum of dimensions; each runs along an axis of another operand
            dim = expr.position
            if found.setdefault(dim, size) != size:
                raise ValueError(f"dimension {dim} runs to {found[dim]} and to {size}")
    return [found[dim] for dim in range(maps[0].num_dims)]


def _constant(op: arith.ConstantOp) -> Value:
    if isinstance(op.value, IntegerAttr | FloatAttr):
        number = op.value.value.data
        dtype = dtype_of(op.result.type)
        return np.array(number).astype(dtype)[()] if dtype.kind != "b" else np.bool_(number != 0)
    return value_of(op.value, op.result.type)


def _native(op: func.CallOp, operands: Sequence[Value]) -> Sequence[Value]:
    """A native function, called by ctypes with numbers and copies of arrays."""
    arrays = {index: np.array(x, order="C") for index, x in enumerate(operands) if isinstance(x, np.ndarray)}
    arguments: list[Any] = []
    rest = iter(range(1, len(operands)))
    for index in rest:
        if index not in arrays:
            arguments.append(np.ctypeslib.as_ctypes_type(operands[index].dtype)(operands[index].item()))
            continue
        place = [int(operands[next(rest)]) for _ in range(arrays[index].ndim)]
        start = sum(i * stride for i, stride in zip(place, arrays[index].strides, strict=True))
        arguments.append(ctypes.c_void_p(arrays[index].ctypes.data + start))
    if GUFUNC in op.attributes:
        _run_loop(op, [each.value for each in arguments], [each.itemsize for each in arrays.values()])
        return [arrays[index] for index, _ in ties(op)]
    numbers = [dtype_of(result.type) for result in op.results if not types.is_tensor(result.type)]
    gives = np.ctypeslib.as_ctypes_type(numbers[0]) if numbers else ctypes.c_int
    code = ctypes.PYFUNCTYPE(gives)(address_of(_text(op.attributes[NATIVE])))(*arguments)
    if numbers:
        return [numbers[0].type(code)]
    if "mlirad.error" in op.attributes and code:
        raise CheckFailed(_text(op.attributes["mlirad.error"]), _text(op.attributes["mlirad.message"]))
    return [arrays[index] for index, _ in ties(op)]


def _run_loop(op: func.CallOp, words: Sequence[int], widths: Sequence[int]) -> None:
    """A gufunc's loop on these addresses and core sizes; see `NativeFunction`."""
    signature = _text(op.attributes[GUFUNC])
    count = sum(map(len, core_labels(signature)))
    name = _text(op.attributes[NATIVE])
    taken = data_of(name)
    data = None if taken is None else address_of(taken)
    failed = run_loop(address_of(name), signature, words[:count], widths[:count], words[len(widths) :], data)
    for flag in words[count : len(widths)]:
        ctypes.c_int64.from_address(flag).value = failed


def _tensor_op(op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    match op:
        case tensor.EmptyOp():
            return [_empty(op, operands)]
        case tensor.DimOp():
            return [np.int64(operands[0].shape[int(operands[1])])]
        case tensor.ExtractOp():
            return [operands[0][_inside(operands[0], operands[1:])]]
        case tensor.InsertOp():
            value, array, *indices = operands
            changed = array.copy()
            changed[_inside(array, indices)] = value
            return [changed]
        case tensor.ExtractSliceOp():
            part = operands[0][_slices(op, operands[1:])]
            return [part.reshape(_shape_of(op.result.type, operands[1 + len(op.offsets) :])).copy()]
        case tensor.InsertSliceOp():
            changed = operands[1].copy()
            place = _slices(op, operands[2:])
            changed[place] = operands[0].reshape(changed[place].shape)
            return [changed]
        case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
            sizes = zip(types.shape(op.src.type), operands[0].shape, strict=True)
            return [operands[0].reshape(_shape_of(op.result.type, [have for size, have in sizes if size < 0]))]
        case FillOp():
            return [np.full_like(operands[1], operands[0])]
        case CopyOp():
            return [operands[0].copy()]
    raise NotImplementedError(f"the interpreter does not know {op.name}")


def _empty(op: tensor.EmptyOp, sizes: Sequence[Value]) -> Value:
    given = iter(sizes)
    assert isinstance(op.tensor.type, TensorType)
    shape = [int(next(given)) if size == DYNAMIC_INDEX else size for size in op.tensor.type.get_shape()]
    dtype = dtype_of(op.tensor.type)
    return np.full(shape, np.nan if dtype.kind == "f" else 77, dtype)


def _inside(array: Value, indices: Sequence[Value]) -> tuple[int, ...]:
    """The indices, which are never negative here."""
    place = tuple(int(i) for i in indices)
    if not all(0 <= i < size for i, size in zip(place, array.shape, strict=True)):
        raise IndexError(f"{place} is outside {array.shape}")
    return place


def _shape_of(type: Attribute, unknown: Sequence[Value]) -> list[int]:
    """The shape of a tensor with these unknown sizes."""
    given = iter(unknown)
    return [int(next(given)) if size < 0 else size for size in types.shape(type)]


def _slices(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, places: Sequence[Value]) -> tuple[slice, ...]:
    """Dynamic starts, then the unknown sizes, and static strides: what the dialect emits."""
    result = []
    lengths = iter(places[len(op.offsets) :])
    for start, size, stride in zip(places, op.static_sizes.get_values(), op.static_strides.get_values(), strict=False):
        length = int(next(lengths)) if size == DYNAMIC_INDEX else size
        end = int(start) + length * stride
        result.append(slice(int(start), end if end >= 0 else None, stride) if length else slice(0, 0))
    return tuple(result)


def _text(attribute: Attribute) -> str:
    return str(getattr(attribute, "data", attribute))


def _require_shape(op: Operation, type: Attribute, value: Value) -> None:
    sizes = types.shape(type)
    if types.is_tensor(type) != isinstance(value, np.ndarray) or any(
        size not in (-1, have) for size, have in zip(sizes, np.shape(value), strict=True)
    ):
        raise TypeError(f"{op.name} gave a value of shape {np.shape(value)} for {type}")


def _bits_as(value: Value, type: Attribute) -> Value:
    """The value as an argument of a signless type: unsigned integers keep their bits."""
    dtype = dtype_of(type)
    array = np.asarray(value)
    if array.dtype.kind == "u" and dtype.kind == "i":
        array = array.view(dtype)
    assert isinstance(types.element_type(type), IntegerType | IndexType) or array.dtype == dtype or array.ndim == 0
    array = array.astype(dtype)
    return array if types.is_tensor(type) else array[()]
