"""Third-party checks of kernels, as fixtures. They fail a test by the exception Refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ascend_judges import Bishengir, Judged, Overflow, judge


@pytest.fixture(scope="session")
def bishengir(ascend_tools: Path) -> Bishengir:
    return Bishengir(ascend_tools.parent)


@pytest.fixture(scope="session")
def bishengir_opt(bishengir: Bishengir) -> Callable[..., str]:
    """Huawei's verifier: `bishengir_opt(text, *flags)` returns its output."""
    return bishengir.verify


@pytest.fixture(scope="session")
def plan_memory(bishengir: Bishengir) -> Callable[..., tuple[str, int, int] | None]:
    """Huawei's planner: `plan_memory(text of a kernel, *flags)` returns None if it fits, otherwise the text of
    Overflow."""

    def plan(text: str, *flags: str) -> tuple[str, int, int] | None:
        try:
            bishengir.lowered(text, *flags)
        except Overflow as overflow:
            return overflow.args
        return None

    return plan


@pytest.fixture(scope="session")
def judged(bishengir: Bishengir, mlir_opt: Callable[..., str]) -> Callable[..., Judged]:
    """`judged(kernel, *args)`: all judges accept both HIVM stages."""
    assert mlir_opt("module {}")
    return lambda kernel, *args: judge(bishengir, kernel, *args)
