"""The attributes of Huawei's dialects `hivm` and `hacc`, with their names and spelling.

Reads: nothing. Writes: attribute classes. Leaves: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.utils import EnumAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum


class AddressSpace(StrEnum):
    """The memory of a buffer: `cbuf` is L1, `ca`, `cb` and `cc` are L0A, L0B and L0C."""

    GM = "gm"
    L1 = "cbuf"
    L0A = "ca"
    L0B = "cb"
    L0C = "cc"
    UB = "ub"


class Pipe(StrEnum):
    """The queues of a core; `ALL` means all of them in a barrier."""

    S = "PIPE_S"
    V = "PIPE_V"
    M = "PIPE_M"
    MTE1 = "PIPE_MTE1"
    MTE2 = "PIPE_MTE2"
    MTE3 = "PIPE_MTE3"
    FIX = "PIPE_FIX"
    ALL = "PIPE_ALL"


class CoreType(StrEnum):
    """The core that a kernel runs on."""

    CUBE = "AIC"
    VECTOR = "AIV"


class TCoreType(StrEnum):
    """The core that a custom op runs on."""

    CUBE = "CUBE"
    VECTOR = "VECTOR"


class FunctionKind(StrEnum):
    HOST = "HOST"
    DEVICE = "DEVICE"


class EventId(StrEnum):
    """All ids of the hardware; a program may use 0 to 5."""

    ID0 = "EVENT_ID0"
    ID1 = "EVENT_ID1"
    ID2 = "EVENT_ID2"
    ID3 = "EVENT_ID3"
    ID4 = "EVENT_ID4"
    ID5 = "EVENT_ID5"
    ID6 = "EVENT_ID6"
    ID7 = "EVENT_ID7"

    @property
    def number(self) -> int:
        return int(self.value.removeprefix("EVENT_ID"))


class AtomicKind(StrEnum):
    NONE = "none"
    ADD = "add"
    MAX = "max"
    MIN = "min"


class PadMode(StrEnum):
    NULL = "PadNull"
    FIRST = "PadFirstElem"
    VALUE = "PadValue"


class RoundMode(StrEnum):
    RINT = "rint"
    ROUND = "round"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "trunc"
    ODD = "odd"
    TRUNC_WITH_OVERFLOW = "truncwithoverflow"


class CastKind(StrEnum):
    SIGNED = "cast_signed"
    UNSIGNED = "cast_unsigned"
    BITCAST = "bitcast"


class CompareMode(StrEnum):
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    GT = "gt"
    GE = "ge"
    LE = "le"


class ReduceKind(StrEnum):
    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"


class FixpipeMode(StrEnum):
    NZ2ND = "nz2nd"
    NZ2NZ = "normal"


class InAngles:
    """Prints `#hivm.pipe<PIPE_V>` like MLIR; xDSL would print `#hivm.pipe PIPE_V`."""

    if TYPE_CHECKING:  # what EnumAttribute has
        enum_type: ClassVar[type[StrEnum]]
        data: Any

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_identifier_or_string_literal(self.data.value)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(cls.enum_type)


@irdl_attr_definition
class AddressSpaceAttr(InAngles, EnumAttribute[AddressSpace]):
    name = "hivm.address_space"


@irdl_attr_definition
class PipeAttr(InAngles, EnumAttribute[Pipe]):
    name = "hivm.pipe"


@irdl_attr_definition
class CoreTypeAttr(InAngles, EnumAttribute[CoreType]):
    name = "hivm.func_core_type"


@irdl_attr_definition
class TCoreTypeAttr(InAngles, EnumAttribute[TCoreType]):
    name = "hivm.tcore_type"


@irdl_attr_definition
class FunctionKindAttr(InAngles, EnumAttribute[FunctionKind]):
    name = "hacc.function_kind"


@irdl_attr_definition
class EventAttr(InAngles, EnumAttribute[EventId]):
    name = "hivm.event"


@irdl_attr_definition
class AtomicKindAttr(InAngles, EnumAttribute[AtomicKind]):
    name = "hivm.atomic_kind"


@irdl_attr_definition
class PadModeAttr(InAngles, EnumAttribute[PadMode]):
    name = "hivm.padmode"


@irdl_attr_definition
class RoundModeAttr(InAngles, EnumAttribute[RoundMode]):
    name = "hivm.round_mode"


@irdl_attr_definition
class CastKindAttr(InAngles, EnumAttribute[CastKind]):
    name = "hivm.cast"


@irdl_attr_definition
class CompareModeAttr(InAngles, EnumAttribute[CompareMode]):
    name = "hivm.compare_mode"


@irdl_attr_definition
class ReduceKindAttr(InAngles, EnumAttribute[ReduceKind]):
    name = "hivm.reduce_op"


@irdl_attr_definition
class FixpipeModeAttr(InAngles, EnumAttribute[FixpipeMode]):
    name = "hivm.dma_mode"
