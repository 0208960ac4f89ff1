"""Bufferized functions, in memory with real aliasing, compute the same as the functions on tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bufferize_programs import FILES, FUNCTIONS, only
from compare_buffers import bufferize, bufferized, check, check_module, count, parse
from random_tensors import ARGUMENTS, RandomFunction
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.ir import Attribute

from mlirad.dialect.core.types import to_dtype


def random_args(seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    arrays = [random.integers(-9, 9, shape) for shape in ARGUMENTS]
    return [*arrays, np.int64(random.integers(0, 9)), np.int64(random.integers(0, 4))]


def check_random(seed: int) -> None:
    machine = check(RandomFunction(seed).text, random_args(seed), seed)
    assert machine.unplaced == 0, "a buffer of static size outside the arena: its loop takes new memory in each trip"


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 10):
        check_random(seed)


def test_memory_borrowed_from_an_array_is_not_reused() -> None:
    """A fill took the memory of a value that had been computed in a slice of a returned array."""
    check_random(2326)


@pytest.mark.full
@pytest.mark.parametrize("first", range(200, 5000, 100))
def test_many_random_programs(first: int) -> None:
    for seed in range(first, first + 100):
        check_random(seed)


def argument(type: Attribute, random: np.random.Generator) -> Any:
    """A value that is in range as an index or a trip count, if it is an integer."""
    if isinstance(type, TensorType):
        shape = [40 if size < 0 else size for size in type.get_shape()]
        return random.integers(-9, 9, shape).astype(to_dtype(type.get_element_type()))
    if isinstance(type, IndexType | IntegerType):
        return np.int64(3) if isinstance(type, IndexType) or type.width.data > 1 else np.bool_(random.integers(2))
    return to_dtype(type).type(random.integers(-9, 9))


@pytest.mark.parametrize(("path", "name"), FUNCTIONS, ids=lambda value: getattr(value, "stem", value))
def test_filecheck_programs_compute_the_same(path: Path, name: str) -> None:
    module = only(parse(path.read_text()), name)
    function = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration)
    for seed in range(4):
        random = np.random.default_rng(seed)
        check_module(module, [argument(arg.type, random) for arg in function.args], seed)


LOOP = "  %c0 = arith.constant 0 : i64\n  %c1 = arith.constant 1 : i64\n  %i0 = arith.constant 0 : index\n"
V = "tensor<4xi64>"
DOUBLE = (
    "linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],"
    ' iterator_types = ["parallel"]}}'
    " ins({0} : tensor<4xi64>) outs({1} : tensor<4xi64>) {{\n^bb0(%e: i64, %o: i64):\n"
    "  %s = arith.addi %e, %e : i64\n  linalg.yield %s : i64\n}} -> tensor<4xi64>"
)


def program(body: str, results: str, *, written: str = "", number: int = 1) -> str:
    """A function of two arrays and a number; `written`: the names of arguments, tied to the first results in order."""
    args = [
        f"%{name}: {V}" + (f" {{mlirad.written = {written.index(name)} : i64}}" if name in written else "")
        for name in "ab"
    ]
    types = ", ".join([V] * number)
    head = f"func.func public @f({', '.join(args)}, %n: i64) -> ({types}) {{\n{LOOP}"
    return f"{head}{body}\n  return {results} : {types}\n}}"


def both(text: str, copies: int | None = None) -> None:
    """It computes the same for 0 to 3 trips, with this number of copies in the text."""
    module = bufferized(text)
    if copies is not None:
        assert count(module, memref.CopyOp) == copies, str(module)
    for n in range(4):
        check(text, [np.arange(4), np.arange(10, 14), np.int64(n)], n)


def test_swapped_written_arguments() -> None:
    both(program("", "%b, %a", written="ab", number=2), copies=3)


def test_swapped_in_a_loop() -> None:
    body = (
        f"%r:2 = scf.for %q = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> ({V}, {V}) : i64 {{\n"
        f"  %z = tensor.insert %q into %x[%i0] : {V}\n  scf.yield %y, %z : {V}, {V}\n}}"
    )
    both(program(body, "%r#0, %r#1", written="ab", number=2), copies=3)
    both(program(body, "%r#1, %r#0", written="ab", number=2), copies=3)


def test_one_value_carried_twice() -> None:
    body = (
        f"%r:2 = scf.for %q = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> ({V}, {V}) : i64 {{\n"
        f"  %z = tensor.insert %q into %x[%i0] : {V}\n  scf.yield %z, %z : {V}, {V}\n}}"
    )
    both(program(body, "%r#0, %r#1", written="a", number=2))
    both(program(body, "%r#0, %r#1", number=2))


def test_start_read_after_the_loop() -> None:
    body = (
        f"%r = scf.for %q = %c0 to %n step %c1 iter_args(%x = %a) -> ({V}) : i64 {{\n"
        f"  %z = tensor.insert %q into %x[%i0] : {V}\n  scf.yield %z : {V}\n}}\n"
        f"%old = tensor.extract %a[%i0] : {V}\n%t = tensor.insert %old into %r[%i0] : {V}"
    )
    both(program(body, "%t", written="a"), copies=2)


def test_fresh_value_and_the_old_one() -> None:
    """The loop carries the new array and the array from which it was computed: three buffers are live."""
    body = (
        f"%r:2 = scf.for %q = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> ({V}, {V}) : i64 {{\n"
        f"  %m = tensor.empty() : {V}\n  %z = {DOUBLE.format('%x', '%m')}\n  scf.yield %z, %x : {V}, {V}\n}}"
    )
    text = program(body, "%r#0, %r#1", number=2)
    both(text, copies=4)
    assert count(bufferized(text), memref.CopyOp, in_loops=True) == 0
    assert count(bufferized(text), memref.AllocOp, in_loops=True) == 0


def test_nested_loops_that_make_it_anew() -> None:
    body = (
        f"%r = scf.for %p = %c0 to %n step %c1 iter_args(%x = %a) -> ({V}) : i64 {{\n"
        f"  %u = scf.for %q = %c0 to %n step %c1 iter_args(%y = %x) -> ({V}) : i64 {{\n"
        f"    %m = tensor.empty() : {V}\n"
        '    %z = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}'
        f" outs(%m : {V}) {{\n    ^bb0(%o: i64):\n"
        "      %k = linalg.index 0 : index\n      %c3 = arith.constant 3 : index\n"
        f"      %l = arith.subi %c3, %k : index\n      %e = tensor.extract %y[%l] : {V}\n      linalg.yield %e : i64\n"
        f"    }} -> {V}\n    scf.yield %z : {V}\n  }}\n"
        f"  %w = tensor.insert %p into %u[%i0] : {V}\n  scf.yield %w : {V}\n}}"
    )
    text = program(body, "%r")
    both(text)
    assert count(bufferized(text), memref.AllocOp, in_loops=True) == 0
    assert count(bufferized(text), memref.CopyOp, in_loops=True) == 0


def test_written_argument_ends_where_it_began() -> None:
    """The final contents were computed before the argument was last read."""
    body = (
        f"%m = tensor.empty() : {V}\n%z = {DOUBLE.format('%b', '%m')}\n"
        f"%old = tensor.extract %a[%i0] : {V}\n%t = tensor.insert %old into %z[%i0] : {V}"
    )
    both(program(body, "%t", written="a"))


def test_array_of_unknown_size_for_a_while() -> None:
    """A size that is dropped, written under, and known again: in place for an array of one's own, else one copy."""
    wide = "tensor<?xi64>"
    body = (
        f"%w = tensor.cast %a : {V} to {wide}\n%u = tensor.insert %n into %w[%i0] : {wide}\n"
        f"%r = tensor.cast %u : {wide} to {V}"
    )
    both(program(body, "%r", written="a"), copies=0)
    both(program(body, "%r"), copies=1)


