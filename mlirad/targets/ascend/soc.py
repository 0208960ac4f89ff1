"""The numbers of the Ascend 910B chips.

Reads: nothing. Writes: one `Soc` for each chip. Leaves: nothing. Each number has its source:

[spec]  Ascend/AscendNPU-IR, bishengir/include/bishengir/Dialect/HACC/Targets/NPUTargetSpec.td (Apache-2.0)
[docs]  Huawei's AscendC programming guide, chapters on hardware architecture 2201 and its constraints
[tools] public configuration of Huawei's tools for Ascend910B1
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlirad.errors import TargetError

LINE = 32
"""Elements: a multiple of this number is a multiple of 32 bytes for every element type."""


@dataclass(frozen=True, slots=True)
class Soc:
    """One chip. Sizes and alignments are in bytes. If sources differ, the stricter number is used."""

    name: str
    cube_cores: int = 24  # [spec]
    vector_cores: int = 48  # [spec]

    ub_bytes: int = 196_608  # [spec] the unified buffer of one vector core
    ub_alignment: int = 32  # [spec]
    l1_bytes: int = 524_288  # [spec] of one cube core, as the next three
    l1_alignment: int = 32  # [spec]
    l0a_bytes: int = 65_536  # [spec]
    l0b_bytes: int = 65_536  # [spec]
    l0c_bytes: int = 131_072  # [spec]
    l0_alignment: int = 512  # [spec] for L0C; [docs] for L0A and L0B, and 64 for L0C

    repeat_bytes: int = 256  # [docs] what a vector instruction computes in one repeat
    event_ids: int = 6  # [docs] ids 0...7 of each pair of pipes; 6 and 7 are reserved

    cube_clock_hz: float = 1.85e9  # [tools]
    gm_bytes_per_second: float = 1.6e12  # [docs] all cores together; another page says 1.8e12
    gm_read_bytes_per_cycle: int = 32  # [tools] one core, without a hit in L2
    gm_write_bytes_per_cycle: int = 64  # [tools] one core, from UB
    l1_read_bytes_per_cycle: int = 256  # [tools] to L0B; 512 to L0A


_LARGE = Soc("Ascend910B1")
_SMALL = replace(_LARGE, cube_cores=20, vector_cores=40)  # [spec]
_SOCS = {
    each.name: each
    for each in (
        _LARGE,
        replace(_LARGE, name="Ascend910B2"),
        replace(_LARGE, name="Ascend910B2C"),
        replace(_SMALL, name="Ascend910B3"),
        replace(_SMALL, name="Ascend910B4"),
        replace(_SMALL, name="Ascend910B4_1"),
    )
}


def for_soc(name: str) -> Soc:
    """The chip of that name. Raises TargetError, which lists the known ones."""
    if name not in _SOCS:
        raise TargetError(f"there is no SoC {name!r}", hint=f"the known ones are: {', '.join(_SOCS)}")
    return _SOCS[name]
