"""A scene as text for a terminal."""

from dataclasses import dataclass

from monmdp.problem import MonMDP

#: Characters for tiles in a terminal; other tiles are shown as they are.
GLYPHS = {".": "·", "<": "◁", ">": "▷", "^": "△", "v": "▽", "#": "█", "P": "◍", "~": "≈", "=": "≈"}
ARROWS = {"LEFT": "←", "DOWN": "↓", "RIGHT": "→", "UP": "↑", "STAY": "•"}


def action_symbol(label: str) -> str:
    """An arrow for a move, the first two letters for any other action."""
    return ARROWS.get(label, label[:2].lower())


@dataclass(frozen=True)
class Scene:
    """The agent's state and the result of the last step; `shown_reward` is None while the reward is hidden."""

    state: int
    action: int | None = None
    shown_reward: float | None = None
    monitor_reward: float = 0.0
    elapsed: int = 0
    ended: bool = False

    def step_text(self, problem: MonMDP) -> str:
        """The number of steps, such as `step 3 of 50`."""
        limit = "" if problem.step_limit is None else f" of {problem.step_limit}"
        return f"step {self.elapsed}{limit}" + (", episode over" if self.ended else "")

    def action_text(self, problem: MonMDP) -> str:
        """The last action, such as `RIGHT + ask`."""
        if self.action is None:
            return "none yet"
        env_action, monitor_action = problem.split_action(self.action)
        text = str(problem.environment.actions[env_action])
        return text if len(problem.monitor.actions) == 1 else f"{text} + {problem.monitor.actions[monitor_action]}"

    def reward_text(self) -> str:
        """The last reward, such as `seen: 1` or `hidden`."""
        if self.action is None:
            return "none yet"
        return "hidden" if self.shown_reward is None else f"seen: {self.shown_reward:g}"


def draw_text(problem: MonMDP, scene: Scene) -> str:
    """The grid with the agent as @ and a button as ◉, followed by monitor, action and reward."""
    env_state, monitor_state = problem.split_state(scene.state)
    states = " ".join(f"[{s}]" if i == monitor_state else f" {s} " for i, s in enumerate(problem.monitor.states))
    picture = [f"state {problem.environment.state_label(env_state)}"]
    layout = problem.environment.layout
    if layout is not None:
        rows = [[GLYPHS.get(tile, tile) for tile in tiles] for tiles in layout.tiles]
        for state, mark in {**dict.fromkeys(problem.monitor.landmarks, "◉"), env_state: "@"}.items():
            row, column = layout.cells[state]
            rows[row][column] = mark
        rows = [row[layout.shown(env_state)] for row in rows]
        bar = "─" * (2 * len(rows[0]) + 1)
        picture = [f"┌{bar}┐", *(f"│ {' '.join(row)} │" for row in rows), f"└{bar}┘"]
    lines = [
        f"{problem.name}, {scene.step_text(problem)}",
        *picture,
        f"monitor  {states}",
        f"action   {scene.action_text(problem)}",
        f"reward   {scene.reward_text()}, monitor {scene.monitor_reward:g}",
    ]
    return "\n".join(lines) + "\n"
