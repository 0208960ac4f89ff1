"""The callables that the compiler may run on constants: each gives the same result for the same arguments, at any time
and in any process, and does nothing else.

Reads: nothing. Writes: nothing. Leaves: tables of objects. All other callables are compiled or refused.
"""

from __future__ import annotations

import builtins
import cmath
import datetime
import fractions
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

from mlirad.library.nn import geometry
from mlirad.library.numpy import searching
from mlirad.library.python import iteration_tools


def _of(module: Any, names: str) -> frozenset[Any]:
    """The objects that a module has under these names; names missing in this version are left out."""
    return frozenset(getattr(module, name) for name in names.split() if hasattr(module, name))


def _public(module: Any) -> frozenset[Any]:
    return frozenset(value for name, value in vars(module).items() if not name.startswith("_") and callable(value))


_BUILTINS = """
abs all any ascii bin callable chr divmod format hex issubclass len max min oct ord pow repr round sorted sum
"""
_OPERATOR = "countOf indexOf"

_NUMPY_SHAPES = """
append argpartition argsort argwhere array array_equal array_equiv array_split asanyarray asarray asarray_chkfinite
ascontiguousarray asfortranarray astype atleast_1d atleast_2d atleast_3d block broadcast_arrays broadcast_shapes
broadcast_to choose column_stack compress concat concatenate copy delete diag diag_indices diag_indices_from
diagflat diagonal dsplit dstack expand_dims extract eye flatnonzero flip fliplr flipud full full_like hsplit hstack
identity indices insert isfortran ix_ lexsort matrix_transpose meshgrid moveaxis ndim nonzero ones ones_like
packbits pad partition permute_dims ravel ravel_multi_index repeat reshape resize roll rollaxis rot90 row_stack
searchsorted select shape size sort sort_complex split squeeze stack swapaxes take take_along_axis tile transpose
tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from unique unique_all
unique_counts unique_inverse unique_values unpackbits unravel_index unstack vander vsplit vstack where zeros
zeros_like arange linspace logspace geomspace
"""
_NUMPY_NUMBERS = """
all allclose amax amin angle any argmax argmin around average bartlett bincount blackman clip convolve corrcoef
correlate count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum diff digitize dot ediff1d einsum fix
gradient hamming hanning histogram histogram2d histogram_bin_edges histogramdd i0 imag inner interp intersect1d
isclose iscomplex iscomplexobj isin isneginf isposinf isreal isrealobj kaiser kron max mean median min nan_to_num
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd
nansum nanvar outer percentile poly polyadd polyder polydiv polyfit polyint polymul polysub polyval prod ptp
quantile real real_if_close roots round setdiff1d setxor1d sinc std sum tensordot trace trapezoid union1d unwrap var
vdot
"""
_NUMPY_TYPES = """
base_repr binary_repr can_cast common_type einsum_path isdtype isscalar issubdtype iterable min_scalar_type
mintypecode promote_types result_type typename
"""
_LINALG = """
matrix_power solve tensorsolve tensorinv inv cholesky eigvals eigvalsh pinv slogdet det svd svdvals eig eigh lstsq
norm qr cond matrix_rank multi_dot trace diagonal cross outer tensordot matmul matrix_transpose matrix_norm
vector_norm vecdot
"""

_UFUNCS = frozenset(value for value in vars(np).values() if isinstance(value, np.ufunc))

PURE: frozenset[Any] = frozenset().union(
    _of(builtins, _BUILTINS),
    _of(operator, _OPERATOR),
    _public(math),
    _public(cmath),
    _UFUNCS,
    _of(np, _NUMPY_SHAPES),
    _of(np, _NUMPY_NUMBERS),
    _of(np, _NUMPY_TYPES),
    _of(np.linalg, _LINALG),
    _of(np.fft, "fftfreq rfftfreq"),
    _of(np.lib.array_utils, "normalize_axis_index normalize_axis_tuple"),
    *(
        _of(module, f"{name}gauss {name}val {name}roots {name}der {name}int")
        for name, module in (
            ("leg", legendre),
            ("cheb", chebyshev),
            ("herm", hermite),
            ("herme", hermite_e),
            ("lag", laguerre),
        )
    ),
    geometry.PURE,
    searching.PURE,
    iteration_tools.PURE,
    {str.maketrans, bytes.fromhex, bytes.maketrans, int.from_bytes, float.fromhex, datetime.date.fromisoformat},
)

NUMPY_SCALARS = frozenset(kind for kind in np.sctypeDict.values() if not issubclass(kind, np.void | np.object_))
"""The classes of NumPy's scalars, including strings and dates."""
PURE_CLASSES: frozenset[type] = frozenset(
    {
        *(bool, bytes, complex, float, frozenset, int, str, tuple, range, slice),
        *(datetime.timedelta, datetime.date, fractions.Fraction),
        *(np.dtype, np.finfo, np.iinfo, *NUMPY_SCALARS),
    }
)

PURE_UFUNC_METHODS = frozenset({"reduce", "accumulate", "reduceat", "outer"})

_STR = """
capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii
isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip
partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith
strip swapcase title translate upper zfill
"""
_BYTES = """
count decode endswith find hex index isalnum isalpha isascii isdigit islower isspace istitle isupper join ljust
lower lstrip replace rfind rindex rjust rsplit rstrip split startswith strip swapcase title translate upper zfill
"""
_FROZENSET = "union intersection difference symmetric_difference issubset issuperset isdisjoint copy"
_GENERIC = "item conj conjugate astype round clip sum mean max min is_integer bit_count as_integer_ratio hex"

METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(_STR.split()),
    bytes: frozenset(_BYTES.split()),
    int: frozenset({"bit_length", "bit_count", "to_bytes", "as_integer_ratio", "is_integer", "conjugate"}),
    float: frozenset({"is_integer", "as_integer_ratio", "hex", "conjugate"}),
    complex: frozenset({"conjugate"}),
    tuple: frozenset({"count", "index"}),
    range: frozenset({"count", "index"}),
    slice: frozenset({"indices"}),
    frozenset: frozenset(_FROZENSET.split()),
    datetime.timedelta: frozenset({"total_seconds"}),
    datetime.date: frozenset({"toordinal", "weekday", "isoweekday", "isoformat", "replace"}),
    np.generic: frozenset(_GENERIC.split()),
    np.dtype: frozenset({"newbyteorder"}),
}
"""The methods of objects that never change, by class."""

OF_TEXT: frozenset[Any] = frozenset({str, repr, ascii, format})
"""Classes whose results are the text of their arguments, which a derived class may define."""

TEXT_METHODS = frozenset({"format", "format_map", "join"})
"""Methods of str that make the text of their arguments."""

OF_ITEMS: frozenset[Any] = frozenset({sorted, frozenset, math.fsum, math.prod})
"""Callables that take any iterable."""

OF_SETS: frozenset[Any] = frozenset({len, sorted, min, max, any, all, bool, frozenset, callable})
"""Callables that give the same result for a set in any order of its items."""
