"""Scaling of DirectedModel on square Empty grids with Ask: `python benchmarks/scale.py 50 100`, the side lengths.

Prints the steps until every pair was visited, as a multiple of the number of pairs, time per step, and peak memory.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import monmdp


def explore(side: int) -> str:
    """Train one seed long enough to visit every pair, and describe the result."""
    problem = monmdp.make(f"Empty(rows={side}, columns={side}, step_limit={4 * side})", "Ask")
    pairs = int(problem.reachable_pairs.sum())
    curves = monmdp.train(problem, "DirectedModel", seeds=1, steps=2 * pairs, points=200, evaluation="none")
    covered = curves.visited[0] == pairs
    when = f"{curves.steps[np.argmax(covered)] / pairs:.2f} steps per pair" if covered.any() else "not reached"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    per_step = curves.seconds / curves.steps[-1] * 1e6
    return f"{side} x {side}: {pairs:,} pairs, all visited: {when}; {per_step:.1f} us per step; peak {peak:.0f} MiB"


if __name__ == "__main__":
    monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel", steps=10)  # compile
    for side in sys.argv[1:]:
        print(explore(int(side)), flush=True)
