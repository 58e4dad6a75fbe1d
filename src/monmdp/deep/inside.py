"""What the reach network says about one goal, for `watch` and the page.

goal = the one that the agent keeps, else the one that it would choose now (`goals`)
value(x, b) = Ŝ(x, b; g) of a goal (g, a) in every state x; in g itself 1 for b = a, else 0
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from monmdp.deep.acting import current_goal, goal_counts, mean_costs, reach_here
from monmdp.deep.replay import History
from monmdp.deep.state import Memory, Numbers, Plan, encoded, joined, picture, scaled
from monmdp.deep.world import Device
from monmdp.problem import Floats, Integers
from monmdp.world import World


class Aim(NamedTuple):
    """The goals of some runs [runs], pairs of codes, and Ŝ of all states toward them [runs, S, A]."""

    goal: Any
    reach: Any


@partial(jax.jit, static_argnums=0)
def aims(plan: Plan, numbers: Numbers, device: Device, memories: Memory, step: jax.Array) -> Aim:
    """The goals at a step, of agents that explore toward goals; -1 before the first step."""

    def one(numbers: Numbers, device: Device, memory: Memory) -> Aim:
        row, monitor = device.env_state[memory.state], device.monitor_state[memory.state]
        inputs = joined(plan, scaled(memory.codes, picture(numbers, memory.key, row, step)), monitor)
        here = memory.code * plan.n_monitor_states + monitor
        reach = reach_here(plan, numbers, memory, inputs, here)
        counts, costs = goal_counts(plan, numbers, memory, step), mean_costs(plan, memory)
        goal, _ = current_goal(plan, numbers, memory, counts, costs, reach, here, step)

        def toward(state: tuple[jax.Array, jax.Array]) -> jax.Array:
            row, monitor = state
            code, _ = encoded(numbers, memory.codes, row, numbers.observations[row])
            inputs = joined(plan, scaled(memory.codes, numbers.observations[row]), monitor)
            place = code * plan.n_monitor_states + monitor
            return reach_here(plan, numbers, memory, inputs, place)[:, goal // plan.n_actions]

        values = jax.lax.map(toward, (device.env_state, device.monitor_state))
        return Aim(jnp.where(memory.seen.any(), goal, -1), values)

    return jax.vmap(one)(numbers, device, memories)


def in_world(aims: Aim, world: World, plan: Plan, history: History, pairs: Integers) -> tuple[int, Floats]:
    """The goal of the first run as a pair of the world, -1 for none, and the values [S, A] that lead to it.

    pairs [steps]: those of the world in the run's history.
    """
    values = np.array(aims.reach[0], np.float64)[: world.n_states, : world.n_actions]
    place, action = divmod(int(aims.goal[0]), plan.n_actions)
    if place < 0:
        return -1, np.full(values.shape, np.nan)
    code, monitor = divmod(place, plan.n_monitor_states)
    first = int((history.pair // plan.n_actions // plan.n_monitor_states == code).argmax())  # the first step from there
    there = world.env_state == world.env_state[pairs[first] // world.n_actions]
    state = int((there & (world.monitor_state == monitor)).argmax())
    values[state] = np.arange(world.n_actions) == action
    return state * world.n_actions + action, values
