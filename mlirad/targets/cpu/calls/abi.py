"""Calls compiled code from Python: arguments, results, and exceptions.

Reads: numpy arrays and scalars. Writes: results, and written arguments in place. Leaves: no memory without an owner.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from mlirad.contract.call_recipes import USABLE, WRITEABLE, CallPlan, PassedValue, PlannedCalls, Recipe
from mlirad.contract.code_cache import CodeCache
from mlirad.contract.native_functions import addresses_in
from mlirad.raised_exceptions import located_exception, message_of
from mlirad.targets.cpu.call_context import INTERRUPTED, MEMORY_ERROR, PARALLEL_FOR, PARALLEL_POLL
from mlirad.targets.cpu.calls.call_memory import CallContext, Lease, LeasedArray
from mlirad.targets.cpu.calls.native_stack import stack_bottom
from mlirad.targets.cpu.engine import Library
from mlirad.targets.cpu.manifest import ENTRIES, MANIFEST, EntrySignature, ErrorEntry, Manifest
from mlirad.targets.target import Artifact

_DTYPES = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
    "i1": np.dtype(np.bool_),
    **{f"i{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
}


_PARTS = {"complex<f32>": ctypes.c_float, "complex<f64>": ctypes.c_double}


_Function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)  # releases the GIL
# Steals the three references; ctypes then raises the exception that is set.
_restore = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyErr_Restore", ctypes.pythonapi)
)


def _shared_work(code: bytes, code_cache: CodeCache | None) -> dict[str, int]:
    """The symbols for parallel work, if the code refers to any: LLVM may remove the only call of a task, not the
    task."""
    if PARALLEL_FOR.encode() not in code and PARALLEL_POLL.encode() not in code:
        return {}
    from mlirad.targets.cpu.pool.pool import the_pool

    return the_pool(code_cache).symbols


class CpuArtifact(Artifact, PlannedCalls):
    """Compiled functions, linked into this process until the artifact and all its results are freed."""

    def __init__(self, code: bytes, code_cache: CodeCache | None = None):
        self._library = Library(code, (MANIFEST, ENTRIES), addresses_in(code) | _shared_work(code, code_cache))
        manifest = Manifest.from_bytes(ctypes.string_at(self._library[MANIFEST]))
        self.entries = manifest.entries
        table = (ctypes.c_uint64 * len(self.entries)).from_address(self._library[ENTRIES])
        self._addresses = dict(zip(self.entries, table, strict=True))
        self.errors = manifest.errors
        self._callables: dict[str, EntryPoint] = {}

    def address(self, name: str) -> int:
        """The address of the ABI function `i32 (ptr context, ptr slots)` of an entry."""
        return self._addresses[name]

    def entry_point(self, name: str) -> EntryPoint:
        """The Python-level call of an entry; created once."""
        found = self._callables.get(name)
        if found is None:
            made = EntryPoint(self._library, self.address(name), self.entries[name], self.errors)
            found = self._callables.setdefault(name, made)  # unless another thread was faster
        return found

    def result_count(self, name: str) -> int:
        return self.entries[name].result_count

    def inputs_with_results(self, name: str) -> Collection[int]:
        return frozenset(n for n, passed in enumerate(self.entries[name].inputs) if passed.result is not None)

    def passed_values(self, name: str) -> tuple[Sequence[PassedValue], Sequence[PassedValue]]:
        entry = self.entries[name]
        return entry.arguments, entry.returns

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        return self.entry_point(name)(values, dtypes)

    def last_memory(self, name: str) -> int | None:
        entry = self._callables.get(name)
        return None if entry is None else entry.last_memory()

    def call_plan(self, name: str, recipe: Recipe) -> CallPlan | None:
        from mlirad.targets.cpu.calls.cpython_objects import is_supported

        return self.entry_point(name).call_plan(recipe) if is_supported() else None


def _raise_again(context: CallContext) -> None:
    """Raise the exception that a signal handler raised during the call: usually KeyboardInterrupt."""
    raised = tuple(context.raised)
    context.raised = (None, None, None)
    _restore(*raised)


def exception_of(errors: Sequence[ErrorEntry], code: int, context: CallContext) -> Exception:
    """The Python exception for the code that a call returned. Its `location` is the place in the user's source.

    An exception that a signal handler raised during the call is raised here.
    """
    if code == INTERRUPTED:
        _raise_again(context)
    if code == MEMORY_ERROR:
        return MemoryError("no memory for the arrays of a compiled function")
    entry = errors[code - 1]
    message = message_of(entry.message, (context.error_argument_0, context.error_argument_1))
    return located_exception(entry.exception, message, entry.location)


class EntryPoint:
    """One compiled function, called with numpy arrays and scalars.

    The caller ensures that a written argument shares no memory with any other argument.
    """

    def __init__(self, library: Library, address: int, entry: EntrySignature, errors: Sequence[ErrorEntry]):
        self.entry = entry
        self._library = library  # keeps the code alive
        self._function = _Function(address)
        self._errors = errors
        self._contexts: list[CallContext] = []
        self._last: CallContext | None = None
        self._inputs: list[_Writer] = []
        self._outputs: list[_Writer] = []
        self._returns: list[tuple[PassedValue, int]] = []
        place = 0
        for number, passed in enumerate(entry.arguments):
            (self._outputs if passed.is_output else self._inputs).append(_Writer(passed, place, number))
            place += passed.width
        for passed in entry.returns:
            self._returns.append((passed, place))
            place += passed.width
        self._slot_count = place
        self._lends = any(passed.shape is not None for passed in entry.returns)
        self._calls_itself = any(error.exception == "RecursionError" for error in errors)
        self._no_dtypes = (None,) * entry.result_count

    def call_plan(self, recipe: Recipe) -> CallPlan:
        """A plan for calls of this function without Python."""
        from mlirad.targets.cpu.calls.call_plan import CpuCallPlan

        return CpuCallPlan(
            recipe,
            function=ctypes.cast(self._function, ctypes.c_void_p).value or 0,
            releases=self.entry.is_long,
            contexts=self._contexts,
            make_context=lambda: CallContext(self.entry.arena_size, self._slot_count),
            exception=self._exception,
            stack_bottom=stack_bottom if self._calls_itself else None,
        )

    def _exception(self, code: int, context: CallContext) -> Exception:
        error = exception_of(self._errors, code, context)
        error.__suppress_context__ = True
        return error

    def trim(self) -> None:
        """Free the contexts that calls keep for later ones and that no call and no result is using."""
        self._contexts.clear()
        self._last = None

    def last_memory(self) -> int | None:
        """See `Artifact.last_memory`."""
        # Native calls return the context that they used last.
        last = self._last if self._lends or not self._contexts else self._contexts[-1]
        return None if last is None else self.entry.arena_size + last.peak

    def __call__(self, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None) -> tuple[Any, ...]:
        if len(values) != len(self._inputs):
            raise TypeError(f"{self.entry.name} takes {len(self._inputs)} arguments, not {len(values)}")
        try:
            context = self._contexts.pop()
        except IndexError:
            context = CallContext(self.entry.arena_size, self._slot_count)
        self._last = context
        lease = None
        try:
            wanted = self._no_dtypes if dtypes is None else dtypes
            results = self._write(context, values, wanted)
            if self._calls_itself:
                context.stack_bottom = stack_bottom()
            code = self._function(context.address, context.slots_address)
            if code:
                raise exception_of(self._errors, code, context)
            if self._lends:
                lease = Lease(self._contexts, context, values)
            for passed, place in self._returns:
                number = passed.result
                assert number is not None
                results[number] = _read(context, place, passed, wanted[number] or _DTYPES[passed.element], lease)
            return tuple(results)
        finally:
            if lease is None:
                self._contexts.append(context)

    def _write(self, context: CallContext, values: Sequence[Any], dtypes: Sequence[np.dtype | None]) -> list[Any]:
        """Write the arguments, and new arrays for the outputs, into the slots. Returns the arrays that the call
        fills."""
        results: list[Any] = [None] * len(dtypes)
        for writer, value in zip(self._inputs, values, strict=True):
            writer.write(context, value)
            if writer.result is not None:
                results[writer.result] = value
        slots = context.slots
        for writer in self._outputs:
            number = writer.result
            assert number is not None
            results[number] = output = np.empty(writer.shape, dtypes[number] or writer.dtype)
            slots[writer.place] = _data_address(output)
        return results


def _find_data_address() -> Callable[[np.ndarray], int]:
    """How to get the address of an array's elements: `array.ctypes.data`, or, if NumPy allows it, ten times as fast.

    In NumPy's C API, the pointer directly follows the object's header.
    """
    offset, read = object.__basicsize__, ctypes.c_size_t.from_address
    if sys.implementation.name == "cpython" and all(
        read(id(probe) + offset).value == probe.ctypes.data for probe in (np.empty(3), np.arange(5)[2:])
    ):
        return lambda array: read(id(array) + offset).value
    return lambda array: array.ctypes.data


_data_address = _find_data_address()


class _Writer:
    """Writes one argument into its slots, or raises TypeError or ValueError: compiled code receives only valid ones."""

    __slots__ = ("dtype", "dynamic", "number", "passed", "place", "result", "shape", "unsigned", "wanted_flags")

    def __init__(self, passed: PassedValue, place: int, number: int):
        self.passed, self.place, self.number = passed, place, number
        self.shape, self.result = passed.shape or (), passed.result
        self.dtype = _DTYPES[passed.element]
        self.unsigned = np.dtype(f"u{self.dtype.itemsize}") if self.dtype.kind == "i" else self.dtype
        self.dynamic = [axis for axis, size in enumerate(self.shape) if size == -1]
        self.wanted_flags = USABLE | WRITEABLE if passed.is_written else USABLE

    def write(self, context: CallContext, value: Any) -> None:
        passed = self.passed
        if passed.shape is None:
            if passed.element == "f64":
                context.floats[self.place] = float(value)
            else:
                _put_scalar(context.slots_address + 8 * self.place, passed, value, self.number)
            return
        if (
            type(value) is not np.ndarray
            or value.dtype is not self.dtype
            or value.shape != passed.shape
            or value.flags.num & self.wanted_flags != self.wanted_flags
        ):
            self._require(value)
        context.slots[self.place] = _data_address(value)
        for position, axis in enumerate(self.dynamic, self.place + 1):
            context.slots[position] = value.shape[axis]

    def _require(self, value: Any) -> None:
        passed = self.passed
        if not isinstance(value, np.ndarray):
            raise TypeError(f"argument {self.number} must be an array, not {type(value).__name__}")
        if value.dtype not in (self.dtype, self.unsigned) or not value.dtype.isnative:
            raise TypeError(f"argument {self.number} must be an array of {self.dtype}, not of {value.dtype}")
        if value.shape != passed.shape and not self._is_instance(value.shape):
            raise ValueError(f"argument {self.number} has the shape {value.shape}, not {passed.shape}")
        if value.flags.num & USABLE != USABLE:
            raise ValueError(f"argument {self.number} must be aligned and C-contiguous")
        if passed.is_written and not value.flags.writeable:
            raise ValueError("assignment destination is read-only")

    def _is_instance(self, shape: tuple[int, ...]) -> bool:
        """Whether a shape fits the slot's; -1 fits any size."""
        pattern = self.passed.shape or ()
        return len(shape) == len(pattern) and all(p in (-1, n) for p, n in zip(pattern, shape, strict=True))


