"""Failing checks, also inside nested loops: the right exception, message and location, and nothing left behind."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from mlirad.errors import TargetError

_SOURCE = "def kernel(a, n):\n    for i in range(n):\n        total += a[i]\n"

_NESTED = """
func.func private @mlirad_check(i1, i64, i64)
func.func public @f(%a: memref<4xf64> {mlirad.written = 0 : i64}, %n: index, %divisor: i64) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %one = arith.constant 1.0 : f64
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %k = arith.index_cast %j : index to i64
      %ok = arith.cmpi slt, %k, %four : i64
      func.call @mlirad_check(%ok, %k, %four) {mlirad.error = "IndexError",
        mlirad.message = "index {0} is out of bounds for axis 0 with size {1}"}
        : (i1, i64, i64) -> () loc("kernel.py":3:18)
      %v = memref.load %a[%j] : memref<4xf64>
      %w = arith.addf %v, %one : f64
      memref.store %w, %a[%j] : memref<4xf64>
    }
  }
  %valid = arith.cmpi ne, %divisor, %zero : i64
  func.call @mlirad_check(%valid, %zero, %zero) {mlirad.error = "ZeroDivisionError",
    mlirad.message = "integer division or modulo by zero"} : (i1, i64, i64) -> () loc("kernel.py":2:5)
  %q = arith.divsi %four, %divisor : i64
  func.return %q : i64
}"""


def test_success_and_both_failures(load, monkeypatch) -> None:
    entry = (len(_SOURCE), None, _SOURCE.splitlines(keepends=True), "kernel.py")
    monkeypatch.setitem(linecache.cache, "kernel.py", entry)
    artifact = load(_NESTED)
    a = np.zeros(4)
    assert artifact.invoke("f", [a, 4, 2])[1] == 2
    np.testing.assert_array_equal(a, 2)
    with pytest.raises(IndexError) as caught:
        artifact.invoke("f", [a, 7, 2])
    message = str(caught.value)
    assert message.startswith("kernel.py:3:18: index 4 is out of bounds for axis 0 with size 4\n")
    line, caret = message.splitlines()[1:]
    assert line.strip() == "total += a[i]"
    assert line[caret.index("^")] == "a"
    # Writes before the failure stay, as in NumPy.
    np.testing.assert_array_equal(a, 3)
    with pytest.raises(ZeroDivisionError, match=r"^kernel\.py:2:5: integer division or modulo by zero"):
        artifact.invoke("f", [a, 0, 0])
    assert artifact.invoke("f", [a, 0, -3])[1] == -1


@pytest.mark.parametrize(
    "exception", [IndexError, ValueError, UnboundLocalError, OverflowError, FloatingPointError, RecursionError]
)
def test_exceptions_by_name(load, exception) -> None:
    artifact = load(f"""
      func.func private @mlirad_check(i1, i64, i64)
      func.func public @f(%ok: i1) {{
        %z = arith.constant -3 : i64
        func.call @mlirad_check(%ok, %z, %z) {{mlirad.error = "{exception.__name__}", mlirad.message = "no {{0}}"}}
          : (i1, i64, i64) -> ()
        func.return
      }}""")
    assert artifact.invoke("f", [True]) == ()
    with pytest.raises(exception, match=r"^no -3$"):
        artifact.invoke("f", [False])


def test_a_message_may_hold_braces(load) -> None:
    artifact = load("""
      func.func private @mlirad_check(i1, i64, i64)
      func.func public @f(%k: i64) {
        %no = arith.constant false
        func.call @mlirad_check(%no, %k, %k) {mlirad.error = "ValueError", mlirad.message = "{x} {} {0} {"}
          : (i1, i64, i64) -> ()
        func.return
      }""")
    with pytest.raises(ValueError) as caught:
        artifact.invoke("f", [5])
    assert str(caught.value) == "{x} {} 5 {"


def test_a_failed_call_gives_its_context_back(load) -> None:
    """Even while its exception, and so its traceback, is alive."""
    artifact = load(_NESTED)
    with pytest.raises(IndexError) as caught:
        artifact.invoke("f", [np.zeros(4), 7, 2])
    assert len(artifact.entry_point("f")._contexts) == 1
    assert caught.value.location.lineno == 3


def test_a_check_without_its_message_is_refused(emit) -> None:
    with pytest.raises(TargetError, match=r"^user\.py:3:7: .*mlirad\.error"):
        emit("""
          func.func private @mlirad_check(i1, i64, i64)
          func.func public @f(%ok: i1, %k: i64) {
            func.call @mlirad_check(%ok, %k, %k) : (i1, i64, i64) -> () loc("user.py":3:7)
            func.return
          }""")


def test_check_inside_a_while(load) -> None:
    """The loop is left from its middle; its carries do not matter any more."""
    artifact = load("""
      func.func private @mlirad_check(i1, i64, i64)
      func.func public @f(%limit: i64) -> i64 {
        %c0 = arith.constant 0 : i64
        %c1 = arith.constant 1 : i64
        %c100 = arith.constant 100 : i64
        %r = scf.while (%k = %c0) : (i64) -> (i64) {
          %go = arith.cmpi slt, %k, %c100 : i64
          scf.condition(%go) %k : i64
        } do {
        ^bb0(%k: i64):
          %ok = arith.cmpi ne, %k, %limit : i64
          func.call @mlirad_check(%ok, %k, %limit) {mlirad.error = "ValueError", mlirad.message = "{0} {1}"}
            : (i1, i64, i64) -> ()
          %n = arith.addi %k, %c1 : i64
          scf.yield %n : i64
        }
        func.return %r : i64
      }""")
    assert artifact.invoke("f", [-1]) == (100,)
    with pytest.raises(ValueError, match=r"^63 63$"):
        artifact.invoke("f", [63])


_FACTORIAL = """
func.func private @mlirad_check(i1, i64, i64)
func.func private @product(%n: i64, %x: memref<4xf64>) -> (i64, f64) attributes {mlirad.arena_size = 64 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %mine = memref.alloc() {mlirad.offset = 0 : i64} : memref<1xf64>
  %f = arith.sitofp %n : i64 to f64
  memref.store %f, %mine[%c0] : memref<1xf64>
  %ok = arith.cmpi sge, %n, %zero : i64
  func.call @mlirad_check(%ok, %n, %n) {mlirad.error = "ValueError", mlirad.message = "{0} is negative"}
    : (i1, i64, i64) -> ()
  %stop = arith.cmpi eq, %n, %zero : i64
  %r, %s = scf.if %stop -> (i64, f64) {
    %v = memref.load %x[%c0] : memref<4xf64>
    scf.yield %c1, %v : i64, f64
  } else {
    %m = arith.subi %n, %c1 : i64
    %p, %q = func.call @product(%m, %x) : (i64, memref<4xf64>) -> (i64, f64)
    %t = arith.muli %p, %n : i64
    %kept = memref.load %mine[%c0] : memref<1xf64>
    %u = arith.addf %q, %kept : f64
    scf.yield %t, %u : i64, f64
  }
  func.return %r, %s : i64, f64
}
func.func public @f(%n: i64, %x: memref<4xf64>) -> (i64, f64) {
  %r, %s = func.call @product(%n, %x) : (i64, memref<4xf64>) -> (i64, f64)
  func.return %r, %s : i64, f64
}"""


def test_recursion_gives_each_call_its_own_arena(load) -> None:
    artifact = load(_FACTORIAL)
    x = np.full(4, 0.25)
    assert artifact.invoke("f", [10, x]) == (3628800, 55.25)
    with pytest.raises(ValueError, match=r"^-1 is negative$"):
        artifact.invoke("f", [-1, x])


def test_endless_recursion_raises(load) -> None:
    """The process does not crash, and the next call works."""
    artifact = load(_FACTORIAL)
    x = np.full(4, 0.25)
    with pytest.raises(RecursionError):
        artifact.invoke("f", [10**9, x])
    assert artifact.invoke("f", [3, x]) == (6, 6.25)


def test_unknown_functions_and_ops_are_refused_together(emit) -> None:
    with pytest.raises(TargetError, match="does not know the function @mlirad_unheard"):
        emit("""
          func.func private @mlirad_unheard() -> ()
          func.func public @f() {
            func.call @mlirad_unheard() : () -> ()
            func.return
          }""")
    with pytest.raises(TargetError) as caught:
        emit("""
          func.func public @f(%x: memref<4xf64>) -> index {
            %r = "memref.rank"(%x) : (memref<4xf64>) -> index loc("a.py":1:1)
            %p = "memref.extract_aligned_pointer_as_index"(%x) : (memref<4xf64>) -> index loc("a.py":2:1)
            func.return %r : index
          }""")
    assert "a.py:1:1" in str(caught.value)
    assert "a.py:2:1" in str(caught.value)
    assert "memref.rank" in str(caught.value)
