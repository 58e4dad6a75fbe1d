"""What the recipes share: learners with and without filled-in rewards, test episodes, a table and a picture.

A recipe gives two functions. `make(monitor, **options)` makes an environment with a monitor. `train(env, steps, seed)`
returns a policy, a function observation → action, and the number of rewards that were shown in training.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import matplotlib
import numpy as np
from matplotlib.figure import Figure

import monmdp
from monmdp.progress import print_message, progress_bar
from monmdp.tables import markdown

#: Learner → whether hidden rewards are filled in.
LEARNERS = {"hidden rewards are 0": False, "filled in": True}
COLORS = ("#b3362b", "#1f5fa8", "#2f8f5b")


@dataclass(frozen=True)
class Options:
    """What is compared."""

    steps: int
    """Training steps of a run."""
    cost: float = 2.0
    """Price of an answer."""
    budgets: tuple[int, ...] = (1, 10, 100, 0)
    """The number of rewards that are shown at most; 0 is no limit."""
    seeds: int = 3
    """Runs with each budget."""
    plot: Path | None = None
    """File of the picture."""


class Run(NamedTuple):
    """A trained policy: answers bought in training, mean return, environment plus monitor, of test episodes."""

    learner: str
    budget: int
    answers: int
    test_return: float


def evaluate(env: gymnasium.Env, policy: Callable[[Any], Any], episodes: int = 20) -> float:
    """Mean undiscounted return of test episodes: true rewards, less what the policy pays for answers."""
    earned = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1_000 + episode)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            earned += info["env_reward"] + info["monitor_reward"]
            over = terminated or truncated
    return earned / episodes


def compare(
    title: str,
    options: Options,
    make: Callable[..., Any],
    train: Callable[..., tuple[Callable[[Any], Any], int]],
    make_test: Callable[..., gymnasium.Env] | None = None,
) -> None:
    """Train both learners with every budget, print a table, and draw the picture if a file is given."""
    monitor, runs = f"Ask(cost={options.cost:g})", list[Run]()
    plan = [(name, budget, seed) for name in LEARNERS for budget in options.budgets for seed in range(options.seeds)]
    with progress_bar(title, print_message) as update:
        for number, (name, budget, seed) in enumerate(plan):
            update(number, len(plan), f"{name}, {_limit(budget)}, seed {seed}")
            env = make(monitor, evaluation_info=False, budget=budget or None)
            policy, answers = train(monmdp.fill_rewards(env) if LEARNERS[name] else env, options.steps, seed)
            runs.append(Run(name, budget, answers, evaluate((make_test or make)(monitor), policy)))
    print(table(runs))
    if options.plot is not None:
        draw(runs, f"{title}\nan answer costs {options.cost:g}", options.plot)


def _limit(budget: int) -> str:
    return f"at most {budget:,}" if budget else "no limit"


def table(runs: list[Run]) -> str:
    """Means over seeds after training."""
    groups: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.learner, run.budget), []).append(run)
    rows = []
    for (learner, budget), group in groups.items():
        returns = [run.test_return for run in group]
        answers, mean = np.mean([run.answers for run in group]), np.mean(returns)
        row = f"{answers:,.0f}", f"{mean:.4g}", f"{min(returns):.4g} to {max(returns):.4g}"
        rows.append((learner, _limit(budget), *row))
    return markdown(("learner", "answers", "answers bought", "return", "seeds"), rows, "llrrr")


def draw(runs: list[Run], title: str, path: Path) -> None:
    """Return of the learned policy against answers bought in training; a point for each run, a line for the means."""
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    panel = figure.add_subplot()
    for color, learner in zip(COLORS, dict.fromkeys(run.learner for run in runs), strict=False):
        points = np.array([(run.budget, run.answers, run.test_return) for run in runs if run.learner == learner])
        panel.scatter(points[:, 1], points[:, 2], s=14, color=color, alpha=0.6)
        means = np.array([points[points[:, 0] == budget].mean(0) for budget in np.unique(points[:, 0])])
        means = means[means[:, 1].argsort()]
        panel.plot(means[:, 1], means[:, 2], color=color, label=learner)
    panel.set(xlabel="answers bought in training", ylabel="return of the learned policy", xscale="log", title=title)
    panel.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