def _put_scalar(at: int, passed: PassedValue, value: Any, number: int) -> None:
    """Write a number's bits into the low bytes of its slot. Unsigned integers may use all bits of the signed type."""
    if passed.width == 2:
        for offset, part in enumerate((complex(value).real, complex(value).imag)):
            _PARTS[passed.element].from_address(at + 8 * offset).value = part
    elif passed.element == "f32":
        ctypes.c_float.from_address(at).value = float(value)
    elif passed.element == "f16":
        ctypes.c_uint16.from_address(at).value = int(np.float16(value).view(np.uint16))
    elif passed.element == "i1":
        ctypes.c_int64.from_address(at).value = int(bool(value))
    else:
        if isinstance(value, (float, np.floating)):
            raise TypeError(f"argument {number} must be an integer, not {type(value).__name__}")
        bits = _DTYPES[passed.element].itemsize * 8
        integer = int(value)
        if not -(1 << (bits - 1)) <= integer < 1 << bits:
            raise OverflowError(f"argument {number}, {integer}, does not fit in {bits} bits")
        # ctypes keeps the low 64 bits.
        ctypes.c_int64.from_address(at).value = integer


def _read(context: CallContext, place: int, passed: PassedValue, dtype: np.dtype, lease: Lease | None) -> Any:
    """A result: a Python number, or an array in the call's own memory, which keeps the call's context alive."""
    if passed.element == "f64" and passed.shape is None:
        return context.floats[place]
    slots, at = context.slots, context.slots_address + 8 * place
    if passed.shape is None:
        if passed.width == 2:
            return complex(*(_PARTS[passed.element].from_address(at + offset).value for offset in (0, 8)))
        if passed.element == "f16":  # ctypes has no such type
            return float(np.uint16(ctypes.c_uint16.from_address(at).value).view(np.float16))
        return np.ctypeslib.as_ctypes_type(dtype).from_address(at).value
    sizes = iter(slots[place + 1 : place + passed.width])
    shape = tuple(next(sizes) if size == -1 else size for size in passed.shape)
    assert lease is not None
    return np.asarray(LeasedArray(slots[place], shape, dtype, lease))
