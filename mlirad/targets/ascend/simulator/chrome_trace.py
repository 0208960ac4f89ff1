"""The timelines of kernels for a trace viewer (chrome://tracing, Perfetto).

Reads: a report with timelines. Writes: JSON. Leaves: nothing. One microsecond in the viewer is one modelled cycle.
"""

from __future__ import annotations

import json
from typing import Any

from mlirad.dialect.core.types import from_location
from mlirad.targets.ascend.simulator.pipe_clock import Span
from mlirad.targets.ascend.simulator.pipe_order import NUMBER
from mlirad.targets.ascend.simulator.run_report import RunReport


def chrome_trace(report: RunReport) -> str:
    """One process for each block of each kernel, one thread for each pipe."""
    events: list[dict[str, Any]] = []
    process = 0
    for kernel, blocks in (report.spans or {}).items():
        for block, spans in enumerate(blocks):
            process += 1
            events.append(_named("process_name", f"{kernel}, block {block} (simulator)", process))
            pipes = sorted({span.pipe for span in spans}, key=NUMBER.__getitem__)
            events += [_named("thread_name", pipe.value, process, NUMBER[pipe]) for pipe in pipes]
            events += [_event(span, process) for span in spans]
    model = "a simulator's, uncalibrated; a microsecond is one modelled cycle"
    return json.dumps({"traceEvents": events, "otherData": {"times": model}}, indent=1)


def _named(what: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _event(span: Span, process: int) -> dict[str, Any]:
    place = from_location(span.op.location)
    touched = [
        f"{'writes' if written else 'reads'} {space} [{low}, {high})" for space, low, high, written in span.touched
    ]
    return {
        "ph": "X",
        "name": span.op.name.removeprefix("hivm.hir."),
        "pid": process,
        "tid": NUMBER[span.pipe],
        "ts": span.start,
        "dur": span.end - span.start,
        "args": {"bytes": span.bytes, "touched": touched, "source": None if place is None else str(place)},
    }
