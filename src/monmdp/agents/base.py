"""What an agent is: options, a memory of arrays, and kernels `act`, `update` and `beta` over that memory."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import uniform
from monmdp.problem import Floats, Integers
from monmdp.registry import Registry, spec_of
from monmdp.rng import stream
from monmdp.world import World

#: A constant, (first, last) for a line from the first step to the last, or one number a step.
Schedule = float | Sequence[float]


@kernel
def no_beta(memory, step):
    """For agents without an explore-exploit ratio."""
    return math.nan


@kernel
def no_begin(memory, state, step):
    """For agents that do nothing special when an episode begins."""


@kernel
def no_plan(memory, step):
    """For agents whose q is always ready."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Options of one way to learn; subclasses add theirs, a memory and the kernels.

    act(memory, state, step, key) → (action, exploring): draws 2·step and 2·step + 1 of the stream are its own.
    update(memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step):
    proxy_reward is NaN where the reward was not shown.
    beta(memory, step) → the explore-exploit ratio to record, NaN where there is none.
    Where needed: begin(memory, state, step) is called before the first step of an episode, and
    plan(memory, step) before q is evaluated.
    sees_everything: the loop passes the true reward to update, shown or not; what is recorded as observed stays
    what the monitor showed.
    memory(world, steps, seed) → a named tuple with at least q [S, A], from which the greedy policy is
    evaluated, and visits [S * A], which the loop increments before every update.
    """

    def __post_init__(self) -> None:
        check.options(self)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if str(field.type).startswith("Schedule") and value is not None:
                schedule_values(value, f"The option {field.name!r} of {type(self).__name__}")

    act: ClassVar[Any]
    update: ClassVar[Any]
    beta: ClassVar[Any] = no_beta
    begin: ClassVar[Any] = no_begin
    plan: ClassVar[Any] = no_plan
    sees_everything: ClassVar[bool] = False

    def memory(self, world: World, steps: int, seed: int) -> Any:
        """The arrays an agent starts with."""
        raise MonMDPError(f"{type(self).__name__} does not declare its memory.")

    def seeded(self, world: World, seed: int) -> dict[str, Any] | None:
        """The fields of its memory that differ between seeds, by name; None where only a whole memory tells."""
        return None

    def memory_bytes(self, world: World, steps: int = 0) -> int:
        """About how much memory one run of so many steps needs: its tables, and two schedules."""
        return 16 * world.n_states * world.n_actions + 16 * steps

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """About how much planning adds to a step and to a recording point, for estimates and the order of runs."""
        return 0.0, 0.0

    def resolved(self, defaults: dict[str, Any]) -> Agent:
        """The same agent with the given defaults in place of options that are None."""
        own = {field.name for field in dataclasses.fields(self)}
        missing = {k: v for k, v in defaults.items() if k in own and getattr(self, k) is None}
        return dataclasses.replace(self, **missing)

    def discovered(self, memory: Any) -> None:
        """Called by the live loop when a state was seen for the first time: its pairs may be goals from now on."""

    def aim(self, memory: Any) -> tuple[int, Floats]:
        """For whoever looks inside: the pair the agent is after, -1 for none, and values toward it, [S, A]."""
        return -1, np.full(memory.q.shape, np.nan)

    def remarks(self, memory: Any) -> list[tuple[int, str]]:
        """What the agent has to say in the end about environment pairs, such as why it gave one up."""
        return []

    @property
    def name(self) -> str:
        """The text that builds an equal agent."""
        return spec_of(self)


AGENTS: Registry[Agent] = Registry("agent", Agent)


def schedule(given: Any, steps: int, what: str) -> Floats:
    """A schedule as one number a step, [steps], that nobody may change: linear from t = 0 to t = steps - 1."""
    return read_only(_schedule(given, steps, what))


def _schedule(given: Any, steps: int, what: str) -> Floats:
    values = schedule_values(given, what)
    if values.ndim == 0:
        return np.full(steps, values)
    if values.shape == (steps,):
        return values
    if values.shape != (2,):
        raise MonMDPError(f"{what} must be a number, (first, last), or {steps} numbers, one a step.")
    line: Floats = values[0] + (values[1] - values[0]) * (np.arange(steps) / max(steps - 1, 1))
    return line


def read_only(values: np.ndarray) -> np.ndarray:
    """A view that cannot be written, so that all seeds of a cell may share it."""
    view = values.view()
    view.flags.writeable = False
    return view


@lru_cache(maxsize=64)
def logarithms(upto: int) -> Floats:
    """log 0, log 1, … log `upto`, by the C library: every backend reads the same numbers."""
    return read_only(np.array([-math.inf, *map(math.log, range(1, upto + 1))]))


@kernel
def fill_guesses(key, guesses):
    """R̂ before anything was seen: uniform in [-0.1, 0.1], by the stream of this key."""
    for pair in range(len(guesses)):
        guesses[pair] = 0.2 * uniform(key, pair) - 0.1


def schedule_values(given: Any, what: str) -> Floats:
    """The numbers of a schedule, as far as they can be checked before the number of steps is known."""
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} must be a number, (first, last), or one number a step, not {given!r}.") from None
    if values.ndim > 1 or given is None:
        raise MonMDPError(f"{what} must be a number, (first, last), or one number a step.")
    if not np.all((values >= 0) & (values <= 1)):
        raise MonMDPError(f"{what} must stay between 0 and 1.")
    return values


@dataclass(frozen=True, kw_only=True)
class QLearner(Agent):
    """Q-learning on joint states and actions with a model of the rewards that it cannot see.

    alpha: learning rate; None takes the paper's for its environments and monitors and 1 elsewhere.
    epsilon: chance of a random action.
    initial_q: where Q starts; None takes the paper's, -10 for Directed, 50 in RiverSwim and 1 for the others.
    """

    alpha: Schedule | None = None
    epsilon: Schedule = (1.0, 0.0)
    initial_q: float | None = None

    def guesses(self, world: World, seed: int) -> Floats:
        """The reward model before anything was seen, [environment pairs]."""
        guesses = np.zeros(world.n_env_pairs)
        fill_guesses(np.uint64(stream(seed, "reward model")), guesses)
        return guesses

    def seeded(self, world: World, seed: int) -> dict[str, Any] | None:
        return {"reward_model": self.guesses(world, seed)}

    def common(self, world: World, steps: int, seed: int) -> QMemory:
        """The memory that all Q-learners share."""
        if self.alpha is None or self.initial_q is None:
            raise MonMDPError(f"{type(self).__name__} needs alpha and initial_q before it can start.")
        initial = check.finite(self.initial_q, "The initial Q-value")
        return QMemory(
            q=np.full((world.n_states, world.n_actions), initial),
            visits=np.zeros(world.n_states * world.n_actions, np.int64),
            reward_model=self.guesses(world, seed),
            reward_counts=np.zeros(world.n_env_pairs, np.int64),
            alpha=schedule(self.alpha, steps, "The learning rate"),
            epsilon=schedule(self.epsilon, steps, "The chance of a random action"),
            discount=world.discount,
        )


class QMemory(NamedTuple):
    """Q̂ [S, A], visit counts N [S * A], R̂ and its counts [environment pairs], schedules [steps], γ."""

    q: Floats
    visits: Integers
    reward_model: Floats
    reward_counts: Integers
    alpha: Floats
    epsilon: Floats
    discount: float


def extended_memory(module: str, name: str, **fields: Any) -> Any:
    """QMemory with further fields; the class must be found under its name in its module for the kernel cache."""
    made: Any = NamedTuple(name, [*QMemory.__annotations__.items(), *fields.items()])  # type: ignore[misc]
    made.__module__ = module
    return made


@inlined
def learn_reward(memory, env_pair, proxy_reward):
    """R̂(sE,aE): the first reward seen replaces the guess, later ones make it the running mean."""
    if not math.isnan(proxy_reward):
        memory.reward_counts[env_pair] += 1
        error = proxy_reward - memory.reward_model[env_pair]
        if memory.reward_counts[env_pair] == 1:
            memory.reward_model[env_pair] = proxy_reward
        else:
            memory.reward_model[env_pair] += error / memory.reward_counts[env_pair]
    return memory.reward_model[env_pair]


@kernel
def largest(values):
    """The most of some values."""
    most = values[0]
    for value in values[1:]:
        most = max(most, value)
    return most


@kernel
def smallest(values):
    """The least of some values."""
    least = values[0]
    for value in values[1:]:
        least = min(least, value)
    return least


@kernel
def largest_value(q, state):
    """max Q(s,·)."""
    best = q[state, 0]
    for action in range(1, q.shape[1]):
        best = max(best, q[state, action])
    return best


@inlined
def learn_q(memory, state, action, next_state, terminated, reward, step):
    """Q(s,a) += α (r + γ max Q(s′,·) − Q(s,a)), without bootstrapping after termination."""
    target = reward
    if not terminated:
        target += memory.discount * largest_value(memory.q, next_state)
    memory.q[state, action] += memory.alpha[step] * (target - memory.q[state, action])


@inlined
def update_q_learner(
    memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step
):  # fmt: skip
    """Q-learning with R̂ + rM as the reward, observed now or not."""
    reward = learn_reward(memory, env_pair, proxy_reward) + monitor_reward
    learn_q(memory, state, action, next_state, terminated, reward, step)
