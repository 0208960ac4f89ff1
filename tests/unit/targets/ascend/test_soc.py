"""The figures of the chips: an unknown chip is refused, and the known ones are listed."""

from __future__ import annotations

import pytest

from mlirad.errors import TargetError
from mlirad.targets.ascend.soc import for_soc


def test_known_chips() -> None:
    large, small = for_soc("Ascend910B1"), for_soc("Ascend910B4")
    assert (large.vector_cores, small.vector_cores) == (48, 40)
    assert large.ub_bytes == 192 * 1024


def test_an_unknown_chip_lists_the_known_ones() -> None:
    with pytest.raises(TargetError, match=r"no SoC 'Ascend310'[\s\S]*Ascend910B1, Ascend910B2.*Ascend910B4_1"):
        for_soc("Ascend310")
