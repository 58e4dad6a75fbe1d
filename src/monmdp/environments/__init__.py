"""Environments: text maps, River Swim, random problems, Python rules and Gymnasium tables."""

from monmdp.environments.base import ENVIRONMENTS, Environment, Rule, Step
from monmdp.environments.catalogue import Corridor, Empty, Grid, GridWorld, KeyDoor, RiverSwim
from monmdp.environments.gymnasium_table import from_gymnasium
from monmdp.environments.seeded import DeepSea, Garnet, Layouts, Lock, Maze, RandomGrid

__all__ = [
    "ENVIRONMENTS", "Corridor", "DeepSea", "Empty", "Environment", "Garnet", "Grid", "GridWorld", "KeyDoor", "Layouts",
    "Lock", "Maze", "RandomGrid", "RiverSwim", "Rule", "Step", "from_gymnasium",
]  # fmt: skip
