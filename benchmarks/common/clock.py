"""Clock, processor time and memory of this process."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Short calls are repeated until they have taken so many seconds, at most so many times.
ENOUGH, AT_MOST = 0.5, 5


class Timing(NamedTuple):
    """Seconds of a call, by the clock and of the processor, memory before it and taken above."""

    wall: float
    cpu: float
    held: float
    peak: float


def timed(call: Callable[[], Any]) -> Timing:
    """Return medians of the two times over repeated calls, and the peak memory of the first."""
    forget_peak()
    held = memory("VmRSS")
    marks = [mark()]
    peak = float("nan")
    while len(marks) == 1 or (marks[-1][0] - marks[0][0] < ENOUGH and len(marks) <= AT_MOST):
        call()
        if len(marks) == 1:
            peak = memory("VmHWM") - held
        marks.append(mark())
    wall, cpu = np.median(np.diff(marks, axis=0), axis=0)
    return Timing(float(wall), float(cpu), held, peak)


def mark() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def memory(name: str) -> float:
    """Return a line of the process's memory status in bytes; nan where there is none."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(rf"{name}:\s+(\d+)", status.read_text())
    return 1024.0 * int(found[1]) if found else float("nan")


def forget_peak() -> None:
    """Start the high-water mark of memory anew."""
    if os.path.exists("/proc/self/clear_refs"):
        Path("/proc/self/clear_refs").write_text("5")
