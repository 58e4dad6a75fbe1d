"""Recording learners written in plain Python: any object that learns from steps and states its greedy policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from monmdp.agents.base import Transition
from monmdp.errors import MonMDPError
from monmdp.exact.solve import policy_return
from monmdp.problem import Floats, MonMDP
from monmdp.simulation import Simulation
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, Target, as_seeds
from monmdp.training.metrics import Tally, count_step, new_record, record_point

#: Called after every recording point with the seed, and the steps done.
Progress = Callable[[int, int], None]


class Learner(Protocol):
    """What `record` calls; states and actions are joint indices of the problem.

    act returns an action, or (action, exploring). One of q [S, A] and policy [S, A] (action probabilities) must be
    there, as an attribute or as a method without arguments. Optional: begin(state) at the start of an episode,
    beta (attribute or method) to record an explore-exploit ratio.
    """

    def act(self, state: int) -> int | tuple[int, bool]:
        """Choose an action."""

    def update(self, transition: Transition) -> None:
        """Learn from one step; transition.proxy_reward is NaN if the reward was hidden."""


def record(
    problem: MonMDP,
    learner: Callable[[MonMDP, int], Learner],
    steps: int,
    seeds: int | Iterable[int] = 1,
    points: int | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Curves:
    """Train a plain Python learner, one fresh object per seed, and evaluate its greedy policy exactly.

    learner: a class or function called with (problem, seed). name: how results call it, by default its own name.
    A seed sees the same random draws of the world as compiled agents do with this seed.
    """
    if not callable(learner):
        raise MonMDPError("record needs a class or function that makes a learner from (problem, seed).")
    target = Target(problem, steps, points, "exact", None)
    chosen, started = as_seeds(seeds), time.perf_counter()
    finished = [_run(target, learner(problem, seed), seed, progress) for seed in chosen]
    label = str(name or getattr(learner, "__name__", type(learner).__name__))
    where = f"{getattr(learner, '__module__', '')}.{getattr(learner, '__qualname__', label)}"
    settings = target.settings(label, where, {})
    return target.collect(settings, chosen, finished, time.perf_counter() - started)


def _run(target: Target, learner: Any, seed: int, progress: Progress | None) -> Finished:
    """Train one learner and record its points."""
    problem = target.problem
    simulation = Simulation(problem, seed)
    visits = np.zeros((problem.n_states, problem.n_actions), np.int64)
    tally, result, step = Tally(0, 0, 0), new_record(len(target.point_steps)), 0
    for point, until in enumerate(target.point_steps):
        while step < until:
            state = simulation.state
            if simulation.elapsed == 0 and hasattr(learner, "begin"):
                learner.begin(state)
            choice = learner.act(state)
            action, exploring = choice if isinstance(choice, tuple) else (choice, False)
            action = _checked_action(problem, action)
            outcome = simulation.step(action)
            visits[state, action] += 1
            transition = Transition(
                step, state, action, int(problem.env_pair[state * problem.n_actions + action]), outcome.next_state,
                outcome.terminated, outcome.env_reward if outcome.observed else np.nan, outcome.monitor_reward,
            )  # fmt: skip
            tally = count_step(tally, transition, outcome.observed, visits[state, action] == 1, bool(exploring))
            learner.update(transition)
            step += 1
            if outcome.terminated or outcome.truncated:
                simulation.restart()
        beta = float(_value(learner, "beta", np.nan))
        record_point(result, point, step, tally, beta, policy_return(problem, _policy(problem, learner)))
        if progress is not None:
            progress(seed, step)
    q = _value(learner, "q", np.full(visits.shape, np.nan))
    tables = {"visits": visits[problem.reachable], "q": np.asarray(q, np.float64)[problem.reachable]}
    return result, {**tables, "reward_model": np.zeros(0), "remarks": []}


def _value(learner: Any, name: str, missing: Any) -> Any:
    """An attribute, or what a method of that name returns."""
    value = getattr(learner, name, missing)
    return value() if callable(value) else value


def _policy(problem: MonMDP, learner: Any) -> Floats:
    """The learner's stated policy [S, A], or the greedy policy of its q, exact ties shared evenly."""
    policy = _value(learner, "policy", None)
    if policy is not None:
        return np.asarray(policy, np.float64)
    q = _value(learner, "q", None)
    if q is None or np.shape(q) != (problem.n_states, problem.n_actions):
        raise MonMDPError(
            f"A learner needs q or policy of shape {(problem.n_states, problem.n_actions)}, not {np.shape(q)}."
        )
    best = np.asarray(q) == np.max(q, axis=1, keepdims=True)
    return np.asarray(best / best.sum(1, keepdims=True), np.float64)


def _checked_action(problem: MonMDP, action: Any) -> int:
    if not hasattr(action, "__index__") or not 0 <= int(action) < problem.n_actions:
        raise MonMDPError(f"act must return a joint action from 0 to {problem.n_actions - 1}, not {action!r}.")
    return int(action)
