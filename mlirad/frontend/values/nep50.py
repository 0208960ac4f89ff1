"""NumPy's promotion of dtypes (NEP 50) for operators, functions, powers, stores and joins.

A NumPy number has a dtype of its own. A Python number is weak: it takes the dtype of the other operand. Where dtypes
alone decide, NumPy itself is asked. Rules that depend on values, or on Python's own operators, are written here, once.

Reads: dtypes, classes of Python's numbers. Writes: nothing. Leaves: dtypes, or NumPy's own refusal as a CompileError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.errors import CompileError, DTypeError
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.poison import Poison, PoisonUsed
from mlirad.signature import PYTHON_DTYPES, weak_kind

Answer = TypeVar("Answer", bound=Hashable)
LARGEST_EXACT = 2**53
"""Floats represent integers up to this exactly."""
MOST_VALUES = 4
"""If a Python number may have more values than this, none of them is kept."""

_BOOL, _INT8 = np.dtype(bool), np.dtype(np.int8)
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)

# --- Python's numbers -------------------------------------------------------------------------------------------

WEAK = tuple(PYTHON_DTYPES)
"""Python's numbers: bool, int, float, complex; each is also one of the next."""


def weak_dtype(kind: type) -> np.dtype:
    """The dtype in which a Python number is held."""
    return PYTHON_DTYPES[kind]


def weak_join(*kinds: type) -> type:
    """The larger of Python's bool < int < float < complex."""
    return max(kinds, key=WEAK.index)


def kind_of_number(number: Any) -> type:
    """The kind of a Python number, also of an IntEnum: bool, int, float or complex."""
    return next(kind for kind in WEAK if isinstance(number, kind))


# --- numbers that are Python's on one path of the program and NumPy's on another --------------------------------


@dataclass(frozen=True, eq=False)
class Either:
    """A Python number on one path, and a NumPy number of `dtype` on another.

    It is held in NumPy's dtype. It may be used where both meanings give the same result; elsewhere it is refused.
    values: the possible Python numbers, if known, converted to the kind of `dtype`. poison: the refusal if the two
    meanings differ. kinds: the classes that the Python number may be of.
    """

    dtype: np.dtype
    values: tuple[Any, ...] | None
    poison: Poison
    kinds: tuple[type, ...]

    @property
    def kind(self) -> type:
        """bool, int or float: the class in which the Python number is held."""
        return weak_kind(self.dtype)

    @property
    def meanings(self) -> tuple[type | np.dtype, ...]:
        return *self.kinds, self.dtype

    @property
    def key(self) -> Hashable:
        """The key by which two such numbers are compared; the text distinguishes 0.0 from -0.0."""
        return self.dtype, self.kinds, None if self.values is None else tuple(map(repr, self.values))


@dataclass(frozen=True, eq=False)
class Several:
    """A Python number that has different classes on different paths, held as the widest of them.

    It may be used where all classes give the same result, and is refused elsewhere. kinds: two or three, in the order
    bool, int, float. poison: the refusal.
    """

    kinds: tuple[type, ...]
    poison: Poison

    @property
    def meanings(self) -> tuple[type, ...]:
        return self.kinds


# A stand-in for an operand when NumPy is asked: a dtype; bool, int or float for a Python number; or an undecided one.
# Functions of stand-ins raise PoisonUsed if it matters which of the two an operand is.
Undecided = Either | Several
StandIn = np.dtype | type | Undecided
Chosen = tuple[np.dtype | type, ...]


def kinds_of(operand: StandIn) -> tuple[type, ...]:
    """The classes that a Python number may have; none if it is certainly NumPy's."""
    if isinstance(operand, Undecided):
        return operand.kinds
    return (operand,) if isinstance(operand, type) else ()


def in_order(kinds: Iterable[type]) -> tuple[type, ...]:
    """Classes of Python's numbers, each once, in the order bool < int < float < complex."""
    found = set(kinds)
    return tuple(kind for kind in WEAK if kind in found)


def widest(operand: type | Several) -> type:
    """The class in which a Python number is held."""
    return kinds_of(operand)[-1]


