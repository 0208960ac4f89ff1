"""Explicit vectors, run natively: masked tails access nothing beyond the array, reductions, shuffles and the rest."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31])
@pytest.mark.parametrize(
    ("element", "dtype", "add"),
    [("f64", np.float64, "addf"), ("f32", np.float32, "addf"), ("i32", np.int32, "addi"), ("i8", np.int8, "addi")],
)
def test_masked_tail(load, element, dtype, add, n) -> None:
    """A main loop of 8 lanes and one masked step: guards before and after the data stay unchanged."""
    artifact = load(f"""
      func.func public @f(%x: memref<?x{element}>, %r: memref<?x{element}> {{mlirad.written = 0 : i64}}, %n: index) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %zero = arith.constant dense<{"0.0" if element[0] == "f" else "0"}> : vector<8x{element}>
        %rest = arith.remsi %n, %c8 : index
        %main = arith.subi %n, %rest : index
        scf.for %i = %c0 to %main step %c8 {{
          %j = arith.addi %i, %c1 : index
          %v = vector.load %x[%j] : memref<?x{element}>, vector<8x{element}>
          %w = arith.{add} %v, %v : vector<8x{element}>
          vector.store %w, %r[%j] : memref<?x{element}>, vector<8x{element}>
        }}
        %m = vector.create_mask %rest : vector<8xi1>
        %k = arith.addi %main, %c1 : index
        %v = vector.maskedload %x[%k], %m, %zero
          : memref<?x{element}>, vector<8xi1>, vector<8x{element}> into vector<8x{element}>
        %w = arith.{add} %v, %v : vector<8x{element}>
        vector.maskedstore %r[%k], %m, %w : memref<?x{element}>, vector<8xi1>, vector<8x{element}>
        func.return
      }}""")
    x = np.arange(n + 2).astype(dtype)
    r = np.full(n + 2, 99, dtype)
    artifact.invoke("f", [x, r, n])
    np.testing.assert_array_equal(r, np.concatenate([[99], 2 * x[1 : n + 1], [99]]))


def test_masked_lanes_do_not_touch_the_next_page(load) -> None:
    """Under a mask, unreadable memory is not read."""
    import ctypes
    import mmap

    artifact = load("""
      func.func public @f(%x: memref<3xf64>) -> f64 {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %zero = arith.constant dense<0.0> : vector<8xf64>
        %m = vector.create_mask %c3 : vector<8xi1>
        %v = vector.maskedload %x[%c0], %m, %zero : memref<3xf64>, vector<8xi1>, vector<8xf64> into vector<8xf64>
        %s = vector.reduction <add>, %v : vector<8xf64> into f64
        func.return %s : f64
      }""")
    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(-1, 2 * page) as memory:
        whole = np.frombuffer(memory, np.uint8)
        assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + page), page, 0) == 0
        x = whole[page - 24 : page].view(np.float64)
        x[:] = [1.0, 2.0, 4.0]
        assert artifact.invoke("f", [x]) == (7.0,)
        assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + page), page, 3) == 0
        del x, whole


_VALUES = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0, 2.5, 6.0])


@pytest.mark.parametrize(
    ("kind", "element", "reference"),
    [
        ("add", "f64", np.sum),
        ("mul", "f64", np.prod),
        ("maximumf", "f64", np.max),
        ("minimumf", "f64", np.min),
        ("maxnumf", "f32", np.max),
        ("minnumf", "f32", np.min),
        ("add", "i64", np.sum),
        ("mul", "i64", np.prod),
        ("maxsi", "i32", np.max),
        ("minsi", "i32", np.min),
        ("xor", "i64", np.bitwise_xor.reduce),
        ("and", "i64", np.bitwise_and.reduce),
        ("or", "i64", np.bitwise_or.reduce),
    ],
)
@pytest.mark.parametrize("has_start", [False, True])
def test_reductions(load, kind, element, reference, has_start) -> None:
    dtype = np.dtype(f"{element[0]}{int(element[1:]) // 8}")
    start = ", %start" if has_start else ""
    artifact = load(f"""
      func.func public @f(%x: memref<8x{element}>, %start: {element}) -> {element} {{
        %c0 = arith.constant 0 : index
        %v = vector.load %x[%c0] : memref<8x{element}>, vector<8x{element}>
        %s = vector.reduction <{kind}>, %v{start} : vector<8x{element}> into {element}
        func.return %s : {element}
      }}""")
    x = _VALUES.astype(dtype)
    values = np.append(x, dtype.type(7)) if has_start else x
    assert artifact.invoke("f", [x, dtype.type(7)]) == (reference(values),)


@pytest.mark.parametrize("kind", ["maximumf", "minimumf"])
def test_reductions_keep_nan(load, kind) -> None:
    artifact = load(f"""
      func.func public @f(%x: memref<8xf64>) -> f64 {{
        %c0 = arith.constant 0 : index
        %v = vector.load %x[%c0] : memref<8xf64>, vector<8xf64>
        %s = vector.reduction <{kind}>, %v : vector<8xf64> into f64
        func.return %s : f64
      }}""")
    x = _VALUES.copy()
    x[5] = np.nan
    assert np.isnan(artifact.invoke("f", [x])[0])


def test_sum_is_in_order_unless_reassociation_is_allowed(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<8xf64>) -> f64 {
        %c0 = arith.constant 0 : index
        %v = vector.load %x[%c0] : memref<8xf64>, vector<8xf64>
        %s = vector.reduction <add>, %v : vector<8xf64> into f64
        func.return %s : f64
      }""")
    x = np.array([1e16, 1.0, -1e16, 1.0, 1e16, 1.0, -1e16, 1.0])
    total = 0.0
    for value in x:
        total += value
    assert artifact.invoke("f", [x]) == (total,)


