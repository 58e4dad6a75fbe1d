"""Human feedback has a price: how many answers does an agent need from a person, and when does it stop asking?

FrozenLake with the monitor Ask: rewards are shown only when the agent asks, at a price per question. Prints the tables
of docs/tutorials/human-feedback.md; with FOLDER it also draws its figures.
"""

import argparse
from pathlib import Path

import numpy as np

import monmdp
from monmdp.statistics import steps_until_solved
from monmdp.study.snapshots import take_snapshots

LAKE = "FrozenLake-v1(is_slippery=False)"
SLIPPERY = "FrozenLake-v1"
#: The same agent without regard to costs.
CARELESS = "DirectedModel(cost_weight=0)"
#: Agent → training steps; model-free agents need more.
BUDGETS = {"DirectedModel": 1_000, CARELESS: 1_000, "Directed": 20_000, "Naive": 20_000, "Optimism": 20_000}
SEEDS = 20


def train(environment, monitor, agent, steps=None, seeds=SEEDS, points=200):
    """Train an agent, with `points` evaluations of its policy."""
    problem = monmdp.make(environment, monitor)
    return monmdp.train(problem, agent, seeds=seeds, steps=steps or BUDGETS[agent], points=points)


def needed(curves):
    """Steps and answers after which the learned policy stays optimal, [seed] each; infinite if it never does."""
    steps = steps_until_solved(curves.steps, curves.returns, curves.target_return)
    points = np.searchsorted(curves.steps, np.minimum(steps, curves.steps[-1]))
    answers = curves.observed[np.arange(len(curves.seeds)), points]
    return steps, np.where(np.isfinite(steps), answers, np.inf)


def formatted(value):
    """A number of steps or answers, or a dash if it is infinite."""
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
    print("agent                         steps trained  optimal seeds  steps needed  answers needed  answers in all")
    for agent, budget in BUDGETS.items():
        curves = train(LAKE, "Ask(cost=0.2)", agent)
        steps, answers = (formatted(np.median(values)) for values in needed(curves))
        row = f"{budget:13,} {curves.solved.mean():14.0%} {steps:>13} {answers:>15}"
        print(f"{agent:29} {row} {curves.observed[:, -1].mean():15,.0f}")


def inspect(environment, monitor, seed, steps):
    """Snapshots of a run, rewards known at each, and the index of the first at which all of them are known."""
    inside = take_snapshots(monmdp.make(environment, monitor), "DirectedModel", seed=seed, steps=steps, count=200)
    known = (inside.reward_counts > 0).sum(1)
    return inside, known, int(np.argmax(known == known.max()))


def inspect_one_run():
    inside, known, _ = inspect(LAKE, "Ask(cost=0.2)", seed=1, steps=1_000)
    print("step  rewards known  answers so far  return of the learned policy")
    for k, step in enumerate(inside.steps):
        if step in (0, 25, 50, 75, 100, 200, 500, 1_000):
            print(f"{step:4} {known[k]:14} {inside.observed[k]:15} {inside.returns[k]:29.3f}")


