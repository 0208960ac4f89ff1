"""The loops of NumPy's gufuncs: found by name, checked by a call, and never called if they are not what is meant."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.linalg import _umath_linalg

import mlirad
from mlirad.contract import gufunc_loops, native_functions
from mlirad.contract.registered_ops import NativeFunctionError
from mlirad.errors import TargetError
from mlirad.library.linalg.loops import LOOPS


@pytest.mark.parametrize("name", LOOPS)
def test_each_loop_is_there(name: str) -> None:
    loop = LOOPS[name]
    assert native_functions.address_of(native_functions.gufunc("linalg", loop.gufunc, loop.types))


@pytest.mark.parametrize("what", ["linalg.nothing.ddd", "linalg.solve.dd", "linalg.solve.ggg", "linalg.LinAlgError.d"])
def test_what_is_no_loop(what: str) -> None:
    with pytest.raises(NativeFunctionError, match="does not have the expected loop"):
        native_functions.address_of(f"{native_functions.PREFIX}gufunc.{what}")


def test_a_loop_that_computes_something_else_is_refused() -> None:
    right, other = (native_functions.address_of(native_functions.gufunc("linalg", name, "dd")) for name in NAMES)
    assert gufunc_loops._is_right(_umath_linalg.inv, "dd", right, None)
    assert not gufunc_loops._is_right(_umath_linalg.inv, "dd", other, None)
    assert gufunc_loops.loop_of("linalg.inv.dd", lambda address, file: False) is None


NAMES = ("inv", "cholesky_up")


def test_steps_and_sizes() -> None:
    operands, results = gufunc_loops.core_labels("(m,n),(m, k),()->(n,k),(p)")
    assert (operands, results) == ((("m", "n"), ("m", "k"), ()), (("n", "k"), ("p",)))
    assert gufunc_loops.label_order("(m,n),(m, k),()->(n,k),(p)") == ["m", "n", "k", "p"]
    sizes = {"m": 2, "n": 3, "k": 5, "p": 2}
    found = gufunc_loops.steps_of(operands + results, sizes, [8, 8, 8, 4, 8])
    assert found == [0] * 5 + [24, 8, 40, 8, 20, 4, 8]


def test_a_numpy_without_the_loop_is_refused_at_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _forget_loops()
    monkeypatch.setattr(gufunc_loops, "loop_of", lambda what, is_inside: None)
    with pytest.raises(TargetError, match=r"test_gufunc_loops.py:\d+:.*does not have the expected loop linalg.inv.dd"):
        mlirad.jit(lambda a: np.linalg.inv(a), cache=False)(np.eye(2))
    _forget_loops()


def _forget_loops() -> None:
    native_functions.address_of.cache_clear()
    native_functions._loop_and_data.cache_clear()


def test_code_on_disk_is_linked_by_name() -> None:
    names = native_functions.gufunc("linalg", "det", "dd"), native_functions.floating("feclearexcept")
    found = native_functions.addresses_in("\0".join(names).encode())
    assert set(found) == set(names) and all(found.values())
    clear = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(found[names[1]])
    assert clear(gufunc_loops.FE_INVALID) == 0
