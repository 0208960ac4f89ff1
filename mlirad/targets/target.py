"""What a target is, what it loads, and how it is found by name.

Reads: the module of stage `optimized`. Writes: an `Artifact`, ready to be called. Leaves: nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlirad.contract.code_cache import CodeCache
from mlirad.errors import TargetError
from mlirad.options import OWN_OPTIONS, SHARED_OPTIONS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.targets.memory_report import MemoryReport

GROUP = "mlirad.targets"
BUILT_IN = {"cpu": "mlirad.targets.cpu:CpuTarget", "python": "mlirad.targets.python:PythonTarget"}
"""mlirad's own entry points: to look them up in what is installed takes longer than to load code from the cache."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step: `run` takes the previous stage's value (a module, later text) and returns its own.

    suffix: of a file that holds its text.
    """

    name: str
    run: Callable[[Any], Any]
    suffix: str = "mlir"


class Artifact(ABC):
    """Loaded code. It stays loaded as long as this object, or anything that it returned, is alive."""

    @abstractmethod
    def result_count(self, name: str) -> int:
        """How many results the function `name` has."""

    def inputs_with_results(self, name: str) -> Collection[int]:
        """The numbers of the values given to the function `name` whose memory holds a result after a call."""
        return ()

    @abstractmethod
    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        """Call the function `name` on numpy arrays and scalars; all of its results, in order.

        `dtypes` gives the results' dtypes where the element type is ambiguous (unsigned integers).
        """

    def last_memory(self, name: str) -> int | None:
        """The most bytes that the last call of `name`, of any thread, needed besides arguments and results.

        None if there was none yet, or if the target does not count.
        """
        return None


class Target(ABC):
    """The tail of the pipeline. A subclass is a frozen dataclass whose fields are the target's options.

    Each has a default. `__post_init__` raises TypeError or ValueError for a value that the option cannot have: `jit`
    makes the target when it is given options. So its module should import what it compiles with when that is used.
    """

    name: ClassVar[str]
    loads: ClassVar[str]
    """The stage whose value `compile` takes. Stages after it only show what becomes of it."""

    shares_calls: ClassVar[bool] = False
    """Whether functions that several places call may stay functions. Otherwise only those that call themselves do."""

    @abstractmethod
    def check(self, module: ModuleOp) -> list[TargetError]:
        """All that this target cannot take in a module of stage `optimized`, each with its place."""

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """The named stages after `optimized`, in order."""

    @abstractmethod
    def compile(self, value: Any) -> bytes:
        """The value of stage `loads` as object code that can be kept on disk: without addresses of this process."""

    @abstractmethod
    def load(self, code: bytes, code_cache: CodeCache | None = None) -> Artifact:
        """Object code made by `compile`, in this process or an earlier one with the same `fingerprint`.

        code_cache: stores on disk the code that the target needs besides, for all modules.
        """

    def memory(self, module: ModuleOp, name: str) -> MemoryReport | None:
        """What calls of the public function `name` will need, of a module of stage `optimized`, which is consumed.

        None if the target does not know.
        """
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """What object code depends on besides the module: versions, host, options. Part of a cache's key."""

    def require(self, module: ModuleOp) -> None:
        """Raise one TargetError that lists all problems in the order of the source; its place is the first's."""
        problems = self.check(module)
        if problems:
            raise TargetError.of_all(problems)


def target_names() -> tuple[str, ...]:
    """The names of the targets that are installed."""
    from importlib.metadata import entry_points

    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def find_target(name: str, **options: Any) -> Target:
    """The target of that name with these options. Raises TargetError for an unknown name or option."""
    cls = _load(name)
    known = _options_of(name, cls)
    for option in options:
        if option not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise TargetError(f"target {name!r} has no option {option!r}", hint=f"its options are: {listed}")
    return cls(**options)


def option_names(name: str) -> tuple[str, ...]:
    """The options that the target of that name declares. Raises TargetError for an unknown name."""
    return _options_of(name, _load(name))


def _options_of(name: str, cls: type[Target]) -> tuple[str, ...]:
    names = tuple(each.name for each in fields(cls) if each.init) if is_dataclass(cls) else ()
    for each in names:
        if each in OWN_OPTIONS and each not in SHARED_OPTIONS:
            raise TargetError(f"target {name!r} declares the option {each!r}, which every kernel has")
    return names


def _load(name: str) -> type[Target]:
    if name in BUILT_IN:
        value = BUILT_IN[name]
        module, _, attribute = value.partition(":")
        cls = getattr(import_module(module), attribute)
    else:
        from importlib.metadata import entry_points

        points = tuple(entry_points(group=GROUP, name=name))
        if not points:
            listed = ", ".join(target_names()) or "none"
            raise TargetError(f"there is no target {name!r}", hint=f"the targets installed are: {listed}")
        value, cls = points[0].value, points[0].load()
    if not (isinstance(cls, type) and issubclass(cls, Target)):
        raise TargetError(f"target {name!r} ({value}) is not a mlirad.targets.target.Target")
    return cls