def test_results_of_one_value() -> None:
    both(program("", "%a, %a, %b", number=3), copies=3)
    both(program("", "%a, %a", written="a", number=2), copies=1)


def calls_to_bufferize(statements: int) -> int:
    """How many Python functions are called for a program of so many statements, of all kinds that may look around."""
    body = "".join(
        f"%e{n} = tensor.extract %t{n}[%i0] : {V}\n%m{n} = tensor.empty() : {V}\n"
        f"%g{n} = {DOUBLE.format(f'%t{n}', f'%m{n}')}\n"
        f"%w{n} = tensor.extract_slice %g{n}[1] [2] [1] : {V} to tensor<2xi64>\n"
        f"%p{n} = arith.cmpi eq, %e{n}, %n : i64\n%h{n} = scf.if %p{n} -> ({V}) {{\n"
        f"  %f{n} = tensor.insert %e{n} into %g{n}[%i0] : {V}\n  scf.yield %f{n} : {V}\n}} else {{\n"
        f"  scf.yield %g{n} : {V}\n}}\n"
        f"%x{n} = tensor.insert_slice %w{n} into %h{n}[0] [2] [1] : tensor<2xi64> into {V}\n"
        f"%t{n + 1} = scf.for %q{n} = %c0 to %n step %c1 iter_args(%y{n} = %x{n}) -> ({V}) : i64 {{\n"
        f"  %k{n} = tensor.empty() : {V}\n  %z{n} = {DOUBLE.format('%a', f'%k{n}')}\n  scf.yield %z{n} : {V}\n}}\n"
        for n in range(statements)
    )
    module = parse(program(body.replace("%t0", "%b"), f"%t{statements}"))
    calls = 0

    def counting(frame: Any, event: str, value: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counting)
    try:
        bufferize(module, is_verified=False)
    finally:
        sys.setprofile(None)
    return calls


def test_work_grows_linearly() -> None:
    calls_to_bufferize(2)
    few, many = calls_to_bufferize(20), calls_to_bufferize(80)
    assert many < 4.4 * few


def test_every_random_program_is_mlir(mlir_opt: Callable[..., str]) -> None:
    """MLIR's own verifier accepts the text of both passes."""
    texts = [str(bufferize(parse(RandomFunction(seed).text))) for seed in range(300, 312)]
    texts += [str(bufferize(parse(path.read_text()))) for path in FILES]
    mlir_opt("\n// -----\n".join(texts), "--split-input-file")
