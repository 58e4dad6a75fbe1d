"""Human feedback has a price: how many answers does an agent need from a person, and when may it stop asking?

FrozenLake behind the monitor Ask: rewards are shown only when a person is asked, at a price per question. Prints the
tables of docs/tutorials/human-feedback.md; `--pictures FOLDER` also draws its pictures.
"""

import argparse
from pathlib import Path

import numpy as np

import monmdp
from monmdp.statistics import steps_until_solved
from monmdp.study.snapshots import take_snapshots

LAKE = "FrozenLake-v1(is_slippery=False)"
SLIPPERY = "FrozenLake-v1"
#: Agent → training steps; those without a model need more.
BUDGETS = {"DirectedModel": 1_000, "Directed": 20_000, "Naive": 20_000, "Optimism": 20_000}
SEEDS = 20


def lesson(environment, monitor, agent, steps=None, seeds=SEEDS, points=200):
    """Train; the learned policy is evaluated `points` times on the way."""
    problem = monmdp.make(environment, monitor)
    return monmdp.train(problem, agent, seeds=seeds, steps=steps or BUDGETS[agent], points=points)


def needed(curves):
    """Steps and answers until the learned policy is optimal for good, [seed] each; infinite where it never is."""
    steps = steps_until_solved(curves.steps, curves.returns, curves.target_return)
    points = np.searchsorted(curves.steps, np.minimum(steps, curves.steps[-1]))
    answers = curves.observed[np.arange(len(curves.seeds)), points]
    return steps, np.where(np.isfinite(steps), answers, np.inf)


def amount(value):
    """A number of steps or answers, or a dash where it was never reached."""
    return f"{value:,.0f}" if np.isfinite(value) else "–"


def show_problem():
    problem = monmdp.make(LAKE, "Ask(cost=0.2)")
    solution = monmdp.solve(problem)
    pairs = int(problem.reachable.sum()) * len(problem.environment.actions)
    asks = sum(solution.policy[problem.start > 0][:, problem.action_index(0, "ask") :: 2].sum(1))
    print(f"best return: {solution.optimal_return:.3f}")
    print(f"different rewards (state and action): {pairs}")
    print(f"chance that the best policy asks at the start: {asks:.0%}")


def compare_agents():
    print("agent          steps trained  optimal seeds  steps needed  answers needed  answers in all")
    for agent, budget in BUDGETS.items():
        curves = lesson(LAKE, "Ask(cost=0.2)", agent)
        steps, answers = (amount(np.median(found)) for found in needed(curves))
        told = f"{budget:13,} {curves.solved.mean():14.0%} {steps:>13} {answers:>15}"
        print(f"{agent:14} {told} {curves.observed[:, -1].mean():15,.0f}")


def look_inside(environment, monitor, seed, steps):
    """A run from inside, and the first moment at which every reward has been seen."""
    inside = take_snapshots(monmdp.make(environment, monitor), "DirectedModel", seed=seed, steps=steps, count=200)
    known = (inside.reward_counts > 0).sum(1)
    return inside, known, int(np.argmax(known == known.max()))


def watch_one_run():
    inside, known, _ = look_inside(LAKE, "Ask(cost=0.2)", seed=0, steps=1_000)
    print("step  rewards known  answers so far  return of the learned policy")
    for k, step in enumerate(inside.steps):
        if step in (0, 25, 50, 75, 100, 200, 500, 1_000):
            print(f"{step:4} {known[k]:14} {inside.observed[k]:15} {inside.returns[k]:29.3f}")


def compare_prices():
    print("price  answers until all is known  (most)  optimal then  10 steps later    bill  episodes to earn it back")
    for price in (0.05, 0.5, 5.0):
        runs = [look_inside(LAKE, f"Ask(cost={price})", seed, 400) for seed in range(SEEDS)]
        answers = [int(inside.observed[k]) for inside, _, k in runs]
        optimal = [np.mean([is_optimal(inside, k + later) for inside, _, k in runs]) for later in (0, 5)]
        paid = np.median(answers)
        told = f"{paid:27} {max(answers):7} {optimal[0]:13.0%} {optimal[1]:15.0%}"
        print(f"{price:5} {told} {price * paid:7.1f} {np.ceil(price * paid):25.0f}")


def is_optimal(inside, k):
    """Whether the policy learned until moment k is the best one."""
    return inside.returns[k] >= inside.optimal_return - 1e-6


