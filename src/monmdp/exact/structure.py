"""What can be reached, what can be seen, and whether everything can be reached from everywhere."""

from __future__ import annotations

import numpy as np

from monmdp.problem import Booleans, Integers, MonMDP


def reachable_states(problem: MonMDP) -> Booleans:
    """Joint states in which the agent can act before the episode ends or the step limit restarts it, [S]."""
    reached: Booleans = problem.start > 0
    frontier, steps = reached, 1
    while frontier.any() and (problem.step_limit is None or steps < problem.step_limit):
        frontier = _successors(problem, frontier) & ~reached
        reached = reached | frontier
        steps += 1
    return reached


def reachable_by_step(problem: MonMDP, horizon: int) -> Booleans:
    """Whether the agent can act in state s at step t of an episode, [horizon, S]."""
    layers = np.zeros((horizon, problem.n_states), np.bool_)
    layers[0] = problem.start > 0
    for step in range(1, horizon):
        layers[step] = _successors(problem, layers[step - 1])
    return layers


def _successors(problem: MonMDP, states: Booleans) -> Booleans:
    """States that one step from any of `states` can continue in."""
    state_of_outcome = problem.pair_of_outcome // problem.n_actions
    goes_on = states[state_of_outcome] & ~problem.terminated & (problem.probability > 0)
    after = np.zeros(problem.n_states, np.bool_)
    after[problem.next_state[goes_on]] = True
    return after


def hidden_env_outcomes(problem: MonMDP) -> Booleans:
    """Environment outcomes that can happen but whose reward can never be seen, [environment outcomes]."""
    return _met(problem, problem.probability > 0) & ~visible_env_outcomes(problem)


def visible_env_outcomes(problem: MonMDP) -> Booleans:
    """Environment outcomes that can happen and whose reward is shown at least sometimes, [environment outcomes]."""
    return _met(problem, (problem.probability > 0) & (problem.monitor.observe_probability > 0))


def _met(problem: MonMDP, chosen: Booleans) -> Booleans:
    """Environment outcomes behind the chosen joint outcomes [outcomes] of pairs that can be reached."""
    met = np.zeros(len(problem.environment.probability), np.bool_)
    met[problem.monitor.env_outcome[chosen & problem.reachable_pairs[problem.pair_of_outcome]]] = True
    return met


def hidden_env_pairs(problem: MonMDP) -> Integers:
    """Environment pairs with a reward that can never be seen, as indices in increasing order."""
    pairs = np.repeat(np.arange(len(problem.environment.offsets) - 1), np.diff(problem.environment.offsets))
    return np.unique(pairs[hidden_env_outcomes(problem)])


def communicating(problem: MonMDP) -> bool:
    """Whether every reachable state can be reached from every other one, episode restarts counted.

    A step limit restarts every episode, so that all that is reachable at all is reachable again;
    without one, only termination restarts.
    """
    if problem.step_limit is not None:
        return True
    state_of_outcome = problem.pair_of_outcome // problem.n_actions
    real = (problem.probability > 0) & problem.reachable[state_of_outcome]
    goes_on, ends = real & ~problem.terminated, real & problem.terminated
    starts = np.flatnonzero(problem.start)
    restart = problem.n_states  # one more node, between ends of episodes and their starts
    sources = np.concatenate([state_of_outcome[goes_on], state_of_outcome[ends], np.full(len(starts), restart)])
    targets = np.concatenate([problem.next_state[goes_on], np.full(int(ends.sum()), restart), starts])
    origin = int(starts[0])
    onward = _closure(sources, targets, origin, problem.n_states + 1)
    backward = _closure(targets, sources, origin, problem.n_states + 1)
    return bool((onward & backward)[: problem.n_states][problem.reachable].all())


def _closure(sources: Integers, targets: Integers, origin: int, nodes: int) -> Booleans:
    """Everything that can be reached from `origin` along the edges source → target, [nodes]."""
    reached = np.zeros(nodes, np.bool_)
    reached[origin] = True
    while True:
        before = int(reached.sum())
        reached[targets[reached[sources]]] = True
        if int(reached.sum()) == before:
            return reached
