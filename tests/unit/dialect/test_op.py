"""`@op` refuses a class at import if it leaves a question unanswered, or gives an answer of another class; and the
cache of an op's verifier."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.arrays.elements import ElementUpdateOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import PureOp, op, op_classes
from mlirad.dialect.ops.basic_functions import SinOp
from mlirad.dialect.ops.elementwise import UnaryOp


class Silent(PureOp):
    name = "test.silent"


class WithoutScalar(UnaryOp):
    """Its family answers `loops`, with a body that only the op itself can give."""

    name = "test.without_scalar"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return g


class WithoutBuild(ElementUpdateOp):
    name = "test.without_build"


@pytest.mark.parametrize(
    ("cls", "open_questions"),
    [
        (Silent, "cotangents, infer, loops, tangents, reference .give a spelling, or define it."),
        (WithoutScalar, "scalar, reference .*"),
        (WithoutBuild, "_build, reference .*"),
    ],
)
def test_open_questions(cls: type[PureOp], open_questions: str) -> None:
    with pytest.raises(TypeError, match=f"^{cls.__name__} leaves open: {open_questions}$"):
        op()(cls)
    assert not any(issubclass(each, cls) for each in op_classes())


def test_a_function_spells_one_op() -> None:
    class Sine(UnaryOp):
        name = "nd.sine_again"

        def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
            return g

        def scalar(self, x: SSAValue) -> SSAValue:
            return x

    with pytest.raises(TypeError, match="spells both SinOp and Sine"):
        op(np.sin)(Sine)
    assert not any(issubclass(each, Sine) for each in op_classes())


def test_verification_is_remembered_of_ops_that_are_alike_in_all_and_of_no_others():
    x = Block(arg_types=[types.tensor((3,), types.F64)]).args[0]
    right = SinOp.create(operands=[x], result_types=[x.type])
    for _ in range(2):
        right.verify()
    for wrong in (
        SinOp.create(operands=[x], result_types=[types.tensor((4,), types.F64)]),
        SinOp.create(operands=[x], result_types=[x.type], properties={"p": x.type}),
        SinOp.create(operands=[x, x], result_types=[x.type]),
        SinOp.create(operands=[x], result_types=[x.type, x.type]),
    ):
        for _ in range(2):
            with pytest.raises(VerifyException):
                wrong.verify()
