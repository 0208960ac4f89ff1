"""Control flow at stage `loops`, run natively and compared with the same thing in Python."""

from __future__ import annotations

import numpy as np
import pytest


def test_nested_loops(load) -> None:
    artifact = load("""
      func.func public @matmul(%a: memref<3x4xf64>, %b: memref<4x5xf64>,
          %r: memref<3x5xf64> {mlirad.result = 0 : i64}) {
        %zero = arith.constant 0.0 : f64
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %c5 = arith.constant 5 : index
        scf.for %i = %c0 to %c3 step %c1 {
          scf.for %j = %c0 to %c5 step %c1 {
            %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (f64) {
              %x = memref.load %a[%i, %k] : memref<3x4xf64>
              %y = memref.load %b[%k, %j] : memref<4x5xf64>
              %p = arith.mulf %x, %y : f64
              %t = arith.addf %s, %p : f64
              scf.yield %t : f64
            }
            memref.store %sum, %r[%i, %j] : memref<3x5xf64>
          }
        }
        func.return
      }""")
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    (result,) = artifact.invoke("matmul", [a, b])
    np.testing.assert_allclose(result, a @ b, rtol=1e-15)


@pytest.mark.parametrize("n", [-3, 0, 1, 7])
def test_loop_over_i64_runs_n_times(load, n) -> None:
    artifact = load("""
      func.func public @f(%n: i64) -> (i64, i64) {
        %c0 = arith.constant 0 : i64
        %c1 = arith.constant 1 : i64
        %s, %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %l = %n) -> (i64, i64) : i64 {
          %t = arith.addi %s, %i : i64
          scf.yield %t, %i : i64, i64
        }
        func.return %s, %last : i64, i64
      }""")
    assert artifact.invoke("f", [n]) == (sum(range(n)), n - 1 if n > 0 else n)


def test_loop_with_a_step(load) -> None:
    artifact = load("""
      func.func public @f(%n: index) -> index {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %s = scf.for %i = %c0 to %n step %c3 iter_args(%s = %c0) -> (index) {
          %t = arith.addi %s, %i : index
          scf.yield %t : index
        }
        func.return %s : index
      }""")
    assert [artifact.invoke("f", [n])[0] for n in range(12)] == [sum(range(0, n, 3)) for n in range(12)]


@pytest.mark.parametrize("n", [1, 6, 27, 97])
def test_while_with_an_if_inside(load, n) -> None:
    """The Collatz sequence: a data-dependent trip count."""
    artifact = load("""
      func.func public @collatz(%n: i64) -> (i64, i64) {
        %c0 = arith.constant 0 : i64
        %c1 = arith.constant 1 : i64
        %c2 = arith.constant 2 : i64
        %c3 = arith.constant 3 : i64
        %r:3 = scf.while (%x = %n, %k = %c0, %top = %n) : (i64, i64, i64) -> (i64, i64, i64) {
          %go = arith.cmpi ne, %x, %c1 : i64
          scf.condition(%go) %x, %k, %top : i64, i64, i64
        } do {
        ^bb0(%x: i64, %k: i64, %top: i64):
          %bit = arith.andi %x, %c1 : i64
          %odd = arith.cmpi eq, %bit, %c1 : i64
          %y = scf.if %odd -> (i64) {
            %t = arith.muli %x, %c3 : i64
            %u = arith.addi %t, %c1 : i64
            scf.yield %u : i64
          } else {
            %t = arith.divsi %x, %c2 : i64
            scf.yield %t : i64
          }
          %k1 = arith.addi %k, %c1 : i64
          %m = arith.maxsi %top, %y : i64
          scf.yield %y, %k1, %m : i64, i64, i64
        }
        func.return %r#1, %r#2 : i64, i64
      }""")
    x, steps, top = n, 0, n
    while x != 1:
        x = 3 * x + 1 if x % 2 else x // 2
        steps, top = steps + 1, max(top, x)
    assert artifact.invoke("collatz", [n]) == (steps, top)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_swapped_buffers_are_carried(load, n) -> None:
    """a, b = b + 1, a: two buffers in the arena; their pointers change places in each trip."""
    artifact = load("""
      func.func public @f(%x: memref<4xf64>, %n: index, %r: memref<4xf64> {mlirad.result = 0 : i64})
          attributes {mlirad.arena_size = 128 : i64} {
        %one = arith.constant 1.0 : f64
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<4xf64>
        %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<4xf64>
        "memref.copy"(%x, %a) : (memref<4xf64>, memref<4xf64>) -> ()
        "memref.copy"(%x, %b) : (memref<4xf64>, memref<4xf64>) -> ()
        %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b) -> (memref<4xf64>, memref<4xf64>) {
          scf.for %j = %c0 to %c4 step %c1 {
            %v = memref.load %t[%j] : memref<4xf64>
            %w = arith.addf %v, %one : f64
            memref.store %w, %t[%j] : memref<4xf64>
          }
          scf.yield %t, %s : memref<4xf64>, memref<4xf64>
        }
        "memref.copy"(%p, %r) : (memref<4xf64>, memref<4xf64>) -> ()
        func.return
      }""")
    x = np.arange(4.0)
    a, b = x.copy(), x.copy()
    for _ in range(n):
        a, b = b + 1, a
    np.testing.assert_array_equal(artifact.invoke("f", [x, n])[0], a)


