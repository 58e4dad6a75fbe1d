"""Time to solve problems exactly, by discount: `python benchmarks/discounts.py 0.99 0.9999 0.99999 0.9999999`.

Prints the time of `monmdp.solve` for all 48 problems of the paper, for those with Experts, whose optimal policies
never end if the discount is near 1, and for two large grids; the best of three.
"""

from __future__ import annotations

import sys
import time

import monmdp
from monmdp.protocol import DEFAULT_STEPS, PAPER_MONITORS

PROBLEMS = {
    "the paper's 48 problems": [(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS],
    "Empty + Experts": [("Empty", "Experts")],
    "RiverSwim(step_limit=None) + Experts": [("RiverSwim(step_limit=None)", "Experts")],
    "Empty(rows=100, columns=100) + Full": [("Empty(rows=100, columns=100)", "Full")],
    "Empty(rows=100, columns=100) + Ask": [("Empty(rows=100, columns=100)", "Ask")],
}


def seconds(problem: monmdp.MonMDP) -> float:
    """The time of an exact solution."""
    begin = time.perf_counter()
    monmdp.solve(problem)
    return time.perf_counter() - begin


def best_of_three(problem: monmdp.MonMDP) -> float:
    """The smallest time; a solution that takes long is not repeated."""
    first = seconds(problem)
    return first if first > 10 else min(first, seconds(problem), seconds(problem))


if __name__ == "__main__":
    monmdp.solve(monmdp.make("Loop", "Ask"))  # compile
    for name, pairs in PROBLEMS.items():
        for discount in map(float, sys.argv[1:]):
            total = sum(best_of_three(monmdp.make(*pair, discount=discount)) for pair in pairs)
            print(f"{name}, discount {discount}: {total:.3f} s", flush=True)
