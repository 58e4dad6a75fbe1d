"""The time of a training step: `python benchmarks/steps.py DirectedModel`, one or more agents.

Prints microseconds per step on one core in problems of different sizes, with 20 exact evaluations in 20,000 steps; the
best of three runs of four seeds. To compare with another version, put its `src` folder on PYTHONPATH, and alternate.
"""

from __future__ import annotations

import sys

import monmdp

PROBLEMS = [
    ("Loop", "Full"),
    ("Corridor", "Button"),
    ("Empty", "Ask"),
    ("RiverSwim", "Level"),
    ("Hazard", "Experts"),
    ("Empty", "Experts"),
]
SEEDS, STEPS, REPEATS = 4, 20_000, 3


def step_time(agent: str, environment: str, monitor: str) -> float:
    """Microseconds of a step."""
    problem = monmdp.make(environment, monitor)
    monmdp.train(problem, agent, 1, steps=100)  # compile
    runs = [monmdp.train(problem, agent, SEEDS, steps=STEPS, points=20, threads=1) for _ in range(REPEATS)]
    return min(run.seconds for run in runs) / (SEEDS * STEPS) * 1e6


if __name__ == "__main__":
    print(f"| agent | {' | '.join(map(' + '.join, PROBLEMS))} |\n|---|{'---:|' * len(PROBLEMS)}")
    for agent in sys.argv[1:] or list(monmdp.AGENTS):
        print(f"| {agent} | {' | '.join(f'{step_time(agent, *problem):.2f}' for problem in PROBLEMS)} |", flush=True)