def test_if_chooses_between_arrays_and_without_else(load) -> None:
    artifact = load("""
      func.func public @f(%c: i1, %x: memref<?xf64>, %y: memref<?xf64>, %w: memref<1xf64> {mlirad.written = 0 : i64})
          -> (f64, i64) {
        %c0 = arith.constant 0 : index
        %p = scf.if %c -> (memref<?xf64>) {
          scf.yield %x : memref<?xf64>
        } else {
          scf.yield %y : memref<?xf64>
        }
        %v = memref.load %p[%c0] : memref<?xf64>
        scf.if %c {
          memref.store %v, %w[%c0] : memref<1xf64>
        }
        %q = arith.select %c, %y, %x : memref<?xf64>
        %n = memref.dim %q, %c0 : memref<?xf64>
        %m = arith.index_cast %n : index to i64
        func.return %v, %m : f64, i64
      }""")
    x, y = np.array([3.0]), np.array([5.0, 6.0])
    for condition, expected in ((True, (3.0, 2)), (False, (5.0, 1))):
        w = np.zeros(1)
        out, *rest = artifact.invoke("f", [condition, x, y, w])
        assert out is w
        assert tuple(rest) == expected
        assert w[0] == (3.0 if condition else 0.0)


def test_ten_thousand_ops_in_a_row(load) -> None:
    n = 10_000
    lines = [f"%v{k + 1} = arith.addf %v{k}, %x : f64" for k in range(n)]
    body = "\n".join(lines)
    artifact = load(f"func.func public @f(%v0: f64, %x: f64) -> f64 {{\n{body}\nfunc.return %v{n} : f64\n}}")
    assert artifact.invoke("f", [0.5, 1.0]) == (n + 0.5,)


def test_ifs_nested_deeper_than_python_recurses(parse) -> None:
    """Code after an early exit goes into the other side of its `if`: many exits nest deeply."""
    from xdsl.dialects import arith, func, scf
    from xdsl.dialects.builtin import FunctionType, ModuleOp, i1, i64
    from xdsl.ir import Block, Region

    from mlirad.targets.cpu import CpuTarget
    from mlirad.targets.cpu.emit.module import emit_llvm

    depth = 400
    block = Block(arg_types=[i64, i1])
    function = func.FuncOp("f", FunctionType.from_lists([i64, i1], [i64]), Region(block), visibility="public")
    x, condition = block.args
    inner = Block([scf.YieldOp(x)])
    for _ in range(depth):
        otherwise = Block([scf.YieldOp(x)])
        branch = scf.IfOp(condition, [i64], [inner], [otherwise])
        one = arith.ConstantOp.from_int_and_width(1, 64)
        total = arith.AddiOp(branch.output[0], one)
        inner = Block([branch, one, total, scf.YieldOp(total)])
    last = inner.last_op
    assert last is not None
    value = last.operands[0]
    inner.erase_op(last)
    for op in list(inner.ops):
        op.detach()
        block.add_op(op)
    block.add_op(func.ReturnOp(value))
    target = CpuTarget()
    artifact = target.load(target.compile(emit_llvm(ModuleOp([function]))))
    assert artifact.invoke("f", [5, True]) == (5 + depth,)
    assert artifact.invoke("f", [5, False]) == (6,)
