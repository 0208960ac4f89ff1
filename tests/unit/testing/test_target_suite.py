"""The conformance kit: mlirad's own targets pass it, and targets with seeded faults do not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from mlirad.errors import TargetError
from mlirad.targets.finding import BUILT_IN
from mlirad.targets.python.artifact import PythonArtifact
from mlirad.targets.python.target import PythonTarget
from mlirad.targets.target import RuntimeInfo, Stage
from mlirad.testing import target_suite

TestCpu = target_suite("cpu")
TestPython = target_suite("python")

_numbers = itertools.count()


class Wrong(PythonArtifact):
    """Its floats are a little too large."""

    def invoke(self, name: str, values: Sequence[Any], dtypes: Any = None) -> tuple[Any, ...]:
        return tuple(
            each * (1.0 + 1e-9) if np.asarray(each).dtype.kind == "f" else each
            for each in super().invoke(name, values, dtypes)
        )


class Forgetful(PythonArtifact):
    """It writes no argument."""

    def invoke(self, name: str, values: Sequence[Any], dtypes: Any = None) -> tuple[Any, ...]:
        return super().invoke(name, [each.copy() if isinstance(each, np.ndarray) else each for each in values], dtypes)


@dataclass(frozen=True)
class Faulty(PythonTarget):
    name: ClassVar[str] = "faulty"
    fault: str = ""

    def check(self, module: ModuleOp) -> list[TargetError]:
        if self.fault == "checks by changing":
            module.attributes["seen"] = StringAttr("x")
        return [TargetError("nowhere")] if self.fault == "refuses" else super().check(module)

    def stages(self) -> tuple[Stage, ...]:
        if self.fault == "text of the moment":
            return (*super().stages(), Stage("shown", lambda _: f"text {next(_numbers)}", "txt"))
        return super().stages()

    def load(self, code: bytes, code_cache: Any = None) -> PythonArtifact:
        kind = {"wrong": Wrong, "forgetful": Forgetful}.get(self.fault, PythonArtifact)
        return kind(super().load(code).program)

    def runtime_info(self) -> RuntimeInfo:
        return RuntimeInfo("simulator", "" if self.fault == "nameless" else "nothing")

    def fingerprint(self) -> str:
        return str(next(_numbers)) if self.fault == "another every time" else "faulty"


@pytest.mark.parametrize(
    ("fault", "method", "given"),
    [
        ("wrong", "test_values_are_numpys", {"name": "functions"}),
        ("wrong", "test_errors_are_at_the_line", {"name": "index_out_of_bounds"}),
        ("forgetful", "test_values_are_numpys", {"name": "written"}),
        ("checks by changing", "test_checking_changes_nothing", {}),
        ("refuses", "test_values_are_numpys", {"name": "loop"}),
        ("nameless", "test_what_runs_the_code_is_told", {}),
        ("text of the moment", "test_stages_are_text_that_is_read_again", {"tmp_path": None, "monkeypatch": None}),
        ("another every time", "test_code_on_disk_is_used_again", {"monkeypatch": None}),
    ],
)
def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: str, method: str, given: dict[str, Any]) -> None:
    monkeypatch.setitem(BUILT_IN, "faulty", f"{__name__}:Faulty")
    with pytest.raises((AssertionError, TargetError)):
        getattr(target_suite("faulty", fault=fault)(), method)(**given)
    if method == "test_values_are_numpys":
        target_suite("faulty")().test_values_are_numpys(**given)


def test_what_is_refused_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the target compiles may not be on the list; a listed one must be refused at one of its lines."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        target_suite("python", refuses=["loop"])().test_values_are_numpys("loop")
    monkeypatch.setitem(BUILT_IN, "faulty", f"{__name__}:Faulty")
    with pytest.raises(AssertionError, match="no line of loop"):
        target_suite("faulty", refuses=["loop"], fault="refuses")().test_values_are_numpys("loop")
    with pytest.raises(ValueError, match="there are no programs loops; there are scalars, "):
        target_suite("python", refuses=["loops"])
