"""The plain twin: the same agents and the same loop in readable NumPy, as the specification of the compiled ones."""

from reference.agents import PLAIN_AGENTS
from reference.base import PlainAgent
from reference.loop import train_plain

__all__ = ["PLAIN_AGENTS", "PlainAgent", "train_plain"]
