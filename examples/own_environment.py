"""Three ways to define an environment: a text map, a Python function, a Gymnasium environment with a table.

Each is combined with the monitor Ask (rewards are shown on request, at a cost), validated, solved exactly, and used for
training.
"""

import gymnasium

import monmdp
from monmdp import Grid, Rule, Step


def machine(state, action):
    """Outcomes of running or repairing a machine that wears out."""
    if action == "repair":
        yield Step("new", reward=-2.0)
    elif state == "broken":
        yield Step("broken")
    else:
        worse, risk = {"new": ("worn", 0.2), "worn": ("broken", 0.4)}[state]
        yield Step(worse, reward=1.0, probability=risk)
        yield Step(state, reward=1.0, probability=1.0 - risk)


cave = Grid(["..#..", ".T~.C", "..#.c", "....."], start=(0, 0), step_limit=40)
workshop = Rule(["new", "worn", "broken"], ["run", "repair"], machine, title="Workshop", step_limit=50)
lake = gymnasium.make("FrozenLake-v1", is_slippery=False)

if __name__ == "__main__":
    for environment in (cave, workshop, lake):
        problem = monmdp.make(environment, "Ask")
        problem.validate()
        print(monmdp.solve(problem))
        print(problem.explain(0, 1))
        curves = monmdp.train(problem, "DirectedModel", seeds=4, steps=4_000, points=40)
        print(
            f"DirectedModel: {curves.solved.mean():.0%} of seeds optimal, {curves.observed[:, -1].mean():.0f} rewards"
        )
        print()
