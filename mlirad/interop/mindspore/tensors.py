"""Tensors and parameters: objects that hold one array. In compiled code they are that array.

Reads: arrays, numbers and lists. Writes: nothing. Leaves: tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlirad.errors import DTypeError
from mlirad.location import SourceLocation

float16, float32, float64 = np.float16, np.float32, np.float64
int32, int64, bool_ = np.int32, np.int64, np.bool_


@dataclass(init=False, eq=False, repr=False)
class Tensor:
    """An array with operators that return tensors.

    Python's floats become float32, as in MindSpore; NumPy's arrays keep their dtype, unless one is given. requires_grad
    is stored but not used: `grad` says what is differentiated.
    """

    data: Any

    # Tensors in compiled code.
    __mlirad_array__ = "data"

    @staticmethod
    def __mlirad_made__(data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        return _array(data, dtype)

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool = False):
        made = _array(data, dtype)
        self.data = made if isinstance(made, np.ndarray) else np.asarray(made)
        self.requires_grad = requires_grad

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def T(self) -> Tensor:
        return Tensor(np.transpose(self.data))

    def __add__(self, other: Any) -> Tensor:
        return Tensor(self.data + data_of(other))

    def __radd__(self, other: Any) -> Tensor:
        return Tensor(data_of(other) + self.data)

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(self.data - data_of(other))

    def __rsub__(self, other: Any) -> Tensor:
        return Tensor(data_of(other) - self.data)

    def __mul__(self, other: Any) -> Tensor:
        return Tensor(self.data * data_of(other))

    def __rmul__(self, other: Any) -> Tensor:
        return Tensor(data_of(other) * self.data)

    def __truediv__(self, other: Any) -> Tensor:
        return Tensor(self.data / data_of(other))

    def __rtruediv__(self, other: Any) -> Tensor:
        return Tensor(data_of(other) / self.data)

    def __pow__(self, other: Any) -> Tensor:
        return Tensor(self.data ** data_of(other))

    def __matmul__(self, other: Any) -> Tensor:
        return Tensor(self.data @ data_of(other))

    def __rmatmul__(self, other: Any) -> Tensor:
        return Tensor(data_of(other) @ self.data)

    def __neg__(self) -> Tensor:
        return Tensor(-self.data)

    def __gt__(self, other: Any) -> Tensor:
        return Tensor(self.data > data_of(other))

    def __lt__(self, other: Any) -> Tensor:
        return Tensor(self.data < data_of(other))

    def __ge__(self, other: Any) -> Tensor:
        return Tensor(self.data >= data_of(other))

    def __le__(self, other: Any) -> Tensor:
        return Tensor(self.data <= data_of(other))

    def __eq__(self, other: Any) -> Any:
        return Tensor(self.data == data_of(other))

    def __ne__(self, other: Any) -> Any:
        return Tensor(self.data != data_of(other))

    def __hash__(self) -> int:
        return id(self)

    def __abs__(self) -> Tensor:
        return Tensor(abs(self.data))

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.data[data_of(index)])

    def __bool__(self) -> bool:
        return bool(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def sum(self, axis: Any = None) -> Tensor:
        return Tensor(np.sum(self.data, axis=axis))

    def mean(self, axis: Any = None) -> Tensor:
        return Tensor(np.mean(self.data, axis=axis))

    def argmax(self, axis: Any = None) -> Tensor:
        return Tensor(np.argmax(self.data, axis=axis))

    def reshape(self, *shape: Any) -> Tensor:
        return Tensor(np.reshape(self.data, shape[0] if isinstance(shape[0], tuple) else shape))

    def astype(self, dtype: Any) -> Tensor:
        return Tensor(self.data.astype(dtype))

    def asnumpy(self) -> np.ndarray:
        """The array itself, not a copy."""
        return self.data

    def item(self) -> Any:
        return self.data.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.data, dtype) if copy else np.asarray(self.data, dtype)

    __array_ufunc__ = None
    """Makes NumPy leave `array + tensor` to the tensor."""

    def __str__(self) -> str:
        return str(self.data)

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={str(self.dtype).capitalize()}, value={self.data})"


class Parameter(Tensor):
    """A tensor of a cell that training changes in place: the next call of compiled code sees the change.

    name: by default the parameter is named after its place in the cell. requires_grad=False: it is not among the
    `trainable_params()`.
    """

    def __init__(self, data: Any, name: str | None = None, requires_grad: bool = True):
        super().__init__(np.array(data_of(data)) if isinstance(data, Tensor) else data, None, requires_grad)
        self.name = name

    def set_data(self, data: Any) -> None:
        """Overwrite it with other numbers of the same shape."""
        given = np.asarray(data_of(data))
        if given.shape != self.shape:
            raise ValueError(f"parameter {self.name} has the shape {self.shape}, not {given.shape}")
        self.data[...] = given

    def __repr__(self) -> str:
        shape, dtype = self.shape, str(self.dtype).capitalize()
        return f"Parameter (name={self.name}, shape={shape}, dtype={dtype}, requires_grad={self.requires_grad})"


def _array(data: Any, dtype: Any) -> Any:
    """The array of a tensor; in compiled code it may be a number."""
    data = data_of(data)
    if isinstance(data, np.ndarray | np.generic) or not isinstance(data, int | float | list | tuple):
        return data if dtype is None else np.asarray(data, dtype)
    made = np.asarray(data, dtype)
    return made.astype(np.float32) if dtype is None and made.dtype == np.float64 else made


def data_of(value: Any) -> Any:
    """The array in a tensor; any other object unchanged."""
    return value.data if isinstance(value, Tensor) else value


def arrays_in(value: Any) -> Any:
    """Arrays in place of the tensors in tuples, lists and dicts."""
    if type(value) in (tuple, list):
        return type(value)(arrays_in(each) for each in value)
    if type(value) is dict:
        return {key: arrays_in(each) for key, each in value.items()}
    return data_of(value)


def as_tensors(value: Any) -> Any:
    """Tensors in place of the arrays in tuples, lists and dicts."""
    if type(value) in (tuple, list):
        return type(value)(as_tensors(each) for each in value)
    if type(value) is dict:
        return {key: as_tensors(each) for key, each in value.items()}
    return Tensor(value) if isinstance(value, np.ndarray | np.generic) else value


def require_floats(parameters: Iterable[Parameter]) -> None:
    """Raises DTypeError (a TypeError) for a parameter that has no derivative."""
    for each in parameters:
        if each.dtype.kind != "f":
            message = f"parameter {each.name!r} has dtype {each.dtype}, and so no derivative"
            raise DTypeError(message, _line_of_user(), "use floats, or requires_grad=False")


def _line_of_user() -> SourceLocation | None:
    """The place of the caller outside of this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return None if frame is None else SourceLocation(frame.f_code.co_filename, frame.f_lineno)


_HERE = str(Path(__file__).parent)
