"""The table-based reference: DirectedModel on hashes of pictures, c(s_E) = the number of the picture f(s_E).

With pictures that differ in all states it is DirectedModel; states with equal pictures are one state to the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents import coded
from monmdp.agents.base import Agent
from monmdp.agents.directed_model import DirectedModel
from monmdp.deep.observations import observations, picture_numbers
from monmdp.errors import MonMDPError
from monmdp.exact.structure import Bounds
from monmdp.problem import MonMDP
from monmdp.training.job import Job
from monmdp.world import World


@dataclass(frozen=True, kw_only=True)
class HashDirectedModel(Agent):
    """DirectedModel on a table of exact pictures: what can be done without networks.

    observe: pixels, one-hot or coordinates, or a function (problem, environment state) → array; without noise.
    minimum_reward: as for DirectedModel.
    """

    observe: Any = "pixels"
    minimum_reward: float | None = None

    revision = DirectedModel.revision
    act = coded.act_coded
    update = coded.update_coded
    begin = coded.begin_coded
    plan = coded.plan_coded
    beta = coded.beta_coded

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"minimum_reward": bounds.minimum_reward}

    def job(
        self, problem: MonMDP, steps: int, points: int | None, evaluation: str, defaults: Mapping[str, Any] | None
    ) -> Job:
        """The job of this agent in a problem."""
        return HashJob(problem, self, steps, points, evaluation, defaults)

    def check_device(self, device: str) -> None:
        """An error for a GPU."""
        if device == "cuda":
            raise MonMDPError("HashDirectedModel runs on CPUs only; choose the device 'cpu'.")

    def memory_bytes(self, world: World, steps: int) -> int:
        """Approximate size of one run: that of DirectedModel and two numbers per pair."""
        return DirectedModel().memory_bytes(world, steps) + 16 * world.n_states * world.n_actions

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Approximate seconds that planning adds to a step and to a recording point."""
        return DirectedModel().planning_seconds(world)


class HashJob(Job):
    """The agent in a problem, with the codes of environment states."""

    def __init__(self, problem: MonMDP, agent: HashDirectedModel, *arguments: Any) -> None:
        super().__init__(problem, agent, *arguments)
        table, noise, _ = observations(problem, agent.observe)
        if noise:
            raise MonMDPError("HashDirectedModel needs observations without noise: noisy pictures are never the same.")
        self.env_codes = picture_numbers(table)

    def new_memory(self, seed: int) -> Any:
        agent: Any = self.agent
        own = DirectedModel(minimum_reward=agent.minimum_reward)
        return coded.coded_memory(own, self.world, self.env_codes, self.steps, seed)

    def tables(self, memory: Any) -> dict[str, Any]:
        rewards = memory.own.reward_model.reshape(self.env_codes.max() + 1, -1)[self.env_codes]
        remarks = [
            (state * rewards.shape[1] + pair % rewards.shape[1], remark)
            for pair, remark in DirectedModel().remarks(memory.own)
            for state in np.flatnonzero(self.env_codes == pair // rewards.shape[1]).tolist()
        ]
        return {**super().tables(memory), "reward_model": rewards.ravel(), "remarks": remarks}
