"""What `@op` refuses at import: a class that leaves a question open, or that says what another one says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlirad.dialect.elementwise import UnaryOp
from mlirad.dialect.expr import Expr
from mlirad.dialect.indexing import ElementUpdateOp
from mlirad.dialect.op import PureOp, op, op_classes


class Silent(PureOp):
    name = "test.silent"


class WithoutScalar(UnaryOp):
    """Its family answers `loops`, with a body that only the op itself can give."""

    name = "test.without_scalar"

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        return g


class WithoutBuild(ElementUpdateOp):
    name = "test.without_build"

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        return None


@pytest.mark.parametrize(
    ("cls", "open_questions"),
    [
        (Silent, "infer, jvp, loops, vjp, reference .give a spelling, or define it."),
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
        name = "test.sine"

        def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
            return g

        def scalar(self, *elements: Any) -> Any:
            return elements[0]

    with pytest.raises(TypeError, match="spells both SinOp and Sine"):
        op(np.sin)(Sine)
    assert not any(issubclass(each, Sine) for each in op_classes())
