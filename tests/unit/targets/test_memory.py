"""The memory of a call: growable blocks keep their contents, are reused at their size, and are all freed."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("young_heap")

_TAPE = """
func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
func.func public @f(%n: i64) -> (f64, memref<?xf64>, i64) {
  %zero = arith.constant 0.0 : f64
  %start = arith.constant 1 : index
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %i0 = arith.constant 0 : index
  %tape = memref.alloc(%start) : memref<?xf64>
  %k, %t = scf.while (%k = %c0, %t = %tape) : (i64, memref<?xf64>) -> (i64, memref<?xf64>) {
    %go = arith.cmpi slt, %k, %n : i64
    scf.condition(%go) %k, %t : i64, memref<?xf64>
  } do {
  ^bb0(%k: i64, %t: memref<?xf64>):
    %slot = arith.index_cast %k : i64 to index
    %g = func.call @mlirad_grow_f64(%t, %slot) : (memref<?xf64>, index) -> memref<?xf64>
    %v = arith.sitofp %k : i64 to f64
    memref.store %v, %g[%slot] : memref<?xf64>
    %next = arith.addi %k, %c1 : i64
    scf.yield %next, %g : i64, memref<?xf64>
  }
  %sum, %left = scf.for %j = %c0 to %k step %c1 iter_args(%s = %zero, %q = %k) -> (f64, i64) : i64 {
    %p = arith.subi %q, %c1 : i64
    %slot = arith.index_cast %p : i64 to index
    %v = memref.load %t[%slot] : memref<?xf64>
    %r = arith.addf %s, %v : f64
    scf.yield %r, %p : f64, i64
  }
  %dim = memref.dim %t, %i0 : memref<?xf64>
  %size = arith.index_cast %dim : index to i64
  func.return %sum, %t, %size : f64, memref<?xf64>, i64
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000, 100_000])
def test_a_tape_grows_and_keeps_its_contents(load, n) -> None:
    artifact = load(_TAPE)
    for _ in range(3):
        total, tape, size = artifact.invoke("f", [n])
        assert total == n * (n - 1) / 2
        np.testing.assert_array_equal(tape[:n], np.arange(n))
        assert tape.shape == (size,)
        assert size >= n


def test_the_next_call_finds_the_memory(load) -> None:
    """Kept at the high-water mark: the second call allocates nothing, and the first one's block was large enough."""
    artifact = load(_TAPE)
    entry = artifact.entry_point("f")
    artifact.invoke("f", [50_000])
    gc.collect()
    (context,) = entry._contexts
    held, high = context.segment_bytes, context.high_water
    table = context.segments
    assert 50_000 * 8 <= held <= high
    for n in (50_000, 10, 50_000):
        artifact.invoke("f", [n])
        gc.collect()
        (again,) = entry._contexts
        assert again is context
        assert (again.segment_bytes, again.high_water, again.segments) == (held, high, table)
    context.trim()
    assert context.segment_bytes == 0
    assert artifact.invoke("f", [100])[0] == 4950.0


def test_results_in_a_block_keep_it(load) -> None:
    """Two calls with live results do not share memory; when these are freed, their contexts are reused."""
    artifact = load(_TAPE)
    first, second = artifact.invoke("f", [5])[1], artifact.invoke("f", [7])[1]
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first[:5], np.arange(5.0))
    view = first[1:3]
    del first
    gc.collect()
    artifact.invoke("f", [3])
    np.testing.assert_array_equal(view, [1.0, 2.0])
    del view, second
    gc.collect()
    entry = artifact.entry_point("f")
    idle = len(entry._contexts)
    artifact.invoke("f", [9])
    gc.collect()
    assert len(entry._contexts) == idle


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_is_returned(load) -> None:
    """Twenty tapes of at least 8 MB, each freed after its call."""
    artifact = load(_TAPE)
    before = _resident_bytes()
    for _ in range(20):
        artifact.invoke("f", [1_000_000])
        artifact.entry_point("f").trim()
        gc.collect()
    assert _resident_bytes() - before < 60_000_000


def test_a_size_that_cannot_be_raises(load) -> None:
    artifact = load("""
      func.func public @f(%n: index) -> f64 {
        %c0 = arith.constant 0 : index
        %x = arith.constant 1.5 : f64
        %a = memref.alloc(%n, %n) : memref<?x?xf64>
        memref.store %x, %a[%c0, %c0] : memref<?x?xf64>
        %v = memref.load %a[%c0, %c0] : memref<?x?xf64>
        func.return %v : f64
      }""")
    for n in (-1, 2**31, 2**40, 2**62):
        with pytest.raises(MemoryError):
            artifact.invoke("f", [n])
    assert artifact.invoke("f", [3]) == (1.5,)


