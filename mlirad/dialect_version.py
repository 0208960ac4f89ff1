"""The version of mlirad's dialects. IR on disk names it, so IR of another version is refused and never misread.

Reads and writes: text of MLIR modules. Leaves: the module itself; the version is a comment, which MLIR and xDSL ignore.

Raise the version when mlirad can no longer read text of an earlier mlirad, or would read it with another meaning: when
an op of `nd` or `ad` is removed or renamed, or its operands, results, attributes or meaning change. A new op, or a
new property that may be left out, needs no new version. `tests/unit/dialect/test_dialect_version.py` lists the ops of
this version.
"""

from __future__ import annotations

import re

from mlirad.errors import CompileError
from mlirad.location import SourceLocation

DIALECT_VERSION = 1
_STAMP = re.compile(r"^// mlirad dialects, version (\S+)[ \t]*$\n?", re.MULTILINE)


def stamped(text: str) -> str:
    """The text of a module, preceded by the version of the dialects."""
    return f"// mlirad dialects, version {DIALECT_VERSION}\n{text}"


def require_version(text: str, name: str) -> None:
    """Raise CompileError, at the line in the file `name`, if the text names another version."""
    for found in _STAMP.finditer(text):
        if found[1] != str(DIALECT_VERSION):
            raise CompileError(
                f"this IR is of version {found[1]} of mlirad's dialects; this mlirad reads version {DIALECT_VERSION}",
                SourceLocation(name, text.count("\n", 0, found.start()) + 1),
                hint="write it again from its Python source with this mlirad (MLIRAD_DUMP=dir), "
                "or read it with the mlirad that wrote it",
            )