def test_lanes(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<4xf64>, %k: index, %s: f64, %r: memref<4xf64> {mlirad.result = 0 : i64},
          %q: memref<8xf64> {mlirad.result = 1 : i64}) -> (f64, f64) {
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %v = vector.load %x[%c0] : memref<4xf64>, vector<4xf64>
        %b = vector.broadcast %s : f64 to vector<4xf64>
        %w = vector.fma %v, %b, %v : vector<4xf64>
        %i = vector.insert %s, %w[1] : f64 into vector<4xf64>
        %j = vector.insert %s, %i[%k] : f64 into vector<4xf64>
        vector.store %j, %r[%c0] : memref<4xf64>, vector<4xf64>
        %e = vector.extract %v[%k] : f64 from vector<4xf64>
        %h = vector.extract %v[3] : f64 from vector<4xf64>
        %t = vector.shuffle %v, %j [7, 6, 5, 4, 0, 1, 2, 3] : vector<4xf64>, vector<4xf64>
        vector.store %t, %q[%c0] : memref<8xf64>, vector<8xf64>
        func.return %e, %h : f64, f64
      }""")
    x = np.array([1.0, 2.0, 3.0, 4.0])
    r, q, e, h = artifact.invoke("f", [x, 2, 10.0])
    expected = np.array([11.0, 10.0, 10.0, 44.0])
    np.testing.assert_array_equal(r, expected)
    np.testing.assert_array_equal(q, [*expected[::-1], *x])
    assert (e, h) == (3.0, 4.0)


def test_bitcast_select_and_constant_vectors(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<4xf64>, %r: memref<4xf64> {mlirad.result = 0 : i64}) {
        %c0 = arith.constant 0 : index
        %limits = arith.constant dense<[0.0, 10.0, -10.0, 0.0]> : vector<4xf64>
        %sign = arith.constant dense<-9223372036854775808> : vector<4xi64>
        %v = vector.load %x[%c0] : memref<4xf64>, vector<4xf64>
        %i = vector.bitcast %v : vector<4xf64> to vector<4xi64>
        %j = arith.xori %i, %sign : vector<4xi64>
        %w = vector.bitcast %j : vector<4xi64> to vector<4xf64>
        %c = arith.cmpf ogt, %v, %limits : vector<4xf64>
        %s = arith.select %c, %v, %w : vector<4xi1>, vector<4xf64>
        vector.store %s, %r[%c0] : memref<4xf64>, vector<4xf64>
        func.return
      }""")
    x = np.array([1.0, 2.0, -3.0, -4.0])
    np.testing.assert_array_equal(artifact.invoke("f", [x])[0], np.where(x > [0, 10, -10, 0], x, -x))


def test_vectors_of_bool_are_bytes(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<8xi1>, %r: memref<8xi1> {mlirad.result = 0 : i64},
          %q: memref<8xi1> {mlirad.result = 1 : i64}) {
        %c0 = arith.constant 0 : index
        %c5 = arith.constant 5 : index
        %ones = arith.constant dense<true> : vector<8xi1>
        %v = vector.load %x[%c0] : memref<8xi1>, vector<8xi1>
        %w = arith.xori %v, %ones : vector<8xi1>
        vector.store %w, %r[%c0] : memref<8xi1>, vector<8xi1>
        %m = vector.create_mask %c5 : vector<8xi1>
        %u = vector.maskedload %x[%c0], %m, %ones : memref<8xi1>, vector<8xi1>, vector<8xi1> into vector<8xi1>
        vector.store %ones, %q[%c0] : memref<8xi1>, vector<8xi1>
        vector.maskedstore %q[%c0], %m, %u : memref<8xi1>, vector<8xi1>, vector<8xi1>
        func.return
      }""")
    x = np.array([0, 1, 2, 255, 0, 0, 1, 0], np.uint8).view(np.bool_)
    r, q = artifact.invoke("f", [x])
    truth = x.view(np.uint8) != 0
    np.testing.assert_array_equal(r.view(np.uint8), (~truth).astype(np.uint8))
    np.testing.assert_array_equal(q.view(np.uint8), [*truth[:5].astype(np.uint8), 1, 1, 1])


@pytest.mark.parametrize("count", [-5, 0, 3, 8, 2**40, 2**62])
def test_mask_of_any_count(load, count) -> None:
    artifact = load("""
      func.func public @f(%n: index, %r: memref<8xi1> {mlirad.result = 0 : i64}) {
        %c0 = arith.constant 0 : index
        %m = vector.create_mask %n : vector<8xi1>
        vector.store %m, %r[%c0] : memref<8xi1>, vector<8xi1>
        func.return
      }""")
    np.testing.assert_array_equal(artifact.invoke("f", [count])[0], np.arange(8) < count)
