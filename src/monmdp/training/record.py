"""Recording learners written in plain Python: any object that learns from steps and states its greedy policy."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from monmdp.agents.base import Transition
from monmdp.errors import MonMDPError
from monmdp.exact.solve import policy_return
from monmdp.problem import Floats, Integers, MonMDP
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

    learner: a class or function called with (problem, seed). name: its name in results, by default its own.
    A seed has the same random draws of the world as compiled agents have with this seed.
    """
    if not callable(learner):
        raise MonMDPError("record needs a class or function that makes a learner from (problem, seed).")
    target = Target(problem, steps, points, "exact", None)
    chosen, started = as_seeds(seeds), time.perf_counter()

    def run(seed: int) -> Finished:
        made = learner(problem, seed)

        def evaluate(step: int) -> float:
            if progress is not None:
                progress(seed, step)
            return policy_return(problem, _policy(problem, made))

        result, visits = interact(Simulation(problem, seed), made, problem.env_pair, target.point_steps, evaluate)
        q = np.asarray(_value(made, "q", np.full(visits.shape, np.nan)), np.float64)
        tables = {"visits": visits[problem.reachable], "q": q[problem.reachable]}
        return result, {**tables, "reward_model": np.zeros(0), "remarks": []}

    finished = [run(seed) for seed in chosen]
    label = str(name or getattr(learner, "__name__", type(learner).__name__))
    code = f"{getattr(learner, '__module__', '')}.{getattr(learner, '__qualname__', label)}"
    settings = target.settings(label, code, {})
    return target.collect(settings, chosen, finished, time.perf_counter() - started)


def interact(
    simulation: Any,
    learner: Any,
    env_pairs: Integers,
    point_steps: Integers,
    evaluate: Callable[[int], float],
) -> tuple[Any, Integers]:
    """Train a learner in plain Python; returns its record and visit counts [S, A].

    simulation: has the interface of `Simulation`. env_pairs [S * A]: the environment pair of each joint pair. evaluate:
    a function of the number of steps done that returns the return of the learner's greedy policy.
    """
    n_states, n_actions = simulation.n_states, simulation.n_actions
    visits, result = np.zeros((n_states, n_actions), np.int64), new_record(len(point_steps))
    sees_everything = getattr(learner, "sees_everything", False)
    tally, step = Tally(), 0
    for point, until in enumerate(point_steps):
        while step < until:
            state = simulation.state
            if simulation.elapsed == 0 and hasattr(learner, "begin"):
                learner.begin(state)
            choice = learner.act(state)
            action, exploring = choice if isinstance(choice, tuple) else (choice, False)
            action = _checked_action(n_actions, action)
            outcome = simulation.step(action)
            visits[state, action] += 1
            transition = Transition(
                step, state, action, int(env_pairs[state * n_actions + action]), outcome.next_state,
                outcome.terminated, outcome.env_reward if outcome.observed or sees_everything else np.nan,
                outcome.monitor_reward,
            )  # fmt: skip
            tally = count_step(tally, transition, outcome.observed, bool(visits[state, action] == 1), bool(exploring))
            learner.update(transition)
            step += 1
            if outcome.terminated or outcome.truncated:
                simulation.restart()
        value = evaluate(step)
        record_point(result, point, step, tally, float(_value(learner, "beta", np.nan)), value)
    return result, visits


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


def _checked_action(n_actions: int, action: Any) -> int:
    if not hasattr(action, "__index__") or not 0 <= int(action) < n_actions:
        raise MonMDPError(f"act must return a joint action from 0 to {n_actions - 1}, not {action!r}.")
    return int(action)
