"""How functions run: compiled, or op by op. MindSpore's module `context`.

Reads: nothing. Writes: the mode and the target of this process. Leaves: `run`, which runs all derivatives of this
package.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import mlirad
from mlirad.interop.mindspore.kept import OncePerFunction
from mlirad.interop.mindspore.tensors import arrays_in, as_tensors
from mlirad.jit.debug_modes import op_by_op
from mlirad.jit.kernel import Kernel

GRAPH_MODE, PYNATIVE_MODE = 0, 1
_DEVICES = ("CPU", "Ascend")
"""MindSpore's names of targets: the core's names in another case."""


class _Context:
    mode, device_target = GRAPH_MODE, _DEVICES[0]


_current = _Context()
_for_targets: weakref.WeakKeyDictionary[Kernel, Kernel] = weakref.WeakKeyDictionary()


def set_context(*, mode: int | None = None, device_target: str | None = None) -> None:
    """Choose how functions run from now on, in all threads.

    mode: GRAPH_MODE (the default) compiles; PYNATIVE_MODE runs op by op with NumPy, with the same derivative rules.
    device_target, in GRAPH_MODE: "CPU", or "Ascend", the simulated target. Raises ValueError for others.
    """
    if mode not in (None, GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(f"mode is GRAPH_MODE or PYNATIVE_MODE, not {mode!r}")
    if device_target is not None and device_target not in _DEVICES:
        raise ValueError(f"device_target is one of {', '.join(_DEVICES)}, not {device_target!r}")
    _current.mode = _current.mode if mode is None else mode
    _current.device_target = device_target or _current.device_target


def get_context(name: str) -> Any:
    """The current mode ("mode") or target ("device_target")."""
    if name not in ("mode", "device_target"):
        raise ValueError(f"there is no context {name!r}, only 'mode' and 'device_target'")
    return getattr(_current, name)


class _Run:
    """function(*args) in the current mode, on the arrays in tensors. In compiled code it is the call itself."""

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        arrays = arrays_in(args)
        if _current.mode == PYNATIVE_MODE:
            with op_by_op():
                return as_tensors(function(*arrays, **kwargs))
        if isinstance(function, Kernel):
            function = _on_device(function)
        return as_tensors(function(*arrays, **kwargs))

    @staticmethod
    def __mlirad_function__(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


run = _Run()


class _ForDevice:
    """A function as a kernel for the target that is set, for transforms outside of compiled code."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if _current.device_target == _DEVICES[0] else _on_device(compiled(function))

    @staticmethod
    def __mlirad_function__(function: Callable[..., Any]) -> Callable[..., Any]:
        return function


for_device = _ForDevice()
compiled = OncePerFunction(lambda function: mlirad.jit(function))


def _on_device(kernel: Kernel) -> Kernel:
    """The kernel of the same function for the target that is set."""
    if _current.device_target == _DEVICES[0]:
        return kernel
    target = _current.device_target.lower()
    if kernel not in _for_targets or _for_targets[kernel].options.target != target:
        _for_targets[kernel] = mlirad.jit(kernel, target=target)
    return _for_targets[kernel]
