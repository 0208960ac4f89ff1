"""Kernels in functions that Numba compiles.

Reads: types of arguments in Numba. Writes: Numba's registries, once (`register`, which Numba calls by its entry point).
Leaves: calls of kernels. They hold the interpreter's lock; the code behind a kernel checks the conditions of a call,
and accepts arrays of any shape.

Numba must know the result type before the call: it is taken from an earlier compilation of the kernel for arguments of
these types, or else from the frontend's result for small arrays. A call with any other result raises TypeError.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.errors import TypingError
from numba.core.typing.templates import make_overload_template, signature
from numba.extending import NativeValue, box, intrinsic, register_model, typeof_impl, unbox
from numba.np.numpy_support import as_dtype, from_dtype

from mlirad import tree
from mlirad.contract.results import (
    ArgumentAlias,
    ArrayResult,
    CaptureAlias,
    PartStep,
    Result,
    SameResult,
    ScalarResult,
    SliceStep,
    StaticResult,
    ViewResult,
)
from mlirad.errors import CompileError
from mlirad.jit.kernel import Kernel
from mlirad.signature import ArrayLeaf, Signature, weak_kind

_SIZES = (3, 2, 4, 1, 8)
"""The axis sizes of the small arrays for which the frontend is asked, one after the other."""
_TUPLES = (types.Tuple, types.UniTuple)


class KernelType(types.Function):
    """The type of a single kernel in Numba: the callee is known at compile time."""

    def __init__(self, kernel: Kernel[..., Any]):
        self.kernel = kernel
        super().__init__(make_overload_template(kernel, _overload_of(kernel), {}, True, "never"))


def register() -> None:
    """Numba calls this before it compiles anything; importing this file has already registered everything."""


@typeof_impl.register(Kernel)
def _type_of(value: Kernel[..., Any], context: Any) -> KernelType:  # noqa: ARG001 - Numba's protocol
    known = getattr(value, "_numba_type", None)
    if known is None:
        known = vars(value)["_numba_type"] = KernelType(value)
    return known


register_model(KernelType)(models.OpaqueModel)


@unbox(KernelType)
def _unbox(kind: KernelType, value: Any, c: Any) -> NativeValue:  # noqa: ARG001 - Numba's protocol
    return NativeValue(c.context.get_dummy_value())


@box(KernelType)
def _box(kind: KernelType, value: Any, c: Any) -> Any:  # noqa: ARG001 - Numba's protocol
    found = c.context.add_dynamic_addr(c.builder, id(kind.kernel), info=kind.kernel.__name__)
    c.pyapi.incref(found)
    return found


def _overload_of(kernel: Kernel[..., Any]) -> Callable[..., Any]:
    """The typing of calls of a kernel: one implementation for each tuple of types."""

    def overload(*given: Any) -> Callable[..., Any]:
        result = _result_type(kernel, given)
        call = _call_of(_Checked(kernel, result), result)

        def implementation(*given: Any) -> Any:
            return call(given)

        return implementation

    return overload


# --- the call ---------------------------------------------------------------------------------------------------


class _Checked:
    """A kernel that checks that its results have the type that Numba was compiled for."""

    def __init__(self, kernel: Kernel[..., Any], result: types.Type):
        self.kernel, self.result = kernel, result
        self.fits = _test_of(result)

    def __call__(self, *args: Any) -> Any:
        try:
            result = self.kernel(*args)
            if not self.fits(result):
                message = (
                    f"{self.kernel.__name__} returns {_shown(result)} here, but Numba was compiled for {self.result}"
                )
                raise TypeError(f"{message}: compile the Numba function again, after a call like this one")
        except BaseException:
            if sys._getframe().f_back is None:  # a thread of Numba's; no exception can leave it
                traceback.print_exc()
            raise
        return result


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} axes"
    return type(value).__name__


def _test_of(kind: Any) -> Callable[[Any], bool]:
    """Whether a value has this Numba type."""
    if isinstance(kind, types.Array):
        dtype, ndim, is_row_major = as_dtype(kind.dtype), kind.ndim, kind.layout == "C"

        def is_array(value: Any) -> bool:
            return (
                isinstance(value, np.ndarray)
                and value.dtype == dtype
                and value.ndim == ndim
                and value.flags.writeable
                and (not is_row_major or value.flags.c_contiguous)
            )

        return is_array
    if isinstance(kind, _TUPLES):
        tests = [_test_of(each) for each in kind.types]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(tests)
            and all(test(each) for test, each in zip(tests, value, strict=True))
        )
    if isinstance(kind, types.NoneType):
        return lambda value: value is None
    python, own = weak_kind(as_dtype(kind)), as_dtype(kind).type
    return lambda value: type(value) is python or type(value) is own


def _call_of(callee: _Checked, result: types.Type) -> Any:
    """A call of a Python object in compiled code, with the items of a tuple."""

    @intrinsic
    def call(typing_context: Any, given: Any) -> Any:  # noqa: ARG001 - Numba's protocol
        def codegen(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            ((kind,), (items,)) = signature.args, args
            pyapi = context.get_python_api(builder)
            lock = pyapi.gil_ensure()
            environment = context.get_env_manager(builder)
            boxed = []
            for number, each in enumerate(kind.types):
                value = builder.extract_value(items, number)
                context.nrt.incref(builder, each, value)  # which boxing takes
                boxed.append(pyapi.from_native_value(each, value, environment))
            function = context.add_dynamic_addr(builder, id(callee), info=callee.kernel.__name__)
            found = pyapi.call_function_objargs(function, boxed)
            for each in boxed:
                pyapi.decref(each)
            with builder.if_then(cgutils.is_null(builder, found), likely=False):
                pyapi.gil_release(lock)
                context.call_conv.return_exc(builder)
            native = pyapi.to_native_value(result, found)
            value = native.value
            if isinstance(result, types.Array):
                value = context.make_array(result)(context, builder, value=value)._getvalue()
            pyapi.decref(found)
            if native.cleanup is not None:
                native.cleanup()
            with builder.if_then(native.is_error, likely=False):
                pyapi.gil_release(lock)
                context.call_conv.return_exc(builder)
            pyapi.gil_release(lock)
            return value

        return signature(result, given), codegen

    _called.append(callee)
    return call


_called: list[_Checked] = []
"""Objects with addresses in compiled Numba code. Nothing says when such code is freed."""


# --- what a call gives ------------------------------------------------------------------------------------------


def _result_type(kernel: Kernel[..., Any], given: Sequence[types.Type]) -> types.Type:
    """The type of a kernel's result for arguments of these types. Raises TypingError."""
    name = kernel.__name__
    for structure, leaves in _results(kernel, given):
        return _as_type(name, structure, iter(leaves), leaves, given)
    raise TypingError(f"{name}: mlirad does not know its result for {', '.join(map(str, given))}: {_HINT}")


