"""Activity analysis: which values depend on a differentiated input and reach an output.

Reads: a function of func, scf and nd ops. Writes: nothing. Gives: the set of live values, before any adjoint is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import Loop, is_outside, yields
from mlirad.analysis.rule_attributes import flows_by_rule, own_rule
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.traversal import ops_inside

Flow = tuple[SSAValue, SSAValue]
Dependence = dict[str, frozenset[tuple[int, int]]]
"""For each called function: the pairs (argument, result) between which it carries a derivative."""


def flows(op: Operation, calls: Mapping[str, frozenset[tuple[int, int]]]) -> Iterator[Flow]:
    """The pairs (from, to) of float values between which the op itself, without its regions, carries a derivative."""
    for source, sink in _all_flows(op, calls):
        if types.is_inexact(source.type) and types.is_inexact(sink.type):
            yield source, sink


def _all_flows(op: Operation, calls: Mapping[str, frozenset[tuple[int, int]]]) -> Iterator[Flow]:
    match op:
        case NdOp():  # the most frequent case first, because checks against xDSL's abstract classes are slow
            results = [result for number, result in enumerate(op.results) if number not in op.inert]
            for index, operand in enumerate(op.operands):
                if index not in op.memory.shape_only:
                    yield from ((operand, result) for result in results)
        case func.CallOp() if op.callee.string_value() in calls:
            for argument, result in calls[op.callee.string_value()]:
                yield op.operands[argument], op.results[result]
        case scf.ForOp() | scf.WhileOp():
            for carry in Loop(op).carries:
                for source in (carry.init, carry.yielded):
                    yield source, carry.arg
                    yield source, carry.result
        case scf.IfOp():
            for region in op.regions:
                if region.blocks:
                    yield from zip(yields(region.block), op.results, strict=True)
        case _:
            yield from ((operand, result) for operand in op.operands for result in op.results)


@dataclass(frozen=True)
class Activity:
    """The live values of a function, and the dependences of the functions that it calls."""

    live: frozenset[SSAValue]
    calls: Dependence = field(default_factory=dict)

    def is_live(self, op: Operation) -> bool:
        """Whether the op has a live result, or is a loop with a live carry."""
        values = (*op.results, *Loop(op).args) if isinstance(op, scf.ForOp | scf.WhileOp) else op.results
        return not self.live.isdisjoint(values)

    def captured(self, op: Operation) -> list[SSAValue]:
        """The live values, defined outside of the op, through which a derivative enters its regions."""
        found: dict[SSAValue, None] = {}
        for inner in op.walk():
            sources = flows(inner, self.calls) if inner is not op else _yielded(op)
            for source, sink in sources:
                if source in self.live and sink in self.live and is_outside(source, op):
                    found[source] = None
        return list(found)


def _yielded(op: Operation) -> Iterator[Flow]:
    """The flows of a region op that start at the end of one of its regions."""
    at_end = {value for region in op.regions if region.blocks for value in yields(region.block)}
    return (flow for flow in flows(op, {}) if flow[0] in at_end)


def activity(
    function: Operation, inputs: Iterable[SSAValue], outputs: Sequence[SSAValue], calls: Dependence | None = None
) -> Activity:
    """The values that depend on one of the inputs and reach one of the outputs."""
    calls = {} if calls is None else calls
    after: dict[SSAValue, list[SSAValue]] = {}
    before: dict[SSAValue, list[SSAValue]] = {}
    for op in ops_inside(function):
        for source, sink in flows(op, calls):
            after.setdefault(source, []).append(sink)
            before.setdefault(sink, []).append(source)
    return Activity(frozenset(_reached(inputs, after) & _reached(outputs, before)), calls)


def dependent(functions: Mapping[str, func.FuncOp], others: Dependence | None = None) -> Dependence:
    """Which results of each function depend on which arguments. The functions may call one another: a fixed point.

    others: the dependences of other functions that they call.
    """
    found: Dependence = {
        **(others or {}),
        **{name: frozenset(_by_rule(function)) for name, function in functions.items()},
    }
    while True:
        before = dict(found)
        for name, function in functions.items():
            found[name] |= frozenset(_pairs(function, found))
        if found == before:
            return found


def _by_rule(function: func.FuncOp) -> Iterator[tuple[int, int]]:
    rule = own_rule(function)
    return iter(()) if rule is None else flows_by_rule(function, rule)


def _pairs(function: func.FuncOp, calls: Dependence) -> Iterator[tuple[int, int]]:
    after: dict[SSAValue, list[SSAValue]] = {}
    for op in ops_inside(function):
        for source, sink in flows(op, calls):
            after.setdefault(source, []).append(sink)
    block = function.body.block
    for argument in block.args:
        reached = _reached([argument], after)
        yield from ((argument.index, number) for number, value in enumerate(yields(block)) if value in reached)


def _reached(starts: Iterable[SSAValue], edges: dict[SSAValue, list[SSAValue]]) -> set[SSAValue]:
    reached = {value for value in starts if types.is_inexact(value.type)}
    pending = list(reached)
    while pending:
        for following in edges.get(pending.pop(), ()):
            if following not in reached:
                reached.add(following)
                pending.append(following)
    return reached