def united(*groups: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """The values of several groups, each once and in a fixed order; None if unknown."""
    found: dict[str, Any] = {}
    for group in groups:
        if group is None:
            return None
        found |= {repr(value): value for value in group}
    return tuple(found[text] for text in sorted(found)) if len(found) <= MOST_VALUES else None


def meanings(operands: Sequence[StandIn]) -> Iterator[Chosen]:
    """The combinations of operands, with each undecided operand in each of its meanings."""
    return product(*(x.meanings if isinstance(x, Undecided) else (x,) for x in operands))


def agreed(operands: Sequence[StandIn], answer: Callable[[Chosen], Answer]) -> Answer:
    """The result of `answer`, if it is the same for every meaning of the operands. Raises PoisonUsed."""
    undecided = next((operand for operand in operands if isinstance(operand, Undecided)), None)
    if undecided is None:
        (chosen,) = meanings(operands)
        return answer(chosen)
    found: set[Answer] = set()
    refused: list[CompileError] = []
    for chosen in meanings(operands):
        try:
            found.add(answer(chosen))
        except CompileError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    if refused or len(found) > 1:
        raise PoisonUsed(undecided.poison)
    return found.pop()


def strong(stand_in: StandIn) -> np.dtype:
    """The dtype of an array that NumPy makes from a Python number."""
    return agreed([stand_in], lambda chosen: _held(chosen[0]))


def _held(stand_in: StandIn) -> np.dtype:
    """The dtype in which code holds a number."""
    if isinstance(stand_in, np.dtype):
        return stand_in
    if isinstance(stand_in, Either):
        return stand_in.dtype
    return PYTHON_DTYPES[widest(stand_in)]


def sample(stand_in: np.dtype | type) -> Any:
    """A sample number for questions to NumPy."""
    return stand_in.type(1) if isinstance(stand_in, np.dtype) else stand_in(1)


# --- operators and functions ------------------------------------------------------------------------------------


def loop_dtypes(
    ufunc: np.ufunc, operands: Sequence[StandIn], dtype: np.dtype | None = None, casting: str = "same_kind"
) -> tuple[np.dtype, ...]:
    """The dtypes in which `ufunc` computes: those of its operands, then of its results. `dtype`: requested for the
    results.

    A comparison of Python ints alone uses int64 here (NumPy would compare objects). Raises DTypeError with NumPy's text
    if the ufunc has no such loop, and for dtypes that mlirad does not support.
    """
    return agreed(operands, lambda chosen: _loop_dtypes(ufunc, chosen, dtype, casting))


@cache
def _loop_dtypes(ufunc: np.ufunc, operands: Chosen, dtype: np.dtype | None, casting: Any) -> tuple[np.dtype, ...]:
    if not any(isinstance(operand, np.dtype) for operand in operands):
        operands = (PYTHON_DTYPES[weak_join(*(kind for kind in operands if isinstance(kind, type)))],) * len(operands)
    asked = tuple(_BOOL if operand is bool else operand for operand in operands)
    with numpys_refusal():
        signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
        dtypes = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout), signature=signature, casting=casting)
    for dtype in dtypes:
        require_dtype(dtype, f"np.{ufunc.__name__} of {_listed(operands)}")
    return dtypes


def power_dtypes(
    base: StandIn, exponent: StandIn, known: Any = None, *, of_numpy: bool = False, of_array: bool = False
) -> tuple[np.dtype, ...]:
    """The dtypes of `base ** exponent`: in Python, in np.power (of_numpy), and for an array (of_array).

    known: the exponent, if it is known. Python's `2 ** -1` is a float. An array's operator squares if the exponent is
    the int 2, and np.square of bools is int8.
    """
    if not of_numpy and base is int and exponent is int and known is not None and known < 0:
        base = float
    if not of_numpy and of_array and base == _BOOL and type(known) is int and known == 2:
        base = exponent = _INT8
    return loop_dtypes(np.power, [base, exponent])


def common_dtype(operands: Sequence[StandIn]) -> np.dtype:
    """The dtype of one array made of values of several dtypes (`np.where`, `np.concatenate`, ...)."""
    return agreed(operands, _common_dtype)


def _common_dtype(operands: Chosen) -> np.dtype:
    representatives = [o if isinstance(o, np.dtype) else sample(o) for o in operands]
    with numpys_refusal():
        return require_dtype(np.result_type(*representatives), f"the common type of {_listed(operands)}")


@cache
def result_dtype(function: Callable[..., Any], dtype: np.dtype) -> np.dtype:
    """The dtype of the result of a function of one array (such as a reduction), found by calling it on ones."""
    with numpys_refusal():
        return require_dtype(np.asarray(function(np.ones(1, dtype))).dtype, f"np.{function.__name__} of {dtype}")


