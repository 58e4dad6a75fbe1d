"""A monitor that shows the reward at random."""

from dataclasses import dataclass

from monmdp import Monitor, Outcome


@dataclass(frozen=True)
class Toss(Monitor):
    """Pay to toss a coin; on heads, the reward is shown."""

    cost: float = 0.1
    states = ("idle",)
    actions = ("no-op", "toss")

    def outcomes(self, moment):
        tossed = moment.action == "toss"
        yield Outcome(reward=-self.cost * tossed, observed=0.5 * tossed)
