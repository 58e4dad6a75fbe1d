"""Environments: text maps, River Swim, Python rules and Gymnasium tables."""

from monmdp.environments.base import ENVIRONMENTS, Environment, Rule, Step
from monmdp.environments.catalogue import Empty, Grid, GridWorld, RiverSwim
from monmdp.environments.gymnasium_table import from_gymnasium

__all__ = ["ENVIRONMENTS", "Empty", "Environment", "Grid", "GridWorld", "RiverSwim", "Rule", "Step", "from_gymnasium"]
