"""Inlines private functions, and removes unreferenced functions.

Reads and writes: any stage, in place. Leaves: no call of a private function with a body, except functions that are
recursive, shared by several calls, checkpointed, kept apart, or have a derivative rule.

Callees come first, so that each body is copied in its final form; a function with one reference is moved instead of
copied. An op keeps its location.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from mlirad.analysis.call_graph import APART, SHARED, calls_in, functions_of, recursive
from mlirad.analysis.rule_attributes import own_rule
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.lowering.rewriting import erase, replace, splice
from mlirad.xdsl_support.once_per_object import once
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class Inline(ModulePass):
    """Inline all private functions.

    Before:

        func.func private @square(%x: f64) -> f64 {
          %y = nd.mul %x, %x : f64
          func.return %y : f64
        }
        func.func @f(%x: f64) -> f64 {
          %y = func.call @square(%x) : (f64) -> f64
          func.return %y : f64
        }

    After `mlirad-inline`:

        func.func @f(%x: f64) -> f64 {
          %y = nd.mul %x, %x : f64
          func.return %y : f64
        }
    """

    name = "mlirad-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {inner.sym_name.data: inner for inner in op.ops if isinstance(inner, func.FuncOp)}
        if not any(_is_private(function) for function in functions.values()):
            return
        inliner = _Inliner(functions, _names(op), recursive(functions_of(op)))
        for function in list(functions.values()):
            inliner.visit(function)
        inliner.drop_unused()


def _names(op: Operation) -> Counter[str]:
    """How often op refers to each symbol, including references in types."""
    count: Counter[str] = Counter()
    for inner in (op, *ops_inside(op)):
        for attribute in (*inner.properties.values(), *inner.attributes.values()):
            if attribute.__class__ is SymbolRefAttr:
                assert isinstance(attribute, SymbolRefAttr)
                count[attribute.string_value()] += 1
        for value in inner.results:
            for name in _named_in(value.type):
                count[name] += 1
        for region in inner.regions:
            for block in region.blocks:
                for arg in block.args:
                    count.update(_named_in(arg.type))
    return count


@once
def _named_in(type: Attribute) -> tuple[str, ...]:
    """The symbols in a type's parameters."""
    parameters = getattr(type, "parameters", ())
    return tuple(parameter.string_value() for parameter in parameters if isinstance(parameter, SymbolRefAttr))


def _is_private(function: func.FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


@dataclass
class _Inliner:
    """The functions of a module, their reference counts, the recursive functions, and the finished ones."""

    functions: dict[str, func.FuncOp]
    named: Counter[str]
    recursive: set[str]
    done: set[func.FuncOp] = field(default_factory=set)

    def visit(self, function: func.FuncOp) -> None:
        """Inline all calls in a function, after those in its callees."""
        if function in self.done:
            return
        self.done.add(function)
        for call in calls_in(function):
            callee = self.functions.get(call.callee.string_value())
            if callee is not None and callee.body.blocks and _is_private(callee):
                self.visit(callee)
                if callee.sym_name.data not in self.recursive and not self._stays(callee):
                    self._inline(call, callee)

    def _stays(self, callee: func.FuncOp) -> bool:
        if APART in callee.attributes or CHECKPOINT in callee.attributes or own_rule(callee) is not None:
            return True
        return SHARED in callee.attributes and self.named[callee.sym_name.data] > 1

    def _inline(self, call: func.CallOp, callee: func.FuncOp) -> None:
        name = callee.sym_name.data
        is_last = self.named[name] == 1
        body = callee.body if is_last else callee.body.clone()
        if not is_last:
            self.named.update(_names(callee))
        replace(call, splice(body.block, call, list(call.arguments)))
        self.named[name] -= 1
        if is_last:
            erase(callee)
            del self.functions[name]

    def drop_unused(self) -> None:
        """Remove unreferenced private functions, then those that only they referred to."""
        pending = list(self.functions.values())
        while pending:
            function = pending.pop()
            name = function.sym_name.data
            if function.parent is None or not _is_private(function) or self.named[name] > 0:
                continue
            lost = _names(function)
            self.named.subtract(lost)
            erase(function)
            pending += [self.functions[other] for other in lost if other in self.functions]
