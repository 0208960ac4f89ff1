"""Native functions of other libraries in compiled code: addresses, arguments, the interpreter's lock, errors, disk."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.contract import native_functions
from mlirad.contract.native_functions import NativeFunctionError, address_of, sorting

_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t)


@_Fill
def _fill(at: int, count: int, code: int) -> int:
    """Counts into an array of f64, and returns a code."""
    (ctypes.c_double * count).from_address(at)[:] = range(count)
    return code


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two native functions of this file: one fills a part, the other returns whether its caller holds the interpreter's
    lock."""
    addresses = {
        "fill": ctypes.cast(_fill, ctypes.c_void_p).value,
        "has_lock": ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value,
    }
    monkeypatch.setitem(native_functions._SOURCES, "test", addresses.__getitem__)
    yield
    address_of.cache_clear()


_FILL = """
func.func private @fill(i64, memref<3x?xf64>, index, index, i64, i64)
func.func public @f(%a: memref<3x?xf64> {mlirad.written = 0 : i64}, %i: index, %j: index, %n: i64, %code: i64) {
  func.call @fill(%n, %a, %i, %j, %n, %code) {mlirad.native = "mlirad.native.test.fill", mlirad.error = "ValueError",
    mlirad.message = "it says no"} : (i64, memref<3x?xf64>, index, index, i64, i64) -> () loc("kernel.py":3:18)
  func.return
}"""


def test_a_part_is_passed_and_an_error_is_raised_at_its_place(load: Any, source: None) -> None:
    artifact = load(_FILL)
    a = np.full((3, 5), -1.0)
    artifact.invoke("f", [a, 1, 2, 3, 0])
    np.testing.assert_array_equal(a, [[-1] * 5, [-1, -1, 0, 1, 2], [-1] * 5])
    with pytest.raises(ValueError, match=r"^kernel\.py:3:18: it says no"):
        artifact.invoke("f", [a, 0, 0, 5, 7])
    np.testing.assert_array_equal(a[0], range(5))


@pytest.mark.parametrize("needs_lock", [False, True])
def test_the_interpreters_lock_is_taken_where_it_is_needed(load: Any, source: None, needs_lock: bool) -> None:
    lock = "mlirad.gil, " if needs_lock else ""
    artifact = load(f"""
    func.func private @has_lock(i64)
    func.func public @f(%work: i64) {{
      func.call @has_lock(%work) {{{lock}mlirad.native = "mlirad.native.test.has_lock", mlirad.error = "ValueError",
        mlirad.message = "it is held"}} : (i64) -> ()
      func.return
    }}""")
    if needs_lock:
        with pytest.raises(ValueError, match="it is held"):
            artifact.invoke("f", [1])
    else:
        artifact.invoke("f", [1])


def test_names_without_a_function_are_refused() -> None:
    with pytest.raises(NativeFunctionError, match="no source of native functions 'nowhere'"):
        native_functions.addresses_in(b"..mlirad.native.nowhere.f\0..")
    assert not native_functions.addresses_in(b"nothing")
    name = sorting("sort", "stable", np.dtype(np.float64))
    assert native_functions.addresses_in(b"\0" + name.encode() + b"\0") == {name: address_of(name)}


PROGRAM = """
import sys
import numpy as np
import mlirad

@mlirad.jit
def f(x):
    return np.sort(x), np.argsort(x)

for found in f(np.array([3.0, 1.0, np.nan, 2.0])):
    print(found)
print("xdsl.ir" in sys.modules)
"""


@pytest.mark.parametrize(("addresses", "sorts"), [({}, False), ({"sort.stable": id(PROGRAM)}, None)])
def test_a_numpy_whose_functions_are_elsewhere_is_refused_at_the_line(
    addresses: dict[str, int], sorts: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A NumPy function that sorts differently, and an address outside of NumPy, which is never called."""

    def f(x):
        return np.sort(x, kind="stable")

    def probe(*_: Any) -> bool:
        assert sorts is not None
        return sorts

    word = native_functions._word
    wrong = {native_functions._PLACES[name]: address for name, address in addresses.items()}
    monkeypatch.setattr(native_functions, "_word", lambda table, place: wrong.get(place) or word(table, place))
    monkeypatch.setattr(native_functions, "_sorts", probe)
    address_of.cache_clear()
    try:
        with pytest.raises(mlirad.CompileError, match=r"test_native_functions.py:\d+:16: NumPy .* at another place"):
            mlirad.jit(f)(np.ones(3))
    finally:
        address_of.cache_clear()


def test_code_from_disk_is_linked_in_another_process(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "MLIRAD_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("MLIRAD_CACHE", None)

    def told() -> list[str]:
        done = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, check=True, text=True, timeout=120
        )
        return done.stdout.splitlines()

    first, second = told(), told()
    assert first[:2] == second[:2] == ["[ 1.  2.  3. nan]", "[1 3 0 2]"]
    assert (first[2], second[2]) == ("True", "False")  # the second has compiled nothing
