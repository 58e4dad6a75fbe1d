"""The plain twin: the same agents and the same loop in readable NumPy, as the specification of the compiled ones."""

from monmdp.plain.agents import PLAIN_AGENTS
from monmdp.plain.base import PlainAgent
from monmdp.plain.loop import train_plain

__all__ = ["PLAIN_AGENTS", "PlainAgent", "train_plain"]
