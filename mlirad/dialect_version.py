"""The version of mlirad's dialects. IR on disk names it, so that IR of another version is refused, and never misread.

Reads and writes: text of MLIR modules. Leaves: the module itself; the version is a comment, which MLIR and xDSL ignore.

The version is raised when text that an earlier mlirad wrote would not be read, or would be read with another meaning:
when an op of `nd` or `ad` is removed or renamed, or its operands, results, attributes or meaning change. New ops are no
reason. `tests/unit/dialect/test_dialect_version.py` knows the ops of this version.
"""

from __future__ import annotations

import re

from mlirad.errors import CompileError
from mlirad.location import SourceLocation

DIALECT_VERSION = 1
_STAMP = re.compile(r"^// mlirad dialects, version (\S+)[ \t]*$\n?", re.MULTILINE)


def stamped(text: str) -> str:
    """The text of a module with the version of the dialects before it."""
    return f"// mlirad dialects, version {DIALECT_VERSION}\n{text}"


def require_version(text: str, name: str) -> None:
    """Raise CompileError, at the line in the file `name`, for text of another version; text may name none."""
    for found in _STAMP.finditer(text):
        if found[1] != str(DIALECT_VERSION):
            raise CompileError(
                f"this IR is of version {found[1]} of mlirad's dialects; this mlirad reads version {DIALECT_VERSION}",
                SourceLocation(name, text.count("\n", 0, found.start()) + 1),
                hint="write it again from its Python source with this mlirad (MLIRAD_DUMP=dir), "
                "or read it with the mlirad that wrote it",
            )
