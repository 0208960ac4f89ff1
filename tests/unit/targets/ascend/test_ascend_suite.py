"""The conformance kit on the Ascend target: all but what it refuses."""

from __future__ import annotations

import pytest

from mlirad.testing import target_suite

pytestmark = pytest.mark.full

TestAscend = target_suite("ascend", dtype="float32", refuses=["gathered", "integers", "index_out_of_bounds"])