def test_a_loop_gives_back_what_each_trip_takes(load) -> None:
    """Two hundred trips of 8 MB each, in the memory of one."""
    artifact = load("""
      func.func public @f(%trips: index, %n: index) -> f64 {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant 1.0 : f64
        %zero = arith.constant 0.0 : f64
        %total = scf.for %i = %c0 to %trips step %c1 iter_args(%s = %zero) -> (f64) {
          %a = memref.alloc(%n) : memref<?xf64>
          %b = memref.alloc() : memref<16xf64>
          scf.for %j = %c0 to %n step %c1 {
            memref.store %one, %a[%j] : memref<?xf64>
          }
          memref.store %s, %b[%c0] : memref<16xf64>
          %v = memref.load %a[%c0] : memref<?xf64>
          %w = memref.load %b[%c0] : memref<16xf64>
          %t = arith.addf %v, %w : f64
          scf.yield %t : f64
        }
        func.return %total : f64
      }""")
    assert artifact.invoke("f", [200, 1_000_000]) == (200.0,)
    gc.collect()
    (context,) = artifact.entry_point("f")._contexts
    assert context.high_water < 9_000_000


def test_many_blocks(load) -> None:
    """More blocks than the table starts with; blocks of a loop that carries one are kept until the call ends."""
    artifact = load("""
      func.func public @f(%n: index) -> (memref<?xf64>, i64) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %first = memref.alloc(%c1) : memref<?xf64>
        %zero = arith.constant 0.0 : f64
        %one = arith.constant 1.0 : f64
        memref.store %zero, %first[%c0] : memref<?xf64>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first) -> (memref<?xf64>) {
          %q = memref.alloc(%c1) : memref<?xf64>
          %v = memref.load %p[%c0] : memref<?xf64>
          %w = arith.addf %v, %one : f64
          memref.store %w, %q[%c0] : memref<?xf64>
          scf.yield %q : memref<?xf64>
        }
        %k = arith.constant 7 : i64
        func.return %last, %k : memref<?xf64>, i64
      }""")
    for n in (0, 3, 15, 16, 17, 1000, 40):
        last, seven = artifact.invoke("f", [n])
        assert (last.tolist(), seven) == ([float(n)], 7)


def test_growing_from_the_arena(load) -> None:
    """A buffer of the arena grows into a block; the arena's own bytes are not a block's header."""
    artifact = load("""
      func.func private @mlirad_grow_i32(memref<?xi32>, index) -> memref<?xi32>
      func.func public @f(%k: index) -> (memref<?xi32>) attributes {mlirad.arena_size = 64 : i64} {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %x = arith.constant 7 : i32
        %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<2xi32>
        memref.store %x, %a[%c0] : memref<2xi32>
        memref.store %x, %a[%c1] : memref<2xi32>
        %b = "memref.cast"(%a) : (memref<2xi32>) -> memref<?xi32>
        %g = func.call @mlirad_grow_i32(%b, %k) : (memref<?xi32>, index) -> memref<?xi32>
        memref.store %x, %g[%k] : memref<?xi32>
        func.return %g : memref<?xi32>
      }""")
    for k in (0, 1, 5, 500):
        (result,) = artifact.invoke("f", [k])
        assert result.dtype == np.int32
        assert result[0] == result[1] == result[k] == 7


def test_growing_to_an_absurd_size_raises(load) -> None:
    artifact = load("""
      func.func private @mlirad_grow_f64(memref<?xf64>, index) -> memref<?xf64>
      func.func public @f(%k: index) -> index {
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %a = memref.alloc(%c4) : memref<?xf64>
        %g = func.call @mlirad_grow_f64(%a, %k) : (memref<?xf64>, index) -> memref<?xf64>
        %n = memref.dim %g, %c0 : memref<?xf64>
        func.return %n : index
      }""")
    assert artifact.invoke("f", [3]) == (4,)
    for k in (2**50, 2**56, 2**63 - 1):
        with pytest.raises(MemoryError):
            artifact.invoke("f", [k])
    assert artifact.invoke("f", [4])[0] >= 5
