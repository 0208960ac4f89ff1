"""NumPy's functions about types: the results depend on the dtypes of values, never on their elements.

Reads: values, dtypes. Writes: nothing. Leaves: dtypes and bools, known while a function is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import DTypeError
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values import nep50
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.traced import Traced, as_operand, require_static, stand_in


@compiles(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The common dtype of arrays, numbers and dtypes."""
    return nep50.common_dtype([_dtype_or_stand_in(each) for each in arrays_and_dtypes])


def _dtype_or_stand_in(x: Any) -> Any:
    is_dtype = isinstance(x, type | np.dtype | str)
    return np.dtype(x) if is_dtype else stand_in(as_operand(x))


@compiles(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """`np.can_cast`, also from the dtype of an array."""
    if isinstance(from_, Traced) and from_.weak:
        raise DTypeError(f"can_cast() does not support Python numbers, and this is one of class {from_.kind.__name__}")
    require_static((to, casting), "what np.can_cast casts to")
    with numpys_refusal():
        return np.can_cast(from_.dtype if isinstance(from_, Traced) else from_, to, casting)


@compiles(np.isscalar)
def isscalar(element: Any) -> bool:
    return not element.is_array if isinstance(element, Traced) else np.isscalar(element)


@compiles(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return nep50.strong(stand_in(as_operand(x))).kind == "c"


@compiles(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
