"""Reads: text of stage `linalg`. Writes: nothing. Leaves: a failure where bufferization changes what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from run_tensors import Machine, garbage
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, math, memref, scf, tensor
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from mlirad.dialect.core.types import to_dtype
from mlirad.lowering.to_buffers.bufferize import Bufferize
from mlirad.lowering.to_buffers.plan_arena import PlanArena
from mlirad.lowering.to_buffers.stagger_rows import StaggerRows
from mlirad.xdsl_support.verify import verify_dominance


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (arith.Arith, func.Func, linalg.Linalg, math.Math, memref.MemRef, scf.Scf, tensor.Tensor):
        context.load_dialect(dialect)
    context.load_dialect(builtin.Builtin)
    return Parser(context, text).parse_module()


def bufferized(text: str) -> ModuleOp:
    """The text at stage `bufferized`, its arena planned, verified."""
    return bufferize(parse(text))


def bufferize(module: ModuleOp, *, is_verified: bool = True) -> ModuleOp:
    Bufferize().apply(Context(), module)
    PlanArena().apply(Context(), module)
    if is_verified:
        module.verify()
        verify_dominance(module)
    return module


def staggered_loops(text: str, args: Sequence[Any], seed: int, *, parallel: bool) -> int:
    """Check that nests which run behind one another compute what they compute one after the other. Returns the number
    of loops around them; with parallel, of those over strips that threads share."""
    module = parse(text)
    expected = Machine(module, seed).run(*args)
    after = module.clone()
    for each in (Bufferize(), StaggerRows(parallel=parallel, work=1), PlanArena()):
        each.apply(Context(), after)
    after.verify()
    verify_dominance(after)
    actual, _ = run_bufferized(after, args, seed)
    for mine, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(mine, other, err_msg=f"seed {seed}")
    return count(after, scf.ParallelOp if parallel else scf.ForOp)


def argument_number(attributes: builtin.DictionaryAttr | None, name: str) -> int | None:
    number = attributes.data.get(name) if attributes is not None else None
    return number.value.data if isinstance(number, IntegerAttr) else None


def run_bufferized(
    module: ModuleOp, args: Sequence[Any], seed: int = 0, kind: type[Machine] = Machine
) -> tuple[list[Any], Machine]:
    """All results of the function, those in arguments included, and the machine that ran it."""
    machine = kind(module, seed)
    function = machine.function
    attributes = list(function.arg_attrs or [None] * len(function.args))
    results: dict[int, Any] = {}
    passed: list[Any] = []
    for number, (arg, given) in enumerate(zip(function.args, attributes, strict=True)):
        written, result = (argument_number(given, f"mlirad.{name}") for name in ("written", "result"))
        if result is not None:
            assert isinstance(arg.type, MemRefType)
            array = garbage(arg.type.get_shape(), to_dtype(arg.type.get_element_type()), machine.random)
            results[result] = array
        elif not isinstance(args[number], np.ndarray):
            array = args[number]
        else:
            array = args[number].copy()
            array.flags.writeable = written is not None
            if written is not None:
                results[written] = array
        passed.append(array)
    returned = iter(machine.run(*passed))
    count = len(results) + len(function.function_type.outputs)
    return [results[number] if number in results else next(returned) for number in range(count)], machine


def check(text: str, args: Sequence[Any], seed: int = 0) -> Machine:
    """That the bufferized function computes what the function on tensors does; gives the machine that ran it."""
    return check_module(parse(text), args, seed)


def check_module(module: ModuleOp, args: Sequence[Any], seed: int = 0) -> Machine:
    expected = Machine(module, seed).run(*args)
    actual, machine = run_bufferized(bufferize(module.clone()), args, seed)
    assert len(actual) == len(expected)
    for number, (mine, other) in enumerate(zip(actual, expected, strict=True)):
        np.testing.assert_array_equal(mine, other, err_msg=f"result {number}")
    return machine


def count(module: Operation, kind: type[Operation], *, in_loops: bool = False) -> int:
    """How many ops of a kind there are (inside loops only)."""
    found = [op for op in module.walk() if isinstance(op, kind)]
    return sum(not in_loops or is_in_loop(op) for op in found)


def is_in_loop(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ForOp | scf.WhileOp):
            return True
        parent = parent.parent_op()
    return False
