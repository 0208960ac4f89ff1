"""The interface of targets and of what they load: version 1, provisional until a second package has used it.

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
"""The version of this interface. An incompatible change increments the first number, an addition the second."""


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """A memory of the device: its size in bytes (None: unlimited), and the alignment of addresses."""

    bytes: int | None
    alignment: int


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """What runs the code: `kind` says how far that is from the device.

    "native": the device. "simulator": a model of it. "interpreter": anything else that computes the numbers. "none":
    code is only written.
    """

    kind: Literal["native", "simulator", "interpreter", "none"]
    device: str
    version: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.version, f"({self.device})")))


@dataclass(frozen=True, slots=True)
class Stage:
    """A named step: `run` takes the previous stage's value (a module, later text) and returns its own value.

    suffix: of a file with its text. verify: raises an error if a value is not what the stage should leave; for a
    module, it runs after xDSL's own verification. It is called where stages are shown, not where code is compiled.
    """

    name: str
    run: Callable[[Any], Any]
    suffix: str = "mlir"
    verify: Callable[[Any], None] | None = None


class Artifact(ABC):
    """Loaded code. It stays loaded as long as this object, or any of its results, is alive."""

    locks_generators: ClassVar[bool] = False
    """Whether it takes the locks of random generators itself, as their methods do. Before NumPy 2.4 no thread can take
    such a lock twice."""

    @abstractmethod
    def result_count(self, name: str) -> int:
        """The number of results of the function `name`."""

    def inputs_with_results(self, name: str) -> Collection[int]:
        """The inputs of the function `name`, by number, whose memory holds a result after a call."""
        return ()

    @abstractmethod
    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        """Call the function `name` on numpy arrays and scalars; all of its results, in order.

        `dtypes` gives the results' dtypes if the element type is ambiguous (unsigned integers).
        """

    def last_memory(self, name: str) -> int | None:
        """The most bytes that the last call of `name`, in any thread, needed besides arguments and results.

        None if there was no call yet, or if the target does not count.
        """
        return None


class Target(ABC):
    """The tail of the pipeline. A subclass is a frozen dataclass whose fields are the target's options.

    Each option has a default. `__post_init__` raises TypeError or ValueError for an invalid value: `jit` creates the
    target as soon as it is given options. So the module of a target should import its compiler only when it is used.
    """

    name: ClassVar[str]
    """Also the name of its entry point."""
    api_version: ClassVar[tuple[int, int]]
    """The version of this interface for which the class was written: a literal, and not `API_VERSION`."""
    loads: ClassVar[str]
    """The stage whose value `compile` takes. Stages after it only show what becomes of that value."""

    shares_calls: ClassVar[bool] = False
    """Whether functions with several callers may remain functions. Otherwise only recursive ones do."""

    raises_loops: ClassVar[bool] = False
    """Whether loops with independent trips may become ops on whole arrays, including integer arrays."""

    @property
    def memory_spaces(self) -> Mapping[str, MemorySpace]:
        """The memories of the device for which code is planned, by their names in reports and dumps."""
        return {}

    def dialects(self) -> tuple[Dialect, ...]:
        """The target's own dialects, which are needed to parse its stages.

        An `NdOp` with a spelling in one of these dialects replaces calls of that function in code for this target only;
        other targets compile the function itself.
        """
        return ()

    def passes(self) -> tuple[type[ModulePass], ...]:
        """The target's own passes: with its dialects, `mlirad-opt --dialects-of NAME` knows them."""
        return ()

    @abstractmethod
    def check(self, module: ModuleOp) -> list[TargetError]:
        """All problems of this target with a module of stage `optimized`, each with its location."""

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """The named stages after `optimized`, in order."""

    @abstractmethod
    def compile(self, value: Any) -> bytes:
        """The value of stage `loads` as object code that can be kept on disk: it contains no addresses of this
        process."""

    @abstractmethod
    def load(self, code: bytes, code_cache: CodeCache | None = None) -> Artifact:
        """Load object code made by `compile`, in this process or an earlier one with the same `fingerprint`.

        code_cache: stores further code on disk that the target needs, for all modules.
        """

    @abstractmethod
    def runtime_info(self) -> RuntimeInfo:
        """What runs the code. The text of a kernel (`repr`) and the dumps name it, unless it is native."""

    def memory(self, module: ModuleOp, name: str) -> MemoryReport | None:
        """The memory that calls of the public function `name` will need, for a module of stage `optimized`, which is
        consumed.

        None if the target does not know.
        """
        return None

    def pictures(self, call: Callable[[], object]) -> Mapping[str, str]:
        """Run a call of code for this target, and show what it did: texts by file names, such as `timeline.svg`.

        `mlirad NAME view file.py:f` writes them. None, without a call: the target has nothing to show.
        """
        return {}

    def export(self, module: ModuleOp, name: str) -> Mapping[str, str]:
        """The input of the device's own tools for the public function `name`: texts by file names.

        `module` is of stage `optimized`, and is consumed. `mlirad export` writes the files. By default there are none.
        """
        return {}

    @abstractmethod
    def fingerprint(self) -> str:
        """Everything besides the module that object code depends on: versions, host, options. Part of a cache's key."""

    def require(self, module: ModuleOp) -> None:
        """Raise one TargetError that lists all problems in source order, with the location of the first."""
        problems = self.check(module)
        if problems:
            raise TargetError.of_all(problems)
