"""The kit for testers: the evaluator under names of its own, random programs and calls, what every target has to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirad.testing.conformance.target_suite import target_suite as target_suite


def __getattr__(name: str) -> Any:
    if name == "target_suite":  # it needs pytest
        from mlirad.testing.conformance.target_suite import target_suite

        return target_suite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
