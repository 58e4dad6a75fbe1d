"""Diameters: how long it takes to get somewhere, in expectation and exactly, episode restarts counted.

With a step limit the worst case runs over every state at every step of an episode in which the agent can
be there, since the restart may come at a bad moment. A step that takes the goal action counts, so that
the bound of Theorem 1 holds for the number of exploring steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.exact.solve import checked_policy
from monmdp.exact.structure import communicating, reachable_by_step
from monmdp.problem import Floats, MonMDP

GoalPolicy = Callable[[int], Floats]


def diameter(problem: MonMDP) -> float:
    """The largest, over two reachable states, of the least expected number of steps from one to the other."""
    if not communicating(problem):
        return np.inf
    goals = np.flatnonzero(problem.reachable)
    if problem.step_limit is None:
        return max(_fastest_unlimited(problem, int(goal)) for goal in goals)
    from monmdp.kernels.hitting import fastest_hitting

    visited = reachable_by_step(problem, problem.step_limit)
    scratch = np.zeros((2, problem.n_states)), np.zeros((2, problem.n_states))
    return max(
        float(fastest_hitting(*_transitions(problem), visited, goal, problem.n_actions, *scratch)) for goal in goals
    )


def goal_relative_diameter(problem: MonMDP, policy: Floats | GoalPolicy, goals: Iterable[int] | None = None) -> Floats:
    """D^ρ(goal): the worst expected number of steps until a goal-directed policy takes its goal pair.

    policy: probabilities [S, A], or a function from a goal pair to such an array.
    goals: joint pairs, by default all reachable ones. Returns one number a goal, infinite where never reached.
    """
    wanted = np.flatnonzero(problem.reachable_pairs) if goals is None else np.asarray(list(goals), np.int64)
    if np.any((wanted < 0) | (wanted >= problem.n_pairs)):
        raise MonMDPError(f"A goal is a joint pair, a number from 0 to {problem.n_pairs - 1}.")
    if np.any(~problem.reachable_pairs[wanted]):
        raise MonMDPError("A goal that can never be visited has no diameter; choose among problem.reachable_pairs.")

    def of_goal(goal: int) -> Floats:
        return checked_policy(problem, policy(goal) if callable(policy) else policy)

    if problem.step_limit is None:
        return np.array([_policy_unlimited(problem, int(goal), of_goal(int(goal))) for goal in wanted])
    from monmdp.kernels.hitting import policy_hitting

    visited = reachable_by_step(problem, problem.step_limit)
    scratch = np.zeros((2, problem.n_states)), np.zeros((2, problem.n_states))
    times = []
    for goal in wanted:
        times.append(float(policy_hitting(*_transitions(problem), visited, goal, of_goal(int(goal)), *scratch)))
    return np.array(times)


def _transitions(problem: MonMDP) -> tuple[np.ndarray, ...]:
    return problem.offsets, problem.probability, problem.next_state, problem.terminated, problem.start


def _restarting(problem: MonMDP) -> Floats:
    """Transition matrix [S * A, S] in which termination leads to the start distribution."""
    matrix = np.zeros((problem.n_pairs, problem.n_states))
    goes_on = ~problem.terminated
    np.add.at(matrix, (problem.pair_of_outcome[goes_on], problem.next_state[goes_on]), problem.probability[goes_on])
    ending = np.zeros(problem.n_pairs)
    np.add.at(ending, problem.pair_of_outcome[~goes_on], problem.probability[~goes_on])
    return matrix + np.outer(ending, problem.start)


def _policy_unlimited(problem: MonMDP, goal: int, policy: Floats) -> float:
    """One linear system: times = 1 + transitions that have not taken the goal · times."""
    weights = np.array(policy, np.float64).ravel()
    weights[goal] = 0.0
    shape = (problem.n_states, problem.n_actions, problem.n_states)
    onward = (_restarting(problem) * weights[:, None]).reshape(shape).sum(1)
    return _worst_time(problem, onward)


def _worst_time(problem: MonMDP, onward: Floats) -> float:
    """The largest solution of times = 1 + onward · times over reachable states; infinite if some never arrive."""
    here = np.flatnonzero(problem.reachable)
    onward = onward[np.ix_(here, here)]
    arrives = onward.sum(1) < 1.0 - 1e-12
    while True:
        grown = arrives | (onward[:, arrives] > 0).any(1)
        if np.array_equal(grown, arrives):
            break
        arrives = grown
    if not arrives.all():
        return np.inf
    return float(np.linalg.solve(np.eye(len(here)) - onward, np.ones(len(here))).max())


def _fastest_unlimited(problem: MonMDP, goal: int) -> float:
    """Policy iteration for the shortest expected time to a state, from a policy that surely arrives."""
    n_states, n_actions = problem.n_states, problem.n_actions
    matrix = _restarting(problem).reshape(n_states, n_actions, n_states)
    choice = _arriving_choice(matrix, goal)
    here = problem.reachable.copy()
    here[goal] = False
    inside = np.flatnonzero(here)
    if len(inside) == 0:
        return 0.0
    times = np.zeros(n_states)
    while True:
        onward = matrix[inside, choice[inside]][:, inside]
        times[inside] = np.linalg.solve(np.eye(len(inside)) - onward, np.ones(len(inside)))
        ahead = 1.0 + matrix @ times
        better = ahead.argmin(1)
        gains = ahead[inside, better[inside]] < ahead[inside, choice[inside]] * (1.0 - 1e-12)
        if not gains.any():
            return float(times[inside].max())
        choice[inside[gains]] = better[inside[gains]]


def _arriving_choice(matrix: Floats, goal: int) -> np.ndarray:
    """For every state an action [S] that brings it one step closer to the goal with positive probability."""
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
