"""Run hostile cases by number, count how they end, and print a line for each failure.

Run as ``python -m hostile.fuzz FIRST COUNT [STREAM] [SECONDS]`` with `tests` on the path; STREAM is
``all`` or ``weights``.
"""

import sys
import time
from collections import Counter

import numpy as np

from hostile.generator import case, weighted
from hostile.judge import Outcome, interrupted, judge

EVERY = 20
"""One case in so many is a good fit that is interrupted."""


def run(number: int, stream: str = "all") -> tuple[str, Outcome]:
    """Return what a case is and how it ends."""
    if stream == "weights":
        drawn = weighted(number)
        return str(drawn), judge(drawn)
    drawn = case(number)
    rng = np.random.default_rng([15, number])
    if rng.integers(EVERY) == 0:
        return f"case {number}: {drawn.name}, interrupted", interrupted(drawn, rng)
    return str(drawn), judge(drawn)


def main(first: int, count: int, stream: str = "all", seconds: float = np.inf) -> int:
    counts: Counter[str] = Counter()
    start = time.process_time()
    for number in range(first, first + count):
        if time.process_time() - start > seconds:
            break
        began = time.process_time()
        words, outcome = run(number, stream)
        counts[outcome.kind] += 1
        if outcome.failed:
            print(f"{outcome.kind}: {words}\n    {outcome.detail}", flush=True)
        elif time.process_time() - began > 2.0:
            print(f"slow ({time.process_time() - began:.1f} s): {words}", flush=True)
    total = sum(counts.values())
    spent = time.process_time() - start
    print(f"{total} cases ({stream}) from {first}, {spent:.0f} s of processor time")
    for kind, times in counts.most_common():
        print(f"{times:8d} {kind}")
    return int(any(Outcome(kind).failed for kind in counts))


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*map(int, given[:2]), *given[2:3], *map(float, given[3:])))
