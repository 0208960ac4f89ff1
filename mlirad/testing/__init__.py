"""Tools for tests: the evaluator, random programs and calls, and the tests that every target must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirad.testing.conformance.target_suite import target_suite as target_suite


def __getattr__(name: str) -> Any:
    if name == "target_suite":  # it needs pytest
        from mlirad.testing.conformance.target_suite import target_suite

        return target_suite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
