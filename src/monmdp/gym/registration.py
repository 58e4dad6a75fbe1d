"""Gymnasium ids: `monmdp/Empty-v0` and so on, `monmdp/MonMDP-v0` for any problem, and `monmdp/PointMaze-v0`."""

from gymnasium.envs.registration import register, registry

from monmdp.environments import ENVIRONMENTS

#: The version in the Gymnasium id of environments whose dynamics have changed since their first release.
VERSIONS: dict[str, int] = {}


def environment_id(name: str) -> str:
    """The Gymnasium id of an environment, such as monmdp/Empty-v0."""
    return f"monmdp/{name}-v{VERSIONS.get(name, 0)}"


def register_all() -> None:
    """Register every environment, without importing plug-ins; repeated calls have no effect."""
    if (maze := environment_id("PointMaze")) not in registry:  # continuous, so not among the others
        register(maze, entry_point="monmdp.gym.point_maze:PointMaze", max_episode_steps=200)
    for name in ("MonMDP", *ENVIRONMENTS.names()):
        if environment_id(name) not in registry:
            register(
                environment_id(name),
                entry_point="monmdp.gym.single:MonitoredEnv",
                vector_entry_point="monmdp.gym.vector:MonitoredVectorEnv",
                kwargs={} if name == "MonMDP" else {"environment": name},
            )
