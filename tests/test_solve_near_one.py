"""Discounts near 1: policy iteration against exact arithmetic, formulas, linear programs and value iteration."""

from __future__ import annotations

import signal
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from dense import exact_policy_iteration, linear_program, matrices
from hypothesis import given, settings
from hypothesis import strategies as st
from test_solve_methods import PROBLEMS, random_rule

import monmdp
from monmdp import MonMDPError, Rule, Step
from monmdp.exact import policy_iteration, solve

HIDDEN = [
    ("Hazard", "Ask(never_observable='empty')"),
    ("RiverSwim", "Random(p=1)"),
    ("Bottleneck", "Ask(observability=0)"),
]


def use(monkeypatch: pytest.MonkeyPatch, **constants: int) -> None:
    """Change the constants that choose a method."""
    for name, value in constants.items():
        monkeypatch.setattr(solve if hasattr(solve, name) else policy_iteration, name, value)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_states=st.integers(1, 6),
    n_actions=st.integers(1, 3),
    scale=st.sampled_from([1e-5, 1.0, 1e5]),
    ending=st.sampled_from([0.0, 0.05]),
    discount=st.sampled_from([0.9999, 0.99999, 0.999999]),
)
def test_agrees_with_exact_arithmetic_on_random_problems(seed, n_states, n_actions, scale, ending, discount):
    """Relative to the largest value, as far as with any other discount."""
    problem = monmdp.make(random_rule(seed, n_states, n_actions, scale, ending), discount=discount)
    expected, found = exact_policy_iteration(problem), monmdp.solve(problem).q
    pairs = [(x, y) for row, ours in zip(expected, found.tolist(), strict=True) for x, y in zip(row, ours, strict=True)]
    assert max(abs(x - Fraction(y)) for x, y in pairs) <= 1e-12 * max(abs(x) for x, _ in pairs)


@pytest.mark.parametrize("discount", [0.9999, 0.99999, 0.9999999])
def test_a_bonus_for_ever(discount):
    """Empty + Experts: at 0.001 a step, never ending is better than the coin wherever the episode may go on."""
    solution = monmdp.solve(monmdp.make("Empty", "Experts", discount=discount))
    assert solution.v == pytest.approx(np.full(144, 0.001 / (1 - discount)), rel=1e-13)
    assert solution.optimal_return == pytest.approx(0.001 * (1 - discount**50) / (1 - discount), rel=1e-9)


def test_ties_are_shared_evenly():
    """All ways to stay in Empty with a wrong expert are equally good, however far the values are above 1e-9."""
    solution = monmdp.solve(monmdp.make("Empty", "Experts", discount=0.9999999))
    assert set(np.round(1 / solution.policy[solution.policy > 0]).astype(int)) <= set(range(1, 21))
    assert np.array_equal(solution.policy, monmdp.greedy_policy(solution.q))
    inner = solution.problem.state_index((2, 2), solution.problem.monitor.states[0])
    assert np.sort(np.unique(solution.policy[inner])).tolist() == pytest.approx([0, 1 / 15])


@pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)
def test_agrees_with_linear_programming(environment, monitor):
    problem = monmdp.make(environment, monitor, discount=0.9999)
    expected = linear_program(problem)
    assert np.abs(monmdp.solve(problem).v - expected).max() < 1e-7 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("limits", [{}, {"SMALL": 0}, {"SMALL": 0, "LARGE": 0}], ids=["LU", "GMRES", "large"])
