"""`monmdp watch`: see an agent explore, in the terminal."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tyro
from rich.console import Console
from rich.live import Live

from monmdp import check
from monmdp.cli.keys import Keys
from monmdp.errors import MonMDPError, nearest

if TYPE_CHECKING:
    from reference.loop import Stepped

    from monmdp.render.learning import Insight

FASTEST, SLOWEST = 4096, 1


@dataclass(frozen=True)
class Watch:
    """See an agent learn: where it is, where it goes, what it has visited and what it would do.

    Keys: + faster, - slower, space pauses, s one step, q quits.
    """

    environment: tyro.conf.Positional[str]
    """An environment, such as Empty."""
    monitor: tyro.conf.Positional[str] = "Full"
    """A monitor, such as Ask."""
    agent: str = "Directed"
    """An agent, such as Directed, with options as in "Directed(beta_bar=0.1)"."""
    seed: int = 0
    """Which run to watch."""
    steps: int | None = None
    """Training steps; for the paper's 48 problems, the paper's budget by default."""
    fps: float = 10.0
    """Pictures a second."""
    speed: int = 1
    """Training steps a picture, to begin with."""

    def run(self, console: Console) -> None:
        """Play a learning run until it ends or a key stops it."""
        from reference.agents import PLAIN_AGENTS, plain_agent
        from reference.loop import training

        from monmdp.join import make
        from monmdp.paper.protocol import agent_defaults, paper_steps
        from monmdp.render.learning import Insight
        from monmdp.training.job import as_agent

        problem = make(self.environment, self.monitor)
        steps = paper_steps(problem) if self.steps is None else check.whole(self.steps, 1, "The number of steps")
        pause = 1.0 / check.at_least(self.fps, 0.1, "The number of pictures a second")
        given = as_agent(self.agent)
        kind = type(given).__name__
        if kind not in PLAIN_AGENTS:
            raise MonMDPError(f"{kind} cannot be watched. {nearest(kind, PLAIN_AGENTS)}")
        options: Any = given.resolved(agent_defaults(problem, kind))
        learner = plain_agent(options, problem, steps, check.whole(self.seed, 0, "The seed"))
        insight = Insight(problem, learner, given.name, steps)
        speed = max(SLOWEST, min(FASTEST, check.whole(self.speed, 1, "The speed")))
        _show(console, training(problem, learner, steps, self.seed), insight, speed, pause)


def _show(console: Console, run: Any, insight: Insight, speed: int, pause: float) -> None:
    """Advance, draw, listen; on a terminal the last picture stays on the screen."""
    paused = False
    with Keys() as keys, Live(console=console, auto_refresh=False, screen=False) as live:
        stepped: Stepped | None = None
        while True:
            started = time.monotonic()
            for _ in range(0 if paused else speed):
                stepped = next(run, None)
                if stepped is None:
                    break
                insight.note(stepped)
            live.update(insight.picture(speed, paused), refresh=True)
            if stepped is None and not paused:
                return
            left = max(0.0, pause - (time.monotonic() - started))
            for key in keys.pressed(left):
                if key in "qQ\x1b":
                    return
                if key == " ":
                    paused = not paused
                elif key in "+=":
                    speed = min(FASTEST, speed * 2)
                elif key in "-_":
                    speed = max(SLOWEST, speed // 2)
                elif key in "sS" and paused:
                    stepped = next(run, None)
                    if stepped is not None:
                        insight.note(stepped)
            rest = pause - (time.monotonic() - started)
            if rest > 0 and math.isfinite(rest):
                time.sleep(rest)
