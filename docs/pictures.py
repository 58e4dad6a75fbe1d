"""Make the pictures of the README and the docs: `python docs/pictures.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import monmdp

FOLDER = Path(__file__).parent / "images"


def played(environment: str, monitor: str, actions: list[tuple[str, str]], seed: int) -> Image.Image:
    """The picture after some actions."""
    problem = monmdp.make(environment, monitor)
    env = monmdp.MonitoredEnv(problem, render_mode="rgb_array")
    env.reset(seed=seed)
    for env_action, monitor_action in actions:
        joint = problem.action_index(env_action, monitor_action)
        parts = problem.split_action(joint)
        env.step({"env": np.int64(parts[0]), "monitor": np.int64(parts[1])})
    return Image.fromarray(env.render())


def main() -> None:
    """Hazard with Button, with the monitor off and on, and One-Way with Ask."""
    down = [("DOWN", "no-op")]
    pictures = [
        played("Hazard", "Button", down, seed=2),
        played("Hazard", "Button", down, seed=1),
        played("Hazard", "Ask", [("RIGHT", "ask")], seed=1),
    ]
    gap = 24
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, max(picture.height for picture in pictures)), "white")
    left = 0
    for picture in pictures:
        sheet.paste(picture, (left, 0))
        left += picture.width + gap
    FOLDER.mkdir(exist_ok=True)
    sheet.save(FOLDER / "problem.png", optimize=True)


if __name__ == "__main__":
    main()
