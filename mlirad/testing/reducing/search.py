"""Delta debugging of modules: edits are kept while the module stays valid and fails as it did.

Reads: a module, and a test of modules. Writes: nothing. Leaves: another module, which no single edit can make smaller.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from mlirad.dialect_version import stamped
from mlirad.errors import CompileError
from mlirad.testing.reducing.edits import STAND_INS, Edit, Remove, size_of, small_edits
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_inside
from mlirad.xdsl_support.verify import InvalidOp, verify_all

Test = Callable[[ModuleOp], bool]
"""Whether a module is one of those that are looked for. It may change the module."""

_IN_BRACKETS = re.compile(r"<[^<>]*>")
_NAME = re.compile(r"([%@#^])[\w.$-]+")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
_HEAD = 80


@dataclass(frozen=True)
class Failure:
    """How passes fail: which pass, the class of the exception, and the head of its message, or the function that
    raised it if there is no message. Names, numbers and types in a message change while a module is reduced."""

    where: str
    error: str
    head: str

    def __str__(self) -> str:
        return f"{self.where}: {self.error}: {self.head}"


def failure(passes: Sequence[ModulePass], context: Context, module: ModuleOp) -> Failure | None:
    """How the passes fail on a module, which they change; None if they do not, and what they leave is valid."""
    for each in passes:
        try:
            each.apply(context, module)
        except Exception as error:  # noqa: BLE001 - any exception of a pass is a failure, and what is looked for
            return Failure(each.name, type(error).__name__, _head(error))
        try:
            verify_all(module)
        except InvalidOp as error:
            return Failure(each.name, "the result is invalid", _head(error))
    return None


def _head(error: Exception) -> str:
    lines = (error.message if isinstance(error, CompileError) else str(error)).splitlines()
    head = next((line.strip() for line in lines if line.strip()), "")
    while (shorter := _IN_BRACKETS.sub("", head)) != head:
        head = shorter
    head = _NUMBER.sub("0", _NAME.sub(r"\1", head))[:_HEAD]
    if head:
        return head
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"in {trace.tb_frame.f_code.co_qualname}"


def fails_as(passes: Sequence[ModulePass], context: Context, wanted: Failure) -> Test:
    """Whether the passes fail in one way."""
    return lambda module: failure(passes, context, module) == wanted


def satisfies(command: str) -> Test:
    """Whether a shell command, given the name of a file with the module, exits with 0."""

    def test(module: ModuleOp) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "module.mlir"
            path.write_text(stamped(f"{module}\n"))
            done = subprocess.run(f"{command} {path}", shell=True, capture_output=True, check=False)
        return done.returncode == 0

    return test


@dataclass
class Reduction:
    """A module on its way to the smallest one that passes a test; it passes it now."""

    module: ModuleOp
    test: Test
    tries: int = 0

    def run(self) -> ModuleOp:
        """Try all edits until none is left that helps."""
        size = None
        while size != size_of(self.module):
            size = size_of(self.module)
            self._remove_in_halves(only_functions=True)
            self._remove_in_halves(only_functions=False)
            self._edit_single_ops()
        return self.module

    def _attempt(self, edit: Edit) -> bool:
        """Whether an edit makes a smaller module that is valid and passes the test; it is then kept."""
        changed = self.module.clone()
        if not edit(changed) or size_of(changed) >= size_of(self.module):
            return False
        try:
            verify_all(changed)
        except InvalidOp:
            return False
        self.tries += 1
        if not self.test(changed.clone()):
            return False
        self.module = changed
        return True

    def _removable(self, only_functions: bool) -> list[int]:
        return [
            number
            for number, op in enumerate(ops_inside(self.module))
            if not is_terminator(op.__class__) and (not only_functions or op.has_trait(IsolatedFromAbove))
        ]

    def _remove_in_halves(self, only_functions: bool) -> None:
        """Remove runs of ops from the end, so that the numbers of those before stay; then shorter runs, down to one."""
        numbers = self._removable(only_functions)
        length = max(1, (len(numbers) + 1) // 2)
        while numbers:
            end = len(numbers)
            while end > 0:
                run = tuple(numbers[max(0, end - length) : end])
                _ = any(self._attempt(Remove(run, each)) for each in STAND_INS)
                end -= length
            if length == 1:
                return
            length = (length + 1) // 2
            numbers = self._removable(only_functions)

    def _edit_single_ops(self) -> None:
        """Try each edit of a single op; after one that helps, those that there are of the new module."""
        found = True
        while found:
            found = any(self._attempt(edit) for edit in small_edits(self.module))
