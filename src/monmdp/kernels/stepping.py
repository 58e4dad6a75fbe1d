"""The step of a Mon-MDP: the draws of outcome, observation, reward and start, and steps of many environments.

`draw_outcome`, `draw_observed` and `draw_reward` make one step; the training loop, sampled evaluation, vector
environments and the GPU use them. `simulation` restates them in plain Python. Each has its own stream, and draws
only if the result is random.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import normal, uniform


@inlined
def draw_outcome(dynamics, pair, key, clock):
    """The outcome of a pair, selected by draw number `clock`."""
    outcome = dynamics.offsets[pair]
    if outcome + 1 < dynamics.offsets[pair + 1]:
        draw = uniform(key, clock)
        while draw >= dynamics.cumulative[outcome]:
            outcome += 1
    return outcome


@inlined
def draw_reward(dynamics, outcome, key, clock):
    """The environment reward of an outcome, including noise."""
    reward = dynamics.env_reward[outcome]
    if dynamics.reward_noise[outcome] > 0.0:
        reward += dynamics.reward_noise[outcome] * normal(key, clock)
    return reward


@inlined
def draw_observed(dynamics, outcome, key, clock):
    """Whether the monitor shows the reward of an outcome."""
    chance = dynamics.observe_probability[outcome]
    return chance >= 1.0 or (chance > 0.0 and uniform(key, clock) < chance)


@kernel
def draw_start(start_states, start_cumulative, key, episode):
    """The joint state in which an episode starts."""
    choice = 0
    if len(start_states) > 1:
        draw = uniform(key, episode)
        while draw >= start_cumulative[choice]:
            choice += 1
    return start_states[choice]


@kernel
def step_many(
    dynamics, n_actions, step_limit, keys, stepping, action, state, elapsed, clock,
    env_reward, monitor_reward, observed, terminated, truncated,
):  # fmt: skip
    """Step every environment i with stepping[i]; keys [N, 4] are the streams start, world, observe, noise.

    Updates state, elapsed (steps in the episode) and clock (steps in total) [N] and writes the last five arrays [N].
    step_limit 0 means none.
    """
    for i in np.flatnonzero(stepping):
        outcome = draw_outcome(dynamics, state[i] * n_actions + action[i], keys[i, 1], clock[i])
        env_reward[i] = draw_reward(dynamics, outcome, keys[i, 3], clock[i])
        observed[i] = draw_observed(dynamics, outcome, keys[i, 2], clock[i])
        monitor_reward[i] = dynamics.monitor_reward[outcome]
        terminated[i] = dynamics.terminated[outcome]
        state[i] = dynamics.next_state[outcome]
        clock[i] += 1
        elapsed[i] += 1
        truncated[i] = elapsed[i] == step_limit and not terminated[i]


@kernel
def reset_many(start_states, start_cumulative, keys, resetting, state, elapsed, episode):
    """Start a new episode in every environment i with resetting[i]; keys [N, 4] as in `step_many`."""
    for i in np.flatnonzero(resetting):
        state[i] = draw_start(start_states, start_cumulative, keys[i, 0], episode[i])
        elapsed[i] = 0
        episode[i] += 1
