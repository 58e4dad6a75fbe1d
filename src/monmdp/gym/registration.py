"""Gymnasium ids: `monmdp/Empty-v0` and so on, and `monmdp/MonMDP-v0` for any problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import register, registry

from monmdp.environments import ENVIRONMENTS
from monmdp.errors import MonMDPError
from monmdp.join import make
from monmdp.problem import MonMDP
from monmdp.registry import construct

if TYPE_CHECKING:
    from monmdp.gym.single import MonitoredEnv
    from monmdp.gym.vector import MonitoredVectorEnv

#: The version in the Gymnasium id of environments whose dynamics have changed since their first release.
VERSIONS: dict[str, int] = {}


def build(environment: Any, monitor: Any = None, discount: float | None = None, **options: Any) -> MonMDP:
    """A problem from the keyword arguments of gymnasium.make; additional options are those of the environment."""
    if isinstance(environment, MonMDP):
        if monitor is not None or discount is not None or options:
            raise MonMDPError("A MonMDP object takes no monitor, discount or options; pass them to monmdp.make.")
        return environment
    if options and not isinstance(environment, str):
        raise MonMDPError(f"An environment object takes no additional options, such as {sorted(options)[0]!r}.")
    if options:
        environment = construct(ENVIRONMENTS.find(environment), options)
    return make(environment, "Full" if monitor is None else monitor, discount=0.99 if discount is None else discount)


def make_single(environment: Any, render_mode: str | None = None, **options: Any) -> MonitoredEnv:
    """Entry point of gymnasium.make; see `build` for the options."""
    from monmdp.gym.single import MonitoredEnv

    return MonitoredEnv(build(environment, **options), render_mode=render_mode)


make_single.metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # type: ignore[attr-defined]


def make_vector(
    environment: Any,
    num_envs: int = 1,
    autoreset_mode: Any = "NEXT_STEP",
    max_episode_steps: int | None = None,
    **options: Any,
) -> MonitoredVectorEnv:
    """Entry point of gymnasium.make_vec; max_episode_steps is Gymnasium's name for the step limit."""
    from monmdp.gym.vector import MonitoredVectorEnv

    if max_episode_steps is not None:
        options["step_limit"] = max_episode_steps
    return MonitoredVectorEnv(build(environment, **options), num_envs, autoreset_mode)


def environment_id(name: str) -> str:
    """The Gymnasium id of an environment, such as monmdp/Empty-v0."""
    return f"monmdp/{name}-v{VERSIONS.get(name, 0)}"


def register_all() -> None:
    """Register every environment, without importing plug-ins; repeated calls have no effect."""
    for name in ("MonMDP", *ENVIRONMENTS.names()):
        if environment_id(name) not in registry:
            register(
                environment_id(name),
                entry_point=f"{__name__}:make_single",
                vector_entry_point=f"{__name__}:make_vector",
                kwargs={} if name == "MonMDP" else {"environment": name},
            )
