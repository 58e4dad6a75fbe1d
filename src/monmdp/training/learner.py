"""Learners in plain Python: any object that learns from steps and states its greedy policy."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from monmdp.agents.base import Agent, Transition
from monmdp.errors import MonMDPError, shown
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.registry import spec_of, written_spec
from monmdp.training.metrics import Tally, count_step, new_record, record_point
from monmdp.world import World

#: Measured seconds of a step and of a recording point; the learner's own time comes on top.
STEP_SECONDS, POINT_SECONDS = 2e-5, 1e-3


class Learner(Protocol):
    """What training in plain Python calls; states and actions are joint indices of the problem.

    act returns an action, or (action, exploring). One of q [S, A] and policy [S, A] (action probabilities) must be
    there, as an attribute or as a method without arguments. Optional: begin(state) at the start of an episode,
    beta (attribute or method) to record an explore-exploit ratio.
    """

    def act(self, state: int) -> int | tuple[int, bool]:
        """Choose an action."""

    def update(self, transition: Transition) -> None:
        """Learn from one step; transition.proxy_reward is NaN if the reward was hidden."""


def is_plain(agent: Any) -> bool:
    """Whether an agent is not a name or a compiled agent, and could make learners in plain Python."""
    compiled = isinstance(agent, (str, Agent)) or (isinstance(agent, type) and issubclass(agent, Agent))
    return not compiled and (callable(agent) or hasattr(agent, "act"))


class PlainAgent:
    """What makes learners in plain Python, in the place of a compiled agent.

    given: a class or function that is called with (problem, seed), or a functools.partial of one with options; or an
    object with the methods of a learner and start(problem, seed), of which every seed gets a copy.
    name: its name in results, by default the class or function with its options.
    """

    device_kernel = None

    def __init__(self, given: Any, name: str | None = None) -> None:
        if isinstance(given, type) and hasattr(given, "start"):
            given = given()
        self._given = given
        written: dict[str, Any] = given.keywords if isinstance(given, partial) else {}
        #: The class or function whose code runs.
        self.source: Any = given.func if isinstance(given, partial) else given
        if not hasattr(self.source, "__name__"):  # an object
            self.source = type(given)
            if dataclasses.is_dataclass(given):
                self.options = {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}
                name = name or spec_of(given)
            else:
                self.options = dict(vars(given)) if hasattr(given, "__dict__") else {}
                written = {key: value for key, value in self.options.items() if np.ndim(value) == 0}
        else:
            self.options = {**_default_options(self.source), **written}
        self.name = str(name or written_spec(self.source.__name__, written))
        if not callable(given) and not hasattr(given, "start"):
            raise MonMDPError(
                f"{self.source.__name__} has act, but no start(problem, seed); add this method, which prepares it for "
                "a run, or pass a class or function that makes a learner from (problem, seed)."
            )

    def learner(self, problem: MonMDP, seed: int) -> Any:
        """A learner before its first step."""
        if hasattr(self._given, "start"):
            learner = copy.deepcopy(self._given)
            learner.start(problem, seed)
        else:
            learner = self._given(problem, seed)
        for method in ("act", "update"):
            if not callable(getattr(learner, method, None)):
                raise MonMDPError(f"A learner needs the methods act and update, which {shown(learner)} does not have.")
        return learner

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Approximate seconds that Python adds to a step and to a recording point."""
        return STEP_SECONDS, POINT_SECONDS


def _default_options(factory: Any) -> dict[str, Any]:
    """The parameters of a class or function with default values, after problem and seed."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())[2:]
    except (TypeError, ValueError):  # compiled code
        return {}
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def interact(
    simulation: Any,
    learner: Any,
    env_pairs: Integers,
    point_steps: Integers,
    evaluate: Callable[[int], float],
    stop: Integers | None = None,
) -> tuple[Any, Integers]:
    """Train a learner in plain Python; returns its record and visit counts [S, A].

    simulation: has the interface of `Simulation`, in live training also `answers`. env_pairs [S * A]: the environment
    pair of each joint pair. evaluate: a function of the number of steps done that returns the return of the learner's
    greedy policy. A non-zero stop [1] ends training and leaves the record incomplete.
    """
    n_states, n_actions = simulation.n_states, simulation.n_actions
    visits, result = np.zeros((n_states, n_actions), np.int64), new_record(len(point_steps))
    sees_everything, late = getattr(learner, "sees_everything", False), getattr(simulation, "answers", None)
    tally, step = Tally(), 0
    for point, until in enumerate(point_steps):
        while step < until:
            if stop is not None and stop[0]:
                return result, visits
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
            new = bool(visits[state, action] == 1)
            tally = count_step(tally, transition, outcome.env_reward, outcome.observed, new, bool(exploring))
            learner.update(transition)
            step += 1
            if outcome.terminated or outcome.truncated:
                simulation.restart()
            for earlier in () if late is None else late(transition):
                tally = tally._replace(observed=tally.observed + 1)
                if not sees_everything:
                    learner.answered(earlier)
        value = evaluate(step)
        record_point(result, point, step, tally, float(value_of(learner, "beta", np.nan)), value)
    return result, visits


def value_of(learner: Any, name: str, missing: Any) -> Any:
    """An attribute, or what a method of that name returns."""
    value = getattr(learner, name, missing)
    return value() if callable(value) else value


def policy_of(problem: MonMDP, learner: Any) -> Floats:
    """The learner's stated policy [S, A], or the greedy policy of its q, exact ties shared evenly."""
    policy = value_of(learner, "policy", None)
    if policy is not None:
        return np.asarray(policy, np.float64)
    q = q_of(problem, learner)
    best = q == np.max(q, axis=1, keepdims=True)
    return np.asarray(best / best.sum(1, keepdims=True), np.float64)


def q_of(problem: MonMDP, learner: Any) -> Floats:
    """The learner's action values [S, A]."""
    q = value_of(learner, "q", None)
    if q is None or np.shape(q) != (problem.n_states, problem.n_actions):
        raise MonMDPError(
            f"A learner needs q or policy of shape {(problem.n_states, problem.n_actions)}, not {np.shape(q)}."
        )
    return np.asarray(q, np.float64)


def _checked_action(n_actions: int, action: Any) -> int:
    if not hasattr(action, "__index__") or not 0 <= int(action) < n_actions:
        raise MonMDPError(f"act must return a joint action from 0 to {n_actions - 1}, not {action!r}.")
    return int(action)
