"""Diameters: expected numbers of steps to reach a state or pair, computed exactly, across episodes.

With a step limit the worst case is over every state at every step of an episode in which the agent can be there,
since the time until the restart matters. The step that takes the goal action counts, so that the bound of
Theorem 1 holds for the number of exploring steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.exact.solve import checked_policy
from monmdp.exact.structure import communicating, successor_rows
from monmdp.problem import Booleans, Floats, Integers, MonMDP

GoalPolicy = Callable[[int], Floats]


def diameter(problem: MonMDP) -> float:
    """The largest, over pairs of reachable states, of the least expected number of steps from one to the other."""
    if not communicating(problem):
        return np.inf
    goals = [int(goal) for goal in np.flatnonzero(problem.reachable)]
    if problem.step_limit is None:
        return max(_fastest_unlimited(problem, goal) for goal in goals)
    from monmdp.kernels.hitting import fastest_sweep

    rows, visited = successor_rows(problem), _reachable_by_step(problem, problem.step_limit)
    return max(_worst_time(problem, fastest_sweep, rows, visited, goal, problem.n_actions) for goal in goals)


def goal_relative_diameter(problem: MonMDP, policy: Floats | GoalPolicy, goals: Iterable[int] | None = None) -> Floats:
    """D^ρ(goal): the worst expected number of steps until a goal-directed policy takes its goal pair.

    policy: probabilities [S, A], or a function from a goal pair to such an array.
    goals: joint pairs, by default all reachable ones. Returns one number per goal, infinite if it is never reached.
    """
    pairs = np.flatnonzero(problem.reachable_pairs) if goals is None else np.asarray(list(goals), np.int64)
    if np.any((pairs < 0) | (pairs >= problem.n_pairs)):
        raise MonMDPError(f"A goal is a joint pair, a number from 0 to {problem.n_pairs - 1}.")
    if np.any(~problem.reachable_pairs[pairs]):
        raise MonMDPError("A goal that can never be visited has no diameter; choose among problem.reachable_pairs.")

    def policy_of(goal: int) -> Floats:
        return checked_policy(problem, policy(goal) if callable(policy) else policy)

    if problem.step_limit is None:
        return np.array([_policy_unlimited(problem, goal, policy_of(goal)) for goal in pairs.tolist()])
    from monmdp.kernels.hitting import policy_sweep

    rows, visited = successor_rows(problem), _reachable_by_step(problem, problem.step_limit)
    times = [_worst_time(problem, policy_sweep, rows, visited, goal, policy_of(goal)) for goal in pairs.tolist()]
    return np.array(times)


def _reachable_by_step(problem: MonMDP, horizon: int) -> Booleans:
    """Whether the agent can act in state s at step t of an episode, [horizon, S]."""
    layers = np.zeros((horizon, problem.n_states), np.bool_)
    layers[0] = problem.start > 0
    for step in range(1, horizon):
        layers[step] = problem.successors(layers[step - 1])
    return layers


def _worst_time(problem: MonMDP, sweep: Callable[..., float], *given: object) -> float:
    """The worst hitting time with a step limit; `sweep` is a kernel of `kernels.hitting`, `given` its arguments.

    Shortens the time from a new start until no choice of actions shortens it further: Newton's method on a concave
    function, which takes a few rounds, and two for a fixed policy.
    """
    steps, hit = np.zeros((2, 2, problem.n_states))
    fresh = np.inf
    while True:
        worst = sweep(*given, fresh, steps, hit)
        arrival = float(problem.start @ hit[0])
        if arrival <= 0.0:
            return np.inf
        shorter = float(problem.start @ steps[0]) / arrival
        if shorter >= fresh * (1.0 - 1e-13):
            return float(worst)
        fresh = shorter


def _restarting(problem: MonMDP) -> Floats:
    """Transition matrix [S, A, S] in which termination leads to the start distribution."""
    matrix = np.zeros((problem.n_pairs, problem.n_states))
    chance = np.where(problem.terminated, 0.0, problem.probability)
    np.add.at(matrix, (problem.pair_of_outcome, problem.next_state), chance)
    matrix += np.outer(problem.expected(problem.terminated), problem.start)
    return matrix.reshape(problem.n_states, problem.n_actions, problem.n_states)


def _policy_unlimited(problem: MonMDP, goal: int, policy: Floats) -> float:
    """The worst time without a step limit: the largest solution of times = 1 + continuing · times."""
    weights = policy.copy()
    weights.flat[goal] = 0.0
    here = np.flatnonzero(problem.reachable)
    continuing = np.einsum("sa,sat->st", weights, _restarting(problem))[np.ix_(here, here)]
    arrives = continuing.sum(1) < 1.0 - 1e-12
    for _ in here:
        arrives = arrives | (continuing[:, arrives] > 0).any(1)
    if not arrives.all():
        return np.inf
    return float(np.linalg.solve(np.eye(len(here)) - continuing, np.ones(len(here))).max())


def _fastest_unlimited(problem: MonMDP, goal: int) -> float:
    """Policy iteration for the least expected time to a state, starting from a policy that reaches it."""
    matrix = _restarting(problem)
    choice = _approaching_actions(matrix, goal)
    inside = np.flatnonzero(problem.reachable & (np.arange(problem.n_states) != goal))
    if len(inside) == 0:
        return 0.0
    times = np.zeros(problem.n_states)
    while True:
        continuing = matrix[inside, choice[inside]][:, inside]
        times[inside] = np.linalg.solve(np.eye(len(inside)) - continuing, np.ones(len(inside)))
        ahead = 1.0 + matrix @ times
        better = ahead.argmin(1)
        gains = ahead[inside, better[inside]] < ahead[inside, choice[inside]] * (1.0 - 1e-12)
        if not gains.any():
            return float(times[inside].max())
        choice[inside[gains]] = better[inside[gains]]


def _approaching_actions(matrix: Floats, goal: int) -> Integers:
    """For every state an action [S] that leads one step closer to the goal with positive probability."""
    choice = np.zeros(len(matrix), np.int64)
    known = np.zeros(len(matrix), np.bool_)
    known[goal] = True
    while True:
        leads = np.any(matrix[:, :, known] > 0, axis=2)
        new = np.any(leads, axis=1) & ~known
        if not new.any():
            return choice
        choice[new] = np.argmax(leads[new], axis=1)
        known |= new
