"""The arguments and results of a called function through which a derivative flows, and the derivative functions.

Reads: a module with calls that are not inlined. Writes: declarations of derivative functions. Leaves: one name for each
differentiated part of a function, however often it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, SSAValue

from mlirad.analysis.call_graph import functions_of, recursive, set_written, written_by
from mlirad.analysis.loops import terminator
from mlirad.analysis.repeated_integers import passed_again
from mlirad.analysis.rule_attributes import NamedRule, own_rule
from mlirad.autodiff.activity import Activity, Dependence, activity, dependent
from mlirad.autodiff.private_functions import free_name
from mlirad.dialect.ad.notes import LINEARIZED, TRANSPOSED
from mlirad.dialect.core import types
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.traversal import find

FLOATS, INTEGERS = types.tensor([-1], types.F64), types.tensor([-1], types.I64)
TAPES: tuple[Attribute, ...] = (FLOATS, types.I64, INTEGERS, types.I64)
"""The tapes of all calls: the floats and their number in use, the integers and their number in use."""


@dataclass(frozen=True)
class Part:
    """A differentiation request for a function: these results with respect to these arguments.

    is_linearized, is_transposed: see `LINEARIZED`, `TRANSPOSED`.
    """

    callee: str
    wrt: tuple[int, ...]
    outs: tuple[int, ...]
    is_linearized: bool = False
    is_transposed: bool = False


@dataclass(frozen=True)
class Signature:
    """How the derivative of a part is called. written: for each argument that is written, the result in its memory.

    accumulated: the arrays among `wrt` that the callee only reads. Their cotangents are passed in, and returned with
    the callee's contribution added. kept: all arrays that the callee only reads, and the integers that callers compute
    again (`repeated`); they are passed to the pullback again.
    """

    part: Part
    inputs: tuple[Attribute, ...]
    outputs: tuple[Attribute, ...]
    written: Mapping[int, int]
    repeated: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def accumulated(self) -> tuple[int, ...]:
        return tuple(i for i in self.part.wrt if types.is_tensor(self.inputs[i]) and not self._is_moved(i))

    @property
    def kept(self) -> tuple[int, ...]:
        read = {i for i, type in enumerate(self.inputs) if types.is_tensor(type) and i not in self.written}
        return tuple(sorted(read.union(self.repeated)))

    def _is_moved(self, index: int) -> bool:
        """Whether an argument's cotangent reuses the memory of a result's cotangent."""
        return self.written.get(index) in self.part.outs

    @property
    def pullback_inputs(self) -> list[Attribute]:
        """Both tapes, the record's offset, the cotangents of outs, the accumulated cotangents, and what is kept."""
        gs = [self.outputs[number] for number in self.part.outs]
        accumulated = [self.inputs[number] for number in self.accumulated]
        return [FLOATS, INTEGERS, types.I64, *gs, *accumulated, *(self.inputs[number] for number in self.kept)]

    def pullback_written(self, first: int) -> dict[int, int]:
        """first: the position of the first cotangent among the arguments of the pullback."""
        found: dict[int, int] = {}
        for place, index in enumerate(self.part.wrt):
            if index in self.accumulated:
                found[first + len(self.part.outs) + self.accumulated.index(index)] = place
            elif self._is_moved(index):
                found.setdefault(first + self.part.outs.index(self.written[index]), place)
        return found

    @property
    def forward_written(self) -> dict[int, int]:
        n, m = len(self.inputs), len(self.outputs)
        return {**self.written, n: m, n + 2: m + 2}


@dataclass(frozen=True)
class Reversed(Signature):
    """A part's forward sweep and pullback, by name."""

    forward: str = ""
    pullback: str = ""


@dataclass(frozen=True)
class Crossing:
    """A value that the pullback needs from the forward sweep: the index of an operand of the call, or of one of its
    results. The callee's own results come first."""

    is_operand: bool
    number: int


