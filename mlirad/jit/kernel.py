"""Kernels: functions that are compiled when they are called, once per signature.

Reads: calls. Writes: only the specialisations that it keeps. Gives: the results of the plain function.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload
from weakref import WeakSet

from mlirad import forking
from mlirad.contract.vectorcall import NativelyCallable
from mlirad.jit import debug_modes
from mlirad.jit.specialization_table import MAX_SPECIALIZATIONS, SpecializationTable
from mlirad.options import Environment, Options
from mlirad.requests import python_functions
from mlirad.requests.python_functions import importable, name_of, plain
from mlirad.requests.request import Request
from mlirad.signature import Signature, key_and_leaves, signature_of

if TYPE_CHECKING:
    from mlirad.contract.call_recipes import PlanTable
    from mlirad.jit.live.op_by_op import Interpreted
    from mlirad.jit.specialization import Specialization
    from mlirad.pipeline import Lowered

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R_co = TypeVar("R_co", covariant=True)

SLOW_CALLS = 3
"""A specialisation that is found this often gets a plan for fast calls, or one of the few places for plans
again."""


_all: WeakSet[Kernel[..., Any]] = WeakSet()


def forget_all() -> None:
    """Make every kernel compile again at its next call."""
    for kernel in list(_all):
        kernel.forget()


class CacheInfo(NamedTuple):
    """How often a kernel's calls found a specialisation, how often they had to compile, and how many it keeps."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Kernel(NativelyCallable, Generic[P, R_co]):
    """A function, or a transform of one, that runs compiled.

    Called like its function. Besides the function's own exceptions, raises `mlirad.CompileError`, with the place in the
    source, if something cannot be compiled.
    """

    # `_fast` is for the machine behind fast calls; see `mlirad.contract.call_recipes`. The function is not in the
    # `__dict__`: `functools.wraps` copies that into the wrapper, which would be taken for this kernel.
    __slots__ = ("__dict__", "__mlirad_function__", "__weakref__", "_fast")

    def __init__(self, function: Callable[P, R_co] | Request, compile_options: Options):
        self.__mlirad_function__: Any = plain(function)
        # This comes first: for a function that wraps a kernel, it copies the kernel's attributes.
        self._describe(self.__mlirad_function__)
        _all.add(self)
        self._fast: object = None
        self._plans: PlanTable | None = None
        self.options = compile_options.with_environment()
        self._table = SpecializationTable()
        self._static = (*compile_options.static_argnums, *compile_options.static_argnames)
        self._lock = forking.new_lock()
        self._compiling = forking.new_lock()
        self._hits = self._misses = 0
        self._last: Specialization | None = None  # of the last call without a plan
        self._hits_before = 0  # how many calls had used plans by then
        # The runner for op-by-op calls, and the one that looks for NaNs; see debug_modes.py.
        self.stepped: Interpreted | None = None
        self.watched: Interpreted | None = None
        # Read here, not at each call: looking a variable up costs as much as the rest of a call.
        self._is_disabled = Environment.has_jit_disabled() and not isinstance(self.__mlirad_function__, Request)

    def _describe(self, function: Any) -> None:
        """Take over the function's names, its documentation and, through `__wrapped__`, its signature."""
        if isinstance(function, FunctionType):
            functools.update_wrapper(self, function)
            for own in ("as_sent", _Kernels.NAME):
                vars(self).pop(own, None)
            return
        self.__name__ = self.__qualname__ = name_of(function)
        self.__wrapped__ = inner = self.numpy
        self.__module__ = getattr(inner, "__module__", None) or type(inner).__module__
        self.__doc__ = inner.__doc__
        if isinstance(function, Request):
            self.__doc__ = f"{function.summary}\n\n{inner.__doc__}" if inner.__doc__ else function.summary
            if (called := function.signature) is not None:
                self.__signature__ = called

    @property
    def numpy(self) -> Callable[P, Any]:
        """The undecorated function. For a transform, the plain function that was transformed."""
        function = self.__mlirad_function__
        return function.transformed if isinstance(function, Request) else function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        # Once there are plans, only calls that fit none come here.
        if self._is_disabled:
            return self.__mlirad_function__(*args, **kwargs)
        if (run := debug_modes.current()) is not None:
            return run(self, args, kwargs)
        try:
            specialization, leaves = self._specialization(args, kwargs)
            containers: Sequence[Any] = ()
            if specialization.built.changes_copies:
                containers = specialization.containers(self.__mlirad_function__, args, kwargs)
            self._last = specialization
            if self._plans is not None:
                self._hits_before = self._plans.hits
            return specialization(leaves, containers)
        except (Exception, KeyboardInterrupt) as error:
            if Environment.read().full_traceback:
                raise
            # The message has the user's place; the compiler's own frames would only hide it.
            raise error.with_traceback(None) from None

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Kernel[P, R_co]: ...
    @overload
    def __get__(
        self: Kernel[Concatenate[Any, Rest], R_co], instance: object, owner: type | None = None
    ) -> Callable[Rest, R_co]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def forget(self) -> None:
        """Compile again at the next call."""
        with self._lock:
            self._table.clear()
            self.stepped = self.watched = None
            if self._plans is not None:
                self._plans.set([])

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function, lowered for arguments like these; nothing is run."""
        with forking.whole():
            from mlirad.jit.compilation import lower

            signature = self._signature(args, kwargs)
            _, leaves = key_and_leaves(args, kwargs, self._static)
            return lower(self.__mlirad_function__, signature, leaves, self.options)

    @property
    def signatures(self) -> list[Signature]:
        """The signatures that the kernel has been compiled for."""
        with self._lock:
            return [each.signature for each in self._table]

    def cache_info(self) -> CacheInfo:
        with self._lock:
            hits = self._hits + (self._plans.hits if self._plans is not None else 0)
            return CacheInfo(hits, self._misses, MAX_SPECIALIZATIONS, len(list(self._table)))

    def last_memory(self) -> int | None:
        """The most bytes that the last call, in any thread, needed at one time besides its arguments and results.

        This counts temporary arrays and the tapes of derivatives, both in every active call of a recursive function
        (without the native stack), and results of a size known only at run time. It counts requested bytes: a first
        call may hold more while a growing array moves, and the memory stays reserved for later calls. None before the
        first call.
        """
        last = self._last
        if last is None or self._plans is None or self._plans.hits == self._hits_before:
            return None if last is None else last.last_memory()
        with self._lock:
            plans = self._plans.in_order()
            found = next((each for each in self._table if plans and each.plan is plans[0]), last)
        return found.artifact.last_memory(found.built.name)

    def received(self, *args: Any) -> Sequence[Any]:
        """The inputs of the code for these arguments: leaves of them, and captured arrays."""
        specialization, leaves = self._specialization(args, {})
        return specialization.received(leaves)

    def specializations(self) -> Sequence[Specialization]:
        """Those that the kernel keeps, the least recently used one first."""
        with self._lock:
            return list(self._table)

    def _signature(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Signature:
        try:
            return signature_of(args, kwargs, self._static)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None

    def _specialization(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Specialization, Sequence[Any]]:
        key, leaves = key_and_leaves(args, kwargs, self._static)
        found = self._known(key, leaves)
        if found is None:
            # Threads with first calls at the same time wait for the one that compiles.
            with forking.whole(), self._compiling:
                found = self._known(key, leaves) or self._made(key, args, kwargs, leaves)
        return found, leaves

    def _known(self, key: Hashable, leaves: Sequence[Any]) -> Specialization | None:
        with self._lock:
            found = self._table.find(key, leaves)
            if found is not None:
                self._hits += 1
                found.slow_calls += 1
                if found.slow_calls % SLOW_CALLS == 0:
                    with forking.whole():
                        self._hasten(found)
            return found

    def _made(
        self, key: Hashable, args: Sequence[Any], kwargs: Mapping[str, Any], leaves: Sequence[Any]
    ) -> Specialization:
        from mlirad.jit.compilation import compile_for

        with self._lock:
            self._misses += 1
        made = compile_for(self.__mlirad_function__, self._signature(args, kwargs), leaves, self.options)
        with self._lock:
            self._keep(key, made)
        return made

    def _hasten(self, found: Specialization) -> None:
        """Let calls like this one use a plan from now on, if they can."""
        from mlirad.jit.fast_calls import plan_for

        if not debug_modes.may_plan(self):
            return
        plan = plan_for(found)
        if plan is None:
            return
        if self._plans is None:
            from mlirad.jit.collect_rarely import collect_rarely
            from mlirad.jit.disk_cache import disk_cache
            from mlirad.targets.finding import find_target

            kept = disk_cache(self.options, find_target(self.options.target, **self.options.for_target))
            with collect_rarely():  # it may compile
                self._plans = plan.new_table(Kernel, "_fast", None if kept is None else kept.code)
            if self._plans is None:
                return
            self._plans.serve(self)
        others = self._plans.in_order()
        if plan not in others:
            self._plans.set([plan, *others])

    def forget_plans(self) -> None:
        """Let all calls go through Python again, until a specialisation is found often."""
        with self._lock:
            if self._plans is not None:
                self._plans.set([])

    def _keep(self, key: Hashable, made: Specialization) -> None:
        plans = self._plans.in_order() if self._plans is not None else []
        self._table.note_plans(plans)
        self._table.keep(key, made)
        if self._plans is not None:
            self._plans.set([plan for plan in plans if any(each.plan is plan for each in self._table)])

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle a kernel by the name under which it is found, or by its parts; the receiver compiles it."""
        function = importable(self.__mlirad_function__)
        if function is not self:
            return _again, (function, self.options, *self._texts())
        if self.__module__ == "__main__" and protocol >= 4:
            return _of_main, (self.as_sent, self.options, *self._texts())
        return self.__qualname__

    def _texts(self) -> list[dict[str, list[str]]]:
        """The source text that another process cannot read, if any."""
        from mlirad.jit.sent_source import texts_for

        texts = texts_for(self.__mlirad_function__)
        return [texts] if texts else []

    @functools.cached_property
    def as_sent(self) -> FunctionType:
        """The function of a kernel of `__main__`, under a name by which pickle finds it: `kernel.as_sent`.

        Its own name refers to the kernel. Picklers for processes with another `__main__` (cloudpickle, and so joblib's)
        send functions of `__main__` by value, including this one.
        """
        function = self.__mlirad_function__
        made = python_functions.copied(function)
        vars(made).update((name, value) for name, value in vars(function).items() if name != _Kernels.NAME)
        made.__qualname__ += _SENT
        return made

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, copied: dict[int, Any]) -> Kernel:
        function = self.__mlirad_function__
        made = copy.deepcopy(function, copied)
        return self if made is function or made == function else kernel_of(made, self.options)

    def __repr__(self) -> str:
        rounding = " with fastmath" if self.options.fastmath else ""
        if self.options.target == Options.target:
            return f"<mlirad kernel {self.__name__}{rounding}>"
        from mlirad.targets.finding import described, find_target

        target = find_target(self.options.target, **self.options.for_target)
        return f"<mlirad kernel {self.__name__} for {described(target)}{rounding}>"


