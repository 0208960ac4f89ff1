"""Removes writes to a part of an array of which only other parts are read.

Reads: nd, with elements and slices at constant indices. Writes: the reads, now of the array before the write. Leaves:
writes whose part may be read, and all that are needed as whole arrays.

The reverse sweep of `d[0] = ...; d[1:-1] = ...` reads the cotangent of each part and clears it. After the last read the
clears are of no use, but each keeps the part that was read before it in memory of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Use
from xdsl.passes import ModulePass

from mlirad.dialect.core.op import read_subset, written_subset
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_linalg.slice_writes import Box, touched
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class DropUnreadWrites(ModulePass):
    """Read the array before a write, if all reads after it are of other elements.

    Before:

        func.func @f(%g: tensor<4xf64>) -> (f64, f64) {
          %first = nd.constant {value = 0 : i64} : i64
          %last = nd.constant {value = 3 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %a = nd.extract %g[%last] : tensor<4xf64> -> f64
          %cleared = nd.insert %zero, %g[%last] : f64 into tensor<4xf64>
          %b = nd.extract %cleared[%first] : tensor<4xf64> -> f64
          func.return %a, %b : f64, f64
        }

    After `mlirad-drop-unread-writes`:

        func.func @f(%g: tensor<4xf64>) -> (f64, f64) {
          %first = nd.constant {value = 0 : i64} : i64
          %last = nd.constant {value = 3 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %a = nd.extract %g[%last] : tensor<4xf64> -> f64
          %b = nd.extract %g[%first] : tensor<4xf64> -> f64
          func.return %a, %b : f64, f64
        }
    """

    name = "mlirad-drop-unread-writes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for write in reversed(ops_inside(op)):
            found = written_subset(write)
            box = None if found is None else touched(found)
            if found is None or box is None or write.results[0].first_use is None:
                continue
            if all(_reads_elsewhere(use, box) for use in write.results[0].uses):
                write.results[0].replace_all_uses_with(found.array)
                erase(write)


def _reads_elsewhere(use: Use, written: Box) -> bool:
    """Whether a use reads no element of the box."""
    read = read_subset(use.operation)
    box = None if read is None or read.number != use.index else touched(read)
    return box is not None and box.shared_with(written).count == 0
