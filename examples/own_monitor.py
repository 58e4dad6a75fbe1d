"""Define a monitor: a person who answers only a few questions per episode.

It is combined with a grid, validated, solved exactly, and used for training and as a Gymnasium environment.
"""

from dataclasses import dataclass

import monmdp
from monmdp import Grid, Monitor, Outcome


@dataclass(frozen=True)
class Patience(Monitor):
    """A person who answers at most `answers` questions per episode."""

    answers: int = 3
    actions = ("no-op", "ask")

    @property
    def states(self):
        return range(self.answers + 1)

    @property
    def start(self):
        return {self.answers: 1.0}

    def outcomes(self, moment):
        answered = moment.action == "ask" and moment.state > 0
        yield Outcome(observed=answered, next_state=moment.state - answered)


if __name__ == "__main__":
    problem = monmdp.make(Grid(["..C", ".T.", "..c"], start=(2, 0), step_limit=20), Patience(answers=2))
    problem.validate()
    print(monmdp.solve(problem))
    print(problem.explain(((2, 2), 1), ("STAY", "ask")))
    print(problem.explain(((2, 2), 0), ("STAY", "ask")))
    print(monmdp.train(problem, "DirectedModel", seeds=4, steps=4_000, points=40))

    env = monmdp.MonitoredEnv(problem, render_mode="ansi")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(3):
        env.step(env.action_space.sample())
    print(env.render())
