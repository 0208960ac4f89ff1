"""Every compiled function with complex numbers: NumPy's result, or a refusal."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mlirad.testing.calls import inputs
from mlirad.testing.calls.drawn_calls import compiled
from mlirad.testing.calls.judge_calls import SAME, WRONG, judged_values
from mlirad.testing.calls.packed import Call
from mlirad.testing.calls.public_names import SPACE
from mlirad.testing.calls.samples import sample_call

PACKED = 25


def as_complex(value: Any, dtype: type) -> Any:
    if isinstance(value, float):
        return complex(value, 0.3)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return (value + 1j * np.random.default_rng(value.size).uniform(0.1, 0.9, value.shape)).astype(dtype)


def calls_of(dtype: type) -> Iterator[tuple[Call, Any]]:
    for name in compiled():
        text = sample_call(name) if name.startswith(("np.", "x.")) else None
        if text is not None:
            given = {key: as_complex(value, dtype) for key, value in inputs.of_class(text, "f64").items()}
            try:
                with np.errstate(all="ignore"):
                    yield Call(text, given), eval(text, dict(SPACE), copy.deepcopy(given))
            except Exception as error:
                yield Call(text, given), error


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_functions_of_complex_numbers(dtype: type) -> None:
    found = list(calls_of(dtype))
    verdicts: list[tuple[str, str]] = []
    for first in range(0, len(found), PACKED):
        calls, wanted = zip(*found[first : first + PACKED], strict=True)
        verdicts += judged_values(calls, wanted)
    wrong = [(call.text, why) for (call, _), (kind, why) in zip(found, verdicts, strict=True) if kind == WRONG]
    assert not wrong
    assert sum(kind == SAME for kind, _ in verdicts) > 400
