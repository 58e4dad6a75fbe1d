"""Environments: text maps, River Swim, Python rules and Gymnasium tables."""

from monmdp.environments.base import ENVIRONMENTS, Environment, Step
from monmdp.environments.grid import Empty, Grid, GridWorld
from monmdp.environments.gymnasium_table import from_gymnasium
from monmdp.environments.river_swim import RiverSwim
from monmdp.environments.rule import Rule

__all__ = [
    "ENVIRONMENTS",
    "Empty",
    "Environment",
    "Grid",
    "GridWorld",
    "RiverSwim",
    "Rule",
    "Step",
    "from_gymnasium",
]
