"""A problem as the training loop reads it: flat arrays over the states that an agent can observe."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from monmdp.kernels.references import by_reference
from monmdp.problem import Booleans, Floats, Integers, MonMDP


@by_reference
class World(NamedTuple):
    """Arrays over outcomes, over pairs (offsets, pair_reward, env_pair) and over start states; see `problem`.

    The first n_acting_states are those in which the agent can act, in the problem's order. After them come states
    in which no action is taken: those entered at the step limit (learning bootstraps from them) and those in which
    episodes end. env_outcome, env_terminated and monitor_probability (given the environment's outcome) describe
    the two factors of an outcome, for agents that know the monitor. pair_reward is the expected reward of a pair,
    observed or not. step_limit is 0 if there is none.
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
    """The part of a problem that an agent can observe, with states renumbered."""
    kept = problem.reachable_pairs[problem.pair_of_outcome]
    entered = np.zeros(problem.n_states, np.bool_)
    entered[problem.next_state[kept]] = True
    acting = np.flatnonzero(problem.reachable)
    states = np.concatenate([acting, np.flatnonzero(entered & ~problem.reachable)])
    number = np.zeros(problem.n_states, np.int32)
    number[states] = np.arange(len(states))
    pairs = np.flatnonzero(problem.reachable_pairs)
    environment, monitor = problem.environment, problem.monitor
    per_outcome = {name: array[kept] for name, array in problem.dynamics._asdict().items() if name != "offsets"}
    env_state, monitor_state = np.divmod(states.astype(np.int32), np.int32(len(monitor.states)))
    return World(
        **{**per_outcome, "next_state": number[per_outcome["next_state"]]},
        offsets=np.concatenate([[0], np.cumsum(np.diff(problem.offsets)[pairs])]),
        probability=problem.probability[kept],
        env_outcome=monitor.env_outcome[kept],
        env_terminated=environment.terminated[monitor.env_outcome[kept]],
        monitor_probability=monitor.probability[kept],
        pair_reward=problem.expected(problem.reward)[pairs],
        env_pair=problem.env_pair[pairs],
        env_state=env_state,
        monitor_state=monitor_state,
        start_states=number[problem.start_states].astype(np.int64),
        start_probability=problem.start[problem.start_states],
        start_cumulative=problem.start_cumulative,
        n_states=len(states),
        n_acting_states=len(acting),
        n_actions=problem.n_actions,
        n_env_pairs=len(environment.offsets) - 1,
        n_env_states=len(environment.states),
        n_monitor_states=len(monitor.states),
        n_monitor_actions=len(monitor.actions),
        step_limit=problem.step_limit or 0,
        discount=float(problem.discount),
    )


def is_deterministic(world: World) -> bool:
    """Whether all episodes of a deterministic policy are equal: one start state, one outcome per pair."""
    return len(world.start_states) == 1 and len(world.probability) == len(world.offsets) - 1
