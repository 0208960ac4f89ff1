"""The table of contents: the passes on a module, stage by stage, from the frontend's IR to loaded code.

Data goes straight down. The first three stages are the same for every target; a target owns the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from mlirad import stages
from mlirad.analysis.decision_report import Fact, Report, of_code, of_derivatives, of_loops, sorted_by_line
from mlirad.autodiff.cancel_clears import CancelClears
from mlirad.autodiff.requests.cancelled_extremes import StopCancelledExtremes
from mlirad.autodiff.requests.differentiate import Differentiate, has_requests
from mlirad.autodiff.requests.needed_rules import DropRules
from mlirad.autodiff.requests.split import Split
from mlirad.autodiff.tape.tape import Tape
from mlirad.dialect.ad.derivative_ops import PathsOp
from mlirad.dialect.core import types
from mlirad.dialect_version import stamped
from mlirad.errors import TargetError
from mlirad.lowering.clean_up.canonicalize import Canonicalize
from mlirad.lowering.clean_up.check_elimination import EliminateChecks
from mlirad.lowering.clean_up.cse import Cse
from mlirad.lowering.clean_up.dce import Dce
from mlirad.lowering.clean_up.drop_hints import DropHints
from mlirad.lowering.clean_up.hoist import Hoist
from mlirad.lowering.clean_up.inline import Inline
from mlirad.lowering.clean_up.mask_selections import MaskSelections
from mlirad.lowering.clean_up.peel_base_cases import PeelBaseCases
from mlirad.lowering.clean_up.raise_loops import Verdicts, raise_loops
from mlirad.lowering.clean_up.split_off_functions import SplitOffFunctions
from mlirad.lowering.layouts.narrow_arrays import narrow_arrays
from mlirad.targets.finding import described, stages_of
from mlirad.targets.memory_report import MemoryReport
from mlirad.targets.target import Artifact, Stage, Target
from mlirad.xdsl_support.traversal import find, ops_inside
from mlirad.xdsl_support.verify import InvalidOp, verify_dominance

_CONTEXT = Context()

CLEAN: tuple[ModulePass, ...] = (Canonicalize(), Cse(), Dce())


def apply(passes: Iterable[ModulePass], module: ModuleOp) -> ModuleOp:
    """Run the passes, one after the other, in place."""
    for each in passes:
        each.apply(_CONTEXT, module)
    return module


def differentiate(
    module: ModuleOp, raises_loops: bool = True, *, keeps_rules: bool = False, verdicts: Verdicts | None = None
) -> ModuleOp:
    """Expand the requests, innermost first, cleaning up before and after each step.

    keeps_rules: functions keep their derivative rules, including those that no request uses. verdicts: receives what
    becomes of loops.
    """
    dropped = () if keeps_rules else (DropRules(),)
    apply((PeelBaseCases(),), module)
    while has_requests(module):
        narrowed(apply((*dropped, Inline(), *CLEAN, MaskSelections(), Hoist(only_views=True)), module))
        # A raised branch computes both sides, which paths would count; a plain one on an integer takes one side.
        if raises_loops and not find(module, PathsOp):
            raised(module, {} if verdicts is None else verdicts)
        apply((StopCancelledExtremes(), Differentiate()), module)
        apply((Dce(), Tape(), Split(), Inline(), *CLEAN), module)
        apply((CancelClears(), Dce()), module)
    return module


def narrowed(module: ModuleOp) -> ModuleOp:
    """The module with equal slices of arrays stored once, and computed as numbers."""
    return apply(CLEAN, module) if narrow_arrays(module) else module


def raised(module: ModuleOp, verdicts: Verdicts) -> ModuleOp:
    """The module with loops turned into ops on whole arrays, where that is possible and pays off in derivatives."""
    before = ops_inside(module)
    raise_loops(module, verdicts, is_derived=True)
    # Values that the trips of an outer loop share are computed once, so their cotangent is summed in one array. A
    # function that has lost its checks may also have lost calls: a single remaining call is inlined.
    return module if ops_inside(module) == before else apply((*CLEAN, Inline(), Hoist()), module)


def optimize(module: ModuleOp, raises_loops: bool = True, verdicts: Verdicts | None = None) -> ModuleOp:
    """Fewer and better ops. verdicts: receives what becomes of loops."""
    apply((DropHints(), Inline()), module)
    before = ops_inside(module)
    narrowed(apply((*CLEAN, MaskSelections(), EliminateChecks()), module))
    if raises_loops:
        raise_loops(module, {} if verdicts is None else verdicts, is_derived=False)
        apply((SplitOffFunctions(),), module)
    apply((Hoist(),), module)
    # Code that differentiation has left clean, without loops or checks, need not be cleaned again.
    return module if ops_inside(module) == before else apply(CLEAN, module)


def visible(module: ModuleOp) -> ModuleOp:
    """Verify that all values are defined before they are used: other code would use undefined values."""
    try:
        verify_dominance(module)
    except InvalidOp as error:
        place = types.from_location(error.op.location)
        error.add_note(f"{place}: this line could not be compiled: please report it, it is a bug in mlirad")
        raise
    return module


def all_stages(target: Target, verdicts: Verdicts | None = None) -> tuple[Stage, ...]:
    """Every stage on the way to `target`, in order. verdicts: receives what becomes of loops."""

    def expand(module: ModuleOp) -> ModuleOp:
        return differentiate(module, target.raises_loops, verdicts=verdicts)

    def hand_over(module: ModuleOp) -> ModuleOp:
        target.require(optimize(module, target.raises_loops, verdicts))
        return module

    shared = (
        Stage(stages.TENSOR, visible),
        Stage(stages.AUTODIFF, expand),
        Stage(stages.OPTIMIZED, hand_over),
    )
    return (*shared, *stages_of(target))


def run(
    module: ModuleOp, target: Target, timings: dict[str, float] | None = None, verdicts: Verdicts | None = None
) -> Iterator[tuple[str, Any]]:
    """The stages' names and values, one after the other. A module stays the same object, changed in place.

    timings, verdicts: receive the seconds of each stage, and what becomes of loops.
    """
    value: Any = module
    for stage in all_stages(target, verdicts):
        start = time.perf_counter()
        value = stage.run(value)
        if timings is not None:
            timings[stage.name] = time.perf_counter() - start
        yield stage.name, value


def compile_module(
    module: ModuleOp, target: Target, dump: Path | None = None, link: Callable[[Any], Artifact] | None = None
) -> Artifact:
    """Loaded code for a module of stage `tensor`, which is consumed. With `dump`, every stage is written into it.

    link: makes code from the value of stage `target.loads`; by default the target does this alone.
    """
    if dump is not None:
        write_stages(module.clone(), target, dump)
    value = next(value for name, value in run(module, target) if name == target.loads)
    return target.load(target.compile(value)) if link is None else link(value)


def texts(module: ModuleOp, target: Target, locations: bool = False) -> Iterator[tuple[str, str]]:
    """The stages' names and texts, each verified (dominance too) before it is printed."""
    verifiers = {stage.name: stage.verify for stage in all_stages(target)}
    for name, value in run(module, target):
        if isinstance(value, ModuleOp):
            value.verify()
            verify_dominance(value)
        if (verify := verifiers[name]) is not None:
            verify(value)
        yield name, text_of(value, locations)


