"""Functions that run op by op, under the name that tests use."""

from mlirad.jit.live.op_by_op import Interpreted, InterpretedArtifact, verify

__all__ = ["Interpreted", "InterpretedArtifact", "verify"]
