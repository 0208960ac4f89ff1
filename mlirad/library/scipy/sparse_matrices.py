"""scipy.sparse: methods and operators of sparse matrices in compiled functions, as loops over their arrays.

Each function takes matrices of the formats that its table names. SciPy's classes inherit methods from many places, so
functions are found by format and name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


def csr_product(a: Any, x: Any) -> Any:
    rows, columns = a.shape
    y = _zeros(a, x, rows, columns)
    if x.ndim == 1:
        for i in range(rows):
            total = y[i]
            for k in range(a.indptr[i], a.indptr[i + 1]):
                total += a.data[k] * x[a.indices[k]]
            y[i] = total
        return y
    for i in range(rows):
        for k in range(a.indptr[i], a.indptr[i + 1]):
            y[i] += a.data[k] * x[a.indices[k]]
    return y


def csc_product(a: Any, x: Any) -> Any:
    rows, columns = a.shape
    y = _zeros(a, x, rows, columns)
    for j in range(columns):
        for k in range(a.indptr[j], a.indptr[j + 1]):
            y[a.indices[k]] += a.data[k] * x[j]
    return y


def coo_product(a: Any, x: Any) -> Any:
    rows, columns = a.shape
    y = _zeros(a, x, rows, columns)
    for k in range(a.data.shape[0]):
        y[a.row[k]] += a.data[k] * x[a.col[k]]
    return y


def _zeros(a: Any, x: Any, rows: int, columns: int) -> Any:
    """An empty array for the product."""
    if not isinstance(x, np.ndarray):
        raise NotImplementedError(
            "a sparse matrix times anything but an array is not compiled", "write x.toarray(), or np.array(x)"
        )
    if x.ndim == 0:
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    if x.ndim > 2:
        raise NotImplementedError(
            "a sparse matrix times an array of more than two axes is not compiled", "write a loop"
        )
    if x.shape[0] != columns:
        raise ValueError("matmul: dimension mismatch: the matrix has another number of columns than the array has rows")
    return np.zeros((rows, *x.shape[1:]), np.result_type(a.data.dtype, x.dtype))


def product_from_left(a: Any, x: Any) -> Any:
    """x @ a."""
    if not isinstance(x, np.ndarray):
        raise NotImplementedError(
            "anything but an array times a sparse matrix is not compiled", "write x.toarray(), or np.array(x)"
        )
    return a.T @ x if x.ndim < 2 else (a.T @ x.T).T


def scaled(a: Any, factor: Any) -> Any:
    """a * factor, for a number."""
    if isinstance(factor, np.ndarray):
        raise NotImplementedError(
            "'*' of a sparse matrix and an array is not compiled", "write a @ x, or compute with its data"
        )
    return _of_data(a, a.data * factor)


def divided(a: Any, divisor: Any) -> Any:
    if isinstance(divisor, np.ndarray):
        raise NotImplementedError("a sparse matrix divided by an array is not compiled", "compute with its data")
    return _of_data(a, a.data / divisor)


def negative(a: Any) -> Any:
    return _of_data(a, -a.data)


def _of_data(a: Any, data: Any) -> Any:
    """The same matrix with other data."""
    places = (a.row.copy(), a.col.copy()) if a.format == "coo" else (a.indices.copy(), a.indptr.copy())
    return type(a)((data, places) if a.format == "coo" else (data, *places), shape=a.shape)


def csr_toarray(a: Any) -> Any:
    y = np.zeros(a.shape, a.data.dtype)
    for i in range(a.shape[0]):
        for k in range(a.indptr[i], a.indptr[i + 1]):
            y[i, a.indices[k]] += a.data[k]
    return y


def csc_toarray(a: Any) -> Any:
    y = np.zeros(a.shape, a.data.dtype)
    for j in range(a.shape[1]):
        for k in range(a.indptr[j], a.indptr[j + 1]):
            y[a.indices[k], j] += a.data[k]
    return y


def coo_toarray(a: Any) -> Any:
    y = np.zeros(a.shape, a.data.dtype)
    for k in range(a.data.shape[0]):
        y[a.row[k], a.col[k]] += a.data[k]
    return y


def nnz(a: Any) -> Any:
    return a.data.shape[0]


def dtype(a: Any) -> Any:
    return a.data.dtype


def ndim(a: Any) -> Any:
    return len(a.shape)


_PRODUCTS: dict[str, Function] = {"csr": csr_product, "csc": csc_product, "coo": coo_product}
_DENSE: dict[str, Function] = {"csr": csr_toarray, "csc": csc_toarray, "coo": coo_toarray}
_METHODS: dict[str, Function] = {
    "__rmatmul__": product_from_left,
    "__mul__": scaled,
    "__rmul__": scaled,
    "__truediv__": divided,
    "__neg__": negative,
}
_PROPERTIES: dict[str, Function] = {"nnz": nnz, "size": nnz, "dtype": dtype, "ndim": ndim}


def attribute(kind: str, name: str) -> Function | None:
    """The function for an attribute of a class, by the class's name, such as csr_array; None if it is not compiled.

    A property is called with the matrix; a method is bound to it.
    """
    form = kind.partition("_")[0]
    if name in ("__matmul__", "dot"):
        return _PRODUCTS[form]
    if name == "toarray":
        return _DENSE[form]
    return _METHODS.get(name, _PROPERTIES.get(name))


def is_property(function: Function) -> bool:
    return function in _PROPERTIES.values()
