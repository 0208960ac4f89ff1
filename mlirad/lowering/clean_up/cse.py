"""Eliminates common subexpressions.

Reads and writes: any stage, in place. Leaves: no pure op and no check that an equal one dominates.

An op is available in its own block and in the regions below. So is a condition: inside a branch it is a constant. Ops
with regions are left unchanged.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from mlirad.analysis.call_graph import RemovableCalls
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Verb, may
from mlirad.dialect.core.expr import constant
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_of


@dataclass(frozen=True)
class Cse(ModulePass):
    """Replace an op by an equal one that dominates it, in one walk in program order.

    Before:

        func.func @f(%x: f64) -> f64 {
          %a = nd.sin %x : f64
          %b = nd.sin %x : f64
          %y = nd.add %a, %b : f64
          func.return %y : f64
        }

    After `mlirad-cse`:

        func.func @f(%x: f64) -> f64 {
          %a = nd.sin %x : f64
          %y = nd.add %a, %a : f64
          func.return %y : f64
        }
    """

    name = "mlirad-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Scopes(RemovableCalls(op), _Numbers()).visit_regions(op)


def merge_equal(block: Block) -> None:
    """Replace each op in a block by an equal one before it."""
    _Scopes(frozenset(), _Numbers()).visit(block)


@dataclass
class _Numbers:
    """A number for each attribute; equal attributes have the same number. Hashing is slow, so each object is hashed
    once."""

    numbers: dict[Attribute, int] = field(default_factory=dict)
    of_object: dict[int, int] = field(default_factory=dict)
    met: list[Attribute] = field(default_factory=list)  # keeps them alive, so that ids are not reused

    def of(self, attribute: Attribute) -> int:
        number = self.of_object.get(id(attribute))
        if number is None:
            self.met.append(attribute)
            number = self.of_object[id(attribute)] = self.numbers.setdefault(attribute, len(self.numbers))
        return number

    def of_named(self, attributes: Mapping[str, Attribute]) -> Hashable:
        return frozenset([(name, self.of(value)) for name, value in attributes.items()]) if attributes else None


@dataclass
class _Scopes:
    """The available ops at this point, and the known conditions of the branches around it.

    pure: the functions that only compute their results."""

    pure: RemovableCalls | frozenset[str]
    numbers: _Numbers
    known: dict[Hashable, Operation] = field(default_factory=dict)
    truth: dict[SSAValue, bool] = field(default_factory=dict)

    def visit_regions(self, op: Operation) -> None:
        scopes = _Scopes(self.pure, self.numbers) if op.has_trait(IsolatedFromAbove) else self
        for number, region in enumerate(op.regions):
            assumed = op.cond if isinstance(op, scf.IfOp) and op.cond not in scopes.truth else None
            if assumed is not None:
                scopes.truth[assumed] = number == 0
            for block in region.blocks:
                scopes.visit(block)
            if assumed is not None:
                del scopes.truth[assumed]

    def visit(self, block: Block) -> None:
        added: list[Hashable] = []
        for op in ops_of(block):
            if self.truth:
                self._use_truth(op)
            if op.regions:
                self.visit_regions(op)
            elif may(op, Verb.CACHE) or self._is_pure_call(op):
                key = self._key(op)
                earlier = self.known.setdefault(key, op)
                if earlier is op:
                    added.append(key)
                else:
                    replace(op, earlier.results)
        for key in added:
            del self.known[key]

    def _key(self, op: Operation) -> Hashable:
        """A key that is equal for ops that compute the same. Values are compared by identity: they live as long as the
        available ops."""
        return (
            op.__class__,
            tuple(map(id, op.operands)),
            tuple([self.numbers.of(result.type) for result in op.results]),
            self.numbers.of_named(op.properties),
            self.numbers.of_named(op.attributes),
        )

    def _is_pure_call(self, op: Operation) -> bool:
        return isinstance(op, func.CallOp) and op.callee.string_value() in self.pure

    def _use_truth(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            known = self.truth.get(operand)
            if known is not None:
                with in_place_of(op):
                    op.operands[index] = constant(known, types.I1).value