_HINT = "call the kernel once with such arguments, before this function is compiled"


def _results(kernel: Kernel[..., Any], given: Sequence[types.Type]) -> Iterator[tuple[tree.Structure, Sequence[Any]]]:
    """The kernel's compilation for such arguments, or else its lowering for small arrays."""
    wanted = _kinds(_signature(kernel, _examples(given, 1)).leaves)
    for each in kernel.specializations():
        if _kinds(each.signature.leaves) == wanted:
            yield each.built.structure, each.built.results
    from mlirad.jit.compilation import build_for

    refusal: CompileError | None = None
    for size in _SIZES:
        examples = _examples(given, size)
        asked = _signature(kernel, examples)
        try:
            built, _ = build_for(kernel.__mlirad_function__, asked, tree.leaves(tuple(examples)), kernel.options)
        except CompileError as error:
            refusal = refusal or error
            continue
        yield built.structure, built.results
    if refusal is not None:
        raise TypingError(f"{refusal}\n{_HINT}, if it compiles for other shapes") from None


def _signature(kernel: Kernel[..., Any], args: Sequence[Any]) -> Signature:
    """The signature of a call. Raises TypingError for dtypes that no kernel takes."""
    try:
        return kernel._signature(args, {})
    except TypeError as error:
        raise TypingError(str(error)) from None


