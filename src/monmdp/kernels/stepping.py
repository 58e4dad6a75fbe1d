"""The step of a Mon-MDP: the draws of outcome, observation, reward and start, and steps of many environments.

`draw_outcome`, `draw_observed` and `draw_reward` make one step; the training loop, sampled evaluation, vector
environments and the GPU use them. `simulation` restates them in plain Python. Each has its own stream, and draws
only if the result is random.
"""

from typing import Any, NamedTuple

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
def draw_reward(mean, noise, key, clock):
    """An environment reward with its noise; takes numbers, since a tuple of arrays costs more than the draw."""
    if noise > 0.0:
        mean += noise * normal(key, clock)
    return mean


@inlined
def draw_observed(chance, key, clock):
    """Whether the monitor shows a reward that it shows with this probability."""
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


class Copies(NamedTuple):
    """Environments that step together: keys [N, 4] of the streams start, world, observe, noise, and arrays [N].

    state is the joint state; elapsed counts the steps of the episode, clock all steps, episode all episodes.
    """

    keys: Any
    state: Any
    elapsed: Any
    clock: Any
    episode: Any


@kernel
def step_many(dynamics, n_actions, step_limit, copies, stepping, action):
    """Step every copy i with stepping[i]; step_limit 0 means none.

    Returns environment reward, monitor reward, observed, terminated and truncated [N], zero for other copies.
    """
    keys, state, elapsed, clock, _ = copies
    n = len(state)
    env_reward, monitor_reward = np.zeros(n), np.zeros(n)
    observed, terminated, truncated = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for i in np.flatnonzero(stepping):
        outcome = draw_outcome(dynamics, state[i] * n_actions + action[i], keys[i, 1], clock[i])
        env_reward[i] = draw_reward(dynamics.env_reward[outcome], dynamics.reward_noise[outcome], keys[i, 3], clock[i])
        observed[i] = draw_observed(dynamics.observe_probability[outcome], keys[i, 2], clock[i])
        monitor_reward[i] = dynamics.monitor_reward[outcome]
        terminated[i] = dynamics.terminated[outcome]
        state[i] = dynamics.next_state[outcome]
        clock[i] += 1
        elapsed[i] += 1
        truncated[i] = elapsed[i] == step_limit and not terminated[i]
    return env_reward, monitor_reward, observed, terminated, truncated


@kernel
def reset_many(start_states, start_cumulative, copies, resetting):
    """Start a new episode in every copy i with resetting[i]."""
    for i in np.flatnonzero(resetting):
        copies.state[i] = draw_start(start_states, start_cumulative, copies.keys[i, 0], copies.episode[i])
        copies.elapsed[i] = 0
        copies.episode[i] += 1
