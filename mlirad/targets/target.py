"""What a target is, and what it loads: version 1 of the interface, provisional until a second package has used it.

Reads: the module of stage `optimized`. Writes: an `Artifact`, ready to be called. Leaves: nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mlirad.contract.code_cache import CodeCache
from mlirad.errors import TargetError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    from mlirad.targets.memory_report import MemoryReport

API_VERSION = (1, 2)
"""Of this interface. What would break a target raises the first number, what is added to it the second."""


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """A memory of the device: how many bytes it has (None: as many as there are), and how addresses are aligned."""

    bytes: int | None
    alignment: int


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """What runs the code: `kind` says how far it is from the device.

    "native": the device. "simulator": a model of it. "interpreter": anything else that gives the numbers. "none": code
    is only written.
    """

    kind: Literal["native", "simulator", "interpreter", "none"]
    device: str
    version: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.version, f"({self.device})")))


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step: `run` takes the previous stage's value (a module, later text) and returns its own.

    suffix: of a file that holds its text. verify: raises for a value that is not what the stage should leave; of a
    module, this comes after xDSL's own verification. It is asked where stages are shown, not where code is made.
    """

    name: str
    run: Callable[[Any], Any]
    suffix: str = "mlir"
    verify: Callable[[Any], None] | None = None


class Artifact(ABC):
    """Loaded code. It stays loaded as long as this object, or anything that it returned, is alive."""

    locks_generators: ClassVar[bool] = False
    """Whether it takes the locks of random generators itself, as their methods do. Before NumPy 2.4 no thread can take
    one twice."""

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
    """The name of its entry point, too."""
    api_version: ClassVar[tuple[int, int]]
    """The version of this interface that the class was written for: a literal, and not `API_VERSION`."""
    loads: ClassVar[str]
    """The stage whose value `compile` takes. Stages after it only show what becomes of it."""

    shares_calls: ClassVar[bool] = False
    """Whether functions that several places call may stay functions. Otherwise only those that call themselves do."""

    raises_loops: ClassVar[bool] = False
    """Whether loops whose trips are independent may become ops on whole arrays, of integers too."""

    @property
    def memory_spaces(self) -> Mapping[str, MemorySpace]:
        """The memories of the device that code is planned for, by the names that its reports and dumps use."""
        return {}

    def dialects(self) -> tuple[Dialect, ...]:
        """The target's own dialects: with them its stages can be read again.

        An op of these that is an `NdOp` with a spelling is what calls of that function become, in code for this target
        only; other targets compile the function itself.
        """
        return ()

    def passes(self) -> tuple[type[ModulePass], ...]:
        """The target's own passes: with its dialects, `mlirad-opt --dialects-of NAME` knows them."""
        return ()

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

    @abstractmethod
    def runtime_info(self) -> RuntimeInfo:
        """What runs the code. The text of a kernel (`repr`) and the dumps name everything that is not native."""

    def memory(self, module: ModuleOp, name: str) -> MemoryReport | None:
        """What calls of the public function `name` will need, of a module of stage `optimized`, which is consumed.

        None if the target does not know.
        """
        return None

    def pictures(self, call: Callable[[], object]) -> Mapping[str, str]:
        """Run a call of code for this target, and show what it did: texts by the names of files, as `timeline.svg`.

        `mlirad NAME view file.py:f` writes them. None, and no call: the target has nothing to show.
        """
        return {}

    def export(self, module: ModuleOp, name: str) -> Mapping[str, str]:
        """What the device's own tools take of the public function `name`: texts by the names of files.

        Of a module of stage `optimized`, which is consumed. `mlirad export` writes them. By default there are none.
        """
        return {}

    @abstractmethod
    def fingerprint(self) -> str:
        """What object code depends on besides the module: versions, host, options. Part of a cache's key."""

    def require(self, module: ModuleOp) -> None:
        """Raise one TargetError that lists all problems in the order of the source; its place is the first's."""
        problems = self.check(module)
        if problems:
            raise TargetError.of_all(problems)