def _kinds(leaves: Sequence[Any]) -> list[Any]:
    """The properties of leaves that result types may depend on."""
    dtypes = [getattr(leaf, "dtype", None) for leaf in leaves]
    ranks = [len(leaf.shape) if isinstance(leaf, ArrayLeaf) else None for leaf in leaves]
    return list(zip(dtypes, ranks, strict=True))


def _examples(given: Sequence[types.Type], size: int) -> list[Any]:
    """Arguments of these types, with axes of one size."""
    return [_example(each, size) for each in given]


def _example(kind: Any, size: int) -> Any:
    if isinstance(kind, types.Array):
        order = "F" if kind.layout == "F" else "C"
        made = np.ones((size,) * kind.ndim, as_dtype(kind.dtype), order)
        made.flags.writeable = kind.mutable
        return made
    if isinstance(kind, _TUPLES):
        return tuple(_example(each, size) for each in kind.types)
    if isinstance(kind, types.NoneType | types.Omitted):
        return None
    if isinstance(kind, types.Number | types.Boolean):
        return weak_kind(as_dtype(types.unliteral(kind)))(1)
    raise TypingError(f"from Numba, a kernel of mlirad takes arrays, numbers and tuples of them, not {kind}")


def _as_type(
    name: str, structure: tree.Structure, rest: Iterator[Result], leaves: Sequence[Result], given: Sequence[types.Type]
) -> types.Type:
    if isinstance(structure, tree.Node):
        if structure.kind is not tuple:
            raise _unknown(name, f"a {structure.kind.__name__}", "a tuple")
        return types.Tuple([_as_type(name, each, rest, leaves, given) for each in structure.children])
    leaf = next(rest)
    if isinstance(leaf, SameResult):
        leaf = leaves[leaf.leaf]
    match leaf:
        case ArrayResult():
            return types.Array(from_dtype(leaf.dtype), len(leaf.shape), "C")
        case ScalarResult():
            return from_dtype(leaf.dtype)
        case ArgumentAlias():
            return _argument(leaf, given)
        case ViewResult(base) if not isinstance(base, CaptureAlias):
            array = _argument(base, given) if isinstance(base, ArgumentAlias) else base
            last = leaf.steps[-1]
            if isinstance(last, PartStep):
                raise TypeError("a kernel called by Numba returns no view of the parts of complex numbers: copy it")
            axes = last.axes if isinstance(last, SliceStep) else last.shape
            dtype = from_dtype(array.dtype) if isinstance(array, ArrayResult) else array.dtype
            return types.Array(dtype, len(axes), "A")
        case StaticResult(value) if value is None:
            return types.none
        case StaticResult(value) if isinstance(value, bool | int | float | np.number | np.bool_):
            return from_dtype(np.asarray(value).dtype)
    raise _unknown(name, "a list, a captured array, or one of several arrays", "a copy: np.array(x)")


def _argument(alias: ArgumentAlias, given: Sequence[types.Type]) -> Any:
    """The type of an array that was passed."""
    return [each for kind in given for each in _leaf_types(kind)][alias.leaf]


def _leaf_types(kind: Any) -> Iterator[Any]:
    if isinstance(kind, _TUPLES):
        for each in kind.types:
            yield from _leaf_types(each)
    else:
        yield kind


def _unknown(name: str, what: str, instead: str) -> TypingError:
    return TypingError(f"{name} gives {what}; called from Numba, it gives arrays, numbers and tuples: return {instead}")
