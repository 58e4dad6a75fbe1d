"""What came later in the same episode: a way that was taken is learned at once, not step by step.

With s_0, a_0, r_0, s_1, … from replay, where nothing up to s_k was left to chance,
Ŝ(s_0, a_0; s_k) ≥ γ_S^k for all k,  and  Q(s_0, a_0) ≥ Σ_{i<k} γ^i r_i + γ^k max_b Q⁻(s_k, b)  for the largest such k
Targets are at least that. r = r_E + r_M is what was observed; an unknown r_E ends the path. If the episode
terminated at its end, Q⁻ counts as 0. As long as what the monitor does has not varied for any monitor pair, the path
of the environment is followed from any monitor state, with what the monitor did there before.

Lower bounds of this kind for Q: He et al., Learning to Play in a Day (arXiv 1611.01606).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.acting import explored_apart
from monmdp.deep.batch import replayed
from monmdp.deep.replay import History
from monmdp.deep.state import Memory, Numbers, Plan, joined, possible
from monmdp.deep.values import q_values

#: Paths have at most this number of steps after the first.
AHEAD = 16


class Path(NamedTuple):
    """Steps with numbers [n, k], the first of them from replay and those after it; going_on [n, k]: whether they were
    taken before now, in the same episode as the first."""

    places: jax.Array
    steps: History
    going_on: jax.Array


def paths(plan: Plan, memory: Memory, chosen: jax.Array, step: jax.Array) -> Path:
    """The paths from some steps [n], after `step` + 1 steps."""
    places = chosen[:, None] + jnp.arange(AHEAD + 1)
    past, places = places <= step, jnp.minimum(places, plan.steps - 1)
    steps = jax.tree.map(lambda array: array[places], memory.history)
    before = jnp.cumprod(~steps.ended, 1)[:, :-1] > 0
    return Path(places, steps, past & jnp.pad(before, ((0, 0), (1, 0)), constant_values=True))


def later_codes(plan: Plan, memory: Memory, path: Path) -> tuple[jax.Array, jax.Array]:
    """The codes that came 1, 2, … steps after those which followed the first steps, [n, k], and whether that is sure:
    in the same episode, and no outcome up to there is left to chance."""
    steps = path.steps
    certain = jnp.cumprod(path.going_on & ~memory.env_outcomes.varies[steps.env_pair], 1) > 0
    return steps.next_goal[:, 1:] // plan.n_monitor_states, (certain & ~steps.terminated)[:, 1:]


class Monitoring(NamedTuple):
    """What the monitor does along paths [n, k]: its rewards, its next states, and whether that is sure."""

    rewards: jax.Array
    next: jax.Array
    sure: jax.Array


def monitoring(plan: Plan, memory: Memory, path: Path, first: History) -> Monitoring:
    """What the monitor does along paths if their first steps [n] have other monitor states and actions.

    It is known for all paths as long as what the monitor does does not depend on the environment, and else only for
    those that were taken. Steps after which no episode ever went on are left out: the monitor may have ended it.
    """
    steps, outcomes, n_actions = path.steps, memory.monitor_outcomes, plan.n_actions // plan.n_env_actions
    actions = (steps.action % n_actions).at[:, 0].set(first.action % n_actions)
    own, monitor, each = steps.monitor * n_actions + steps.action % n_actions, first.monitor, []
    for number in range(AHEAD + 1):
        each.append(monitor * n_actions + actions[:, number])
        monitor = jnp.maximum(outcomes.next[each[-1]], 0)
    pairs = jnp.stack(each, 1)
    known = (outcomes.next[own] >= 0) & ((outcomes.next[pairs] >= 0) | steps.terminated)
    known &= ~jnp.isnan(outcomes.reward[pairs])
    same = (first.monitor == steps.monitor[:, 0]) & (first.action == steps.action[:, 0])
    varies = memory.pair_outcomes.varies[steps.pair] if plan.plans else outcomes.varies[own]
    apart = explored_apart(plan, memory)
    return Monitoring(
        jnp.where(apart, outcomes.reward[pairs], steps.monitor_reward),
        jnp.where(apart, jnp.maximum(outcomes.next[pairs], 0), steps.next_monitor),
        jnp.where(apart, known, same[:, None] & ~varies),
    )


def least_values(plan: Plan, numbers: Numbers, memory: Memory, path: Path, first: History) -> jax.Array:
    """Lower bounds [n] of the values of steps [n], which are the first of paths but for their monitor states and
    actions; −∞ if their outcome is left to chance or not known."""
    steps, rewards, monitor = path.steps, memory.env_outcomes.reward, monitoring(plan, memory, path, first)
    rewards = rewards[steps.env_pair] + monitor.rewards
    certain = monitor.sure & ~memory.env_outcomes.varies[steps.env_pair] & ~jnp.isnan(rewards)
    sure = jnp.cumprod(path.going_on & certain, 1) > 0
    length, earned = sure.sum(1), jnp.where(sure, numbers.discount ** jnp.arange(AHEAD + 1) * rewards, 0.0).sum(1)
    rows = jnp.arange(len(length)), jnp.maximum(length - 1, 0)
    last, moments, next_monitor = jax.tree.map(lambda array: array[rows], (steps, path.places, monitor.next))
    after = replayed(numbers, memory, last.next_picture, moments + jnp.where(last.ended, plan.steps + 1, 1))
    values = q_values(memory.slow["q"], joined(plan, after, next_monitor), numbers.q_bins, precise=False)
    ahead = jnp.where(possible(plan, numbers), values, -jnp.inf).max(-1)
    bounds = earned + jnp.where(last.terminated, 0.0, numbers.discount**length * ahead)
    return jnp.where(length > 0, bounds, -jnp.inf)
