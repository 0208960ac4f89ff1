"""Functional transforms: derivatives of functions of tensors, by their arguments and by captured parameters.

Reads: functions. Writes: nothing. Leaves: functions that call the core's transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import numpy as np

import mlirad
from mlirad.interop.mindspore.bprop import written
from mlirad.interop.mindspore.kept import OncePerFunction
from mlirad.interop.mindspore.modes import for_device, run
from mlirad.interop.mindspore.tensors import Parameter, Tensor, as_tensors, data_of, require_floats
from mlirad.library.lifted import Lifted

Function = Callable[..., Any]


def grad(
    fn: Function, grad_position: Any = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False
) -> Function:
    """The gradient of the sum of all numbers in all outputs of fn.

    grad_position: the argument, or a tuple of arguments, by number, or None. weights: a Parameter, or a sequence of
    them, that fn uses; their gradients follow those of the arguments. has_aux: only the first output counts, and the
    result is (gradients, the tuple of the other outputs). return_ids: each gradient is a pair of the number of its
    argument, or the name of its parameter, and the gradient: see get_grad.
    """
    derivative = value_and_grad(fn, grad_position, weights, has_aux, return_ids)

    def gradients(*args: Any) -> Any:
        outputs, found = derivative(*args)
        return (found, outputs[1:]) if has_aux else found

    return gradients


@OncePerFunction
def value_and_grad(
    fn: Function, grad_position: Any = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False
) -> Function:
    """The outputs of fn, and its gradients: see grad."""
    if grad_position is None and weights is None:
        raise ValueError("grad_position and weights are both None: there is nothing to differentiate by")
    positions = () if grad_position is None else grad_position
    scalar = _summed(fn, has_aux)
    if weights is None:
        by_arguments = mlirad.value_and_grad(scalar, positions, True)

        def of_arguments(*args: Any) -> Any:
            (_, outputs), found = run(by_arguments, *args)
            return outputs, _with_ids(found, positions) if return_ids else found

        return of_arguments
    held = (weights,) if isinstance(weights, Parameter) else tuple(weights)
    require_floats(held)
    numbers = (positions,) if isinstance(positions, int) else positions
    by_both = mlirad.value_and_grad(Lifted(scalar, held), (0, *[each + 1 for each in numbers]), True)

    names, is_one = [each.name for each in held], isinstance(weights, Parameter)

    def of_weights(*args: Any) -> Any:
        (_, outputs), (found, *by_args) = run(by_both, tuple([data_of(each) for each in held]), *args)
        by_weights: Any = found
        if return_ids:
            by_weights = tuple([(name, slope) for name, slope in zip(names, found, strict=True)])
        if is_one:
            by_weights = by_weights[0]
        if grad_position is None:
            return outputs, by_weights
        by_position = by_args[0] if isinstance(positions, int) else tuple(by_args)
        return outputs, (_with_ids(by_position, positions) if return_ids else by_position, by_weights)

    return of_weights


def _summed(fn: Function, has_aux: bool) -> Function:
    """The sum of the outputs of fn, or of its first output; and all outputs."""

    @wraps(written(fn), updated=())
    def summed(*args: Any) -> Any:
        outputs = fn(*args)
        if has_aux and not isinstance(outputs, tuple | list):
            raise TypeError("has_aux: the function returns one output, and none besides it")
        return _total(outputs[0] if has_aux else outputs), outputs

    return summed


def _total(outputs: Any) -> Any:
    """The sum of all floats in the outputs."""
    if not isinstance(outputs, tuple | list):
        return np.sum(data_of(outputs))
    total = 0.0
    for each in outputs:
        if isinstance(each, tuple | list) or np.asarray(data_of(each)).dtype.kind == "f":
            total = total + _total(each)
    return total


def _with_ids(found: Any, positions: Any) -> Any:
    if isinstance(positions, int):
        return positions, found
    return tuple([(position, slope) for position, slope in zip(positions, found, strict=True)])


def get_grad(gradients: Any, identifier: int | Parameter) -> Tensor:
    """The gradient by an argument (by number) or a Parameter, from the result of a function with return_ids."""
    if not isinstance(identifier, int | Parameter):
        raise TypeError(f"get_grad: the identifier is a number or a Parameter, not {identifier!r}")
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier
    for key, slope in _pairs(gradients):
        if key == wanted:
            return slope
    raise RuntimeError(f"get_grad: there is no gradient for {wanted!r}")


def _pairs(gradients: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(gradients, tuple) and gradients and isinstance(gradients[0], int | str):
        yield gradients[0], gradients[1]
    elif isinstance(gradients, tuple):
        for each in gradients:
            yield from _pairs(each)


# --- directions and Jacobians -----------------------------------------------------------------------------------


@OncePerFunction
def _with_aux(fn: Function) -> Function:
    """fn with two outputs: the first one, and the rest: one output, or a tuple."""

    @wraps(written(fn), updated=())
    def split(*args: Any) -> Any:
        first, *others = fn(*args)
        return first, others[0] if len(others) == 1 else tuple(others)

    return split


def jvp(fn: Function, inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """(outputs, their derivative in the direction v of the inputs), and the other outputs with has_aux."""
    primals, tangents = (each if isinstance(each, tuple) else (each,) for each in (inputs, v))
    return run(mlirad.jvp, for_device(_with_aux(fn) if has_aux else fn), primals, tangents, has_aux)


def vjp(fn: Function, *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """(outputs, pull), and the other outputs with has_aux; pull(*v), with v like the outputs, gives a tuple of
    gradients.

    With weights, it gives a pair: the gradients by the inputs, and those by the parameters.
    """
    function = _with_aux(fn) if has_aux else fn
    if weights is None:
        outputs, pullback, *aux = run(mlirad.vjp, for_device(function), *inputs, has_aux=has_aux)
    else:
        held = (weights,) if isinstance(weights, Parameter) else tuple(weights)
        require_floats(held)
        arrays = tuple([data_of(each) for each in held])
        outputs, pullback, *aux = run(mlirad.vjp, for_device(Lifted(function, held)), arrays, *inputs, has_aux=has_aux)

    def pull(*v: Any) -> Any:
        found = run(pullback, v if isinstance(outputs, tuple) else v[0])
        return found if weights is None else (found[1:], found[0])

    return (outputs, pull, *aux)


@OncePerFunction
def jacfwd(fn: Function, grad_position: Any = 0, has_aux: bool = False) -> Function:
    """All derivatives, in forward mode: for each output a tensor of its shape followed by the argument's shape."""
    return _jacobian(mlirad.jacfwd, fn, grad_position, has_aux)


