"""The Python-level call: what it accepts and refuses, the ownership of memory, and several threads at once."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mlirad.contract.call_recipes import PassedValue

pytestmark = pytest.mark.usefixtures("young_heap")

_AXPY = """
func.func public @axpy(%a: f64, %x: memref<?xf64>, %y: memref<?xf64> {mlirad.written = 0 : i64},
    %flag: memref<2xi1> {mlirad.result = 2 : i64}) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %u = memref.load %x[%i] : memref<?xf64>
    %v = memref.load %y[%i] : memref<?xf64>
    %p = arith.mulf %a, %u : f64
    %s = arith.addf %p, %v : f64
    memref.store %s, %y[%i] : memref<?xf64>
  }
  %true = arith.constant true
  %false = arith.constant false
  memref.store %true, %flag[%c0] : memref<2xi1>
  memref.store %false, %flag[%c1] : memref<2xi1>
  %m = arith.index_cast %n : index to i64
  func.return %m : i64
}"""


def test_results_come_in_order_and_written_arguments_in_place(load) -> None:
    artifact = load(_AXPY)
    x, y = np.arange(5.0), np.ones(5)
    written, count, flag = artifact.invoke("axpy", [2, x, y])
    assert written is y
    np.testing.assert_array_equal(y, 2 * np.arange(5.0) + 1)
    assert count == 5
    assert type(count) is int
    np.testing.assert_array_equal(flag, [True, False])
    assert flag.dtype == np.bool_


def test_the_signature_can_be_read(load) -> None:
    artifact = load(_AXPY)
    entry = artifact.entries["axpy"]
    assert entry.arguments == (
        PassedValue("f64", None),
        PassedValue("f64", (-1,)),
        PassedValue("f64", (-1,), result=0, is_written=True),
        PassedValue("i1", (2,), result=2, is_output=True),
    )
    assert entry.returns == (PassedValue("i64", None, result=1),)
    assert [passed.width for passed in entry.arguments] == [1, 2, 2, 1]
    assert entry.result_count == 3


@pytest.mark.parametrize(
    ("values", "exception", "message"),
    [
        ([1.0, np.zeros(3)], TypeError, "takes 3 arguments, not 2"),
        ([1.0, [1.0, 2.0], np.zeros(2)], TypeError, "argument 1 must be an array, not list"),
        (
            [1.0, np.zeros(3, np.float32), np.zeros(3)],
            TypeError,
            "argument 1 must be an array of float64, not of float32",
        ),
        ([1.0, np.zeros(3, ">f8"), np.zeros(3)], TypeError, "argument 1 must be an array of float64"),
        ([1.0, np.zeros((3, 1)), np.zeros(3)], ValueError, "argument 1 has the shape"),
        ([1.0, np.zeros(6)[::2], np.zeros(3)], ValueError, "C-contiguous"),
        ([1.0, np.zeros(25, np.uint8)[1:].view(np.float64), np.zeros(3)], ValueError, "aligned"),
        (["1.5x", np.zeros(3), np.zeros(3)], ValueError, "could not convert"),
    ],
)
def test_what_does_not_fit_never_reaches_compiled_code(load, values, exception, message) -> None:
    artifact = load(_AXPY)
    with pytest.raises(exception, match=message):
        artifact.invoke("axpy", values)


def test_a_read_only_array_is_not_written(load) -> None:
    y = np.ones(3)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        load(_AXPY).invoke("axpy", [2.0, np.ones(3), y])
    np.testing.assert_array_equal(y, 1)


def test_static_shapes_are_checked(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<2x3xf64>) -> f64 {
        %c1 = arith.constant 1 : index
        %v = memref.load %x[%c1, %c1] : memref<2x3xf64>
        func.return %v : f64
      }""")
    assert artifact.invoke("f", [np.arange(6.0).reshape(2, 3)]) == (4.0,)
    for shape in ((3, 2), (2, 2), (2,), (2, 3, 1), ()):
        with pytest.raises(ValueError, match="argument 0 has the shape"):
            artifact.invoke("f", [np.zeros(shape)])


def test_scalars_and_unsigned_integers(load) -> None:
    """Unsigned integers are passed as the signed bits; the result's dtype says how to read them."""
    artifact = load("""
      func.func public @f(%a: i8, %b: i64, %c: f32, %d: i1, %r: memref<1xi8> {mlirad.result = 0 : i64})
          -> (i8, i64, f32, i1) {
        %c0 = arith.constant 0 : index
        memref.store %a, %r[%c0] : memref<1xi8>
        func.return %a, %b, %c, %d : i8, i64, f32, i1
      }""")
    values = [np.uint8(200), 2**64 - 1, np.float32(0.1), np.True_]
    r, a, b, c, d = artifact.invoke("f", values)
    assert (r[0], a, b, c, d) == (-56, -56, -1, float(np.float32(0.1)), True)
    unsigned = [np.dtype(t) for t in (np.uint8, np.uint8, np.uint64)]
    r, a, b, c, d = artifact.invoke("f", values, [*unsigned, None, None])
    assert (r[0], r.dtype, a, b) == (200, np.uint8, 200, 2**64 - 1)
    assert type(d) is bool
    for bad, exception in ((256, OverflowError), (-129, OverflowError), (1.5, TypeError)):
        with pytest.raises(exception):
            artifact.invoke("f", [bad, *values[1:]])


