"""Vector instructions that compare elements, and that choose elements by the result.

Reads: buffers of the unified buffer, and scalars. Writes: a buffer of the unified buffer. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.elementwise_instructions import ElementwiseInstruction, WithScratch
from mlirad.targets.ascend.hivm.hivm_attributes import (
    CompareMode,
    CompareModeAttr,
)
from mlirad.targets.ascend.hivm.instruction import (
    ARITHMETIC,
    FLOATS,
    Room,
    Shape,
    element_name,
    is_scalar,
    per_block,
    same_shape,
)

_COMPARED: dict[CompareMode, Callable[..., Any]] = {
    CompareMode.EQ: np.equal,
    CompareMode.NE: np.not_equal,
    CompareMode.LT: np.less,
    CompareMode.GT: np.greater,
    CompareMode.GE: np.greater_equal,
    CompareMode.LE: np.less_equal,
}


@irdl_op_definition
class VCmpOp(ElementwiseInstruction):
    """One bit for each element. Integers are compared only by eq and ne."""

    name = "hivm.hir.vcmp"
    ARITY: ClassVar[int] = 2
    SCALARS: ClassVar[frozenset[int]] = frozenset({1})
    ACCEPTED: ClassVar[frozenset[str]] = FLOATS | {"i32"}

    compare_mode = prop_def(CompareModeAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, first: SSAValue, second: SSAValue, dst: SSAValue, mode: CompareMode):
        properties = self.plain() | {"compare_mode": CompareModeAttr(mode)}
        super().__init__(operands=[[first, second], [dst]], result_types=[[]], properties=properties)

    def verify_elements(self) -> None:
        first, second = self.src
        self.check_elements(self.src, self.ACCEPTED)
        self.check_elements(self.dst, {"i1"})
        self.check_like(second, first)
        if element_name(first.type) == "i32" and self.compare_mode.data not in (CompareMode.EQ, CompareMode.NE):
            raise VerifyException(f"{self.name}: the vector unit compares i32 by eq and ne only")
        if not same_shape(first.type, self.dst[0].type):
            raise VerifyException(f"{self.name}: shapes differ: {first.type} and {self.dst[0].type}")

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _COMPARED[self.compare_mode.data](*inputs)


@irdl_op_definition
class VSelOp(WithScratch):
    """The element of input 1 where the bit of input 0 is set, the element of input 2 elsewhere."""

    name = "hivm.hir.vsel"
    ARITY: ClassVar[int] = 3
    SCALARS: ClassVar[frozenset[int]] = frozenset({1, 2})
    ACCEPTED: ClassVar[frozenset[str]] = ARITHMETIC

    def scratch_elements(self, shape: Shape, room: Room) -> int:
        """32 bytes for the condition, and for each scalar."""
        return per_block(self.dst[0].type) * (1 + sum(is_scalar(each.type) for each in self.src))

    def verify_elements(self) -> None:
        self.check_elements(self.src[:1], {"i1"})
        self.check_elements((*self.src[1:], *self.dst), self.ACCEPTED)
        for each in self.src[1:]:
            self.check_like(each, self.dst[0])

    def compute(self, inputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
        return np.where(*inputs)