@dataclass(frozen=True)
class Halved(Signature):
    """A part of a function that does not call itself: the names of its forward sweep and of its pullback. The forward
    sweep returns more results for the pullback, after its own. more: their types.

    is_replayed: whether the forward sweep records what its pullback reads on the tapes (see `replays.py`)."""

    forward: str = ""
    pullback: str = ""
    crossing: tuple[Crossing, ...] = ()
    more: tuple[Attribute, ...] = ()
    is_replayed: bool = False


@dataclass(frozen=True)
class Pushed(Signature):
    """The tangents of a part: the name of the function that computes them.

    order: the number of Taylor coefficients that it computes instead; 0 for tangents.
    """

    name: str = ""
    order: int = 0

    @property
    def tangent_written(self) -> dict[int, int]:
        n, m, part, count = len(self.inputs), len(self.outputs), self.part, max(self.order, 1)
        found = dict(self.written)
        for place, index in enumerate(part.wrt):
            if self._is_moved(index):
                out = part.outs.index(self.written[index])
                found.update((n + place * count + k, m + out * count + k) for k in range(count))
        return found


@dataclass
class Callees:
    """The called functions of a module, and the requested parts of them. pending: parts that have no function yet.

    halve: makes the forward sweep and the pullback of a part, if its function does not call itself. versions: the
    recording and replaying versions of functions, by name and kind.
    """

    module: ModuleOp
    halve: Callable[[Callees, Signature], Halved] | None = None
    functions: dict[str, func.FuncOp] = field(init=False)
    dependence: Dependence = field(init=False)
    pending: list[Reversed | Pushed] = field(default_factory=list)
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    _reversed: dict[Part, Reversed] = field(default_factory=dict)
    _halved: dict[Part, Halved] = field(default_factory=dict)
    _pushed: dict[tuple[Part, int], Pushed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = functions_of(self.module)
        called = {call.callee.string_value() for call in find(self.module, func.CallOp)}
        self.dependence = dependent({name: f for name, f in self.functions.items() if name in called})

    def parts(self, function: func.FuncOp, live: Activity) -> dict[str, Part]:
        """The parts to differentiate of the functions that `function` calls, directly or not: a fixed point."""
        hints = LINEARIZED in function.attributes, TRANSPOSED in function.attributes
        wanted: dict[str, tuple[set[int], set[int]]] = {}
        pending = [(function, live)]
        while pending:
            caller, active = pending.pop()
            for call in live_calls(caller, active):
                name = call.callee.string_value()
                ins, outs = wanted.setdefault(name, (set(), set()))
                written, pairs = written_by(self.functions[name]), self.dependence[name]
                flowing = [
                    (i, o) for i, o in pairs if call.operands[i] in active.live and call.results[o] in active.live
                ]
                # A written array always has one cotangent: the one of the array after the call, updated in place.
                flowing += [(i, r) for i, r in written.items() if (i, r) in pairs and any(i == j for j, _ in flowing)]
                if all(i in ins and o in outs for i, o in flowing):
                    continue
                ins.update(i for i, _ in flowing)
                outs.update(o for _, o in flowing)
                if (rule := own_rule(self.functions[name])) is not None:
                    require_covered(rule, ins, call)
                    continue
                pending.append((self.functions[name], self.active_in(self.functions[name], ins, outs)))
        chosen = {name: (tuple(sorted(ins)), tuple(sorted(outs))) for name, (ins, outs) in wanted.items()}
        return {name: Part(name, *each, *hints) for name, each in chosen.items()}

    def add(self, function: func.FuncOp) -> None:
        """Register a new function of the module that is called."""
        name = function.sym_name.data
        self.functions[name] = function
        self.dependence[name] = dependent({name: function}, self.dependence)[name]

    def active_in(self, function: func.FuncOp, wrt: Iterable[int], outs: Iterable[int]) -> Activity:
        args, returned = function.body.block.args, terminator(function.body.block).operands
        return activity(function, [args[i] for i in wrt], [returned[o] for o in outs], self.dependence)

    def reversed(self, part: Part) -> Reversed:
        if part not in self._reversed:
            signature = self.signature(part)
            recorded = [*signature.outputs, *TAPES, types.I64]
            forward = self._declare("forward", signature, [*signature.inputs, *TAPES], recorded)
            gradients = [signature.inputs[number] for number in part.wrt]
            pullback = self._declare("pullback", signature, signature.pullback_inputs, gradients)
            self.dependence[forward] = self.dependence[part.callee]
            made = Reversed(
                part,
                signature.inputs,
                signature.outputs,
                signature.written,
                forward,
                pullback,
                repeated=signature.repeated,
            )
            self._reversed[part] = made
            self.pending.append(made)
        return self._reversed[part]

    @cached_property
    def recursive(self) -> set[str]:
        return recursive(self.functions)

    @cached_property
    def _repeated(self) -> dict[str, tuple[int, ...]]:
        return passed_again(self.functions, self.recursive)

    def halved(self, part: Part) -> Halved | None:
        """None for a part of a function that calls itself."""
        has_rule = own_rule(self.functions[part.callee]) is not None
        if self.halve is None or (part.callee in self.recursive and not has_rule):
            return None
        if part not in self._halved:
            self._halved[part] = made = self.halve(self, self.signature(part))
            self.dependence[made.forward] = self.dependence[part.callee]
        return self._halved[part]

    def pushed(self, part: Part, order: int = 0) -> Pushed:
        if (part, order) not in self._pushed:
            signature, count = self.signature(part), max(order, 1)
            inputs = [*signature.inputs, *(signature.inputs[number] for number in part.wrt for _ in range(count))]
            outputs = [*signature.outputs, *(signature.outputs[number] for number in part.outs for _ in range(count))]
            name = self._declare("jet" if order else "jvp", signature, inputs, outputs)
            made = Pushed(part, signature.inputs, signature.outputs, signature.written, name, order)
            self._pushed[part, order] = made
            self.pending.append(made)
        return self._pushed[part, order]

    def signature(self, part: Part) -> Signature:
        callee = self.functions[part.callee]
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        return Signature(part, inputs, outputs, written_by(callee), repeated=self._repeated.get(part.callee, ()))

    def _declare(
        self, kind: str, signature: Signature, inputs: Sequence[Attribute], outputs: Sequence[Attribute]
    ) -> str:
        name = free_name(self.module, f"{signature.part.callee}.{kind}")
        declared = func.FuncOp.external(name, inputs, outputs)
        if kind == "forward":
            set_written(declared, signature.forward_written)
        declared.location = self.functions[signature.part.callee].location
        self.module.body.block.add_op(declared)
        return name


def require_covered(rule: NamedRule, wrt: Iterable[int], call: func.CallOp) -> None:
    """Refuse a captured or nondifferentiable value that needs a derivative: the rule does not cover it."""
    if not set(rule.wrt).issuperset(wrt):
        name = call.callee.string_value().rpartition("_")[0]
        raise DifferentiationError(
            f"{name} has a derivative rule, but the rule does not cover a value that is differentiated: the "
            f"function captures it, or it is one of nondiff_argnums",
            types.from_location(call.location),
            "pass it as a differentiable argument, or apply mlirad.stop_gradient to it",
        )


def retarget(call: func.CallOp, name: str, more: Sequence[SSAValue]) -> None:
    """Make a call refer to another function, with more operands."""
    call.properties["callee"] = SymbolRefAttr(name)
    call.operands = [*call.operands, *more]


def live_calls(function: func.FuncOp, live: Activity) -> list[func.CallOp]:
    return [call for call in find(function, func.CallOp) if live.is_live(call)]


def define(module: ModuleOp, name: str, function: func.FuncOp) -> None:
    """Replace the declaration of a function by its definition."""
    for op in list(module.ops):
        if isinstance(op, func.FuncOp) and op.is_declaration and op.sym_name.data == name:
            op.detach()
            op.erase()
    function.properties["sym_name"] = StringAttr(name)
    if function.parent is None:
        module.body.block.add_op(function)


def returned_by(function: func.FuncOp) -> list[SSAValue]:
    return list(terminator(function.body.block).operands)