def compare_patience():
    print("answered  optimal seeds  steps needed  answers needed  questions, about")
    for chance in (1.0, 0.5, 0.2, 0.05):
        curves = lesson(LAKE, f"Ask(cost=0.2, observability={chance})", "DirectedModel", steps=2_500)
        steps, answers = (np.median(found) for found in needed(curves))
        told = f"{curves.solved.mean():14.0%} {amount(steps):>13} {amount(answers):>15} {amount(answers / chance):>17}"
        print(f"{chance:8.0%} {told}")


def harder_worlds():
    inside, known, k = look_inside(SLIPPERY, "Ask(cost=0.2)", seed=0, steps=5_000)
    curves = lesson(SLIPPERY, "Ask(cost=0.2)", "DirectedModel", steps=5_000, seeds=10, points=1)
    print(f"slippery lake: seed 0 has seen all {known.max()} rewards after {inside.steps[k]} steps", end=" ")
    print(f"({inside.observed[k]} answers); its policy earns {inside.returns[k]:.2f} then,")
    print(f"  and all ten seeds {curves.returns[:, -1].mean():.2f} after 5,000 steps, of {curves.optimal_return:.2f}")
    curves = lesson("Taxi-v4", "Ask(cost=1)", "DirectedModel", steps=4_000, seeds=2, points=100)
    pairs = int(curves.problem.reachable.sum()) * 6
    steps, answers = (np.median(found) for found in needed(curves))
    print(f"Taxi: {pairs:,} different rewards; optimal after {steps:,.0f} steps and {answers:,.0f} answers")


def draw_pictures(folder):
    """Lake, what answers buy, when to stop, and how patience matters, as PNG files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
    folder.mkdir(parents=True, exist_ok=True)
    env = monmdp.MonitoredEnv(monmdp.make(LAKE, "Ask(cost=0.2)"), render_mode="rgb_array")
    frames = []
    for asked in (0, 1):
        env.reset(seed=0)
        for move in (1, 1, 2, 2, 1, 2):
            env.step({"env": move, "monitor": asked})
        frames += [env.render(), np.full((*env.render().shape[:1], 24, 3), 255, np.uint8)]
    Image.fromarray(np.hstack(frames[:-1])).save(folder / "lake.png", optimize=True)

    colours = {"DirectedModel": "#56B4E9", "Directed": "#0072B2", "Naive": "#D55E00", "Optimism": "black"}
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    bought = np.geomspace(5, 5_000, 200)
    for agent, colour in colours.items():
        curves = lesson(LAKE, "Ask(cost=0.2)", agent)
        after = [_after_answers(curves, seed, bought) for seed in range(SEEDS)]
        axes.plot(bought, np.mean(after, axis=0), color=colour, label=agent)
    axes.axhline(curves.optimal_return, color="grey", ls="--", label="optimum")
    axes.set(xscale="log", xlabel="answers bought", ylabel="return of the learned policy", ylim=(-0.3, 1))
    axes.legend()
    figure.savefig(folder / "answers.png", dpi=110)

    inside, known, k = look_inside(LAKE, "Ask(cost=0.2)", seed=0, steps=400)
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(inside.steps, inside.observed, color="#D55E00", label="answers so far")
    axes.plot(inside.steps, known, color="#0072B2", label=f"rewards known, of {known.max()}")
    axes.axvline(inside.steps[k], color="grey", ls=":", label="nothing new to hear")
    axes.set(xlabel="training steps", ylabel="number", ylim=(0, None), xlim=(0, 400))
    axes.legend()
    figure.savefig(folder / "stop-asking.png", dpi=110)

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for chance, shade in zip((1.0, 0.5, 0.2, 0.05), ("#08306b", "#2171b5", "#6baed6", "#bdd7e7"), strict=True):
        curves = lesson(LAKE, f"Ask(cost=0.2, observability={chance})", "DirectedModel", steps=2_500)
        solved = (curves.returns >= curves.target_return - 1e-6).mean(0)
        axes.plot(curves.steps, 100 * solved, color=shade, label=f"{chance:.0%} of questions answered")
    axes.set(xlabel="training steps", ylabel="seeds with the optimal policy (%)", ylim=(0, 102), xlim=(0, 2_500))
    axes.legend()
    figure.savefig(folder / "patience.png", dpi=110)


def _after_answers(curves, seed, bought):
    """Return of the last policy that was evaluated before more than so many answers were paid for."""
    points = np.searchsorted(curves.observed[seed], bought, side="right") - 1
    return curves.returns[seed, points]


SECTIONS = (show_problem, compare_agents, watch_one_run, compare_prices, compare_patience, harder_worlds)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--pictures", type=Path)
    pictures = parser.parse_known_args()[0].pictures
    for section in SECTIONS:
        section()
        print()
    if pictures:
        draw_pictures(pictures)
