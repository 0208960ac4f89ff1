"""Arrays at stage `loops`: views, copies, constants and element types, run natively and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

_DYNAMIC_COPY = """
  func.func private @unused(i1, i64, i64)
  func.func public @f(%x: memref<{source}>, %r: memref<{result}> {{mlirad.result = 0 : i64}}) {{
    {view}
    "memref.copy"(%v, %r) : (memref<{type}>, memref<{result}>) -> ()
    func.return
  }}"""


def _copy_of_view(load, view: str, type: str, source: str, result: str, x: np.ndarray) -> np.ndarray:
    artifact = load(_DYNAMIC_COPY.format(view=view, type=type, source=source, result=result))
    return artifact.invoke("f", [x])[0]


@pytest.mark.parametrize(
    ("view", "type", "result", "expected"),
    [
        (
            "memref.subview %x[5, 6] [6, 7] [-1, -1] :"
            " memref<6x7xf64> to memref<6x7xf64, strided<[-7, -1], offset: 41>>",
            "6x7xf64, strided<[-7, -1], offset: 41>",
            "6x7xf64",
            lambda x: x[::-1, ::-1],
        ),
        (
            "memref.subview %x[1, 0] [2, 7] [2, 1] : memref<6x7xf64> to memref<2x7xf64, strided<[14, 1], offset: 7>>",
            "2x7xf64, strided<[14, 1], offset: 7>",
            "2x7xf64",
            lambda x: x[1:5:2],
        ),
        (
            "memref.subview %x[2, 1] [1, 3] [1, 2] : memref<6x7xf64> to memref<3xf64, strided<[2], offset: 15>>",
            "3xf64, strided<[2], offset: 15>",
            "3xf64",
            lambda x: x[2, 1:7:2],
        ),
        (
            "memref.subview %x[3, 4] [1, 1] [1, 1] : memref<6x7xf64> to memref<f64, strided<[], offset: 25>>",
            "f64, strided<[], offset: 25>",
            "f64",
            lambda x: x[3, 4],
        ),
        (
            "memref.reinterpret_cast %x to offset: [0], sizes: [7, 6], strides: [1, 7] :"
            " memref<6x7xf64> to memref<7x6xf64, strided<[1, 7]>>",
            "7x6xf64, strided<[1, 7]>",
            "7x6xf64",
            lambda x: x.T,
        ),
        (
            "memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<6x7xf64> into memref<42xf64>",
            "42xf64",
            "42xf64",
            lambda x: x.ravel(),
        ),
        (
            "memref.expand_shape %x [[0 : i64, 1 : i64], [2 : i64]] output_shape [2, 3, 7] :"
            " memref<6x7xf64> into memref<2x3x7xf64>",
            "2x3x7xf64",
            "2x3x7xf64",
            lambda x: x.reshape(2, 3, 7),
        ),
    ],
    ids=["reversed", "rows", "reduced", "element", "transposed", "collapsed", "expanded"],
)
def test_views(load, view, type, result, expected) -> None:
    x = np.arange(42.0).reshape(6, 7)
    got = _copy_of_view(load, f"%v = {view}", type, "6x7xf64", result, x)
    assert got.shape == expected(x).shape
    np.testing.assert_array_equal(got, expected(x))


def test_a_view_of_a_view_writes_through(load) -> None:
    """x[1:][::-2] += 100, with dynamic starts: writes to the caller's array, and nowhere else."""
    artifact = load("""
      func.func public @f(%x: memref<?xf64> {mlirad.written = 0 : i64}, %start: index) {
        %hundred = arith.constant 100.0 : f64
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %n = memref.dim %x, %c0 : memref<?xf64>
        %m = arith.subi %n, %start : index
        %a = memref.subview %x[%start] [%m] [1] : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
        %last = arith.subi %m, %c1 : index
        %m1 = arith.addi %m, %c1 : index
        %half = arith.divsi %m1, %c2 : index
        %b = memref.subview %a[%last] [%half] [-2]
          : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64, strided<[-2], offset: ?>>
        scf.for %i = %c0 to %half step %c1 {
          %v = memref.load %b[%i] : memref<?xf64, strided<[-2], offset: ?>>
          %w = arith.addf %v, %hundred : f64
          memref.store %w, %b[%i] : memref<?xf64, strided<[-2], offset: ?>>
        }
        func.return
      }""")
    for n, start in ((8, 1), (9, 3), (1, 0), (4, 4)):
        x, expected = np.arange(float(n)), np.arange(float(n))
        expected[start:][::-2] += 100
        artifact.invoke("f", [x, start])
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (4, 5)])
def test_dynamic_matrices(load, shape) -> None:
    """The strides of an array of unknown shape are computed from its sizes, even if a loop carries it."""
    artifact = load("""
      func.func public @f(%x: memref<?x?xf64>, %y: memref<?x?xf64> {mlirad.written = 0 : i64}) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %m = memref.dim %x, %c0 : memref<?x?xf64>
        %n = memref.dim %x, %c1 : memref<?x?xf64>
        %p, %q = scf.for %k = %c0 to %c3 step %c1 iter_args(%s = %x, %t = %y) -> (memref<?x?xf64>, memref<?x?xf64>) {
          scf.yield %t, %s : memref<?x?xf64>, memref<?x?xf64>
        }
        scf.for %i = %c0 to %m step %c1 {
          scf.for %j = %c0 to %n step %c1 {
            %v = memref.load %q[%i, %j] : memref<?x?xf64>
            %w = arith.negf %v : f64
            memref.store %w, %p[%i, %j] : memref<?x?xf64>
          }
        }
        func.return
      }""")
    x, y = np.random.default_rng(0).normal(size=shape), np.zeros(shape)
    artifact.invoke("f", [x, y])
    np.testing.assert_array_equal(y, -x)