@pytest.mark.parametrize(("environment", "monitor"), [*PROBLEMS, *HIDDEN])
def test_all_methods_agree(environment, monitor, limits, monkeypatch):
    """Values, ties and returns of policy iteration are those of value iteration, whatever solves its systems."""
    problem = monmdp.make(environment, monitor)
    expected = monmdp.solve(problem)
    use(monkeypatch, FEW_SWEEPS=0, FIRST_SWEEPS=3, **limits)
    found = monmdp.solve(problem)
    for name in ("q", "minimax_q"):
        assert np.abs(getattr(found, name) - getattr(expected, name)).max() < 1e-10
    for name in ("policy", "minimax_policy", "optimal_return", "minimax_return", "cautious_return"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_solutions_are_reproducible():
    one, other = (monmdp.solve(monmdp.make("Hazard", "Experts", discount=0.99999)) for _ in range(2))
    assert np.array_equal(one.q, other.q)


@pytest.mark.parametrize("discount", [0.99999, 1 - 1e-7, 1 - 1e-12, 1 - 1e-16])
def test_the_return_of_an_endless_policy(discount):
    """Always left in River Swim without a step limit: from state 1 or 2, then 0.01 a step for ever in state 0."""
    problem = monmdp.make("RiverSwim(step_limit=None)", discount=discount)
    left = np.tile([1.0, 0.0], (6, 1))
    expected = 0.01 / (1 - discount) * (discount + discount**2) / 2
    assert monmdp.policy_return(problem, left) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("discount", [1 - 1e-12, 1 - 1e-16])
def test_the_return_of_a_policy_that_mixes(discount):
    """Near a discount of 1, the return is the average reward a step divided by 1 − γ."""
    problem = monmdp.make("RiverSwim(step_limit=None)", discount=discount)
    transition, reward = (array.mean(1) for array in matrices(problem))
    balance = np.vstack([transition.T - np.eye(6), np.ones(6)])
    frequency = np.linalg.lstsq(balance, np.eye(7)[6], rcond=None)[0]
    found = monmdp.policy_return(problem, np.full((6, 2), 0.5))
    assert found * (1 - discount) == pytest.approx(frequency @ reward, rel=1e-10)


def test_a_return_without_a_method_is_refused(monkeypatch):
    """A sum over 1e12 steps would never end."""
    monkeypatch.setattr(solve, "methods_for", lambda problem: [])
    with pytest.raises(MonMDPError, match="so close to 1"):
        monmdp.policy_return(monmdp.make("RiverSwim(step_limit=None)", discount=1 - 1e-12), np.full((6, 2), 0.5))


@pytest.mark.parametrize("monitor", ["Full", "Experts"])
@pytest.mark.parametrize("environment", ["Empty", "RiverSwim", "RiverSwim(step_limit=None)"])
def test_a_discount_that_makes_waiting_a_tie_is_refused(environment, monitor):
    for discount in (1 - 1e-9, 1 - 1e-12, 1 - 1e-16):
        with pytest.raises(MonMDPError, match=r"so close to 1 that waiting .* at most 0\.99999999\."):
            monmdp.solve(monmdp.make(environment, monitor, discount=discount))
    assert monmdp.solve(monmdp.make(environment, monitor, discount=0.99999999)).v.max() > 0.9


@pytest.mark.parametrize(("reward", "refused"), [(1e-3, True), (1e3, False), (1e-6, False), (0.0, False)])
def test_the_size_of_rewards_decides(reward, refused):
    """Ties are 1e-9 for rewards between 1e-3 and 1e3, so that a delay of 1e-3 is the first to be one."""
    problem = monmdp.make(Rule(states=(0, 1), actions=("go",), rule=lambda s, a: [Step(1, reward)]), discount=1 - 1e-7)
    if refused:
        with pytest.raises(MonMDPError, match=r"at most 0\.99999\."):
            monmdp.solve(problem)
    else:
        assert monmdp.solve(problem).v == pytest.approx(np.full(2, reward / (1 - problem.discount)), rel=1e-13)


def test_progress_and_interrupt(monkeypatch):
    seen = []
    problem = monmdp.make("Empty", "Experts", discount=0.99999)
    use(monkeypatch, FIRST_SWEEPS=3)
    monmdp.solve(problem, progress=lambda *work: seen.append(work))
    assert seen[0] == (3, 3)
    assert seen[-1] == (144, 144)
    assert all(done <= of == 144 for done, of in seen[1:])

    def stop(done, of):
        if of == 144:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        monmdp.solve(problem, progress=stop)


def test_a_factorisation_can_be_interrupted(monkeypatch):
    release = threading.Event()

    def slow(matrix):
        joins = ("join", "_wait_for_tstate_lock")  # in all versions of Python
        while sys._current_frames()[threading.main_thread().ident].f_code.co_name not in joins:
            release.wait(0.01)
        release.wait(0.01)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # any thread of a process can receive its signals
        release.wait(60)

    monkeypatch.setattr("scipy.sparse.linalg.splu", slow)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            monmdp.solve(monmdp.make("Empty", "Experts", discount=0.99999))
    finally:
        release.set()
        signal.signal(signal.SIGINT, before)
