"""What the recipes share: learners with and without filled-in rewards, test episodes, a table and a picture.

A recipe gives two functions. `make(monitor, **options)` makes an environment with a monitor. `train(env, steps, seed,
report)` trains on it and now and then calls report(step, answers, policy), where answers is the number of rewards shown
so far, and policy a function observation → action.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import matplotlib
import numpy as np

import monmdp
from monmdp.progress import print_message, progress_bar
from monmdp.tables import markdown

matplotlib.use("Agg")
#: Name → options of `monitored`, and whether hidden rewards are filled in.
LEARNERS: dict[str, tuple[dict[str, Any], bool]] = {
    "hidden rewards are 0": ({}, False),
    "filled in": ({}, True),
    "filled in, at most 100 answers": ({"budget": 100}, True),
}


class Point(NamedTuple):
    """One test: mean return, environment plus monitor, and answers per episode of the learned policy."""

    cost: float
    learner: str
    seed: int
    step: int
    answers: int
    test_return: float
    test_answers: float


def test_episodes(env: gymnasium.Env, policy: Callable[[Any], Any], episodes: int) -> tuple[float, float]:
    """Mean undiscounted return, the true one, and mean number of answers of test episodes."""
    earned, answers = 0.0, 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1_000 + episode)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            earned += info["env_reward"] + info["monitor_reward"]
            answers += info["reward_observed"]
            over = terminated or truncated
    return earned / episodes, answers / episodes


def compare(
    make: Callable[..., Any],
    train: Callable[..., None],
    make_test: Callable[..., gymnasium.Env] | None = None,
    *,
    costs: Iterable[float],
    steps: int,
    seeds: int,
    title: str,
    plot: Path | None = None,
    episodes: int = 20,
) -> list[Point]:
    """Train every learner at every price of an answer, print a table, and draw the picture if `plot` is given."""
    points: list[Point] = []
    runs = [(cost, name, seed) for cost in costs for name in LEARNERS for seed in range(seeds)]
    with progress_bar(title, print_message) as update:
        for number, (cost, name, seed) in enumerate(runs):
            monitor, (options, filled) = f"Ask(cost={cost:g})", LEARNERS[name]
            env = make(monitor, evaluation_info=False, **options)
            test = (make_test or make)(monitor)

            def report(step: int, answers: int, policy: Callable[[Any], Any]) -> None:
                results = test_episodes(test, policy, episodes)  # noqa: B023 (called in this round of the loop)
                points.append(Point(cost, name, seed, step, answers, *results))  # noqa: B023
                update(number * steps + step, steps * len(runs), f"{monitor}: {name}, seed {seed}")  # noqa: B023

            train(monmdp.fill_rewards(env) if filled else env, steps, seed, report)
    print(table(points))
    if plot is not None:
        draw(points, title, plot)
    return points


def last(points: list[Point], cost: float, learner: str) -> list[Point]:
    """The last test of each seed."""
    chosen = [point for point in points if (point.cost, point.learner) == (cost, learner)]
    return [max((point for point in chosen if point.seed == seed), key=lambda point: point.step)
            for seed in sorted({point.seed for point in chosen})]  # fmt: skip


def table(points: list[Point]) -> str:
    """Means over seeds after training."""
    rows = []
    for cost in dict.fromkeys(point.cost for point in points):
        for learner in LEARNERS:
            final = last(points, cost, learner)
            returns = [point.test_return for point in final]
            rows.append((
                f"{cost:g}", learner, f"{np.mean(returns):.4g}", f"{min(returns):.4g} to {max(returns):.4g}",
                f"{np.mean([point.answers for point in final]):,.0f}",
                f"{np.mean([point.test_answers for point in final]):.1f}",
            ))  # fmt: skip
    header = ("price", "learner", "return", "seeds", "answers bought", "answers per test episode")
    return markdown(header, rows, "rlrrrr")


def draw(points: list[Point], title: str, path: Path) -> None:
    """Return of the learned policy against answers bought so far, one panel for each price, one line for each seed."""
    import matplotlib.pyplot as plt

    costs = list(dict.fromkeys(point.cost for point in points))
    figure, axes = plt.subplots(
        1, len(costs), figsize=(4 * len(costs), 3.2), sharey=True, squeeze=False, layout="constrained"
    )
    for cost, panel in zip(costs, axes[0], strict=True):
        for color, learner in zip(("#b3362b", "#1f5fa8", "#2f8f5b"), LEARNERS, strict=True):
            for seed in sorted({point.seed for point in points}):
                line = [p for p in points if (p.cost, p.learner, p.seed) == (cost, learner, seed)]
                answers, returns = [p.answers for p in line], [p.test_return for p in line]
                label = learner if seed == 0 else None
                panel.plot(answers, returns, "o-", color=color, markersize=3, linewidth=1, alpha=0.8, label=label)
        panel.set(title=f"an answer costs {cost:g}", xlabel="answers bought", xscale="symlog")
    axes[0, 0].set_ylabel("return of the learned policy")
    figure.suptitle(title)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
