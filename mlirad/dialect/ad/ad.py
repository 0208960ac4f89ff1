"""The `ad` dialect: all its ops."""

from __future__ import annotations

from xdsl.ir import Dialect

from mlirad.dialect.ad.ad_types import ResidualsType, TripType
from mlirad.dialect.ad.derivative_ops import ForwardOp, JetOp, JvpOp, PathsOp, PullbackOp, TransposeRequestOp, VjpOp
from mlirad.dialect.ad.sweep_markers import RecordOp, ReplayOp, ResidualOp, TurnOp
from mlirad.dialect.ad.tape import GrowOp, StopOp, TapeOp
from mlirad.dialect.ad.vmap_op import VmapOp

Ad = Dialect(
    "ad",
    [
        VjpOp,
        JvpOp,
        PathsOp,
        JetOp,
        ForwardOp,
        PullbackOp,
        TransposeRequestOp,
        VmapOp,
        RecordOp,
        ReplayOp,
        ResidualOp,
        TurnOp,
        TapeOp,
        GrowOp,
        StopOp,
    ],
    [ResidualsType, TripType],
)
