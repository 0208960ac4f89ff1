"""Native functions that the user has registered as ops: `mlirad.register_op`.

Reads: addresses and signatures of C functions. Writes: the table of registered ops. Leaves: callables, which also
compute with the native function in Python. Imports no xDSL: code from disk is linked with the addresses.

`from mlirad.contract.registered_ops import NAME`, in printed source, finds an op by its name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = {each: np.dtype(each) for each in ("float32", "float64", "int32", "int64", "uint32", "uint64")}
"""The types that a native function may take and return, by name."""


class NativeFunctionError(RuntimeError):
    """A native function is not where it is expected."""


@dataclass(frozen=True)
class Prototype:
    """The types of a C function. zeros: how many C ints, all 0, it takes after its arguments."""

    arguments: tuple[np.dtype, ...]
    result: np.dtype
    zeros: int = 0

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.arguments))})"


class NativeOp:
    """A native function of numbers, which applies to arrays element by element, like a ufunc.

    symbol: its name in object code, unique in this process. owner: the object that keeps the function alive.
    needs_gil: whether it is called with the interpreter's lock.
    """

    def __init__(self, name: str, symbol: str, address: int, prototype: Prototype, needs_gil: bool, owner: Any):
        self.__name__ = self.__qualname__ = name
        self.__module__ = __name__
        self.symbol, self.address, self.prototype, self.needs_gil = symbol, address, prototype, needs_gil
        self._owner = owner
        kinds = [np.ctypeslib.as_ctypes_type(each) for each in (prototype.result, *prototype.arguments)]
        make = ctypes.PYFUNCTYPE if needs_gil else ctypes.CFUNCTYPE
        self._function = make(*kinds, *[ctypes.c_int] * prototype.zeros)(address)
        self._zeros = [0] * prototype.zeros

    def __call__(self, *args: Any) -> Any:
        """The function applied to each element of broadcast arrays; for numbers, a number. Raises TypeError."""
        wanted, name = self.prototype.arguments, self.__name__
        if len(args) != len(wanted):
            taken = f"{len(wanted)} argument{'s' * (len(wanted) != 1)}"
            raise TypeError(f"{name}() takes {taken} but {len(args)} were given")
        arrays = [self._as(number, arg) for number, arg in enumerate(args)]
        shape = np.broadcast_shapes(*(each.shape for each in arrays))
        rows = zip(*(np.broadcast_to(each, shape).ravel().tolist() for each in arrays), strict=True)
        found = [self._function(*row, *self._zeros) for row in rows]
        return np.array(found, self.prototype.result).reshape(shape)[()]

    def _as(self, number: int, value: Any) -> np.ndarray:
        dtype = self.prototype.arguments[number]
        is_weak = isinstance(value, bool | int | float) and not isinstance(value, np.generic)
        source = type(value) if is_weak else np.asarray(value).dtype
        self.require(number, source)
        return np.asarray(value, dtype)

    def require(self, number: int, source: np.dtype | type) -> None:
        """Raises TypeError if a ufunc would not accept this dtype, or this class of Python numbers, as an argument."""
        dtype = self.prototype.arguments[number]
        if isinstance(source, np.dtype):
            fits = np.can_cast(source, dtype, "safe")
        else:
            fits = dtype.kind == "f" or not issubclass(source, float)
        if not fits:
            shown = source if isinstance(source, np.dtype) else f"a Python {source.__name__}"
            message = f"{self.__name__}() takes {dtype} as argument {number}, and {shown} is not cast to that safely"
            raise TypeError(f"{message}: convert it")

    def __reduce__(self) -> Any:
        return op_of, (self.symbol,)

    def __repr__(self) -> str:
        return f"<native op {self.__name__}: {self.prototype}>"


_ops: dict[str, NativeOp] = {}
"""The newest op of each symbol. Ops with the same symbol share a function, which is kept: code is linked to it."""


def registered(name: str, address: int, prototype: Prototype, needs_gil: bool = False, owner: Any = None) -> NativeOp:
    """A new op. Its symbol is its name, followed by a number if another function has that name.

    Raises ValueError for a name that is not an identifier.
    """
    if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
        raise ValueError(f"register_op: the name must be an identifier, not {name!r}")
    symbol, count = name, 1
    while (known := _ops.get(symbol)) is not None and not _is_same(known, address, prototype, needs_gil):
        count += 1
        symbol = f"{name}_{count}"
    _ops[symbol] = made = NativeOp(name, symbol, address, prototype, needs_gil, (owner, known))
    return made


def _is_same(known: NativeOp, address: int, prototype: Prototype, needs_gil: bool) -> bool:
    return (known.address, known.prototype, known.needs_gil) == (address, prototype, needs_gil)


def op_of(symbol: str) -> NativeOp:
    """The op of a symbol. Raises NativeFunctionError if this process has not registered it."""
    if symbol not in _ops:
        hint = f"call mlirad.register_op({symbol!r}, ...) in this process, before the kernels that use it"
        raise NativeFunctionError(f"the native op {symbol!r} is not registered: {hint}")
    return _ops[symbol]


def address_of(symbol: str) -> int:
    """Raises NativeFunctionError."""
    return op_of(symbol).address


def __getattr__(name: str) -> Callable[..., Any]:
    if name in _ops:
        return _ops[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
