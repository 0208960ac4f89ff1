"""Other ways to run kernels, to find out why: `debug_nans`, `disable_jit`. They hold in a `with` block, for its thread.

Reads: nothing. Writes: the mode of the thread; while one is on anywhere, kernels get no plans for calls without
Python.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import FunctionType, TracebackType
from typing import Any, Protocol

from mlirad.options import Environment, Options
from mlirad.requests.request import Request


class DebuggedKernel(Protocol):
    """What is asked of a kernel here."""

    __mlirad_function__: Any
    options: Options
    watched: Any
    stepped: Any

    def forget_plans(self) -> None: ...


Run = Callable[["DebuggedKernel", tuple[Any, ...], dict[str, Any]], Any]
"""Runs a call of a kernel."""

_mode: ContextVar[Run | None] = ContextVar("mlirad_mode", default=None)
_scopes: set[_Scope] = set()
_lock = threading.Lock()
_planned: weakref.WeakSet[DebuggedKernel] = weakref.WeakSet()


def current() -> Run | None:
    """What runs the kernels of this thread; None: compiled code."""
    return _mode.get()


def may_plan(kernel: DebuggedKernel) -> bool:
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
    """`with mlirad.debug_nans():` a call whose result has a NaN that the call itself made raises FloatingPointError.

    The error is at the line that made the first NaN, with the operands, and says whether that was in the forward or in
    the reverse sweep. A NaN is not reported if it came in with the arguments, is a constant of the function, or reaches
    no result. Functions run op by op with NumPy meanwhile, a thousand times slower.
    """
    return _Scope(_watching_nans)


def disable_jit() -> AbstractContextManager[None]:
    """`with mlirad.disable_jit():` functions are not compiled but run in Python, where a debugger can stop in them.

    The function of a derivative runs in Python, too. Its arrays and numbers show their values, and record the ops
    applied to them; the record is then differentiated op by op, with the rules of compiled code. Inside `vmap` a
    variable has no single value, so there functions are interpreted.
    """
    return _Scope(_in_python)


def op_by_op() -> AbstractContextManager[None]:
    """`with op_by_op():` functions and derivatives run op by op with NumPy, by the rules that compiled code follows."""
    return _Scope(_stepping)


def _in_python(kernel: DebuggedKernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from mlirad.jit.live import live_calls, substituted
    from mlirad.jit.live.recorded import recording_of

    function = kernel.__mlirad_function__
    recording = recording_of((args, kwargs, function))
    if not isinstance(function, Request):
        if recording is not None and isinstance(function, FunctionType):
            return substituted.run(function, recording, args, kwargs)
        return function(*args, **kwargs)
    if recording is not None:
        return recording.call(function, args, kwargs)
    return live_calls.call(function, kernel.options, args, kwargs)


def _watching_nans(kernel: DebuggedKernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from mlirad.evaluator.nan_watch import NanWatch
    from mlirad.jit.live.op_by_op import Interpreted

    if kernel.watched is None:
        kernel.watched = Interpreted(kernel.__mlirad_function__, options=kernel.options, watch=lambda _: NanWatch())
    return _interpreted(kernel.watched, args, kwargs)


def _stepping(kernel: DebuggedKernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from mlirad.jit.live.op_by_op import Interpreted

    if kernel.stepped is None:
        kernel.stepped = Interpreted(kernel.__mlirad_function__, options=kernel.options)
    return _interpreted(kernel.stepped, args, kwargs)


def _interpreted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as error:
        if Environment.read().full_traceback:
            raise
        raise error.with_traceback(None) from None
