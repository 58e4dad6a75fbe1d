"""What there is to see at one moment of a game."""

from __future__ import annotations

from dataclasses import dataclass

from monmdp.problem import MonMDP


@dataclass(frozen=True)
class Scene:
    """Where the agent is, and what the last step did; `shown_reward` is None while the reward is hidden."""

    state: int
    action: int | None = None
    shown_reward: float | None = None
    monitor_reward: float = 0.0
    elapsed: int = 0
    ended: bool = False


def step_text(problem: MonMDP, scene: Scene) -> str:
    """For instance `step 3 of 50`."""
    limit = "" if problem.step_limit is None else f" of {problem.step_limit}"
    return f"step {scene.elapsed}{limit}" + (", episode over" if scene.ended else "")


def action_text(problem: MonMDP, scene: Scene) -> str:
    """For instance `RIGHT + ask`."""
    if scene.action is None:
        return "none yet"
    env_action, monitor_action = problem.split_action(scene.action)
    words = [str(problem.environment.actions[env_action])]
    if len(problem.monitor.actions) > 1:
        words.append(str(problem.monitor.actions[monitor_action]))
    return " + ".join(words)


def reward_text(scene: Scene) -> str:
    """For instance `seen: 1` or `hidden`."""
    if scene.action is None:
        return "none yet"
    return "hidden" if scene.shown_reward is None else f"seen: {scene.shown_reward:g}"
