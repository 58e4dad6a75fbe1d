"""Monitors: each decides which rewards are shown, and at what cost."""

from monmdp.monitors.base import MONITORS, Moment, Monitor, Outcome
from monmdp.monitors.followups import Battery, FullRandom, LimitedTime, PaidExperts, RandomPair, Switch
from monmdp.monitors.paper import Ask, Button, Experts, Full, Level, Random

__all__ = [
    "MONITORS",
    "Ask",
    "Battery",
    "Button",
    "Experts",
    "Full",
    "FullRandom",
    "Level",
    "LimitedTime",
    "Moment",
    "Monitor",
    "Outcome",
    "PaidExperts",
    "Random",
    "RandomPair",
    "Switch",
]
