"""A grid and a monitor of your own: join, solve, play."""

from dataclasses import dataclass

import monmdp
from monmdp import Grid, Monitor, Outcome


@dataclass(frozen=True)
class Evening(Monitor):
    """A person who falls asleep for good with probability `tired` whenever they are asked."""

    tired: float = 0.1
    states = ("awake", "asleep")
    actions = ("no-op", "ask")
    start = {"awake": 1.0}

    def outcomes(self, moment):
        asked = moment.action == "ask" and moment.state == "awake"
        if asked:
            yield Outcome(observed=1.0, next_state="asleep", probability=self.tired)
        yield Outcome(observed=asked, probability=1.0 - self.tired * asked)


problem = monmdp.make(Grid(["..C", ".T.", "..c"], start=(2, 0), step_limit=20), Evening(tired=0.3))
print(monmdp.solve(problem))

env = monmdp.MonitoredEnv(problem, render_mode="ansi")
env.reset(seed=0)
env.action_space.seed(0)
for _ in range(3):
    env.step(env.action_space.sample())
print(env.render())
