"""Environments: text maps, River Swim, random problems, Python rules and Gymnasium tables."""

from monmdp.environments.base import ENVIRONMENTS, Environment, Rule, Step
from monmdp.environments.catalogue import Empty, Grid, GridWorld, RiverSwim
from monmdp.environments.gymnasium_table import from_gymnasium
from monmdp.environments.seeded import Garnet, Lock, Maze, RandomGrid

__all__ = [
    "ENVIRONMENTS", "Empty", "Environment", "Garnet", "Grid", "GridWorld", "Lock", "Maze", "RandomGrid", "RiverSwim",
    "Rule", "Step", "from_gymnasium",
]  # fmt: skip
