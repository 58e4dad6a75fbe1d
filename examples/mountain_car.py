"""A car in a valley learns from few answers: tabular agents on binned observations, return against answers bought.

Takes one to two minutes. The reward is 1 at the flag and 0 elsewhere; it is seen only when asked for, at 0.01 a time.
"""

import gymnasium

import monmdp


class FlagOnly(gymnasium.Wrapper):
    """Pays 1 at the flag instead of -1 per step, and repeats every action eight times, so that it leaves its bin."""

    def step(self, action):
        for _ in range(8):
            observation, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                break
        return observation, float(terminated), terminated, truncated, info


def car(budget=None):
    """The car with the monitor Ask, which shows at most `budget` rewards."""
    env = FlagOnly(gymnasium.make("MountainCar-v0", max_episode_steps=1_000))
    return monmdp.monitored(env, "Ask(cost=0.01)", budget=budget)


RUNS = [("Naive(alpha=0.2)", None), ("Directed(alpha=0.2)", None), ("DirectedModel(answers=100)", None)]
RUNS += [("DirectedModel", budget) for budget in (30, 100, 300, 1_000, None)]

if __name__ == "__main__":
    print(f"{'agent':28} {'budget':>8} {'answers':>8} {'return':>8} {'at the flag':>12}")
    for agent, budget in RUNS:
        curves = monmdp.train_live(
            car(budget),
            agent=agent,
            steps=10_000,
            points=1,
            seeds=3,
            discount=0.97,
            reward_range=(0.0, 1.0),
            discretizer=monmdp.Bins(16),
            test_env=car(),
        )
        reached, answers = (curves.undiscounted_returns[:, -1] > 0.5).mean(), curves.observed[:, -1].mean()
        print(f"{agent:28} {budget or '-':>8} {answers:8,.0f} {curves.final_return:8.2f} {reached:12.0%}", flush=True)