def text_of(value: Any, locations: bool = False) -> str:
    """A stage's value as text: MLIR for a module, anything else unchanged."""
    if not isinstance(value, ModuleOp):
        return str(value)
    stream = StringIO()
    Printer(stream, print_debuginfo=locations).print_op(value)
    return stream.getvalue() + "\n"


def write_stages(module: ModuleOp, target: Target, directory: Path) -> list[Path]:
    """Write one file for each stage of a module, numbered in order, with source locations. Consumes the module.

    The first line of MLIR text names the version of the dialects and, if the code is not native, what runs it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    runtime = target.runtime_info()
    runs_on = "" if runtime.kind == "native" else f"// target {target.name}: {runtime}\n"
    paths: list[Path] = []
    stages_and_texts = zip(all_stages(target), texts(module, target, locations=True), strict=True)
    for number, (stage, (name, text)) in enumerate(stages_and_texts):
        paths.append(directory / f"{number:02d}-{name}.{stage.suffix}")
        paths[-1].write_text(stamped(runs_on + text) if stage.suffix == "mlir" else text)
    return paths


@dataclass
class Lowered:
    """A function on its way to a target: the IR at every stage, and the code."""

    module: ModuleOp
    target: Target
    finish: Callable[[ModuleOp], Callable[..., Any]]
    name: str
    noted: tuple[Fact, ...] = ()
    """Decisions that were made before there was a module."""
    # The texts that exist so far, and those to come: without and with source locations.
    _texts: dict[tuple[str, bool], str] = field(default_factory=dict)
    _pending: dict[bool, Iterator[tuple[str, str]]] = field(default_factory=dict)

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages, in order."""
        return tuple(stage.name for stage in all_stages(self.target))

    def as_text(self, stage: str, locations: bool = False) -> str:
        """The IR at a stage; with `locations`, each op has its source line.

        Values are named after the variables that first held them (`%y`), and a cotangent after its value (`%d_y`). For
        an unknown stage, raises ValueError with the names of the stages.
        """
        if stage not in self.stages:
            raise ValueError(f"there is no stage {stage!r}; the stages are {', '.join(self.stages)}")
        if locations not in self._pending:
            self._pending[locations] = texts(self.module.clone(), self.target, locations)
        while (stage, locations) not in self._texts:
            name, text = next(self._pending[locations])
            self._texts[name, locations] = text
        return self._texts[stage, locations]

    def timings(self) -> dict[str, float]:
        """Seconds spent in every stage, measured in a separate run."""
        seconds: dict[str, float] = {}
        for _ in run(self.module.clone(), self.target, seconds):
            pass
        return seconds

    def memory(self) -> MemoryReport:
        """The memory that a call will need besides its arguments.

        `report.total` may be a formula in quantities known only at run time, above all trip counts;
        `report.total.at({"trips(12)": 1000})` is a number that can be compared with `last_memory()`. Raises TargetError
        for a target that cannot predict memory.
        """
        report = self.target.memory(self._optimized(), self.name)
        if report is None:
            raise TargetError(f"the target {self.target.name} cannot predict the memory of a call")
        return report

    def export(self) -> Mapping[str, str]:
        """The input of the target's own tools: texts by file name. Raises TargetError if the target exports nothing."""
        files = self.target.export(self._optimized(), self.name)
        if not files:
            raise TargetError(f"the target {self.target.name!r} exports nothing")
        return files

    def _optimized(self) -> ModuleOp:
        """The module that a target takes over, checked."""
        raises_loops = self.target.raises_loops
        module = optimize(differentiate(self.module.clone(), raises_loops), raises_loops)
        self.target.require(module)
        return module

    def report(self) -> Report:
        """The compiler's decisions (specialised, unrolled, raised, stored, recomputed, copied, vectorised), with
        line and reason.

        `print(report)` shows it; `report.facts` has the same as data.
        """
        facts, of_last, verdicts = list(self.noted), list[Fact](), Verdicts()
        for name, value in run(self.module.clone(), self.target, verdicts=verdicts):
            if not isinstance(value, ModuleOp):
                break
            if name == stages.AUTODIFF:
                facts += of_derivatives(value)
            of_last = list(of_code(value))
        return sorted_by_line([*facts, *of_loops(verdicts), *of_last])

    def compile(self) -> Callable[..., Any]:
        """A callable for arguments of the same kind as the lowered ones."""
        return self.finish(self.module.clone())

    def __repr__(self) -> str:
        return f"<mlirad.Lowered for {described(self.target)}: {', '.join(self.stages)}>"
