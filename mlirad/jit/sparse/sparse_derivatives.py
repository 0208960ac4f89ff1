"""Jacobians and Hessians as sparse matrices: the pattern, columns computed together by colours, and the entries.

Reads: a function, and a pattern or the request to find it. Writes: nothing. Leaves: matrices of scipy.sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.jit.kernel import Kernel, kernel_for
from mlirad.jit.sparse.colouring import column_colours, star_colours
from mlirad.options import Options
from mlirad.requests.kinds_of_derivatives import Grad, Jvp, Paths
from mlirad.requests.lanes_and_parts import Vmap
from mlirad.requests.python_functions import name_of, require_arguments

FIND = "find"
"""The value of `sparsity=` for a pattern that is found in the program."""

_MAX_PLANS = 16


def sparse_module() -> Any:
    """scipy.sparse. Raises ImportError if it is not installed."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError("sparse derivatives are matrices of scipy.sparse: pip install scipy") from error
    return scipy.sparse


@dataclass(frozen=True)
class Plan:
    """Which columns are computed together, and where the entries of the pattern are in these sums.

    seeds: a row for each colour. rows, columns: of the entries, in CSR order. sums, places: entry k is number places[k]
    of the derivative along seeds[sums[k]].
    """

    shape: tuple[int, int]
    seeds: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    sums: np.ndarray
    places: np.ndarray


class SparseDerivative:
    """The Jacobian of a function, or of its gradient, with respect to one array, as a matrix of scipy.sparse.

    Called like the function. Rows and columns number the elements of the arrays in C order.
    `pattern(*args)` is the sparsity pattern, `colours(*args)` the colours of the columns: each costs a forward sweep.
    """

    def __init__(self, function: Callable[..., Any], argnum: int, sparsity: Any, is_hessian: bool, options: Options):
        self._name = name_of(function)
        if sparsity is None or (isinstance(sparsity, str) and sparsity != FIND):
            raise ValueError(f"sparsity is {FIND!r} or a pattern (a sparse matrix, a 2-d array), not {sparsity!r}")
        self._argnum, self._sparsity, self._is_hessian = argnum, sparsity, is_hessian
        self._function = function
        self._of_paths, self._of_sums = _kernels(function, argnum, is_hessian, options)
        self._plans: dict[Hashable, Plan] = {}

    def __repr__(self) -> str:
        return f"<sparse {'hessian' if self._is_hessian else 'jacobian'} of {self._name}>"

    def __call__(self, *args: Any) -> Any:
        before, x, after = self._parts(args)
        plan = self._plan(before, x, after)
        sums = self._of_sums(before, x, after, plan.seeds.reshape(len(plan.seeds), *x.shape))
        if not self._is_hessian and plan.shape[0] != sums.shape[1]:
            raise ValueError(f"sparsity has {plan.shape[0]} rows, and {self._name} gives {sums.shape[1]} numbers")
        entries = sums[plan.sums, plan.places].astype(x.dtype, copy=False)
        return sparse_module().csr_array((entries, (plan.rows, plan.columns)), shape=plan.shape)

    def pattern(self, *args: Any) -> Any:
        """The sparsity pattern for such arguments: a boolean matrix of scipy.sparse."""
        plan = self._plan(*self._parts(args))
        ones = np.ones(len(plan.rows), bool)
        return sparse_module().csr_array((ones, (plan.rows, plan.columns)), shape=plan.shape)

    def colours(self, *args: Any) -> np.ndarray:
        """The colour of each column, from 0 on."""
        return np.argmax(self._plan(*self._parts(args)).seeds, axis=0)

    def _parts(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], np.ndarray, tuple[Any, ...]]:
        """The arguments before the array, the array, and those after it."""
        require_arguments(self._function, args)
        count, number = len(args), self._argnum
        if not -count <= number < count:
            raise TypeError(f"argnums={number} of {self._name}, which is called with {count} arguments")
        number %= count
        x = args[number]
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
            raise TypeError(
                f"a sparse derivative is with respect to an array of floats, and argument {number} is {kind}"
            )
        return args[:number], x, args[number + 1 :]

    def _plan(self, before: tuple[Any, ...], x: np.ndarray, after: tuple[Any, ...]) -> Plan:
        """How the derivative is computed for such arguments. The pattern may depend on all of them but x."""
        if not isinstance(self._sparsity, str):
            key: Hashable = x.shape, x.dtype
            if key not in self._plans:
                self._of_paths.lower(before, x, after, np.zeros_like(x))  # refuses what has no pattern
                self._keep(key, self._planned(_as_pattern(self._sparsity, x.size), x))
            return self._plans[key]
        seed = np.zeros_like(x)
        received = self._of_paths.received(before, x, after, seed)
        key = x.shape, x.dtype, *(_content(each) for each in received if each is not x and each is not seed)
        if key not in self._plans:
            self._keep(key, self._planned(self._found(before, x, after), x))
        return self._plans[key]

    def _keep(self, key: Hashable, plan: Plan) -> None:
        if len(self._plans) >= _MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        self._plans[key] = plan

    def _found(self, before: tuple[Any, ...], x: np.ndarray, after: tuple[Any, ...]) -> Any:
        """The pattern of the program, found column by column."""
        seed = np.zeros(x.shape, x.dtype)
        flat = seed.reshape(-1)
        columns: list[np.ndarray] = []
        size = 0
        for number in range(x.size):
            flat[number] = 1.0
            try:
                counts = self._of_paths(before, x, after, seed)
            except (IndexError, ValueError, ArithmeticError) as error:
                error.add_note(
                    f"raised in the search for the sparsity pattern of {self._name}, which computes both sides of "
                    "branches that depend on values; give sparsity=pattern"
                )
                raise
            flat[number] = 0.0
            size = counts.size
            columns.append(np.flatnonzero(counts))
        lengths = np.concatenate([[0], np.cumsum([len(each) for each in columns], dtype=np.int64)])
        indices = np.concatenate(columns) if columns else np.zeros(0, np.int64)
        entries = np.ones(len(indices), bool)
        return sparse_module().csc_array((entries, indices, lengths), shape=(size, x.size)).tocsr()

    def _planned(self, pattern: Any, x: np.ndarray) -> Plan:
        if self._is_hessian:
            pattern = ((pattern + pattern.T) > 0).tocsr()
        colours = star_colours(pattern) if self._is_hessian else column_colours(pattern)
        count = int(colours.max(initial=-1)) + 1
        seeds = np.zeros((count, x.size), x.dtype)
        seeds[colours, np.arange(x.size)] = 1.0
        entries = pattern.tocoo()
        rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
        sums, places = colours[columns], rows
        if self._is_hessian:
            # Row i of the sum of a colour is the entry (i, j) if no other of its columns is in the row; else (j, i) is.
            alone = np.zeros((x.size, count), np.int64)
            np.add.at(alone, (rows, sums), 1)
            own = alone[rows, sums] == 1
            sums, places = np.where(own, sums, colours[rows]), np.where(own, rows, columns)
        return Plan(pattern.shape, seeds, rows, columns, sums, places)


