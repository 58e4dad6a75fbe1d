"""How many times faster the compiled loop is than the plain reference implementation of the tests.

Run from the repository: `python benchmarks/reference_ratio.py`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from reference.agents import PLAIN_AGENTS, plain_agent
from reference.loop import training

from monmdp.join import make
from monmdp.paper.benchmark import SHOWN, core_seconds
from monmdp.protocol import paper_job
from monmdp.tables import markdown
from monmdp.training.job import Job

PLAIN_STEPS = 400


def plain_seconds_per_step(job: Job) -> float:
    """Seconds per step of the plain loop, without evaluation."""
    learner = plain_agent(job.agent, job.problem, PLAIN_STEPS, 0)
    started = time.thread_time()
    for _ in training(job.problem, learner, PLAIN_STEPS, 0):
        pass
    return (time.thread_time() - started) / PLAIN_STEPS


if __name__ == "__main__":
    rows = []
    for names in SHOWN:
        for agent in PLAIN_AGENTS:
            job = paper_job(make(*names), agent, evaluation="none")
            core_seconds(paper_job(job.problem, agent, 50))  # compiles
            compiled = core_seconds(job) / job.steps
            plain = plain_seconds_per_step(job)
            cells = (f"{compiled * 1e9:,.0f}", f"{plain * 1e6:.0f}", f"{plain / compiled:,.0f}×")
            rows.append((job.problem.name, agent, *cells))
    print(markdown(("problem", "agent", "ns per step", "plain µs per step", "ratio"), rows, "llrrr"))
