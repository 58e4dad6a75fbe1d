"""A car in a valley learns from few answers: tabular agents on binned observations.

The reward is 1 at the flag and 0 elsewhere. It is seen only if the agent asks, at a price per answer. Takes one to two
minutes.
"""

import gymnasium
import tyro
from comparing import Options, Run, draw, table

import monmdp
from monmdp.progress import print_message, progress_bar

AGENTS = ("Naive(alpha=0.2)", "Directed(alpha=0.2)", "DirectedModel")
DEFAULT = Options(steps=10_000, cost=0.01, budgets=(30, 100, 300, 1_000, 0))


class FlagOnly(gymnasium.Wrapper):
    """Pays 1 at the flag instead of -1 per step, and repeats every action eight times, so that it leaves its bin."""

    def step(self, action):
        for _ in range(8):
            observation, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                break
        return observation, float(terminated), terminated, truncated, info


def car(cost, budget=None):
    """The car with the monitor Ask, which shows at most `budget` rewards."""
    env = FlagOnly(gymnasium.make("MountainCar-v0", max_episode_steps=1_000))
    return monmdp.monitored(env, f"Ask(cost={cost:g})", budget=budget)


def main(options):
    runs, plan = [], [(agent, budget) for agent in AGENTS for budget in options.budgets]
    with progress_bar("MountainCar", print_message) as update:
        for number, (agent, budget) in enumerate(plan):
            update(number, len(plan), f"{agent}, {budget or 'no limit'}")
            curves = monmdp.train_live(
                car(options.cost, budget or None),
                agent=agent,
                steps=options.steps,
                points=1,
                seeds=options.seeds,
                discount=0.97,
                reward_range=(0.0, 1.0),
                discretizer=monmdp.Bins(16),
                test_env=car(options.cost),
            )
            ends = zip(curves.observed[:, -1], curves.undiscounted_returns[:, -1], strict=True)
            runs += [Run(agent, budget, int(answers), earned) for answers, earned in ends]
    print(table(runs))
    if options.plot is not None:
        draw(runs, f"MountainCar in 16 × 16 bins\nan answer costs {options.cost:g}", options.plot)


if __name__ == "__main__":
    main(tyro.cli(Options, default=DEFAULT, description=__doc__))