def _kernels(function: Callable[..., Any], argnum: int, is_hessian: bool, options: Options) -> tuple[Kernel, Kernel]:
    """The kernels for the counts of paths that lead to x, and for the derivatives along rows of seeds."""

    grad, jvp, counted, vmap = _IN_KERNELS

    def paths(before, x, after, seed):
        def of_x(each):
            return (grad(function, argnum) if is_hessian else function)(*before, each, *after)

        return np.ravel(counted(of_x, (x,), (seed,)))

    def sums(before, x, after, seeds):
        def of_x(each):
            return (grad(function, argnum) if is_hessian else function)(*before, each, *after)

        def along(seed):
            return np.ravel(jvp(of_x, (x,), (seed,))[1])

        return vmap(along)(seeds)

    return kernel_for(paths, options), kernel_for(sums, options)


_IN_KERNELS: tuple[Any, ...] = Grad, Jvp, Paths, Vmap
"""The transforms, which the kernels call like users call `grad`."""


def _as_pattern(given: Any, size: int) -> Any:
    """A pattern that a user gives: a matrix of scipy.sparse, or an array, nonzero where the derivative may be."""
    sparse = sparse_module()
    pattern = given.tocsr() if sparse.issparse(given) else sparse.csr_array(np.asarray(given))
    if pattern.ndim != 2 or pattern.shape[1] != size:
        raise ValueError(f"sparsity has the shape {pattern.shape}, and the argument has {size} numbers: one a column")
    return (pattern != 0).tocsr()


def _content(value: Any) -> Hashable:
    """A key that differs for arrays of other contents."""
    array = np.asarray(value)
    return array.shape, array.dtype, array.tobytes()
