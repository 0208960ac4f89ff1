"""How textbooks write what is in a trace: v₋₁ and v₀ for arguments, v̄₁ for a cotangent, v̇₁ for a tangent."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from mlirad.explaining.traces.wengert_list import Variable

BAR, DOT = "\u0304", "\u0307"
_SUBSCRIPTS = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")
_SHOWN_OF_ARRAYS = 6


def shown(value: Any, accent: str = "") -> str:
    """An operand. A variable, as v₁; with an accent, its cotangent or tangent. A constant, as its value."""
    if isinstance(value, Variable):
        return f"v{accent}{subscript(value.number)}"
    text = value_text(value)
    return f"({text})" if np.ndim(value) == 0 and np.iscomplexobj(value) else text


def subscript(number: int) -> str:
    return str(number).translate(_SUBSCRIPTS)


def accented(name: str, accent: str) -> str:
    """A name with an accent on its first letter."""
    return unicodedata.normalize("NFC", name[:1] + accent + name[1:])


def value_text(value: Any) -> str:
    """A number, to three places where these say enough; of a large array its first and last ones."""
    if np.ndim(value):
        text = np.array2string(
            np.asarray(value),
            threshold=_SHOWN_OF_ARRAYS,
            edgeitems=2,
            formatter={"float_kind": value_text, "complex_kind": value_text},
            separator=", ",
        )
        return " ".join(text.split())
    if np.asarray(value).dtype.kind == "c":
        return f"{value_text(value.real)}{'-' if np.signbit(value.imag) else '+'}{value_text(abs(value.imag))}j"
    if np.asarray(value).dtype.kind != "f":
        return str(value)
    number = float(value)
    if 1e-3 <= abs(number) < 1e6:
        return f"{number:.3f}".rstrip("0").rstrip(".")
    return f"{number:.4g}" if number else "0"
