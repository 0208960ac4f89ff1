"""The op classes defined so far, for catalogues, tests and tools. `core/op.py` defines what an op is.

Reads: the classes that `@op` registered. Writes: nothing. Leaves: `op_classes()`.
"""

from mlirad.dialect.core.op import op_classes

__all__ = ["op_classes"]
