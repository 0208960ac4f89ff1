"""Random numbers of NumPy's generators: an ordered effect, which advances the generator's state.

A draw happens once, at its place in the program. Its result is stored for the reverse sweep, and never drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryWriteEffect

from mlirad.contract import draw_functions
from mlirad.contract.draw_functions import FUNCTIONS, RandomFunction
from mlirad.contract.native_functions import random
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Cotangent, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, apply, broadcast_scalar, current_location, emit, insert, sum_of
from mlirad.dialect.core.native import ElementAt, Length, NativeCalls, NativeFunction, PartAddress, WholeAddress
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, infix, text, tuple_of, typed
from mlirad.dialect.core.op import NdOp, PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.upstream import empty
from mlirad.errors import DifferentiationError, DTypeError, ShapeError
from mlirad.tree import SCRATCH, WORDS

_WORDS = types.tensor((WORDS,), types.I64)
_WORK = 20
"""The cost of a draw."""

Partials = Callable[..., Sequence[Expr]]


def _of_power(out: Expr, a: Expr) -> Sequence[Expr]:
    """out = e^(1/a) for some e that does not depend on a."""
    return [-(out * apply(np.log, out)) / a]


_PATHS: Mapping[str, Partials] = {
    "lognormal": lambda out, mean, sigma: [out, out * (apply(np.log, out) - mean) / sigma],
    "weibull": _of_power,
    "power": _of_power,
    "pareto": lambda out, a: [-((out + 1) * apply(np.log1p, out)) / a],
}
"""The derivatives of draws with respect to their parameters, for fixed random bits (reparametrisation)."""


_INSTEAD: Mapping[str, str] = {
    "beta": "write x / (x + y) for x = rng.gamma(a), y = rng.gamma(b): another stream of the same distribution",
    "standard_t": "write rng.standard_normal() * np.sqrt(df / rng.chisquare(df)): the same distribution",
    "f": "write rng.chisquare(m) * n / (rng.chisquare(n) * m): the same distribution",
}
"""An equivalent expression with derivatives, for distributions whose own draws have none."""


_UNNAMED = frozenset(
    {"interval", "buffered_bounded_uint32", "bounded_uint16_fill", "bounded_uint8_fill", "bounded_bool_fill"}
)
"""The functions that no method of a generator calls with such parameters."""


@op(cost=_WORK)
class DrawOp(NdOp):
    """Numbers of a distribution: one, or an array of one axis. If its size is known only at run time, it is the last
    operand.

    function: the C function, by its name in `contract.draw_functions`. words: the generator's words. parameters:
    numbers, or arrays of the result's size.
    """

    name = "nd.draw"
    words = operand_def()
    parameters = var_operand_def()
    result = result_def()
    function = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$function `(` $words (`,` $parameters^)? `)` attr-dict `:` functional-type(operands, $result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        name = properties["function"]
        assert isinstance(name, StringAttr)
        known = FUNCTIONS.get(name.data)
        if known is None:
            raise DTypeError(f"nd.draw: there is no function {name.data!r}")
        words, *parameters = operands
        if words != _WORDS:
            raise ShapeError(f"nd.draw: {words} is not {_WORDS}, the words of a generator")
        if result_type is None or types.element_type(result_type) != types.from_dtype(known.result):
            raise DTypeError(f"nd.draw: {name.data} gives {known.result}, not {result_type}")
        shape = types.shape(result_type)
        if len(shape) > 1 or (known.fills and not shape):
            raise ShapeError(f"nd.draw: {name.data} does not give {result_type}")
        if -1 in shape and parameters[-1:] == [types.I64]:
            parameters.pop()
        if [types.element_type(each) for each in parameters] != [types.from_dtype(each) for each in known.parameters]:
            raise DTypeError(f"nd.draw: {name.data} takes {known.parameters}, not {parameters}")
        if any(types.shape(each) not in ((), shape) or (known.fills and types.is_tensor(each)) for each in parameters):
            raise ShapeError(f"nd.draw: parameters {parameters} of a draw of {result_type}")
        return [result_type]

    @property
    def known(self) -> RandomFunction:
        return FUNCTIONS[self.function.data]

    def reference(self, words: Any, *parameters: Any) -> Any:
        count = None
        if types.is_tensor(self.result.type):
            (count,) = types.shape(self.result.type)
            if count < 0:
                count = int(parameters[-1])
        return draw_functions.draw(self.function.data, words, count, parameters[: len(self.known.parameters)])

    def numpy_source(self, source: NumpySource) -> NumpyText:
        """A method of the generator, which takes the place of the words in NumPy source."""
        name, known, (rng, *given) = self.function.data, self.known, source.operands()
        given, size = given[: len(known.parameters)], self._size_text(given)
        is_number = not types.is_tensor(self.result.type)
        narrow = {"dtype": "np.float32"} if known.result == np.float32 else {}
        if name in _UNNAMED:
            drawing = source.name_of(draw_functions.draw_of)
            return called(drawing, rng, f'"{name}"', "None" if is_number else size, tuple_of(given))
        sized = {} if is_number else {"size": size}
        if name.startswith("bounded"):
            dtype = f"np.{known.result}"
            drawn = _method(rng, "integers", 0, given[1], **sized, dtype=dtype, endpoint="True")
            if given[0].literal == 0:
                return drawn
            return infix(drawn, "+", typed(given[0], self.operands[1].type), Rank.SUM)
        base = (name.removesuffix("_f") if narrow else name).removesuffix("_fill")
        if base.endswith("_inv"):
            base, narrow = base.removesuffix("_inv"), {**narrow, "method": '"inv"'}
        method = {"standard_uniform": "random"}.get(base, base)
        made = _method(rng, method, *(given[::-1] if name == "binomial" else given), **sized, **narrow)
        if is_number and narrow:
            return called("np.float32", made)
        return replace(made, is_numpy=not is_number)

    def _size_text(self, given: Sequence[NumpyText]) -> NumpyText | str:
        (size,) = types.shape(self.result.type) or (0,)
        return given[-1] if size < 0 else str(size)

    def is_foldable(self) -> bool:
        return False

    def size_source(self, axis: int, result: int = 0) -> SSAValue | None:
        return self.operands[-1]

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return _cotangents(self.function.data, gs, outs, operands)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return _tangents(self.function.data, given, outs, operands)

    def replayed(self, recorded: Sequence[Expr]) -> Sequence[Expr]:
        (value,), count = recorded, len(self.known.parameters)
        if not types.is_float(value.type) or not count:
            return recorded
        parameters = map(Expr, self.operands[1 : count + 1])
        return [emit(DrawnOp, value, *parameters, function=self.function.data)]

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return _paths(given, outs)

    def loops(self) -> NativeCalls:
        known, count = self.known, len(self.known.parameters)
        function = NativeFunction(random(self.function.data))
        first = (WholeAddress(0), *(ElementAt(1 + number) for number in range(count)))
        if known.fills:
            made = len(self.operands)
            arguments = (*first, Length(made, 0), *(0 for _ in known.trailing), PartAddress(made))
            return NativeCalls(function, arguments, self._memory, work=_WORK)
        behind = (WholeAddress(0, SCRATCH) if each else 0 for each in known.trailing)
        element = types.signless(types.element_type(self.result.type))
        return NativeCalls(function, (*first, *behind), self._memory, rank=0, work=_WORK, result=element)

    def _memory(self, *operands: SSAValue) -> Sequence[SSAValue]:
        type = types.signless(self.result.type)
        if not types.is_tensor(type):
            return []
        is_known = types.shape(type)[0] >= 0
        return [empty(type, () if is_known else [insert(arith.IndexCastOp(operands[-1], IndexType())).result])]


@op(cost=0)
class DrawnOp(PureOp):
    """The numbers x that were drawn with these parameters: it has the derivatives of the draw, and none in x.

    `mlirad-drop-hints` removes it once all derivatives are expanded.
    """

    name = "nd.drawn"
    x = operand_def()
    parameters = var_operand_def()
    result = result_def()
    function = prop_def(StringAttr)
    assembly_format = "$function `(` $x (`,` $parameters^)? `)` attr-dict `:` functional-type(operands, $result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        name = properties["function"]
        assert isinstance(name, StringAttr)
        x, *parameters = operands
        known = FUNCTIONS.get(name.data)
        if known is None or len(parameters) != len(known.parameters):
            raise DTypeError(f"nd.drawn: {name.data} does not have {len(parameters)} parameters")
        if any(types.shape(each) not in ((), types.shape(x)) for each in parameters):
            raise ShapeError(f"nd.drawn: parameters {parameters} of {x}")
        return [x]

    def reference(self, x: Any, *parameters: Any) -> Any:
        return x.copy()

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.x, axis

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return _cotangents(self.function.data, gs, outs, operands)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return _tangents(self.function.data, given, outs, operands)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return _paths(given, outs)

    def hinted(self) -> SSAValue:
        return self.x

    def loops(self) -> Composed:
        return Composed(lambda x, *parameters: [x])


# --- derivatives: there are none with respect to operand 0, the words or the drawn numbers ----------------------


def _cotangents(function: str, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
    (g,), found = gs, list[Cotangent](None for _ in operands)
    for number, partial in enumerate(_partials(function, outs, operands), 1):
        if g is not None and types.is_float(operands[number].type):
            along = g * partial
            is_number = types.is_tensor(along.type) and not types.is_tensor(operands[number].type)
            found[number] = sum_of(along) if is_number else along
    return found


def _tangents(function: str, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
    found: Expr | None = None
    for number, partial in enumerate(_partials(function, outs, operands), 1):
        if (tangent := given[number]) is not None:
            found = total(found, partial * _like(tangent, partial))
    return [found]


def _paths(given: Given, outs: Sequence[Expr]) -> Given:
    (out,), found = outs, None
    if types.is_float(out.type):
        for each in given[1:]:
            if each is not None:
                found = total(found, _like(each, out))
    return (found,)


def _partials(function: str, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Expr]:
    (out,), count = outs, len(FUNCTIONS[function].parameters)
    if not types.is_float(out.type) or not count:
        return ()
    formula = _PATHS.get(function)
    if formula is None:
        what = f"draws of the distribution {function} have no derivative with respect to its parameters"
        hint = _INSTEAD.get(
            function, "apply mlirad.stop_gradient to the parameters to treat them as constants (docs/random.md)"
        )
        raise DifferentiationError(what, types.from_location(current_location()), hint)
    return formula(out, *(_like(each, out) for each in operands[1 : count + 1]))


def _method(rng: NumpyText, name: str, *arguments: NumpyText | int, **named: NumpyText | str) -> NumpyText:
    return text(rng.within(Rank.ATOM), called(f".{name}", *arguments, **named))


def _like(x: Expr, other: Expr) -> Expr:
    is_number = types.is_tensor(other.type) and not types.is_tensor(x.type)
    return broadcast_scalar(x, other) if is_number else x


def drawn(function: str, words: Expr, count: int | Expr | None, *parameters: Expr) -> Expr:
    """Numbers of a distribution: one (None), or an array of `count`."""
    element = types.from_dtype(FUNCTIONS[function].result)
    size = count if isinstance(count, int) else -1
    asked = element if count is None else types.tensor((size,), element)
    last = [count] if isinstance(count, Expr) else []
    return emit(DrawOp, words, *parameters, *last, function=function, result_type=asked)
