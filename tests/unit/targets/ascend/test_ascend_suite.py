"""The conformance kit on the Ascend target: all but what it refuses, at the user's line."""

from __future__ import annotations

from mlirad.testing import target_suite

# The vector unit has no integers of 64 bits, and no arrays whose length only the run knows, as the tape of `loop`.
TestAscend = target_suite("ascend", dtype="float32", refuses=["gathered", "integers"], refuses_gradients=["loop"])