def must_fit(operand: StandIn, dtype: np.dtype) -> bool:
    """Whether an operand that is promoted to `dtype` may be out of range: a Python int, which is then refused."""
    is_int = isinstance(operand, type | Several) and widest(operand) is int
    return is_int and dtype.kind in "iu" and dtype != _INT64


def convert(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python or NumPy number, or a constant array, in the dtype that it has been promoted to.

    Raises StaticOverflowError if a Python int is out of the dtype's range, as NumPy does.
    """
    with numpys_refusal():
        return np.asarray(value, dtype=dtype)


# --- stores and casts -------------------------------------------------------------------------------------------


def may_cast(source: StandIn, dtype: np.dtype, rule: Any) -> bool:
    """Whether NumPy casts `source` to `target` by a rule: "no", "equiv", "safe", "same_kind" or "unsafe"."""
    with numpys_refusal():
        return np.can_cast(strong(source), dtype, rule)


def is_cast_in_store(source: StandIn, dtype: np.dtype, *, is_array: bool, casts_scalars: bool) -> bool:
    """Whether `target[...] = value` needs no check of the value: it is cast like an array, or certainly fits.

    Arrays are cast, including 0-d ones. A Python number must fit in an integer dtype, and a NumPy number in a signed
    one. NumPy's numbers are cast where they are stored like arrays (casts_scalars: by a mask, for example).
    """
    if is_array or dtype.kind not in "iu" or (isinstance(source, np.dtype) and source.kind == "c"):
        return True
    if isinstance(source, np.dtype) and (casts_scalars or dtype.kind == "u"):
        return True
    held = _held(source)
    return held.kind not in "fc" and np.can_cast(held, dtype)


# --- joins ------------------------------------------------------------------------------------------------------


def joined(left: StandIn, right: StandIn) -> np.dtype | None:
    """The dtype that holds either of two numbers, depending on the path; None if it would change the result.

    Python's numbers join as bool < int < float, NumPy's only exactly. A Python number is held in NumPy's dtype.
    """
    left, right = (widest(x) if isinstance(x, Several) else x for x in (left, right))
    kinds = [x for x in (left, right) if isinstance(x, type)]
    if len(kinds) == 2:
        return PYTHON_DTYPES[weak_join(*kinds)]
    first, second = (_held(x) for x in (left, right))
    if kinds:
        dtype = second if isinstance(left, type) else first
        return dtype if (kinds[0] is bool) == (dtype == _BOOL) else None
    if first == second:
        return first
    return _FLOAT64 if {first, second} == {_FLOAT64, _INT64} else None


def holds_all(dtype: np.dtype, source: np.dtype) -> bool:
    """Whether `dtype` can hold the numbers of another; an int in a float is checked where it is converted."""
    return source == dtype or (source.kind in "bi" and dtype in (_INT64, _FLOAT64))


def holds(dtype: np.dtype, number: Any) -> bool:
    """Whether a known number is the same number in `dtype`."""
    if dtype.kind == "c":
        return not isinstance(number, np.generic) or number.dtype == dtype
    if isinstance(number, np.generic):
        return number.dtype == dtype or (number.dtype.kind != "c" and float(number) == int(number))
    if isinstance(number, complex):
        return False
    if isinstance(number, bool) or dtype == _BOOL:
        return isinstance(number, bool) and (dtype == _BOOL or dtype in (_INT64, _FLOAT64))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return isinstance(number, int) and info.min <= number <= info.max
    with np.errstate(over="ignore"):
        return math.isnan(number) or float(dtype.type(number)) == number


def computed_in(element: Attribute) -> Attribute:
    """The element type in which NumPy computes composite functions of an element type: float32 for float16."""
    return types.F32 if element == types.F16 else element


# --- named dtypes -----------------------------------------------------------------------------------------------


def dtype_of(spelling: Any) -> np.dtype:
    """A dtype from what users write: float, "f4", np.float32, np.dtype(...)."""
    with numpys_refusal():
        return require_dtype(np.dtype(spelling), f"dtype={spelling!r}")


def require_dtype(dtype: np.dtype, what: str) -> np.dtype:
    """`dtype`, if mlirad supports it. Raises DTypeError."""
    if types.has_dtype(dtype):
        return dtype
    raise DTypeError(f"{what} is {dtype} in NumPy, which mlirad does not compile")


def _listed(operands: Sequence[np.dtype | type]) -> str:
    return " and ".join(str(o) if isinstance(o, np.dtype) else f"a Python {o.__name__}" for o in operands)