def compare_prices():
    print("price  optimal seeds  answers (median)   (max)  in the last 500 steps    cost  episodes to break even")
    for price in (0.05, 0.5, 5.0):
        curves = train(LAKE, f"Ask(cost={price})", "DirectedModel")
        answers, late = curves.observed[:, -1], curves.observed[:, -1] - curves.observed[:, len(curves.steps) // 2]
        paid = np.median(curves.paid[:, -1])
        row = f"{curves.solved.mean():14.0%} {np.median(answers):17,.0f} {answers.max():7} {np.median(late):22.0f}"
        print(f"{price:5} {row} {paid:7.1f} {np.ceil(paid):23.0f}")


def limit_answers():
    print("limit  optimal seeds  mean return  answers (max)")
    for limit in (10, 20, 30, 40, 50, 60):
        curves = train(LAKE, "Ask(cost=0.2)", f"DirectedModel(answers={limit})", steps=1_000)
        row = f"{curves.solved.mean():14.0%} {curves.returns[:, -1].mean():12.2f} {curves.observed[:, -1].max():14}"
        print(f"{limit:5} {row}")


def compare_answer_rates():
    print("answered  optimal seeds  steps needed  answers needed  questions, about")
    for chance in (1.0, 0.5, 0.2, 0.05):
        curves = train(LAKE, f"Ask(cost=0.2, observability={chance})", "DirectedModel", steps=2_500)
        steps, answers = (np.median(values) for values in needed(curves))
        questions = formatted(answers / chance)
        print(f"{chance:8.0%} {curves.solved.mean():14.0%}", end=" ")
        print(f"{formatted(steps):>13} {formatted(answers):>15} {questions:>17}")


def harder_tasks():
    print("slippery lake:")
    for steps in (1_000, 5_000, 50_000):
        curves = train(SLIPPERY, "Ask(cost=0.2)", "DirectedModel", steps=steps, points=1)
        mean, answers = curves.returns[:, -1].mean(), np.median(curves.observed[:, -1])
        print(f"  {steps:6,} steps: {answers:3.0f} answers, mean return {mean:.2f}, {curves.solved.mean():.0%} optimal")
    curves = train("Taxi-v4", "Ask(cost=1)", "DirectedModel", steps=4_000, seeds=2, points=100)
    pairs = int(curves.problem.reachable.sum()) * 6
    steps, answers = (np.median(values) for values in needed(curves))
    print(f"Taxi: {pairs:,} different rewards; optimal after {steps:,.0f} steps and {answers:,.0f} answers")


def draw_figures(folder):
    """Save the four figures of the tutorial as PNG files."""
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

    colours = {
        "DirectedModel": "#56B4E9",
        CARELESS: "#009E73",
        "Directed": "#0072B2",
        "Naive": "#D55E00",
        "Optimism": "black",
    }
    figure, axes = plt.subplots(figsize=(8.5, 3.2), layout="constrained")
    bought = np.geomspace(5, 5_000, 200)
    for agent, colour in colours.items():
        curves = train(LAKE, "Ask(cost=0.2)", agent)
        after = [_after_answers(curves, seed, bought) for seed in range(SEEDS)]
        axes.plot(bought, np.mean(after, axis=0), color=colour, label=agent)
    axes.axhline(curves.optimal_return, color="grey", ls="--", label="optimum")
    axes.set(xscale="log", xlabel="answers bought", ylabel="return of the learned policy", ylim=(-0.3, 1))
    figure.legend(loc="outside right center")
    figure.savefig(folder / "answers.png", dpi=110)

    inside, known, k = inspect(LAKE, "Ask(cost=0.2)", seed=1, steps=400)
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(inside.steps, inside.observed, color="#D55E00", label="answers so far")
    axes.plot(inside.steps, known, color="#0072B2", label=f"rewards known, of {known.max()}")
    axes.axvline(inside.steps[k], color="grey", ls=":", label="all rewards known")
    axes.set(xlabel="training steps", ylabel="number", ylim=(0, None), xlim=(0, 400))
    axes.legend()
    figure.savefig(folder / "stop-asking.png", dpi=110)

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for chance, shade in zip((1.0, 0.5, 0.2, 0.05), ("#08306b", "#2171b5", "#6baed6", "#bdd7e7"), strict=True):
        curves = train(LAKE, f"Ask(cost=0.2, observability={chance})", "DirectedModel", steps=2_500)
        solved = (curves.returns >= curves.target_return - 1e-6).mean(0)
        axes.plot(curves.steps, 100 * solved, color=shade, label=f"{chance:.0%} of questions answered")
    axes.set(xlabel="training steps", ylabel="seeds with the optimal policy (%)", ylim=(0, 102), xlim=(0, 2_500))
    axes.legend()
    figure.savefig(folder / "patience.png", dpi=110)


def _after_answers(curves, seed, bought):
    """Return of the last evaluated policy that needed at most each number of answers in `bought`."""
    points = np.searchsorted(curves.observed[seed], bought, side="right") - 1
    return curves.returns[seed, points]


SECTIONS = (
    show_problem,
    compare_agents,
    inspect_one_run,
    compare_prices,
    limit_answers,
    compare_answer_rates,
    harder_tasks,
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("pictures", type=Path, nargs="?", metavar="FOLDER")
    pictures = parser.parse_args().pictures
    for section in SECTIONS:
        section()
        print()
    if pictures:
        draw_figures(pictures)
