"""Convolutions and pooling, and their gradients, equal PyTorch's (tests/support/torch_reference.py has made them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from window_cases import CASES, Case, numbers

import mlirad
from mlirad import nn

REFERENCE = np.load(Path(__file__).parent / "torch_reference.npz")
PACK = 7


def layout_of(case: Case) -> str:
    letters = "DHW"[3 - (case.arrays()[0].ndim - 2) :]
    return f"N{letters}C" if case.is_last else f"NC{letters}"


def with_channels_last(number: int, array: np.ndarray) -> np.ndarray:
    """x (number 0) or the filters w (1) with the channels last; a bias as it is."""
    if number == 1:
        return np.moveaxis(array, (0, 1), (-1, -2))
    return np.moveaxis(array, 1, -1) if number == 0 else array


def called(case: Case, arrays: Any) -> Any:
    """The case's layer on its arrays; runs in kernels and outside."""
    options = dict(case.options)
    if len(arrays) > 2:
        options["bias"] = arrays[2]
    if "transpose" not in case.function:
        options["layout"] = layout_of(case)
    return getattr(nn, case.function)(*arrays[:2], **options)


def expected(index: int, case: Case) -> list[np.ndarray]:
    """y and the gradients, as mlirad has their axes."""
    y, *gradients = [REFERENCE[f"{index}_{part}"] for part in range(1 + len(case.shapes))]
    if not case.is_last:
        return [y, *gradients]
    return [with_channels_last(0, y), *(with_channels_last(n, each) for n, each in enumerate(gradients))]


def arrays_of(case: Case, dtype: Any) -> tuple[np.ndarray, ...]:
    arrays = [array.astype(dtype) for array in case.arrays()]
    return tuple(with_channels_last(n, array) if case.is_last else array for n, array in enumerate(arrays))


def assert_all_close(found: Any, wanted: list[np.ndarray], label: str) -> None:
    assert len(found) == len(wanted)
    for part, (one, other) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=f"{label}, part {part}")


@pytest.mark.parametrize("first", range(0, len(CASES), PACK))
def test_layers_are_those_of_pytorch(first: int) -> None:
    pack = CASES[first : first + PACK]
    dtype = np.float32 if first % 2 else np.float64
    cotangents = [
        with_channels_last(0, r) if case.is_last else r
        for index, case in enumerate(pack, first)
        for r in [numbers(REFERENCE[f"{index}_0"].shape, 7).astype(dtype)]
    ]

    def loss(arguments: Any, cotangents: Any) -> Any:
        values = [called(case, arrays) for case, arrays in zip(pack, arguments, strict=True)]
        return sum([np.sum(y * r) for y, r in zip(values, cotangents, strict=True)]), values

    arguments = [arrays_of(case, dtype) for case in pack]
    (_, values), gradients = mlirad.value_and_grad(loss, has_aux=True)(arguments, cotangents)
    for index, (case, y, gradient) in enumerate(zip(pack, values, gradients, strict=True), first):
        assert y.dtype == dtype
        assert_all_close([y, *gradient], expected(index, case), f"{index}: {case}")


@pytest.mark.parametrize("index", range(len(CASES)))
def test_layers_are_plain_numpy_too(index: int) -> None:
    case = CASES[index]
    np.testing.assert_allclose(
        called(case, arrays_of(case, np.float64)), expected(index, case)[0], rtol=1e-5, atol=1e-5
    )
