"""What an agent is: options, a memory of arrays, and kernels over that memory.

The training loop calls, at every step, `act` and `update`; `begin` before the first step of an episode; `plan` and
`beta` at recording points. Optional abilities are separate protocols at the end of this file.
"""

from __future__ import annotations

import dataclasses
import math
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, ClassVar, NamedTuple, Protocol, cast, get_args, get_type_hints, runtime_checkable

import numpy as np

from monmdp.agents.schedules import Schedule, schedule
from monmdp.errors import MonMDPError
from monmdp.exact.structure import Bounds
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats
from monmdp.registry import Declared, Registry, is_built_in
from monmdp.world import World

#: Kernels whose replacement in a subclass ends an inherited device kernel.
KERNELS = ("act", "update", "begin", "plan")
#: Options of these types can be fields of a memory.
FIELD_TYPES = (bool, int, float, str, tuple, np.generic, np.ndarray)


class Transition(NamedTuple):
    """One training step as an agent sees it: joint state and action, what followed, and NaN for a hidden reward.

    env_pair is the environment's part of (state, action), to which rewards belong.
    """

    step: int
    state: int
    action: int
    env_pair: int
    next_state: int
    terminated: bool
    proxy_reward: float
    monitor_reward: float


@kernel
def no_beta(memory, step):
    """NaN, for agents without an explore-exploit ratio."""
    return math.nan


@kernel
def no_begin(memory, state, step):
    """Do nothing at the beginning of an episode."""


@kernel
def no_plan(memory, step):
    """Do nothing before an evaluation, since q is always up to date."""


@dataclass(frozen=True, kw_only=True)
class Agent(Declared):
    """Options of one way to learn; subclasses add options, a memory and kernels.

    memory(world, steps, seed) returns a named tuple with at least q [S, A], whose greedy policy is evaluated, and
    visits [S * A], which the loop increments before every update. Kernels:
    act(memory, state, draws) returns (action, exploring); draws are this step's random numbers, see `choices`.
    update(memory, transition) learns from one step.
    begin(memory, state, step) is called before the first step of an episode.
    plan(memory, step) brings q up to date before it is evaluated.
    beta(memory, step) returns the explore-exploit ratio to record.
    sees_everything: the loop passes the true reward to update even if it was hidden.
    device_kernel: "warp" if the kernels also compile for a GPU, "block" for Directed's own GPU kernel, None if the
    agent runs on CPUs only. A subclass that replaces a kernel must declare it again.
    revision: increased when the agent gives other numbers than before with the same settings.
    An option whose value is None takes its value from `defaults`. Options of a user's class are fields of its memory,
    and its kernels may be static methods, which are compiled.
    """

    act: ClassVar[Any]
    update: ClassVar[Any]
    beta: ClassVar[Any] = no_beta
    begin: ClassVar[Any] = no_begin
    plan: ClassVar[Any] = no_plan
    sees_everything: ClassVar[bool] = False
    device_kernel: ClassVar[str | None] = None
    revision: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        for name in (*KERNELS, "beta"):
            function = getattr(vars(cls).get(name), "__func__", vars(cls).get(name))
            if isinstance(function, FunctionType):
                setattr(cls, name, inlined(function))
        replaced = any(name in vars(cls) for name in KERNELS)
        if replaced and "device_kernel" not in vars(cls):
            cls.device_kernel = None

    def memory(self, world: World, steps: int, seed: int) -> Any:
        """The arrays an agent starts with."""
        raise MonMDPError(f"{type(self).__name__} does not declare its memory.")

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        """Values of options that are None, computed from bounds on the problem's rewards and values."""
        return {}

    def filled(self, values: Mapping[str, Any]) -> Agent:
        """The same agent with `values` in place of options that are None."""
        own = {field.name for field in dataclasses.fields(self)}
        missing = {name: value for name, value in values.items() if name in own and getattr(self, name) is None}
        return dataclasses.replace(self, **missing)


def own_options(kind: Any) -> dict[str, Any]:
    """The options that a user's class adds to those of this package, with their annotations."""
    known = {field.name for base in kind.__mro__ if is_built_in(base) and dataclasses.is_dataclass(base)
             for field in dataclasses.fields(base)}  # fmt: skip
    try:
        hints = get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # annotations that refer to names that do not exist at run time
        hints = {}
    return {field.name: hints.get(field.name) for field in dataclasses.fields(kind) if field.name not in known}


