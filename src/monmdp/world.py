"""A problem as the training loop takes it: only states that can be seen, as flat arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from monmdp.problem import Booleans, Floats, Integers, MonMDP


class World(NamedTuple):
    """Arrays over outcomes, over pairs (offsets, pair_reward, env_pair) and over start states; see `model`.

    The first n_acting_states are those in which the agent can act, in the problem's order. After them come
    states that are seen but never acted in: where the step limit strikes (learning bootstraps from them), and
    where episodes end. env_outcome, env_terminated and monitor_probability (given the environment's outcome)
    tell the two factors of an outcome apart, for agents that know the monitor.
    """

    offsets: Integers
    cumulative: Floats
    probability: Floats
    next_state: Integers
    env_reward: Floats
    reward_noise: Floats
    monitor_reward: Floats
    observe_probability: Floats
    terminated: Booleans
    env_outcome: Integers
    env_terminated: Booleans
    monitor_probability: Floats
    pair_reward: Floats
    env_pair: Integers
    env_state: Integers
    monitor_state: Integers
    start_states: Integers
    start_probability: Floats
    start_cumulative: Floats
    n_states: int
    n_acting_states: int
    n_actions: int
    n_env_pairs: int
    n_env_states: int
    n_monitor_states: int
    n_monitor_actions: int
    step_limit: int
    discount: float


@lru_cache(maxsize=64)
def compact(problem: MonMDP) -> World:
    """Keep what can be seen; pair_reward is the expected reward of a pair, seen or not."""
    kept = problem.reachable_pairs[problem.pair_of_outcome]
    entered = np.zeros(problem.n_states, np.bool_)
    entered[problem.next_state[kept]] = True
    acting = np.flatnonzero(problem.reachable)
    states = np.concatenate([acting, np.flatnonzero(entered & ~problem.reachable)])
    number = np.zeros(problem.n_states, np.int32)
    number[states] = np.arange(len(states))
    pairs = np.flatnonzero(problem.reachable_pairs)
    lengths = np.diff(problem.offsets)[pairs]
    dynamics = problem.dynamics
    starts = np.flatnonzero(problem.start)
    start_probability = problem.start[starts]
    start_cumulative = np.cumsum(start_probability)
    start_cumulative[-1] = np.inf
    pair_reward = np.add.reduceat(problem.probability * problem.reward, problem.offsets[:-1])
    return World(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        cumulative=dynamics.cumulative[kept],
        probability=problem.probability[kept],
        next_state=number[problem.next_state[kept]],
        env_reward=dynamics.env_reward[kept],
        reward_noise=dynamics.reward_noise[kept],
        monitor_reward=dynamics.monitor_reward[kept],
        observe_probability=dynamics.observe_probability[kept],
        terminated=dynamics.terminated[kept],
        env_outcome=problem.monitor.env_outcome[kept],
        env_terminated=problem.environment.terminated[problem.monitor.env_outcome[kept]],
        monitor_probability=problem.monitor.probability[kept],
        pair_reward=pair_reward[pairs],
        env_pair=problem.env_pair[pairs],
        env_state=(states // len(problem.monitor.states)).astype(np.int32),
        monitor_state=(states % len(problem.monitor.states)).astype(np.int32),
        start_states=number[starts].astype(np.int64),
        start_probability=start_probability,
        start_cumulative=start_cumulative,
        n_states=len(states),
        n_acting_states=len(acting),
        n_actions=problem.n_actions,
        n_env_pairs=len(problem.environment.offsets) - 1,
        n_env_states=len(problem.environment.states),
        n_monitor_states=len(problem.monitor.states),
        n_monitor_actions=len(problem.monitor.actions),
        step_limit=problem.step_limit or 0,
        discount=float(problem.discount),
    )


def is_deterministic(world: World) -> bool:
    """Whether one test episode tells everything: one start, one outcome a pair."""
    return len(world.start_states) == 1 and len(world.probability) == len(world.offsets) - 1
