"""A monitor that leaves it to luck."""

from dataclasses import dataclass

from monmdp import Monitor, Outcome


@dataclass(frozen=True)
class Toss(Monitor):
    """Pay to toss a coin: heads, and the reward is shown."""

    cost: float = 0.1
    states = ("idle",)
    actions = ("no-op", "toss")

    def outcomes(self, moment):
        tossed = moment.action == "toss"
        yield Outcome(reward=-self.cost * tossed, observed=0.5 * tossed)
