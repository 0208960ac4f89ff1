"""Classes of xDSL, whenever they are created, check instances like plain classes, and stay abstract."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

import pytest
from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from mlirad.dialect.ops.arithmetic import SubOp


class Later(Attribute):
    @abstractmethod
    def answer(self) -> int: ...


@pytest.mark.parametrize("kind", [SSAValue, OpResult, Attribute, StringAttr, Operation, SubOp, Later])
def test_checks_are_those_of_plain_classes(kind):
    assert type(kind).__instancecheck__ is type.__instancecheck__
    assert issubclass(type(kind), ABCMeta)


def test_answers_stay():
    argument = Block(arg_types=[IntAttr(1)]).args[0]
    assert isinstance(argument, SSAValue)
    assert isinstance(argument, BlockArgument)
    assert not isinstance(argument, OpResult)
    assert not isinstance(argument.type, StringAttr)
    assert issubclass(SubOp, Operation)
    assert not issubclass(SubOp, Attribute)


def test_abstract_classes_stay_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Later()  # pyright: ignore[reportAbstractUsage]  # it is what is tested
