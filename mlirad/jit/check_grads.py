"""`mlirad.check_grads`: compares derivatives with central differences, and forward with reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.jit.transforms.directions import jvp, vjp
from mlirad.requests import python_functions
from mlirad.requests.request import Request

_MODES = ("fwd", "rev")
_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}
_STEP = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-5}


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] | str = _MODES,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of `function` at `args`, up to `order`, along random directions.

    modes: "fwd" compares `jvp` with central differences of the plain function; "rev" compares the cotangents of `vjp`
    with the same differences (`<g, J t> == <J^T g, t>`). Higher orders check these tangents and cotangents in turn, in
    all modes.
    args: a tuple; arguments and results that are not floats have no derivative. atol, rtol: the allowed error, by
    default 1e-6 (1e-2 if there is a float32). eps: the step of the differences, by default 1e-5 (1e-2). seed: of the
    directions.

    Raises AssertionError, with the order and the mode, if they differ; ValueError for an unknown mode or an order below
    1; TypeError if no argument is a float.
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or any(mode not in _MODES for mode in modes):
        raise ValueError(f"check_grads: modes are {' and '.join(map(repr, _MODES))}, not {modes!r}")
    if order < 1:
        raise ValueError(f"check_grads: order must be 1 or more, not {order}")
    if not isinstance(args, tuple | list):
        raise TypeError(f"check_grads: args must be a tuple of arguments, not {type(args).__name__}")
    if (kind := tree.opaque_kind_in(tree.flatten(tuple(args))[1])) is not None:
        hint = "pass its numbers, and make the matrix in the function"
        if tree.is_generator(kind):
            hint = "draw the numbers beforehand, and pass them"
        raise TypeError(f"check_grads: a {kind.__name__} cannot be moved along a direction: {hint}")
    floats = [np.asarray(leaf).dtype for leaf in tree.leaves(tuple(args)) if _is_float(leaf)]
    if not floats:
        raise TypeError("check_grads: no argument has floats, and only floats have derivatives")
    coarse = min(floats, key=lambda dtype: dtype.itemsize)
    tolerance, step = _TOLERANCE[coarse], _STEP[coarse]
    check = _Check(
        tuple(args),
        modes,
        tolerance if atol is None else atol,
        tolerance if rtol is None else rtol,
        step if eps is None else eps,
        np.random.default_rng(seed),
    )
    check.function(function, 1, order, "")


@dataclass(frozen=True)
class _Check:
    """Comparisons at one place."""

    args: tuple[Any, ...]
    modes: tuple[str, ...]
    atol: float
    rtol: float
    eps: float
    rng: np.random.Generator

    def function(self, function: Callable[..., Any], order: int, last: int, path: str) -> None:
        """Check the first derivatives of a function that is itself a derivative of order `order` - 1."""
        args = self.args
        tangents = tree.map(self._direction, args)
        differences = self._differences(function, tangents)
        if "fwd" in self.modes:
            _, found = jvp(function, _copied(args), tangents)
            for number, (leaf, expected) in enumerate(zip(tree.leaves(found), differences, strict=True)):
                if expected is not None:
                    self._require(leaf, expected, f"order {order}, {path}fwd: the tangent of result {number}")
        if "rev" in self.modes:
            out, pullback = vjp(function, *_copied(args))
            cotangent = tree.map(self._direction, out)
            back = tree.leaves(pullback(_cotangent_of(out, cotangent)))
            pairs = zip(tree.leaves(cotangent), differences, strict=True)
            expected = sum(float(np.sum(np.asarray(g) * d)) for g, d in pairs if g is not None and d is not None)
            pairs = zip(back, tree.leaves(tangents), strict=True)
            along = sum(float(np.sum(np.asarray(g) * np.asarray(t))) for g, t in pairs if t is not None)
            self._require(along, expected, f"order {order}, {path}rev: the cotangents along a direction")
            if order < last:
                given = _cotangent_of(out, cotangent)
                self.function(lambda *x: vjp(function, *x)[1](given), order + 1, last, f"{path}rev of ")
        if "fwd" in self.modes and order < last:
            self.function(lambda *x: jvp(function, x, tangents)[1], order + 1, last, f"{path}fwd of ")

    def _direction(self, leaf: Any) -> Any:
        """A random tangent of a leaf; None if it has no derivative."""
        if not _is_float(leaf):
            return None
        array = np.asarray(leaf)
        made = self.rng.normal(size=array.shape).astype(array.dtype)
        return made if isinstance(leaf, np.ndarray) else type(leaf)(made)

    def _differences(self, function: Callable[..., Any], tangents: Any) -> list[np.ndarray | None]:
        """The derivative of each leaf of the results along tangents, by central differences."""

        plain = python_functions.plain(function)
        run = function if isinstance(plain, Request) else plain

        def at(step: float) -> list[Any]:
            moved = tree.map(lambda x, t: _moved(x, t, step), self.args, tangents)
            return tree.leaves(run(*moved))

        pairs = zip(at(self.eps), at(-self.eps), strict=True)
        return [
            (np.asarray(y, np.float64) - np.asarray(x, np.float64)) / (2 * self.eps) if _is_float(y) else None
            for y, x in pairs
        ]

    def _require(self, found: Any, expected: Any, what: str) -> None:
        np.testing.assert_allclose(
            np.asarray(found, np.float64), expected, self.rtol, self.atol, err_msg=f"{what} is not the difference"
        )


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, float | np.floating) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def _copied(args: Any) -> Any:
    """A copy of the arguments, because the function may write them."""
    return tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, args)


def _moved(leaf: Any, tangent: Any, step: float) -> Any:
    """A leaf of the arguments after a step along a tangent."""
    if tangent is None:
        return _copied(leaf)
    moved = leaf + step * tangent
    return moved.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(moved)


def _cotangent_of(out: Any, cotangent: Any) -> Any:
    """A cotangent with zeros for leaves without a derivative."""

    def filled(leaf: Any, g: Any) -> Any:
        if g is not None:
            return g
        if isinstance(leaf, np.ndarray):
            return np.zeros_like(leaf)
        return type(leaf)(0) if isinstance(leaf, int | np.number | np.bool_) else leaf

    return tree.map(filled, out, cotangent)
