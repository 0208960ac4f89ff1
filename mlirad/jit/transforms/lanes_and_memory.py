"""A function applied to many lanes, and functions with derivatives that need less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mlirad.jit.kernel import Kernel, kernel_of
from mlirad.jit.transforms.jitted import checked_callable, options_of, stands_for
from mlirad.requests.lanes_and_parts import Accumulate, Checkpoint, Vmap, axes_of
from mlirad.requests.python_functions import plain

P = ParamSpec("P")
R = TypeVar("R")


@stands_for(Vmap)
def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **options: Any
) -> Kernel[..., Any]:  # its parameters have an axis more than those of the function
    """`function` applied to each lane of its arguments: each slice along an axis of their arrays. Results are stacked.

    in_axes: the axis of the lanes: an int for all arguments, or a tuple or list with an item for each positional
    argument. An item is an int (negative ones count from the end), None if every lane gets the whole argument, or a
    pytree of these like the argument. Keyword arguments have their lanes along axis 0. A lane of a vector is a number.
    out_axes: the axis of the lanes in the results; None for a result that is the same in all lanes.
    options: as for `jit`. By default the options of the function, if it is jitted, except donate_argnums.

    The lanes run one after the other, each as the function itself would run. A lane may write to its own slice of an
    argument. Raises ValueError, at the place in the source, if there is no such axis, if the numbers of lanes differ,
    or if the shape of a result depends on data.
    """
    try:
        request = Vmap(plain(checked_callable(function)), axes_of(in_axes), axes_of(out_axes))
    except TypeError as error:
        raise TypeError(f"vmap: {error}") from None
    return kernel_of(request, options_of(vmap, options, function))


@stands_for(Checkpoint)
def checkpoint(function: Callable[P, R], /, **options: Any) -> Kernel[P, R]:
    """`function`, but reverse mode runs it again instead of storing its intermediate results.

    The forward sweep keeps only the arguments; the reverse sweep runs the function again from them. Also a decorator.
    It may be nested: a function of checkpointed functions also keeps only its arguments. options: as for `jit`. By
    default the options of the function, if it is jitted, except donate_argnums.

    When called, raises at the place in the source: mlirad.DifferentiationError (a TypeError) for a function that calls
    itself through its own checkpoint, and mlirad.UnsupportedSyntaxError for one that returns an argument, or a view of
    one, because results are new arrays.
    """
    request = Checkpoint(plain(checked_callable(function)))
    return kernel_of(request, options_of(checkpoint, options, function))


@stands_for(Accumulate)
def accumulate_grad(
    loss: Callable[P, R], n_micro: int, in_axes: Any = None, reduce: str = "mean", **options: Any
) -> Kernel[P, R]:
    """The `loss` of a batch as the mean of the losses of `n_micro` equal parts, computed one after the other.

    Its gradient needs the memory of one part: `value_and_grad(accumulate_grad(loss, 4))(weights, x, y)`. If loss is a
    mean over examples, this is the gradient for the whole batch. If loss is a sum, use reduce="sum".

    in_axes: the axis of the examples in each argument, as for `vmap`; None for an argument that every part gets whole.
    Without in_axes, the first argument (the weights) is whole, and the others have their examples along axis 0.
    options: as for `jit`. By default the options of the function, if it is jitted, except donate_argnums.

    All results of loss are averaged: floats, and arrays of floats. Raises TypeError or ValueError for an invalid
    n_micro or reduce. When called, raises at the place in the source: mlirad.ShapeError (a ValueError) for a batch that
    cannot be cut into equal parts, and mlirad.DTypeError (a TypeError) for results that are not floats.
    """
    try:
        axes = axes_of(in_axes)
    except TypeError as error:
        raise TypeError(f"accumulate_grad: {error}") from None
    request = Accumulate(plain(checked_callable(loss)), n_micro, axes, reduce)
    return kernel_of(request, options_of(accumulate_grad, options, loss))
