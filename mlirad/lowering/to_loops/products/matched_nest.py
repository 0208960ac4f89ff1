"""A nest with what was found out about it before any loop is built.

Reads: nothing. Writes: nothing. Leaves: everything.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.lowering.loop_body import Body
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.windowed_factor import WindowedFactor


@dataclass(frozen=True)
class MatchedNest:
    """product: the product of matrices that the nest is, if it is one. windows: the windows of an array that the
    product's factor consists of, if it does."""

    nest: Nest
    body: Body
    product: Contraction | None = None
    windows: WindowedFactor | None = None