_SENT = f".{Kernel.as_sent.attrname}"


def _of_main(function: FunctionType, options: Options, texts: Mapping[str, Sequence[str]] | None = None) -> Kernel:
    """The kernel of `__main__` that was pickled: this process's own kernel, if the function was found by its name."""
    _receive(texts)
    name = function.__qualname__.removesuffix(_SENT)
    found = python_functions.found(function.__module__, name)
    if isinstance(found, Kernel) and found.as_sent is function:
        return found
    function.__qualname__ = name
    return kernel_of(function, options)


def _receive(texts: Mapping[str, Sequence[str]] | None) -> None:
    if texts is not None:
        from mlirad.frontend.program.texts import receive

        receive(texts)


def _again(function: Any, options: Options, texts: Mapping[str, Sequence[str]] | None = None) -> Kernel:
    """The kernel that was pickled: one for each function, so a kernel that is sent many times is compiled once."""
    _receive(texts)
    return kernel_for(plain(function), options)


class _Kernels(OrderedDict[Any, Kernel]):
    """The kernels of a function's transforms. They live as long as the function; a copy of it has none."""

    NAME = "__mlirad_kernels__"
    MOST = 64

    def __reduce__(self) -> Any:
        return _Kernels, ()


_others = _Kernels()
"""Kernels of objects that cannot hold them: methods, callable objects."""


def kernel_of(function: Callable[..., Any] | Request, options: Options) -> Kernel:
    """One kernel per transform of a function, so that `mlirad.grad(f)(x)` in a loop compiles once."""
    key = function, options
    while isinstance(function, Request):
        function = function.function
    # In the function itself, so that a kernel and its code live exactly as long as the function.
    kernels = vars(function).setdefault(_Kernels.NAME, _Kernels()) if isinstance(function, FunctionType) else _others
    found = kernels.get(key)
    if found is None:
        found = kernels.setdefault(key, Kernel(*key))
        while len(kernels) > _Kernels.MOST:
            with contextlib.suppress(KeyError):  # another thread may be changing it
                kernels.popitem(last=False)
    return found


def kernel_for(function: Any, options: Options) -> Kernel:
    """The kernel of a function or a transform, so that `mlirad.jit(f)(x)` in a loop compiles once.

    A function that cannot hold kernels gets a new one each time, which is freed when it is not used.
    """
    innermost = function
    while isinstance(innermost, Request):
        innermost = innermost.function
    if not isinstance(innermost, FunctionType) or Environment.has_jit_disabled():
        return Kernel(function, options)
    return kernel_of(function, options)
