"""Other ways to run kernels, to find out why: `debug_nans`. They hold in a `with` block, for its thread.

Reads: nothing. Writes: the mode of the thread; while one is on anywhere, kernels get no plans for calls without
Python.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirad.jit.kernel import Kernel

Run = Callable[["Kernel", tuple[Any, ...], dict[str, Any]], Any]
"""Runs a call of a kernel."""

_mode: ContextVar[Run | None] = ContextVar("mlirad_mode", default=None)
_scopes: set[_Scope] = set()
_lock = threading.Lock()
_planned: weakref.WeakSet[Kernel] = weakref.WeakSet()


def current() -> Run | None:
    """What runs the kernels of this thread; None: compiled code."""
    return _mode.get()


def may_plan(kernel: Kernel) -> bool:
    """Whether calls of a kernel may go without Python. It is asked before each plan."""
    _planned.add(kernel)
    return not _scopes


class _Scope(AbstractContextManager[None]):
    """A `with` block in which kernels run in another way. It may be entered again, also in itself."""

    def __init__(self, run: Run):
        self._run = run
        self._tokens: list[Token[Run | None]] = []

    def __enter__(self) -> None:
        with _lock:
            _scopes.add(self)
            kernels = list(_planned)
        for kernel in kernels:
            kernel.forget_plans()
        self._tokens.append(_mode.set(self._run))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mode.reset(self._tokens.pop())
        with _lock:
            if not self._tokens:
                _scopes.discard(self)


def debug_nans() -> AbstractContextManager[None]:
    """`with mlirad.debug_nans():` a call that gives a NaN which it has made raises FloatingPointError instead.

    The error is at the line of the function that made the first one, and says what it was made of, and whether in the
    forward sweep or in the reverse sweep. No NaN is reported that came in with the arguments, that the function writes
    as a constant, or that reaches no result. Functions run op by op with NumPy meanwhile, a thousand times slower.
    """
    return _Scope(_watching_nans)


def _watching_nans(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from mlirad.jit.op_by_op import Interpreted

    if kernel.watched is None:
        kernel.watched = Interpreted(kernel.__mlirad_function__, options=kernel.options, watches_nans=True)
    return kernel.watched(*args, **kwargs)
