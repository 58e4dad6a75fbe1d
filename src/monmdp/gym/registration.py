"""Gymnasium ids `monmdp/Empty-v0`, …, and `monmdp/MonMDP-v0` for any problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

from monmdp.environments import ENVIRONMENTS
from monmdp.errors import MonMDPError
from monmdp.join import as_environment, make
from monmdp.problem import MonMDP
from monmdp.registry import construct

if TYPE_CHECKING:
    from monmdp.gym.single import MonitoredEnv
    from monmdp.gym.vector import MonitoredVectorEnv

#: The version in the Gymnasium id of environments whose dynamics have changed since their first release.
VERSIONS: dict[str, int] = {}


def build(environment: Any, monitor: Any, discount: float | None, options: dict[str, Any]) -> MonMDP:
    """A problem from the keyword arguments of gymnasium.make; further options go to the environment."""
    if isinstance(environment, MonMDP):
        if monitor is not None or discount is not None or options:
            raise MonMDPError("A finished MonMDP takes no monitor, discount or options; make it with them instead.")
        return environment
    monitor, discount = "Full" if monitor is None else monitor, 0.99 if discount is None else discount
    if options and isinstance(environment, str):
        environment = construct(ENVIRONMENTS.find(environment), options)
    elif options:
        raise MonMDPError(f"An environment object takes no further options, such as {sorted(options)[0]!r}.")
    return make(as_environment(environment), monitor, discount=discount)


def make_single(
    environment: Any, monitor: Any = None, discount: float | None = None, render_mode: str | None = None, **options: Any
) -> MonitoredEnv:
    """Entry point of gymnasium.make."""
    from monmdp.gym.single import MonitoredEnv

    return MonitoredEnv(build(environment, monitor, discount, options), render_mode=render_mode)


make_single.metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # type: ignore[attr-defined]


def make_vector(
    environment: Any,
    num_envs: int = 1,
    monitor: Any = None,
    discount: float | None = None,
    autoreset_mode: Any = "NEXT_STEP",
    max_episode_steps: int | None = None,
    **options: Any,
) -> MonitoredVectorEnv:
    """Entry point of gymnasium.make_vec; max_episode_steps is Gymnasium's word for the step limit."""
    from monmdp.gym.vector import MonitoredVectorEnv

    if max_episode_steps is not None:
        options["step_limit"] = max_episode_steps
    return MonitoredVectorEnv(build(environment, monitor, discount, options), num_envs, autoreset_mode)


def environment_id(name: str) -> str:
    """The Gymnasium id of an environment, such as monmdp/Empty-v0."""
    return f"monmdp/{name}-v{VERSIONS.get(name, 0)}"


def register_all() -> None:
    """Register every environment, those of plug-ins by name only; harmless to call again."""
    here = __name__
    for name in ("MonMDP", *ENVIRONMENTS.names()):
        if environment_id(name) not in registry:
            register(
                environment_id(name),
                entry_point=f"{here}:make_single",
                vector_entry_point=f"{here}:make_vector",
                kwargs={} if name == "MonMDP" else {"environment": name},
            )
