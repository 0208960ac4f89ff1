"""The Ascend 910B: kernels in Huawei's dialect `hivm`, executed by a simulator."""

from mlirad.targets.ascend.target import AscendTarget

__all__ = ["AscendTarget"]
