"""`memref.prefetch`, an upstream op that xDSL's memref lacks: a hint that an element is about to be accessed."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Changes nothing. The subscripts may be out of range."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    isWrite = prop_def(BoolAttr)
    localityHint = prop_def(IntegerAttr)
    isDataCache = prop_def(BoolAttr)
    # As upstream: without an effect it would be removed.
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