@OncePerFunction
def jacrev(fn: Function, grad_position: Any = 0, has_aux: bool = False) -> Function:
    """All derivatives, in reverse mode: see jacfwd."""
    return _jacobian(mlirad.jacrev, fn, grad_position, has_aux)


def _jacobian(transform: Function, fn: Function, position: Any, has_aux: bool) -> Function:
    function = _with_aux(fn) if has_aux else fn

    derivative = transform(function, position, has_aux)

    def jacobian(*args: Any) -> Any:
        return run(derivative, *args)

    return jacobian


# --- memory -----------------------------------------------------------------------------------------------------


def recompute(block: Function, *args: Any) -> Any:
    """block(*args). The reverse sweep runs it again instead of storing its intermediate results."""
    return run(mlirad.checkpoint(block), *args)


class GradientAccumulation:
    """Sums of gradients / steps: a call adds gradients, and returns the sums at every `steps`-th call, else None."""

    def __init__(self, steps: int):
        if steps < 1:
            raise ValueError(f"GradientAccumulation: steps must be 1 or more, not {steps}")
        self.steps, self._count = steps, 0
        self._sums: tuple[np.ndarray, ...] = ()

    def __call__(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
        if self._count == 0:
            self._sums = tuple(np.zeros_like(each.data) for each in gradients)
        run(_add, self._sums, tuple(each.data for each in gradients), 1 / self.steps)
        self._count = (self._count + 1) % self.steps
        return as_tensors(self._sums) if self._count == 0 else None


@mlirad.jit
def _add(sums: Any, gradients: Any, factor: float) -> None:
    for total, each in zip(sums, gradients, strict=True):
        total += factor * each
