"""The bytes of a buffer, even if it runs backwards."""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace
from mlirad.targets.ascend.simulator.device_memory import ByteMemory, DeviceBuffer
from mlirad.targets.ascend.simulator.faults import SimulatorFault
from mlirad.targets.ascend.simulator.hazards import Shadow

F32 = np.dtype(np.float32)


def test_backwards_buffers_lie_in_front_of_their_first_element() -> None:
    memory = ByteMemory("x", AddressSpace.GM, np.arange(64, dtype=np.float32).view(np.uint8), True)
    view = DeviceBuffer(memory, 4 * 40, (3, 5), (-10, 2), "f32", F32)
    assert (view.first, view.low, view.high) == (160, 80, 196)
    np.testing.assert_array_equal(view.read(), 40 - 10 * np.arange(3)[:, None] + 2 * np.arange(5))
    view.check_bounds()
    around, scattered = Shadow(memory, 4).where(view)
    assert scattered is not None and (around.start, around.stop) == (20, 49)
    np.testing.assert_array_equal(scattered.reshape(3, 5), view.read())
    for shape in ((6, 5), (3, 13)):
        with pytest.raises(SimulatorFault, match="of x, which has 256 bytes"):
            DeviceBuffer(memory, 4 * 40, shape, (-10, 2), "f32", F32).check_bounds()
    with pytest.raises(SimulatorFault, match=r"a buffer of shape \(-1,\)"):
        DeviceBuffer(memory, 0, (-1,), (1,), "f32", F32)
