"""Agents with networks in continuous environments and in MiniGrid, through `monmdp.monitored`.

Two sets: deep-continuous (MountainCar, Acrobot, CartPole, a point maze; rewards always shown, shown if asked, after a
button at a place, or with a limited battery) and deep-foreign (MiniGrid). Every run is one file in the folder; runs
that are there are skipped, so that the same command continues. Needs monmdp[deep], and minigrid for deep-foreign.

A run takes minutes on one core. The table has (J - J_random) / (J_oracle - J_random), where J is the mean true return
of test episodes with the last policy, less what it pays for answers.
"""

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np
import tyro

import monmdp
from monmdp.files import write_atomically
from monmdp.progress import print_message, progress_bar
from monmdp.tables import markdown
from monmdp.training.curves import half_width

EPISODES = 20


class Repeated(gymnasium.Wrapper):
    """Repeats every action, so that it changes what is seen."""

    def __init__(self, env: gymnasium.Env, times: int) -> None:
        super().__init__(env)
        self._times = times

    def step(self, action: Any) -> Any:
        earned = 0.0
        for _ in range(self._times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            earned += reward
            if terminated or truncated:
                break
        return observation, earned, terminated, truncated, info


class World(NamedTuple):
    """An environment: how to make it, the range of its rewards, where its button is, and training steps."""

    make: Callable[[], gymnasium.Env]
    rewards: tuple[float, float]
    button: Callable[[Any, Any], bool]
    steps: int


def room() -> gymnasium.Env:
    """A room of MiniGrid with a goal; the agent sees an image of codes."""
    from minigrid.wrappers import ImgObsWrapper

    return ImgObsWrapper(gymnasium.make("MiniGrid-Empty-5x5-v0"))


WORLDS = {
    "deep-continuous": {
        "MountainCar": World(
            lambda: Repeated(gymnasium.make("MountainCar-v0"), 4),
            (-4.0, 0.0),
            lambda seen, action: seen[0] < -1.0 and action == 0,
            20_000,
        ),
        "Acrobot": World(
            lambda: Repeated(gymnasium.make("Acrobot-v1"), 4),
            (-4.0, 0.0),
            lambda seen, action: seen[4] > 4.0 and action == 2,
            20_000,
        ),
        "CartPole": World(
            lambda: gymnasium.make("CartPole-v1"),
            (0.0, 1.0),
            lambda seen, action: seen[0] < -1.0 and action == 0,
            40_000,
        ),
        "PointMaze": World(
            lambda: gymnasium.make("monmdp/PointMaze-v0"),
            (0.0, 1.0),
            lambda seen, action: seen[0] < 0.2 and seen[1] > 0.8 and action == 2,
            20_000,
        ),
    },
    "deep-foreign": {"MiniGrid": World(room, (0.0, 1.0), lambda seen, action: action == 5, 20_000)},
}
MONITORS = ("Full", "Ask", "Button", "Battery")
AGENTS = {
    "DeepDirected": "DeepDirected(every=2, beta_bar=2.0)",
    "DeepNaive": "DeepNaive(every=2)",
    "DeepOracle": "DeepOracle(every=2)",
}


@dataclass(frozen=True)
class Options:
    """What is trained."""

    out: Path
    """The folder of results."""
    preset: Literal["deep-continuous", "deep-foreign"] = "deep-continuous"
    """The set of problems."""
    worlds: tuple[str, ...] = ()
    """Some of its environments; all by default."""
    monitors: tuple[str, ...] = MONITORS
    """Some of the monitors."""
    agents: tuple[str, ...] = tuple(AGENTS)
    """Some of the agents; the table needs DeepOracle."""
    seeds: int = 3
    """Runs of each agent in each problem."""
    steps: int | None = None
    """Training steps; by default those of the environment."""
    workers: int = 1
    """Processes side by side."""


class Cell(NamedTuple):
    """One run."""

    preset: str
    world: str
    monitor: str
    agent: str
    seed: int
    steps: int

    @property
    def file(self) -> str:
        """The name of its file."""
        return "-".join(map(str, self[1:])) + ".json"


def problem(cell: Cell) -> gymnasium.Env:
    """The environment of a run with its monitor."""
    world = WORLDS[cell.preset][cell.world]
    place = {"at": world.button} if cell.monitor == "Button" else {}
    return monmdp.monitored(world.make(), cell.monitor, **place)


def random_return(cell: Cell) -> float:
    """Mean return of test episodes with random actions."""
    env, earned = problem(cell), 0.0
    env.action_space.seed(0)
    for episode in range(EPISODES):
        env.reset(seed=episode)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            earned += info["env_reward"] + info["monitor_reward"]
            over = terminated or truncated
    return earned / EPISODES


def run(cell: Cell) -> dict[str, Any]:
    """Train one cell; what its file has."""
    curves = monmdp.train_live(
        problem(cell),
        agent=AGENTS[cell.agent],
        steps=cell.steps,
        seed=cell.seed,
        points=10,
        reward_range=WORLDS[cell.preset][cell.world].rewards,
        test_env=problem(cell),
        test_episodes=EPISODES,
    )
    return {
        **cell._asdict(),
        "options": curves.agent,
        "returns": curves.undiscounted_returns[0].tolist(),
        "observed": curves.observed[0].tolist(),
        "random": random_return(cell),
        "seconds": curves.seconds,
    }


def table(results: list[dict[str, Any]]) -> str:
    """One row per problem and agent."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for each in results:
        groups.setdefault((each["world"], each["monitor"], each["agent"]), []).append(each)
    rows = []
    for (world, monitor, agent), runs in sorted(groups.items()):
        oracle = [each["returns"][-1] for each in groups.get((world, monitor, "DeepOracle"), [])]
        last = np.array([each["returns"][-1] for each in runs])
        low, high = runs[0]["random"], np.mean(oracle) if oracle else np.nan
        scores = (last - low) / (high - low) if high != low else np.full(len(last), np.nan)
        width = half_width(scores)
        answers = np.mean([each["observed"][-1] for each in runs])
        rows.append(
            (
                f"{world} + {monitor}",
                agent,
                f"{last.mean():.4g}",
                f"{scores.mean():.2f}" + ("" if np.isnan(width) else f" ± {width:.2f}"),
                f"{answers:,.0f}",
                f"{answers / runs[0]['steps']:.1%}",
                str(len(runs)),
            )
        )
    names = ("problem", "agent", "return", "normalised", "answers", "rewards seen", "seeds")
    return markdown(names, rows)


def main(options: Options) -> None:
    worlds = WORLDS[options.preset]
    chosen = [
        Cell(options.preset, world, monitor, agent, seed, options.steps or worlds[world].steps)
        for world in options.worlds or worlds
        for monitor in options.monitors
        for agent in options.agents
        for seed in range(options.seeds)
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    left = [cell for cell in chosen if not (options.out / cell.file).exists()]
    with (
        progress_bar(options.preset, print_message) as update,
        ProcessPoolExecutor(options.workers, get_context("spawn")) as pool,
    ):
        futures = {pool.submit(run, cell): cell for cell in left}
        for done, future in enumerate(as_completed(futures), 1):
            cell = futures[future]
            write_atomically(options.out / cell.file, json.dumps(future.result()).encode())
            update(done, len(left), cell.file)
    results = [json.loads((options.out / cell.file).read_text()) for cell in chosen]
    text = table(results)
    write_atomically(options.out / "table.md", text.encode())
    print(text)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
