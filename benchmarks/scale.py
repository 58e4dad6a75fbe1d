"""How DirectedModel scales: `python benchmarks/scale.py 50 100`, sides of square Empty grids with Ask.

Prints the steps until every pair was visited, in multiples of the number of pairs, time a step, and peak memory.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import monmdp


def explore(side: int) -> str:
    """One seed, long enough to visit everything."""
    problem = monmdp.make(f"Empty(rows={side}, columns={side}, step_limit={4 * side})", "Ask")
    pairs = int(problem.reachable_pairs.sum())
    curves = monmdp.train(problem, "DirectedModel", seeds=1, steps=2 * pairs, points=200, evaluation="none")
    covered = curves.visited[0] == pairs
    when = f"{curves.steps[np.argmax(covered)] / pairs:.2f} steps a pair" if covered.any() else "not reached"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = curves.seconds / curves.steps[-1] * 1e6
    return f"{side} x {side}: {pairs:,} pairs, all visited: {when}; {each:.1f} us a step; peak {peak:.0f} MiB"


if __name__ == "__main__":
    monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel", steps=10)  # compiles
    for given in sys.argv[1:]:
        print(explore(int(given)), flush=True)
