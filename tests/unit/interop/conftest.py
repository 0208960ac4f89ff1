from __future__ import annotations

from collections.abc import Iterator

import pytest

import mlirad.interop.mindspore as ms


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    """Each test begins in the mode in which a process begins."""
    yield
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
