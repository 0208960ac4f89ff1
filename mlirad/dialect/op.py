"""The ops that have been defined, as classes: for catalogues, tests and tools. `core/op.py` says what an op is.

Reads: what `@op` has entered. Writes: nothing. Leaves: `op_classes()`.
"""

from mlirad.dialect.core.op import op_classes

__all__ = ["op_classes"]
