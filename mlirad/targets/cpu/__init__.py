"""The built-in target: the host's processor, through LLVM."""

from mlirad.targets.cpu.target import CpuTarget

__all__ = ["CpuTarget"]
