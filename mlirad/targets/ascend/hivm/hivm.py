"""The dialects `hivm` and `hacc`: the subset of Huawei's that mlirad emits, under its real names.

Reads: nothing. Writes: dialects for xDSL. Leaves: nothing. Text that these dialects print in generic form is what
`bishengir-opt` of AscendNPU-IR accepts.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from mlirad.targets.ascend.hivm import (
    cube_instructions,
    cube_intrinsics,
    elementwise_instructions,
    hivm_attributes,
    rearranging_instructions,
    synchronisation,
    transfers,
)

HIVM = Dialect(
    "hivm",
    [
        transfers.PointerCastOp,
        transfers.LoadOp,
        transfers.StoreOp,
        transfers.CopyOp,
        elementwise_instructions.VAddOp,
        elementwise_instructions.VSubOp,
        elementwise_instructions.VMulOp,
        elementwise_instructions.VDivOp,
        elementwise_instructions.VMaxOp,
        elementwise_instructions.VMinOp,
        elementwise_instructions.VAbsOp,
        elementwise_instructions.VExpOp,
        elementwise_instructions.VLnOp,
        elementwise_instructions.VSqrtOp,
        elementwise_instructions.VRsqrtOp,
        elementwise_instructions.VRecOp,
        elementwise_instructions.VReluOp,
        elementwise_instructions.VAndOp,
        elementwise_instructions.VOrOp,
        elementwise_instructions.VXorOp,
        elementwise_instructions.VNotOp,
        elementwise_instructions.VCmpOp,
        elementwise_instructions.VSelOp,
        elementwise_instructions.VCastOp,
        rearranging_instructions.VReduceOp,
        rearranging_instructions.VBrcOp,
        rearranging_instructions.VTransposeOp,
        rearranging_instructions.VArangeOp,
        synchronisation.SetFlagOp,
        synchronisation.WaitFlagOp,
        synchronisation.PipeBarrierOp,
        synchronisation.SetMaskNormOp,
        synchronisation.GetBlockIdxOp,
        synchronisation.GetBlockNumOp,
        cube_instructions.ND2NZOp,
        cube_instructions.MmadL1Op,
        cube_instructions.FixpipeOp,
        cube_intrinsics.CustomOp,
    ],
    [
        hivm_attributes.AddressSpaceAttr,
        hivm_attributes.PipeAttr,
        hivm_attributes.CoreTypeAttr,
        hivm_attributes.TCoreTypeAttr,
        hivm_attributes.EventAttr,
        hivm_attributes.AtomicKindAttr,
        hivm_attributes.PadModeAttr,
        hivm_attributes.RoundModeAttr,
        hivm_attributes.CastKindAttr,
        hivm_attributes.CompareModeAttr,
        hivm_attributes.ReduceKindAttr,
        hivm_attributes.FixpipeModeAttr,
    ],
)
ANNOTATION = Dialect("annotation", [synchronisation.MarkOp], [])
HACC = Dialect("hacc", [], [hivm_attributes.FunctionKindAttr])
