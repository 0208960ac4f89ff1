"""Turns tensors into memrefs, in place wherever a tensor's last use allows it.

Reads: stage `linalg` (func, scf, arith, math, tensor and linalg on tensors). Writes: stage `bufferized`, the same on
memrefs. Leaves: no tensor type. Results of static shape are in arguments of their own (`mlirad.result`), or in the
written argument whose final contents they are (`mlirad.written`; a `mlirad.donated` argument becomes a written one if
that needs no copy).

The steps, one file each: tensors get empty memory (prepare_tensors); an op that overwrites moves or copies its operand
(last_use); slices are computed in place (borrow_slices); elementwise ops overwrite dead operands (reuse_buffers); loops
alternate between buffers (spare_buffers); results are computed in the caller's memory (place_results). After each step
the IR is valid on tensors. The last step (bufferize_ops) replaces each op by its memref counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.call_graph import DONATED, WRITTEN, functions_of, numbers_on
from mlirad.analysis.loops import terminator
from mlirad.analysis.memory import NATIVE
from mlirad.lowering.tensor_memory import is_static
from mlirad.lowering.to_buffers.borrow_slices import borrow_slices, delay_insertions
from mlirad.lowering.to_buffers.buffer_webs import Webs
from mlirad.lowering.to_buffers.bufferize_ops import GlobalConstants, ToMemRefs
from mlirad.lowering.to_buffers.last_use import LastUses
from mlirad.lowering.to_buffers.place_results import Destination, place_results, set_argument_attribute
from mlirad.lowering.to_buffers.prepare_tensors import Convention, convention, prepare_tensors
from mlirad.lowering.to_buffers.reuse_buffers import reuse_buffers
from mlirad.lowering.to_buffers.spare_buffers import carry_spare_buffers
from mlirad.lowering.to_buffers.strided import identity


@dataclass(frozen=True)
class Bufferize(ModulePass):
    """Turn tensors into memrefs. Here the first write copies the argument; the second is in place.

    Before:

        func.func @f(%x: tensor<4xf64>, %v: f64, %i: index, %j: index) -> tensor<4xf64> {
          %a = tensor.insert %v into %x[%i] : tensor<4xf64>
          %y = tensor.insert %v into %a[%j] : tensor<4xf64>
          func.return %y : tensor<4xf64>
        }

    After `mlirad-bufferize`:

        func.func @f(%x: memref<4xf64>, %v: f64, %i: index, %j: index, %a: memref<4xf64> {mlirad.result = 0 : i64}) {
          "memref.copy"(%x, %a) : (memref<4xf64>, memref<4xf64>) -> ()
          memref.store %v, %a[%i] : memref<4xf64>
          memref.store %v, %a[%j] : memref<4xf64>
          func.return
        }
    """

    name = "mlirad-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = GlobalConstants(op)
        functions = [function for function in op.body.block.ops if isinstance(function, func.FuncOp)]
        defined = {name: convention(function) for name, function in functions_of(op).items()}
        for function in functions:
            if function.is_declaration:
                inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
                is_native = NATIVE in function.attributes
                returned = [each for each in outputs if not (is_native and isinstance(each, TensorType))]
                function.function_type = FunctionType.from_lists(_memrefs(inputs), _memrefs(returned))
            else:
                bufferize_function(function, constants, defined)


def bufferize_function(function: func.FuncOp, constants: GlobalConstants, defined: Mapping[str, Convention]) -> None:
    if noted(function, DONATED):
        take_donations(function, defined)
    entry = function.body.block
    written = noted(function, WRITTEN)
    borrowed, destinations = assign_memory(function, written, defined)
    end = terminator(entry)
    tied = set(written.values())
    returned = [
        number
        for number, value in enumerate(end.operands)
        if not isinstance(value.type, TensorType) or (number not in tied and not is_static(value.type))
    ]
    ToMemRefs(constants, borrowed, destinations).walk(entry)
    end.operands = [end.operands[number] for number in returned]
    function.function_type = FunctionType.from_lists(
        [arg.type for arg in entry.args], [value.type for value in end.operands]
    )


def assign_memory(
    function: func.FuncOp, written: dict[SSAValue, int], defined: Mapping[str, Convention]
) -> tuple[set[Operation], list[Destination]]:
    """Decide which tensors share memory. Returns the slices that are computed in place, and the results to copy.

    A result that the caller receives separately is removed from `written`.
    """
    entry = function.body.block
    prepare_tensors(entry, defined)
    delay_insertions(entry)
    moves = LastUses(function, written)
    webs = Webs(entry)
    borrowed = borrow_slices(webs)
    borrowing = {value for values in borrowed.values() for value in values}
    reuse_buffers(moves.reusable[::-1], webs, written, borrowing)
    carry_spare_buffers(webs)
    if function.sym_visibility is not None and function.sym_visibility.data == "private":
        # An array that may have grown is returned, although it was an argument.
        for argument in [each for each in written if not is_static(each.type)]:
            del written[argument]
    return set(borrowed), place_results(function, webs, written)


def take_donations(function: func.FuncOp, defined: Mapping[str, Convention]) -> None:
    """Turn donated arguments into written ones if their results can be computed in them.

    The others are left unchanged: copying a result into them would save no memory. This is tried on a copy of the
    function.
    """
    trial = function.clone()
    donated = noted(trial, DONATED)
    _, copied = assign_memory(trial, {**noted(trial, WRITTEN), **donated}, defined)
    refused = {copy.number for copy in copied}
    for argument, number in noted(function, DONATED).items():
        assert isinstance(argument, BlockArgument)
        if number not in refused:
            set_argument_attribute(function, argument.index, WRITTEN, number)


def noted(function: func.FuncOp, name: str) -> dict[SSAValue, int]:
    """The arguments with an attribute, a number of a result. WRITTEN: the argument's final contents are that result."""
    return {function.body.block.args[index]: number for index, number in numbers_on(function, name).items()}


def _memrefs(types: Sequence[Attribute]) -> list[Attribute]:
    return [identity(type) if isinstance(type, TensorType) else type for type in types]
