"""A function of many lanes at once, and functions whose derivatives need less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mlirad.jit.kernel import Kernel, kernel_of
from mlirad.jit.transforms.jitted import checked_callable, inherited, options_given, stands_for
from mlirad.requests.lanes_and_parts import Accumulate, Checkpoint, Vmap, axes_of
from mlirad.requests.python_functions import plain

P = ParamSpec("P")
R = TypeVar("R")


@stands_for(Vmap)
def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **options: Any
) -> Kernel[..., Any]:  # its parameters have an axis more than those of the function
    """`function` of each lane of its arguments: each slice along an axis of their arrays. The results are stacked.

    in_axes: the axis of the lanes: an int for all arguments, or a tuple or list with an item for each positional
    argument: an int (negative ones count from the end), None for what every lane gets as it is, or a pytree of these
    like the argument. Keyword arguments have their lanes along axis 0. A lane of a vector is a number.
    out_axes: where the axis of the lanes is in the results; None for a result that does not depend on the lane.
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    The lanes run one after the other, each as the function itself would; what they write in their own slices of the
    arguments is written there. Raises ValueError, at the place in the source, where there is no such axis, where the
    numbers of lanes differ, and where the shape of a result depends on data.
    """
    try:
        request = Vmap(plain(checked_callable(function)), axes_of(in_axes), axes_of(out_axes))
    except TypeError as error:
        raise TypeError(f"vmap: {error}") from None
    return kernel_of(request, options_given(vmap, options, inherited(function)))


@stands_for(Checkpoint)
def checkpoint(function: Callable[P, R], /, **options: Any) -> Kernel[P, R]:
    """`function` itself, which reverse mode runs again instead of storing what it computes inside.

    The forward sweep keeps the arguments; the reverse sweep runs the function again from these, and then backwards.
    Also a decorator. May be nested: a function of checkpointed functions then keeps as little. options: as of `jit`;
    without them, the options of the function, if it is jitted, except donate_argnums.

    Raises, when called, at the place in the source, mlirad.DifferentiationError (a TypeError) for a function that calls
    itself through its own checkpoint, and mlirad.UnsupportedSyntaxError for one that returns one of its arguments, or a
    view of one: what is returned is new.
    """
    request = Checkpoint(plain(checked_callable(function)))
    return kernel_of(request, options_given(checkpoint, options, inherited(function)))


@stands_for(Accumulate)
def accumulate_grad(
    loss: Callable[P, R], n_micro: int, in_axes: Any = None, reduce: str = "mean", **options: Any
) -> Kernel[P, R]:
    """`loss` of a batch, computed of `n_micro` equal parts of it, one after the other: the mean of the parts' losses.

    Its gradient needs the memory of one part: `value_and_grad(accumulate_grad(loss, 4))(weights, x, y)`. Where loss is
    a mean over examples, it is the gradient of the whole batch; so it is with reduce="sum" where loss is a sum.

    in_axes: the axis of the examples in each argument, as of `vmap`; None for an argument that all parts get as it is.
    Without in_axes, the first argument (the weights) is such a one, and the others have their examples along axis 0.
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    All that loss returns is averaged: floats, and arrays of floats. Raises TypeError or ValueError for an n_micro or
    reduce that means nothing; when called, at the place in the source, mlirad.ShapeError (a ValueError) for a batch
    that cannot be cut into equal parts, and mlirad.DTypeError (a TypeError) for results that are not of floats.
    """
    try:
        axes = axes_of(in_axes)
    except TypeError as error:
        raise TypeError(f"accumulate_grad: {error}") from None
    request = Accumulate(plain(checked_callable(loss)), n_micro, axes, reduce)
    return kernel_of(request, options_given(accumulate_grad, options, inherited(loss)))
