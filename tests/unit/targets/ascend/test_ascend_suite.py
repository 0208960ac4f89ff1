"""The conformance kit on the Ascend target: everything except what it refuses, at the user's line."""

from __future__ import annotations

from mlirad.testing import target_suite

# The vector unit has no integers of 64 bits.
TestAscend = target_suite("ascend", dtype="float32", refuses=["gathered", "integers"])
