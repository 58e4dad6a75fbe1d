"""Reference methods on dense matrices: written to be obviously right, not fast."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from monmdp import MonMDP


def matrices(problem: MonMDP) -> tuple[np.ndarray, np.ndarray]:
    """Transitions that go on [S, A, S] and expected reward [S, A], outcome by outcome."""
    n, m = problem.n_states, problem.n_actions
    transition, reward = np.zeros((n, m, n)), np.zeros((n, m))
    for pair in range(n * m):
        s, a = divmod(pair, m)
        for o in range(problem.offsets[pair], problem.offsets[pair + 1]):
            chance = problem.probability[o]
            reward[s, a] += chance * (problem.env_reward[o] + problem.monitor.reward[o])
            if not problem.terminated[o]:
                transition[s, a, problem.next_state[o]] += chance
    return transition, reward


def policy_iteration(problem: MonMDP) -> np.ndarray:
    """Optimal action values [S, A] by Howard's algorithm with exact linear solves."""
    transition, reward = matrices(problem)
    states = np.arange(problem.n_states)
    choice = np.zeros(problem.n_states, int)
    while True:
        system = np.eye(problem.n_states) - problem.discount * transition[states, choice]
        values = np.linalg.solve(system, reward[states, choice])
        q = reward + problem.discount * transition @ values
        better = q.argmax(1)
        improves = q[states, better] > q[states, choice] + 1e-11
        if not improves.any():
            return q
        choice = np.where(improves, better, choice)


def exact_policy_iteration(problem: MonMDP) -> list[list[Fraction]]:
    """Optimal action values [S][A] by Howard's algorithm in rational numbers, without any rounding.

    Probabilities are made to sum to one exactly, as those of floating point do not.
    """
    n, m, discount = problem.n_states, problem.n_actions, Fraction(float(problem.discount))
    onward = [[[Fraction(0)] * n for _ in range(m)] for _ in range(n)]
    reward = [[Fraction(0)] * m for _ in range(n)]
    for pair in range(n * m):
        s, a = divmod(pair, m)
        outcomes = range(problem.offsets[pair], problem.offsets[pair + 1])
        total = sum(Fraction(float(problem.probability[o])) for o in outcomes)
        for o in outcomes:
            chance = Fraction(float(problem.probability[o])) / total
            reward[s][a] += chance * Fraction(float(problem.reward[o]))
            if not problem.terminated[o]:
                onward[s][a][problem.next_state[o]] += chance

    def backup(s: int, a: int, values: list[Fraction]) -> Fraction:
        return reward[s][a] + discount * sum(p * v for p, v in zip(onward[s][a], values, strict=True))

    choice = [0] * n
    while True:
        system = [[(s == t) - discount * onward[s][choice[s]][t] for t in range(n)] for s in range(n)]
        values = rational_solve(system, [reward[s][choice[s]] for s in range(n)])
        q = [[backup(s, a, values) for a in range(m)] for s in range(n)]
        best = [max(range(m), key=q[s].__getitem__) for s in range(n)]
        if all(q[s][best[s]] == q[s][choice[s]] for s in range(n)):
            return q
        choice = [best[s] if q[s][best[s]] > q[s][choice[s]] else choice[s] for s in range(n)]


def rational_solve(system: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a linear system by Gaussian elimination; the diagonal of I − γP needs no exchange of rows."""
    rows = [[*row, b] for row, b in zip(system, right, strict=True)]
    for i, row in enumerate(rows):
        rows[i] = [x / row[i] for x in row]
        for j, other in enumerate(rows):
            if j != i and other[i]:
                rows[j] = [x - other[i] * y for x, y in zip(other, rows[i], strict=True)]
    return [row[-1] for row in rows]


def linear_program(problem: MonMDP) -> np.ndarray:
    """Optimal values [S]: the least v with v(s) ≥ r(s, a) + γ Σ p v for every pair."""
    transition, reward = matrices(problem)
    n, m = reward.shape
    limits = problem.discount * transition.reshape(n * m, n) - np.repeat(np.eye(n), m, axis=0)
    result = linprog(
        np.ones(n),
        A_ub=limits,
        b_ub=-reward.ravel(),
        bounds=(None, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    return result.x


def backward_return(problem: MonMDP, policy: np.ndarray, horizon: int) -> float:
    """Discounted return of policy [S, A] over `horizon` steps, from the last step to the first."""
    transition, reward = matrices(problem)
    values = np.zeros(problem.n_states)
    for _ in range(horizon):
        values = (policy * (reward + problem.discount * transition @ values)).sum(1)
    return float(problem.start @ values)


def visits(problem: MonMDP) -> list[set[int]]:
    """For each step of an episode, the states in which the agent can act; one set for all without a limit."""
    transition, _ = matrices(problem)

    def ahead(states: set[int]) -> set[int]:
        return set(np.flatnonzero((transition[sorted(states)] > 0).any((0, 1))).tolist())

    layers = [set(np.flatnonzero(problem.start).tolist())]
    if problem.step_limit is None:
        while not ahead(layers[0]) <= layers[0]:
            layers[0] |= ahead(layers[0])
        return layers
    while len(layers) < problem.step_limit:
        layers.append(ahead(layers[-1]))
    return layers


def restarting(problem: MonMDP) -> tuple[dict[tuple[int, int], int], np.ndarray]:
    """Nodes (step, state) and transitions [nodes, A, nodes] in which every end of an episode leads to a start."""
    transition, _ = matrices(problem)
    places = [(t, s) for t, layer in enumerate(visits(problem)) for s in sorted(layer)]
    node = {place: i for i, place in enumerate(places)}
    big = np.zeros((len(node), problem.n_actions, len(node)))
    for (t, s), i in node.items():
        later = 0 if problem.step_limit is None else t + 1
        for a in range(problem.n_actions):
            onward = np.zeros(problem.n_states) if later == problem.step_limit else transition[s, a]
            for after in np.flatnonzero(onward):
                big[i, a, node[later, int(after)]] += onward[after]
            for first in np.flatnonzero(problem.start):
                big[i, a, node[0, int(first)]] += (1.0 - onward.sum()) * problem.start[first]
    return node, big


def worst_hitting_time(problem: MonMDP, policy: np.ndarray, goal: tuple[int, int]) -> float:
    """Largest expected number of steps until policy takes the goal (state, action), by one linear system."""
    node, big = restarting(problem)
    onward = np.zeros((len(node), len(node)))
    for (_, s), i in node.items():
        for a in range(problem.n_actions):
            if (s, a) != goal:
                onward[i] += policy[s, a] * big[i, a]
    return float(np.linalg.solve(np.eye(len(node)) - onward, np.ones(len(node))).max())


def worst_shortest_time(problem: MonMDP, goal: int) -> float:
    """Largest of the least expected numbers of steps to a goal state, as a linear program."""
    node, big = restarting(problem)
    free = np.array([i for (_, s), i in node.items() if s != goal])
    if not len(free):
        return 0.0
    onward = big[free][:, :, free]
    limits = np.repeat(np.eye(len(free)), problem.n_actions, axis=0) - onward.reshape(-1, len(free))
    result = linprog(-np.ones(len(free)), A_ub=limits, b_ub=np.ones(len(limits)), bounds=(0, None), method="highs-ds")
    assert result.status == 0, result.message
    return float(result.x.max())
