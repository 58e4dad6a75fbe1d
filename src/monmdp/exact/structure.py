"""The structure of a problem: successor rows, rewards that can be observed, and whether all states communicate."""

from typing import NamedTuple

import numpy as np

from monmdp.problem import Booleans, Floats, Integers, MonMDP

#: offsets [S * A + 1], weight and next_state, as in `kernels.bellman`.
Rows = tuple[Integers, Floats, Integers]


def successor_rows(problem: MonMDP) -> Rows:
    """The transitions of all joint pairs that do not end the episode, in the row format of `kernels.bellman`."""
    continues = ~problem.terminated & (problem.probability > 0)
    offsets = np.concatenate([[0], np.cumsum(continues)])[problem.offsets]
    return offsets, problem.probability[continues], problem.next_state[continues]


def hidden_env_outcomes(problem: MonMDP) -> Booleans:
    """Environment outcomes that can happen but whose reward can never be observed, [environment outcomes]."""
    return _possible(problem, problem.probability > 0) & ~visible_env_outcomes(problem)


def visible_env_outcomes(problem: MonMDP) -> Booleans:
    """Environment outcomes that can happen and whose reward can be observed, [environment outcomes]."""
    return _possible(problem, (problem.probability > 0) & (problem.monitor.observe_probability > 0))


def _possible(problem: MonMDP, chosen: Booleans) -> Booleans:
    """Environment outcomes of the chosen joint outcomes [outcomes] of reachable pairs."""
    possible = np.zeros(len(problem.environment.probability), np.bool_)
    possible[problem.monitor.env_outcome[chosen & problem.reachable_pairs[problem.pair_of_outcome]]] = True
    return possible


def hidden_env_pairs(problem: MonMDP) -> Integers:
    """Environment pairs with a reward that can never be observed, as indices in increasing order."""
    pairs = np.repeat(np.arange(len(problem.environment.offsets) - 1), np.diff(problem.environment.offsets))
    return np.unique(pairs[hidden_env_outcomes(problem)])


class Bounds(NamedTuple):
    """What an agent may know in advance: the smallest visible environment reward and the largest possible return."""

    minimum_reward: float
    maximum_value: float


def visible_bounds(problem: MonMDP) -> Bounds:
    """Bounds from rewards that can be observed, the discount and the step limit; hidden rewards do not count.

    With r the largest visible reward of a step that continues, e of one that ends the episode, and H the step limit,
    no return exceeds the largest of e, r (1 − γ^(H−1)) / (1 − γ) + γ^(H−1) e and r (1 − γ^H) / (1 − γ).
    """
    visible = visible_env_outcomes(problem)
    minimum = float(problem.environment.reward[visible].min()) if visible.any() else 0.0
    counted = visible[problem.monitor.env_outcome] & problem.reachable_pairs[problem.pair_of_outcome]
    continuing, ending = counted & ~problem.terminated, counted & problem.terminated
    r, e = (float(problem.reward[chosen].max(initial=-np.inf)) for chosen in (continuing, ending))
    horizon = np.inf if problem.step_limit is None else float(problem.step_limit)
    before_last, last = annuity(problem.discount, horizon - 1), problem.discount ** (horizon - 1)
    candidates = [e, r * before_last + last * e, r * annuity(problem.discount, horizon)]
    return Bounds(minimum, max(filter(np.isfinite, candidates), default=0.0))  # infinite or NaN: no such reward


def annuity(discount: float, steps: float) -> float:
    """1 + γ + … + γ^(steps − 1)."""
    return float((1.0 - discount**steps) / (1.0 - discount))


def communicating(problem: MonMDP) -> bool:
    """Whether every reachable state can be reached from every other one, across episodes.

    A step limit restarts every episode, so that every reachable state can be reached again; without one, only
    termination restarts.
    """
    if problem.step_limit is not None:
        return True
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    possible = problem.probability > 0
    source = problem.pair_of_outcome[possible] // problem.n_actions
    restart = problem.n_states  # an extra node between ends of episodes and their starts
    target = np.where(problem.terminated[possible], restart, problem.next_state[possible])
    starts = problem.start_states
    edges = np.concatenate([source, np.full(len(starts), restart)]), np.concatenate([target, starts])
    graph = coo_array((np.ones(len(edges[0])), edges), (restart + 1, restart + 1))
    _, component = connected_components(graph, connection="strong")
    return len(np.unique(component[:restart][problem.reachable])) == 1
