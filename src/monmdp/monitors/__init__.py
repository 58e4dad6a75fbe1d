"""Monitors: each decides which rewards are shown, and at what cost."""

from monmdp.monitors.base import MONITORS, Moment, Monitor, Outcome
from monmdp.monitors.catalogue import (
    Ask,
    Battery,
    Button,
    Experts,
    Full,
    FullRandom,
    Level,
    LimitedTime,
    PaidExperts,
    Random,
    RandomPair,
    Switch,
)

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