def test_zero_dimensional_array(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<f64> {mlirad.written = 0 : i64}, %y: memref<f64> {mlirad.result = 1 : i64}) {
        %v = memref.load %x[] : memref<f64>
        %w = arith.addf %v, %v : f64
        memref.store %w, %x[] : memref<f64>
        memref.store %v, %y[] : memref<f64>
        func.return
      }""")
    x = np.array(1.5)
    first, second = artifact.invoke("f", [x])
    assert first is x
    assert (first[()], second[()], second.shape) == (3.0, 1.5, ())


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.float32])
def test_element_types(load, dtype) -> None:
    """Elements are moved bit by bit, whatever their type is; a bool is a byte, and any byte other than 0 is true."""
    dtype = np.dtype(dtype)
    element = "i1" if dtype.kind == "b" else f"{'f' if dtype.kind == 'f' else 'i'}{dtype.itemsize * 8}"
    artifact = load(f"""
      func.func public @f(%x: memref<16x{element}>, %r: memref<16x{element}> {{mlirad.result = 0 : i64}}) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        scf.for %i = %c0 to %c16 step %c1 {{
          %v = memref.load %x[%i] : memref<16x{element}>
          memref.store %v, %r[%i] : memref<16x{element}>
        }}
        func.return
      }}""")
    raw = np.random.default_rng(3).integers(0, 256, 16 * dtype.itemsize, dtype=np.uint8)
    x = raw.view(dtype)
    (result,) = artifact.invoke("f", [x], [dtype])
    assert result.dtype == dtype
    if dtype.kind == "b":
        np.testing.assert_array_equal(result.view(np.uint8), (raw != 0).astype(np.uint8))
    else:
        np.testing.assert_array_equal(result.view(np.uint8), raw)


def test_globals(load) -> None:
    artifact = load("""
      "memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x2xf64>,
        initial_value = dense<[[1.5, -2.0], [0.0, 1.0e-320]]> : tensor<2x2xf64>, constant}> : () -> ()
      "memref.global"() <{sym_name = "zeros", sym_visibility = "private", type = memref<3xi32>,
        initial_value = dense<0> : tensor<3xi32>, constant}> : () -> ()
      "memref.global"() <{sym_name = "mask", sym_visibility = "private", type = memref<3xi1>,
        initial_value = dense<[true, false, true]> : tensor<3xi1>, constant}> : () -> ()
      "memref.global"() <{sym_name = "none", sym_visibility = "private", type = memref<0xi8>,
        initial_value = dense<> : tensor<0xi8>, constant}> : () -> ()
      func.func public @f(%a: memref<2x2xf64> {mlirad.result = 0 : i64}, %b: memref<3xi32> {mlirad.result = 1 : i64},
          %c: memref<3xi1> {mlirad.result = 2 : i64}, %d: memref<0xi8> {mlirad.result = 3 : i64}) {
        %0 = memref.get_global @w : memref<2x2xf64>
        %1 = memref.get_global @zeros : memref<3xi32>
        %2 = memref.get_global @mask : memref<3xi1>
        %3 = memref.get_global @none : memref<0xi8>
        "memref.copy"(%0, %a) : (memref<2x2xf64>, memref<2x2xf64>) -> ()
        "memref.copy"(%1, %b) : (memref<3xi32>, memref<3xi32>) -> ()
        "memref.copy"(%2, %c) : (memref<3xi1>, memref<3xi1>) -> ()
        "memref.copy"(%3, %d) : (memref<0xi8>, memref<0xi8>) -> ()
        func.return
      }""")
    a, b, c, d = artifact.invoke("f", [])
    np.testing.assert_array_equal(a, [[1.5, -2.0], [0.0, 1e-320]])
    np.testing.assert_array_equal(b, [0, 0, 0])
    np.testing.assert_array_equal(c, [True, False, True])
    assert d.shape == (0,)


def test_metadata_cast_and_alloca(load) -> None:
    artifact = load("""
      func.func public @f(%x: memref<4x6xf64>, %k: index) -> (i64, i64, i64, f64) {
        %c0 = arith.constant 0 : index
        %row = memref.subview %x[%k, 0] [1, 6] [1, 1] : memref<4x6xf64> to memref<6xf64, strided<[1], offset: ?>>
        %base, %offset, %size, %stride = memref.extract_strided_metadata %row
          : memref<6xf64, strided<[1], offset: ?>> -> memref<f64>, index, index, index
        %whole = memref.reinterpret_cast %base to offset: [%offset], sizes: [%size], strides: [1]
          : memref<f64> to memref<?xf64, strided<[1], offset: ?>>
        %v = memref.load %whole[%c0] : memref<?xf64, strided<[1], offset: ?>>
        %stack = memref.alloca() : memref<4xf64>
        %loose = "memref.cast"(%stack) : (memref<4xf64>) -> memref<?xf64>
        memref.store %v, %loose[%c0] : memref<?xf64>
        %w = memref.load %stack[%c0] : memref<4xf64>
        %0 = arith.index_cast %offset : index to i64
        %1 = arith.index_cast %size : index to i64
        %2 = arith.index_cast %stride : index to i64
        func.return %0, %1, %2, %w : i64, i64, i64, f64
      }""")
    x = np.arange(24.0).reshape(4, 6)
    assert artifact.invoke("f", [x, 2]) == (12, 6, 1, 12.0)


def test_copies_between_strided_views(load) -> None:
    """y[::-1, 1::2] = x[1:3, ::2] with sizes known only at run time."""
    artifact = load("""
      func.func public @f(%x: memref<4x6xf64>, %y: memref<2x7xf64> {mlirad.written = 0 : i64}, %n: index) {
        %a = memref.subview %x[1, 0] [2, %n] [1, 2] : memref<4x6xf64> to memref<2x?xf64, strided<[6, 2], offset: 6>>
        %b = memref.subview %y[1, 1] [2, %n] [-1, 2] : memref<2x7xf64> to memref<2x?xf64, strided<[-7, 2], offset: 8>>
        "memref.copy"(%a, %b)
          : (memref<2x?xf64, strided<[6, 2], offset: 6>>, memref<2x?xf64, strided<[-7, 2], offset: 8>>) -> ()
        func.return
      }""")
    x = np.arange(24.0).reshape(4, 6)
    for n in range(4):
        y, expected = np.zeros((2, 7)), np.zeros((2, 7))
        expected[::-1, 1 : 1 + 2 * n : 2] = x[1:3, : 2 * n : 2]
        artifact.invoke("f", [x, y, n])
        np.testing.assert_array_equal(y, expected)


def test_little_goes_on_the_stack(load) -> None:
    """A hundred buffers of 8 KB do not fit: most are taken from the call's blocks."""
    stores = "\n".join(
        f"%s{k} = memref.alloca() : memref<1024xf64>\nmemref.store %x, %s{k}[%c] : memref<1024xf64>" for k in range(100)
    )
    loads = "\n".join(
        f"%v{k} = memref.load %s{k}[%c] : memref<1024xf64>\n%t{k + 1} = arith.addf %t{k}, %v{k} : f64"
        for k in range(100)
    )
    artifact = load(f"""
      func.func public @f(%x: f64, %c: index) -> f64 {{
        %t0 = arith.constant 0.0 : f64
        {stores}
        {loads}
        func.return %t100 : f64
      }}""")
    assert artifact.invoke("f", [1.5, 1023]) == (150.0,)
    (context,) = artifact.entry_point("f")._contexts
    assert context.segment_bytes >= 98 * 8192
