"""Everything that the simulator shows of one call.

Reads: a call. Writes: texts by file names. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from mlirad.targets.ascend.simulator.chrome_trace import chrome_trace
from mlirad.targets.ascend.simulator.kernel_picture import picture
from mlirad.targets.ascend.simulator.run_report import recording
from mlirad.targets.ascend.soc import Soc


def pictures_of(call: Callable[[], object], soc: Soc) -> dict[str, str]:
    """The report, a trace, and for each kernel a picture of block 0 of its first launch. Times are modelled cycles."""
    with recording() as report:
        call()
    drawn = {
        f"{kernel}.svg": picture(kernel, 0, blocks[0], soc.ub_bytes)
        for kernel, blocks in (report.spans or {}).items()
        if blocks
    }
    return {"report.txt": f"{report}\n", "trace.json": chrome_trace(report), **drawn}
