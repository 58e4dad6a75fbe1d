"""The sweeps of the paper, of its follow-up, of the ablations and of random problems, by name."""

from collections.abc import Iterable

from monmdp.agents.base import DEEP, HASHED
from monmdp.errors import MonMDPError, nearest, shown
from monmdp.paper.random_problems import FAMILIES, FIRST_REPORTED, random_problem
from monmdp.protocol import AAMAS_AGENTS, DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS
from monmdp.study.sweep import Sweep

#: The four environments of the paper's main figure.
MAIN_ENVIRONMENTS = ("Empty", "Hazard", "OneWay", "RiverSwim")
#: The agents of the follow-up comparison, each with and without a known monitor.
MODEL_AGENTS = ("DirectedModel", "MonitoredMBIE")
KNOWING_AGENTS = tuple(f"{agent}(known_monitor=True)" for agent in MODEL_AGENTS)
#: The follow-up's unsolvable problems: rewards in the bottleneck's column are never shown, the others with chance ρ.
UNSOLVABLE_MONITORS = tuple(
    f"{monitor}({options}never_observable='column', observability={chance})"
    for monitor, options in {
        "FullRandom": "rho=1.0, ",
        "Ask": "",
        "Button": "end_cost=0.0, cell=31, action='DOWN', ",
        "Experts": "",
        "PaidExperts": "",
        "Level": "",
    }.items()
    for chance in (1.0, 0.8, 0.2, 0.05)
)
#: DirectedModel, and the same agent without each of its ideas.
ABLATIONS = (
    "DirectedModel",
    "DirectedModel(pool_environment=False)",
    "DirectedModel(pool_monitor=False)",
    "DirectedModel(pessimism=False)",
    "DirectedModel(observe=False)",
    "DirectedModel(beta_certain=1000000.0, beta_uncertain=1000000.0)",
    "DirectedModel(cost_weight=0.0)",
    "DirectedModel(reward_per_outcome=False)",
)
#: Larger problems for deep agents: environment → a button far from the start, and training steps where more are needed.
HARD = {
    "Bottleneck": "Button(cell=(5, 1), action='DOWN')",
    "Empty(rows=12, columns=12)": "Button(cell=(0, 11), action='RIGHT')",
    "KeyDoor(size=9)": "Button(cell=(0, 3), action='UP')",
    "Layouts(n_layouts=8, size=4)": "Button(cell=(0, 6), action='UP')",
    "DeepSea(size=12)": "Button",
    "DeepSea(size=20)": "Button",
    "DeepSea(size=30)": "Button",
    "Corridor(length=60)": "Button(cell=(0, 30), action='UP')",
    "Empty(rows=18, columns=18)": "Button(cell=(0, 17), action='RIGHT')",
}
HARD_STEPS, MORE_STEPS = 40_000, {"DeepSea(size=30)": 60_000}
#: Agents there, with bins by the range: values of actions differ by less than 1%, and costs of feedback widen it.
HARD_AGENTS = (*(f"{name}(bins=None)" for name in DEEP), *HASHED)
#: Agents in environments without a table, and the monitors there.
LIVE_OPTIONS = "hidden=(64, 64), last_learning_rate=0.1, last_tracking=1.0, bins=9, codes=64"
LIVE_AGENTS = (
    f"DeepDirected({LIVE_OPTIONS}, beta_bar=3.0)",
    f"DeepNaive({LIVE_OPTIONS}, epsilon=(0.5, 0.0))",
    f"DeepOracle({LIVE_OPTIONS}, epsilon=(0.5, 0.0))",
)
LIVE_MONITORS = ("Full", "Ask", "Button", "Battery(n=3)")
EPSILONS = ("(1.0, 0.0)", "(0.5, 0.0)", "(0.2, 0.0)", "0.2", "0.1")

ALL_AGENTS = (*PAPER_AGENTS, *AAMAS_AGENTS, *MODEL_AGENTS)


def random_sweeps(problem_seeds: Iterable[int]) -> tuple[Sweep, ...]:
    """Every agent in one problem of each family per seed, a sweep per problem."""
    problems = [(random_problem(name, seed), family) for seed in problem_seeds for name, family in FAMILIES.items()]
    return tuple(
        Sweep([environment], [monitor], ALL_AGENTS, seeds=5, steps=family.steps, points=100)
        for (environment, monitor), family in problems
    )


def live_sweep(*environments: str) -> Sweep:
    """Agents with networks in environments without a table."""
    return Sweep(environments, LIVE_MONITORS, LIVE_AGENTS, seeds=3, points=20, discount=0.98)


