"""Create the images of the README and the docs: `python docs/pictures.py runs/followup`.

The folder contains the results of `monmdp reproduce --preset agents --out runs/followup`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import monmdp
from monmdp.figures.style import INK, agent_styles, styled
from monmdp.statistics import steps_until_solved
from monmdp.study.results import Results

FOLDER = Path(__file__).parent / "images"


def played_image(environment: str, monitor: str, actions: list[tuple[str, str]], seed: int) -> Image.Image:
    """The rendered problem after some actions."""
    problem = monmdp.make(environment, monitor)
    env = monmdp.MonitoredEnv(problem, render_mode="rgb_array")
    env.reset(seed=seed)
    for env_action, monitor_action in actions:
        joint = problem.action_index(env_action, monitor_action)
        parts = problem.split_action(joint)
        env.step({"env": np.int64(parts[0]), "monitor": np.int64(parts[1])})
    return Image.fromarray(env.render())


def problem_picture() -> None:
    """Draw Hazard with Button, with the monitor off and on, and Hazard with Ask."""
    down = [("DOWN", "no-op")]
    pictures = [
        played_image("Hazard", "Button", down, seed=2),
        played_image("Hazard", "Button", down, seed=1),
        played_image("Hazard", "Ask", [("RIGHT", "ask")], seed=1),
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


#: Agents of the headline figure; the first has a thick line.
HEADLINE = ("DirectedModel", "MonitoredMBIE", "Directed", "Naive", "Intrinsic", "QCounts", "UCB", "Optimism")
#: Minimum vertical distance of labels, in percent of runs.
LABEL_DISTANCE = 6.0


def headline(folder: str) -> None:
    """Draw the fraction of runs solved permanently by each step, with a label at the end of each line."""
    results = Results(folder)
    grid = np.geomspace(100, 20_000, 200)
    shares = {}
    for agent in HEADLINE:
        cells = results.of_agent(agent)
        until = np.concatenate([steps_until_solved(c.steps, c.curve("return"), c.target_return) for c in cells])
        shares[agent] = 100.0 * (until[:, None] <= grid).mean(0)
    styles = agent_styles(HEADLINE)
    with styled():
        figure = Figure(figsize=(7.0, 2.6))
        axes = figure.subplots()
        height = np.inf
        for agent in sorted(HEADLINE, key=lambda agent: -shares[agent][-1]):
            style = styles[agent]
            width = 2.2 if agent == HEADLINE[0] else style.width
            axes.plot(grid, shares[agent], **(style.line | {"linewidth": width}))
            height = min(shares[agent][-1], height - LABEL_DISTANCE)
            last = shares[agent][-1]
            percent = "> 99" if 99.5 <= last < 100.0 else f"{last:.0f}"
            axes.text(20_800, height, f"{agent}  {percent}%", color=style.colour, va="center", fontsize=8)
        axes.set(xscale="log", xlim=(100, 20_000), ylim=(0, 102), xlabel="training steps", ylabel="runs solved (%)")
        axes.set_xticks([100, 300, 1_000, 3_000, 10_000, 20_000], ["100", "300", "1,000", "3,000", "10,000", "20,000"])
        axes.minorticks_off()
        axes.tick_params(colors=INK)
        figure.savefig(FOLDER / "headline.png", dpi=200)


if __name__ == "__main__":
    problem_picture()
    headline(sys.argv[1])
