"""Taylor mode: each live value gets the coefficients of its truncated Taylor series.

Reads: a function of func, scf and nd ops. Writes: the same function with coefficients. Leaves: no marker, no request.

Coefficient k of a value is its k-th derivative along the path of the inputs, divided by k!. If an op is linear, a
product or a quotient, it gives its own coefficients (`NdOp.coefficient`). For all other ops they follow from the
formula of the tangent, d out/dt = F(dx/dt, out, x), evaluated on series: coefficient k is coefficient k - 1 of F,
divided by k.

    %y = nd.exp %x                 F = dx * y
    y1 = x1 y0,  y2 = (2 x2 y0 + x1 y1) / 2,  ...

Each F is written once for its op, as nodes, in a block outside of the program. Equal nodes are shared: the formula of
sin contains a cosine, and the formula of this cosine contains the sine itself, which is the op's result so far. So n
coefficients cost about n^2 products, and no formula grows with n.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Loop, add_results, add_yields, branches, terminator, yields
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.callees import Pushed, retarget
from mlirad.autodiff.sizes import size_value, unknown_axes, zeros
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.choice import annihilated
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import has_no_effect, is_terminator

SeriesOfLoop = Callable[[NdOp, Sequence[Sequence[SSAValue] | None]], Sequence[Sequence[SSAValue]]]
"""For an op whose tangent is a loop: the coefficients of its results, from those of its operands (None: a constant)."""


@dataclass(frozen=True, eq=False)
class SeriesNode:
    """A series. Without an op: that of a value of the program, or (`of`) the derivative of another series.

    op: the op that has it as its result number `index`; the op need not be in a program. operands, results: of the op.
    """

    op: NdOp | None = None
    index: int = 0
    operands: tuple[SeriesNode, ...] = ()
    of: SeriesNode | None = None


class Taylor:
    """The series of one function's values, up to `order`.

    They are looked up in the block that needs them and in the blocks around it: the values of one side of a branch are
    not available on the other side.
    """

    def __init__(self, activity: Activity, order: int, called: Mapping[str, Pushed], series_of_loop: SeriesOfLoop):
        self.activity, self.order, self.called, self._series_of_loop = activity, order, called, series_of_loop
        self._nodes: dict[SSAValue, SeriesNode] = {}
        self._derivatives: dict[SeriesNode, SeriesNode] = {}
        self._equal: dict[Hashable, tuple[SeriesNode, ...]] = {}
        self._together: dict[SeriesNode, tuple[SeriesNode, ...]] = {}  # the results of one op
        self._formulas: dict[tuple[SeriesNode, ...], list[SeriesNode | None]] = {}
        self._known: ChainMap[tuple[SeriesNode, int], Expr | None] = ChainMap()

    def give(self, value: SSAValue, coefficients: Sequence[Expr]) -> None:
        """Set the coefficients of a value, from number 1 on."""
        node = self._nodes[value] = SeriesNode()
        self._known.update({(node, k): each for k, each in enumerate((Expr(value), *coefficients))})

    def of(self, value: SSAValue) -> list[Expr]:
        """The coefficients of a value from number 1 on; zeros are made at the insertion point."""
        found = [self._coefficient(self._node(value), k) for k in range(1, self.order + 1)]
        given = [each for each in found if each is not None]
        if len(given) == len(found):
            return given
        zero = zeros(value, [Expr(size_value(value, axis)) for axis in unknown_axes(value)])
        return [zero if each is None else each for each in found]

    def block(self, block: Block) -> None:
        """Emit coefficients next to the ops of a block."""
        for op in list(block.ops):
            if not is_terminator(op.__class__) and self.activity.is_live(op):
                with located(op.location):
                    self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case scf.ForOp() | scf.WhileOp():
                self._loop(op)
            case scf.IfOp():
                self._if(op)
            case func.CallOp() if op.callee.string_value() in self.called:
                self._call(op, self.called[op.callee.string_value()])
            case NdOp() if op.has_looped_tangent():
                self._looped(op)
            case NdOp():
                nodes = self._nodes_of(op, tuple(map(self._node, op.operands)))
                following = op.next_op
                assert following is not None
                with building(InsertPoint.before(following)):
                    for result, node in zip(op.results, nodes, strict=True):
                        self._nodes[result] = node
                        self._known[node, 0] = Expr(result)
                    for result in op.results:
                        self._require(self._nodes[result])
            case _:
                raise DifferentiationError(f"{op.name} has no Taylor series", types.from_location(op.location))

    def _looped(self, op: NdOp) -> None:
        following = op.next_op
        assert following is not None
        with building(InsertPoint.before(following)):
            moving = [operand in self.activity.live for operand in op.operands]
            series = [
                [each.value for each in self.of(x)] if moves else None
                for x, moves in zip(op.operands, moving, strict=True)
            ]
            for result, coefficients in zip(op.results, self._series_of_loop(op, series), strict=True):
                self.give(result, list(map(Expr, coefficients)))

    def _require(self, node: SeriesNode) -> None:
        """Compute the coefficients here, and not inside of what comes later."""
        for k in range(1, self.order + 1):
            self._coefficient(node, k)

    # Nodes.

    def _node(self, value: SSAValue) -> SeriesNode:
        """The series of a value of the program; by default a constant."""
        if value not in self._nodes:
            self._nodes[value] = SeriesNode()
        node = self._nodes[value]
        if node.op is None and (node, 0) not in self._known:
            # In the outermost block, so that the value is visible at all its uses.
            self._known.maps[-1].update({(node, k): None for k in range(1, self.order + 1)})
            self._known.maps[-1][node, 0] = Expr(value)
        return node

    def _nodes_of(self, op: NdOp, operands: tuple[SeriesNode, ...]) -> tuple[SeriesNode, ...]:
        """The results of an op on series. Equal ops share their results."""
        result_types = tuple(result.type for result in op.results)
        key = (type(op), operands, frozenset(op.properties.items()), result_types)
        found = self._equal.get(key) if has_no_effect(op) else None
        if found is None:
            found = self._equal[key] = tuple(SeriesNode(op, index, operands) for index in range(len(op.results)))
            self._together.update(dict.fromkeys(found, found))
        return found

    def _derivative(self, node: SeriesNode) -> SeriesNode:
        if node not in self._derivatives:
            self._derivatives[node] = SeriesNode(of=node)
        return self._derivatives[node]

    def _formula(self, results: tuple[SeriesNode, ...]) -> list[SeriesNode | None]:
        """The tangents of an op's results, as series. None: a constant result."""
        if results not in self._formulas:
            op, operands = results[0].op, results[0].operands
            assert op is not None
            given = [*operands, *results]
            types_of = [value.type for value in (*op.operands, *op.results)]
            moving = [k for k, operand in enumerate(op.operands) if types.is_inexact(operand.type)]
            block = Block(arg_types=[*types_of, *(types_of[k] for k in moving)])
            nodes: dict[SSAValue, SeriesNode] = dict(zip((*op.operands, *op.results), given, strict=True))
            derivatives = [self._derivative(operands[k]) for k in moving]
            nodes.update(zip(block.args, (*given, *derivatives), strict=True))
            args = list(map(Expr, block.args))
            tangents: list[Expr | None] = [None] * len(operands)
            for k, arg in zip(moving, args[len(given) :], strict=True):
                tangents[k] = arg
            with building(block), located(op.location):
                answers = op.tangents(tangents, args[len(operands) : len(given)], args[: len(operands)])
            for each in block.ops:
                if not isinstance(each, NdOp):
                    raise DifferentiationError(
                        f"{op.name} has no Taylor series: its derivative is a loop", types.from_location(op.location)
                    )
                found = self._nodes_of(each, tuple(nodes[operand] for operand in each.operands))
                nodes.update(zip(each.results, found, strict=True))
            self._formulas[results] = [None if each is None else nodes[each.value] for each in answers]
        return self._formulas[results]

    # Coefficients.

    def _coefficient(self, node: SeriesNode, k: int) -> Expr | None:
        """Coefficient k, computed at the insertion point if it is not known yet. None: zero."""
        if (node, k) not in self._known:
            if node.of is not None:
                higher = self._coefficient(node.of, k + 1)
                self._known[node, k] = None if higher is None else _times(higher, k + 1)
            elif k == 0:
                self._values(node)
            else:
                self._compute(node, k)
        return self._known[node, k]

    def _values(self, node: SeriesNode) -> None:
        """Compute the results of an op that is only in a formula."""
        assert node.op is not None, "a value of the program is known"
        operands = [self._value(operand, value) for operand, value in zip(node.operands, node.op.operands, strict=True)]
        for result, expr in zip(self._together[node], node.op.rebuild(*operands), strict=True):
            self._known[result, 0] = expr

    def _value(self, node: SeriesNode, like: SSAValue) -> Expr:
        found = self._coefficient(node, 0)
        return self._zero(node, like) if found is None else found

    def _zero(self, node: SeriesNode, like: SSAValue) -> Expr:
        """Zero, for a derivative that is absent; it has the size of the value `like`."""
        while node.of is not None:
            node = node.of
        value = self._coefficient(node, 0)
        assert value is not None
        return zeros(like, [Expr(size_value(value.value, axis)) for axis in unknown_axes(like)])

    def _compute(self, node: SeriesNode, k: int) -> None:
        op, results = node.op, self._together[node]
        assert op is not None
        series = [[self._coefficient(operand, j) for j in range(k + 1)] for operand in node.operands]
        if all(each is None for one in series for each in one[1:]):
            self._known.update({(result, k): None for result in results})
            return
        for one, operand, value in zip(series, node.operands, op.operands, strict=True):
            one[0] = self._value(operand, value)
        outs = [[self._coefficient(result, j) for j in range(k)] for result in results]
        found = op.coefficient(k, outs, series)
        if found is None:
            formula = self._formula(results)
            found = [None if each is None else self._coefficient(each, k - 1) for each in formula]
            found = [None if each is None else _times(each, 1 / k) for each in found]
        if op.singular:
            moved = [each for one in series for each in one[1:] if each is not None]
            found = [None if each is None else annihilated(each, *moved) for each in found]
        self._known.update({(result, k): each for result, each in zip(results, found, strict=True)})

    # Regions and calls.

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Values that are computed inside are known only inside."""
        self._known = self._known.new_child()
        yield
        self._known = self._known.parents

    def _all_of(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The coefficients of all values, one value after the other."""
        return [each.value for value in values for each in self.of(value)]

    def _give_all(self, values: Sequence[SSAValue], coefficients: Sequence[SSAValue]) -> None:
        given = iter(coefficients)
        for value in values:
            self.give(value, [Expr(next(given)) for _ in range(self.order)])

    def _loop(self, op: scf.ForOp | scf.WhileOp) -> None:
        loop, live = Loop(op), self.activity.live
        carried = [carry for carry in loop.carries if carry.arg in live or carry.result in live]
        with building(InsertPoint.before(op)):
            inits = self._all_of([carry.init for carry in carried])
        args, results = loop.add(inits)
        with self._inside():
            self._give_all([carry.arg for carry in carried], args)
            self.block(loop.body)
            with building(InsertPoint.before(terminator(loop.body))):
                ends = self._all_of([carry.yielded for carry in carried])
            add_yields(loop.body, ends)
        self._give_all([carry.result for carry in carried], results)

    def _if(self, op: scf.IfOp) -> None:
        places = [index for index, result in enumerate(op.results) if result in self.activity.live]
        for block in branches(op):
            with self._inside():
                self.block(block)
                with building(InsertPoint.before(terminator(block))):
                    add_yields(block, self._all_of([yields(block)[index] for index in places]))
        primal = [op.results[index] for index in places]
        added = add_results(op, [result for result in primal for _ in range(self.order)])
        self._give_all([op.results[index] for index in places], added)

    def _call(self, op: func.CallOp, pushed: Pushed) -> None:
        """Call the function that also computes the coefficients."""
        part = pushed.part
        with building(InsertPoint.before(op)):
            given = self._all_of([op.operands[number] for number in part.wrt])
        outs = [op.results[number] for number in part.outs]
        retarget(op, pushed.name, given)
        self._give_all(outs, add_results(op, [out for out in outs for _ in range(self.order)]))


def _times(x: Expr, factor: float) -> Expr:
    return x if factor == 1 else x * factor
