"""A ladder with loose rungs."""

from dataclasses import dataclass

from monmdp import Environment, Step


@dataclass(frozen=True)
class Ladder(Environment):
    """Climb to the top for a reward of 1; every climb may slip back to the ground."""

    rungs: int = 4
    slip: float = 0.1
    default_limit = 50

    @property
    def states(self):
        return range(self.rungs + 1)

    @property
    def actions(self):
        return ("WAIT", "CLIMB")

    def outcomes(self, state, action):
        if action == "WAIT":
            yield Step(state)
        elif state == self.rungs:
            yield Step(state, reward=1.0, terminated=True)
        else:
            yield Step(state + 1, probability=1.0 - self.slip)
            yield Step(0, probability=self.slip)
