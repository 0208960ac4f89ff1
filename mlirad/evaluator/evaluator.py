"""Runs a module at the tensor, autodiff or optimized stage with NumPy, one op at a time.

Reads: func, scf, nd, ad.grow and ad.tape, scalar arith. Gives: NumPy values. Every write makes a new array (value
semantics), so that nothing here can be right by accident of aliasing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import SymbolTable

from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import CheckFailed
from mlirad.evaluator.control_flow import run_regions
from mlirad.evaluator.watch import Watch

_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)

_ARITH: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.SelectOp: lambda condition, x, y: x if condition else y,
}

Value = Any
Environment = dict[int, Value]
"""By id of the SSA value: xDSL's values are hashed in Python, which is slow."""

_TERMINATORS = frozenset({func.ReturnOp, scf.YieldOp, scf.ConditionOp})


def run(module: ModuleOp, name: str, *arguments: Value) -> tuple[Value, ...]:
    """Call the function `name` of the module. Arguments and results are NumPy arrays and scalars."""
    function = SymbolTable.lookup_symbol(module, name)
    if not isinstance(function, func.FuncOp):
        raise KeyError(f"no function @{name}")
    with np.errstate(all="ignore"):
        return Evaluator(module).call(function, arguments)


class Evaluator:
    """Evaluates functions of one module. `executed` counts the ops that ran, by name. watch: observes them."""

    def __init__(self, module: ModuleOp, watch: Watch | None = None):
        self.module = module
        self.watch = watch
        self.executed: dict[str, int] = {}

    def call(self, function: func.FuncOp, arguments: Sequence[Value]) -> tuple[Value, ...]:
        entry = function.body.block
        if len(arguments) != len(entry.args):
            raise TypeError(f"@{function.sym_name.data} takes {len(entry.args)} arguments, not {len(arguments)}")
        values = [_of_type(value, arg.type) for value, arg in zip(arguments, entry.args, strict=True)]
        if self.watch is not None:
            for before, after in zip(arguments, values, strict=True):
                self.watch.handed_on(before, after)
        return self._block(entry, values, {})

    def _block(self, block: Block, arguments: Sequence[Value], outer: Environment) -> tuple[Value, ...]:
        """Run a block and give the operands of its terminator."""
        # One flat environment per call: SSA values are unique, and a loop's body writes its own again in each trip.
        outer.update(zip(map(id, block.args), arguments, strict=True))
        for op in block.ops:
            operands = [outer[id(operand)] for operand in op.operands]
            if op.__class__ in _TERMINATORS:
                return tuple(operands)
            self.executed[op.name] = self.executed.get(op.name, 0) + 1
            outer.update(zip(map(id, op.results), self.op(op, operands, outer), strict=True))
        return ()

    def op(self, op: Operation, operands: Sequence[Value], environment: Environment) -> Sequence[Value]:
        """What an op gives. environment: the values around it, for its regions. Raises CheckFailed, with the place."""
        results = self._results(op, operands, environment)
        if self.watch is not None and not op.regions and not isinstance(op, func.CallOp):
            self.watch.ran(op, operands, results)
        return results

    def _results(self, op: Operation, operands: Sequence[Value], environment: Environment) -> Sequence[Value]:
        if isinstance(op, NdOp):  # nearly all are
            try:
                results = op.reference(*operands)
            except CheckFailed as failed:
                failed.location = types.from_location(op.location)
                raise
            results = results if isinstance(results, tuple) else (results,) if op.results else ()
            return [_of_type(value, result.type) for value, result in zip(results, op.results, strict=True)]
        match op:
            case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                return self._regions(op, operands, environment)
            case func.CallOp():
                callee = SymbolTable.lookup_symbol(self.module, op.callee)
                assert isinstance(callee, func.FuncOp)
                return self._call(op, callee, operands)
            case arith.ConstantOp():
                return [_constant(op.value, op.result.type)]
            case arith.CmpiOp():
                return [np.bool_(_COMPARISONS[op.predicate.value.data](*operands))]
            case _ if type(op) in _ARITH:
                return [_of_type(_ARITH[type(op)](*operands), op.results[0].type)]
            case _:
                raise NotImplementedError(f"the evaluator does not know {op.name}")

    def _call(self, op: func.CallOp, callee: func.FuncOp, operands: Sequence[Value]) -> Sequence[Value]:
        if self.watch is None or self.watch.enters(callee):
            return self.call(callee, operands)
        results = Evaluator(self.module).call(callee, operands)
        own = [np.array(each)[()] for each in results]  # other objects than the operands, which may be among them
        self.watch.ran(op, operands, own)
        return own

    def _regions(
        self, op: scf.ForOp | scf.WhileOp | scf.IfOp, operands: Sequence[Value], environment: Environment
    ) -> Sequence[Value]:
        watch = self.watch
        if watch is None:
            return run_regions(op, operands, lambda block, arguments: self._block(block, arguments, environment))

        def run_watched(block: Block, arguments: Sequence[Value]) -> Sequence[Value]:
            watch.began(block)
            return self._block(block, arguments, environment)

        watch.entered(op)
        results = run_regions(op, operands, run_watched)
        watch.left()
        return results


def _constant(attribute: Attribute, type: Attribute) -> Value:
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return _of_type(attribute.value.data, type)
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return _of_type(np.array(attribute.get_values()).reshape(types.shape(type)), type)


def _of_type(value: Value, type: Attribute) -> Value:
    """The value in the dtype of an MLIR type, after a check that its shape is the type's."""
    element = types.element_type(type)
    dtype = types.to_dtype(element)
    if not types.is_tensor(type):
        return dtype.type(value)
    array = np.array(value, dtype)  # a copy, always
    sizes = types.shape(type)
    fits = array.ndim == len(sizes) and all(want in (-1, have) for want, have in zip(sizes, array.shape, strict=True))
    if not fits:
        raise TypeError(f"a value of shape {array.shape} for {type}")
    return array