PRESETS: dict[str, Sweep | tuple[Sweep, ...]] = {
    # The paper: 48 problems × 6 agents × 100 seeds.
    "paper": Sweep(),
    # The 24 problems of the main figure, a few minutes.
    "quick": Sweep(environments=MAIN_ENVIRONMENTS, seeds=20),
    # Ablation: five schedules of ε for Directed and the ε-greedy baselines.
    "epsilon": Sweep(
        environments=MAIN_ENVIRONMENTS,
        agents=[f"{name}(epsilon={value})" for name in PAPER_AGENTS if name != "Optimism" for value in EPSILONS],
        seeds=20,
    ),
    # Ablation: baselines that start from the pessimistic Q of Directed.
    "pessimism": Sweep(agents=[f"{agent}(initial_q=-10.0)" for agent in PAPER_AGENTS[2:]], seeds=20),
    # Ablation: first-visit against occupancy successor functions.
    "successors": Sweep(agents=["Directed", "Directed(successor_target='occupancy')"], seeds=20),
    # Noise: a reward that would be observed is observed with probability 0.8.
    "observability": Sweep(monitors=[f"{monitor}(observability=0.8)" for monitor in PAPER_MONITORS], seeds=20),
    # Noise: Gaussian noise of 0.01 on every reward.
    "reward-noise": Sweep(environments=[f"{name}(reward_noise=0.01)" for name in DEFAULT_STEPS], seeds=20),
    # DirectedModel in the paper's 48 problems with a tenth of the training steps.
    "tenth": Sweep(agents=["DirectedModel"], budget=0.1, points=100),
    # DirectedModel without each of its ideas, with a tenth of the training steps.
    "ablation": Sweep(agents=ABLATIONS, budget=0.1, seeds=20, points=100),
    # The paper's 48 problems with the follow-up's 20,000 steps: its agents, and every agent.
    "followup": Sweep(agents=[*MODEL_AGENTS, *KNOWING_AGENTS], steps=20_000, seeds=30, points=200),
    "agents": Sweep(agents=ALL_AGENTS, steps=20_000, seeds=30, points=200),
    # The first 4,000 steps of DirectedModel with and without a known monitor, recorded every ten.
    "known-monitor": Sweep(agents=[MODEL_AGENTS[0], KNOWING_AGENTS[0]], steps=4_000, seeds=30, points=400),
    # The follow-up's 24 problems with rewards that can never be observed.
    "unsolvable": Sweep(
        environments=["Bottleneck"],
        monitors=UNSOLVABLE_MONITORS,
        agents=[*MODEL_AGENTS, *KNOWING_AGENTS],
        steps=50_000,
        seeds=30,
        points=250,
    ),
    # Theorem 1 at 10⁷ steps, where its bound is below 1: three policies toward goals, the last one a random walk.
    "theorem": Sweep(
        environments=["Empty(rows=2, columns=2)", "RiverSwim"],
        monitors=["Full", "Ask"],
        agents=["Directed", "Directed(epsilon=0.1)", "Directed(random_goal_policy=True)"],
        steps=10_000_000,
        seeds=5,
    ),
    # The paper's 48 problems from pixels: DeepDirected, its rivals and a table of pictures.
    "deep": Sweep(agents=(*DEEP, *HASHED), steps=20_000, seeds=30, points=200),
    # Larger problems from pixels, some with deep exploration, keys and new layouts.
    "deep-hard": tuple(
        Sweep(
            [name],
            ["Full", "Ask", button, "Level", "Battery(n=3)"],
            HARD_AGENTS,
            seeds=30,
            steps=MORE_STEPS.get(name, HARD_STEPS),
            points=200,
        )
        for name, button in HARD.items()
    ),
    # Environments without a table, with continuous observations, and of another package.
    "deep-continuous": live_sweep("MountainCar", "Acrobot", "CartPole", "PointMaze"),
    "deep-foreign": live_sweep("MiniGrid", "LunarLander"),
    # Random problems: those whose results are reported, and others for development.
    "random": random_sweeps(range(FIRST_REPORTED, FIRST_REPORTED + 20)),
    "random-tuning": random_sweeps(range(20)),
}


def preset(name: str) -> Sweep | tuple[Sweep, ...]:
    """The sweep, or the sweeps, of a preset."""
    if name not in PRESETS:
        raise MonMDPError(f"There is no preset called {shown(name)}. {nearest(name, PRESETS)}")
    return PRESETS[name]
