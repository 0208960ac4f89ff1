"""Other ways to run kernels, for debugging: `debug_nans`, `disable_jit`. They hold in a `with` block, in its thread.

Reads: nothing. Writes: the mode of the thread. While a mode is on in any thread, kernels get no plans for calls without
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
    """The interface of kernels that is used here."""

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
    """The runner of this thread's kernels; None: compiled code."""
    return _mode.get()


def may_plan(kernel: DebuggedKernel) -> bool:
    """Whether calls of a kernel may bypass Python. It is called before each plan is made."""
    _planned.add(kernel)
    return not _scopes


class _Scope(AbstractContextManager[None]):
    """A `with` block in which kernels run in another way. It may be entered again, also inside itself."""

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
    """`with mlirad.debug_nans():` a call raises FloatingPointError if its result has a NaN that it produced itself.

    The error points to the line that produced the first NaN, shows the operands, and says whether this was in the
    forward or in the reverse sweep. A NaN is not reported if it comes from the arguments, is a constant of the
    function, or reaches no result. Inside the block, functions run op by op with NumPy, a thousand times slower.
    """
    return _Scope(_watching_nans)


def disable_jit() -> AbstractContextManager[None]:
    """`with mlirad.disable_jit():` functions run in Python instead of being compiled, so a debugger can stop in them.

    The function of a derivative also runs in Python. Its arrays and numbers show their values, and record the ops
    applied to them; the record is then differentiated op by op, with the rules of compiled code. Inside `vmap` a
    variable has no single value, so there functions are interpreted.
    """
    return _Scope(_in_python)


def op_by_op() -> AbstractContextManager[None]:
    """`with op_by_op():` functions and derivatives run op by op with NumPy, with the rules of compiled code."""
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