def new_memory(agent: Any, world: World, steps: int, seed: int) -> Any:
    """The memory of an agent, in which the options of a user's class are fields, unless it has such fields itself."""
    memory = agent.memory(world, steps, seed)
    if is_built_in(type(agent)):
        return memory
    if not {"q", "visits"} <= set(getattr(memory, "_fields", ())):
        raise MonMDPError(
            f"memory of {type(agent).__name__} must return a named tuple with at least q and visits, "
            f"not {type(memory).__name__}."
        )
    added = {}
    for name, hint in own_options(type(agent)).items():
        value, kinds = getattr(agent, name), (hint, *get_args(hint))
        if Schedule in kinds:
            value = schedule(value, steps, f"The option {name!r} of {type(agent).__name__}")
        elif isinstance(value, list):
            value = np.array(value)
        elif float in kinds and isinstance(value, int):  # one type for 1 and 0.5, so that nothing is compiled twice
            value = float(value)
        if name not in memory._fields and isinstance(value, FIELD_TYPES):
            added[name] = value
    module, kind = type(agent).__module__, cast(Any, type(memory))
    return _extended(module, kind, tuple(added))(*memory, *added.values()) if added else memory


@cache
def _extended(module: str, kind: Any, names: tuple[str, ...]) -> Any:
    """A named tuple class with further fields, the same at every call, since each is compiled apart."""
    return namedtuple(kind.__name__, (*kind._fields, *names), module=module)


#: Agents with networks and the module that has them, which is imported when one of them is looked up.
DEEP = dict.fromkeys(
    (
        "DeepDirected", "DeepNaive", "DeepIntrinsic", "BootstrappedDQN", "DeepCautious", "DeepOracle", "DeepZero",
        "DeepIgnore",
    ),
    "monmdp.deep.agents",
)  # fmt: skip
#: The same with tables of pictures.
HASHED = {"HashDirectedModel": "monmdp.deep.hashed"}
AGENTS: Registry[Agent] = Registry("agent", Agent, DEEP | HASHED)


@runtime_checkable
class HasJob(Protocol):
    """An agent that does not run in the compiled loop."""

    def job(
        self, problem: Any, steps: int, points: int | None, evaluation: str, defaults: Mapping[str, Any] | None
    ) -> Any:
        """The job of this agent in a problem; arguments as for `training.job.Job`."""

    def check_device(self, device: str) -> None:
        """Raise an error if the agent cannot run on the device "cpu", "cuda" or "auto"."""


@runtime_checkable
class HasLive(Protocol):
    """An agent whose live training is its own; it takes vector environments too."""

    def live(
        self, env: Any, test_env: Any, seed: int, point_steps: Any, discount: float, rewards: Any, values: Any,
        tests: Any,
    ) -> Any:  # fmt: skip
        """One seed with a method `train`, as `training.live.LiveRun`; rewards, values: their ranges, or None."""


@runtime_checkable
class HasGoal(Protocol):
    """An agent that explores toward a goal, for `watch` and the page."""

    def goal(self, memory: Any) -> tuple[int, Floats]:
        """The goal pair, -1 for none, and the values [S, A] that lead to it."""


@runtime_checkable
class HasRemarks(Protocol):
    """An agent that reports what it concluded about environment pairs."""

    def remarks(self, memory: Any) -> list[tuple[int, str]]:
        """Environment pairs and what to report about them, such as why their reward was given up."""


@runtime_checkable
class HasDiscovery(Protocol):
    """An agent that must know when live training enters a state for the first time."""

    def discovered(self, memory: Any) -> None:
        """Take new pairs into account."""


@runtime_checkable
class HasLateAnswers(Protocol):
    """An agent that can use rewards that arrive steps or episodes later, in live training."""

    def answered(self, memory: Any, transition: Transition) -> None:
        """Learn the reward of an earlier transition, which was counted before; `step` is the current one."""


@runtime_checkable
class HasSeededMemory(Protocol):
    """An agent whose memories of different seeds differ in few fields, so that a GPU can share the others."""

    def seeded(self, world: World, seed: int) -> dict[str, np.ndarray]:
        """The fields that differ between seeds, by name."""


@runtime_checkable
class HasMemoryEstimate(Protocol):
    """An agent whose memory is larger than a few numbers per pair."""

    def memory_bytes(self, world: World, steps: int) -> int:
        """Approximate size of the memory of one run."""


@runtime_checkable
class HasTimeEstimate(Protocol):
    """An agent that plans, so that a step takes longer than a table update."""

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Approximate seconds that planning adds to a step and to a recording point."""


def memory_bytes(agent: Agent, world: World, steps: int = 0) -> int:
    """Approximate size of an agent's memory: two numbers per pair, unless the agent knows better."""
    if isinstance(agent, HasMemoryEstimate):
        return agent.memory_bytes(world, steps)
    return 16 * world.n_states * world.n_actions