def test_unsigned_arrays_are_taken_as_their_signed_bits(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<2xi32> {mlirad.written = 0 : i64}) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %v = memref.load %x[%c0] : memref<2xi32>
        memref.store %v, %x[%c1] : memref<2xi32>
        func.return
      }""")
    x = np.array([2**32 - 1, 0], np.uint32)
    artifact.invoke("f", [x])
    assert x[1] == 2**32 - 1
    with pytest.raises(TypeError):
        artifact.invoke("f", [np.zeros(2, np.float32)])


_SLOW = """
func.func private @mlirad_check(i1, i64, i64)
func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
func.func public @f(%x: memref<64xf64>, %trips: i64, %bad: i64, %r: memref<64xf64> {mlirad.result = 0 : i64})
    -> memref<?xf64> attributes {mlirad.arena_size = 512 : i64} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i64 = arith.constant 64 : index
  %t = memref.alloc() {mlirad.offset = 0 : i64} : memref<64xf64>
  %tape = memref.alloc(%i1) : memref<?xf64>
  "memref.copy"(%x, %t) : (memref<64xf64>, memref<64xf64>) -> ()
  %end = scf.for %k = %c0 to %trips step %c1 iter_args(%p = %tape) -> (memref<?xf64>) : i64 {
    %ok = arith.cmpi ne, %k, %bad : i64
    func.call @mlirad_check(%ok, %k, %bad) {mlirad.error = "ValueError", mlirad.message = "{0}"} : (i1, i64, i64) -> ()
    scf.for %i = %i0 to %i64 step %i1 {
      %u = memref.load %x[%i] : memref<64xf64>
      %v = memref.load %t[%i] : memref<64xf64>
      %w = arith.addf %u, %v : f64
      memref.store %w, %t[%i] : memref<64xf64>
    }
    %at = arith.index_cast %k : i64 to index
    %g = func.call @mlirad_grow_f64(%p, %at) : (memref<?xf64>, index) -> memref<?xf64>
    %last = memref.load %t[%i1] : memref<64xf64>
    memref.store %last, %g[%at] : memref<?xf64>
    scf.yield %g : memref<?xf64>
  }
  "memref.copy"(%t, %r) : (memref<64xf64>, memref<64xf64>) -> ()
  func.return %end : memref<?xf64>
}"""


def test_threads_call_one_artifact_at_once(load) -> None:
    """Each call has its own arena, tape and error arguments."""
    artifact = load(_SLOW)

    def call(number: int) -> bool:
        x = np.full(64, float(number))
        trips = 2000 + number
        if number % 3 == 0:
            with pytest.raises(ValueError, match=rf"^{number}$"):
                artifact.invoke("f", [x, trips, number])
            return True
        result, tape = artifact.invoke("f", [x, trips, -1])
        expected = number * np.arange(2.0, trips + 2)
        return bool((result == number * (trips + 1)).all() and (tape[:trips] == expected).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


def test_the_interpreter_runs_while_compiled_code_does(load) -> None:
    artifact = load("""
      func.func public @sum(%n: i64, %x: f64) -> f64 {
        %zero = arith.constant 0 : i64
        %one = arith.constant 1 : i64
        %r = scf.for %k = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
          %t = arith.addf %s, %x : f64
          scf.yield %t : f64
        }
        func.return %r : f64
      }""")
    results: list[float] = []
    n = 300_000_000  # additions one after the other: some tenths of a second
    thread = threading.Thread(target=lambda: results.extend(artifact.invoke("sum", [n, 1.0])))
    thread.start()
    ticks = 0
    while thread.is_alive():
        ticks += 1
    assert results == [n + 1.0]
    assert ticks > 100


def test_code_lives_as_long_as_its_entry_points(load) -> None:
    artifact = load(_AXPY)
    library = weakref.ref(artifact._library)
    entry = artifact.entry_point("axpy")
    del artifact
    gc.collect()
    assert library() is not None
    y = np.ones(2)
    entry([1.0, np.ones(2), y])
    np.testing.assert_array_equal(y, 2)
    del entry
    assert library() is None


def test_a_result_outlives_its_artifact(load) -> None:
    artifact = load(_SLOW)
    _, tape = artifact.invoke("f", [np.ones(64), 100, -1])
    del artifact
    gc.collect()
    np.testing.assert_array_equal(tape[:100], np.arange(2.0, 102.0))
