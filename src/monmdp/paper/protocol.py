"""The paper's experiments as rows: problems, budgets, learning rates and starting values. Exceptions are rows."""

from __future__ import annotations

from typing import Any

from monmdp.agents.base import Schedule
from monmdp.errors import MonMDPError
from monmdp.exact.structure import visible_env_outcomes
from monmdp.problem import MonMDP

#: Environment → default number of training steps.
DEFAULT_STEPS = {
    "Empty": 5_000,
    "Loop": 5_000,
    "Hazard": 10_000,
    "OneWay": 10_000,
    "Corridor": 30_000,
    "TwoRoom2x11": 5_000,
    "TwoRoom3x5": 10_000,
    "RiverSwim": 20_000,
}

#: Monitor → by how much it multiplies the training steps.
STEP_FACTOR = {"Full": 1, "Random": 1, "Ask": 3, "Button": 2, "Experts": 10, "Level": 20, "Battery": 10}

#: The paper's six monitors.
PAPER_MONITORS = ("Full", "Random", "Ask", "Button", "Experts", "Level")

#: Environment → learning rate; with Experts → where it falls to; anything else learns with 1.
ALPHA: dict[str, tuple[float, float]] = {
    "Hazard": (0.5, 0.5),
    "TwoRoom3x5": (0.5, 0.5),
    "RiverSwim": (0.5, 0.05),
}
FALLING_ALPHA = {"Experts": {"RiverSwim": 0.05}}
FALLING_ALPHA_END = 0.1

#: The baselines of the paper that introduced Mon-MDPs; they learn with 1 everywhere.
AAMAS_AGENTS = ("Oracle", "ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential")
ALPHA_OF_AGENT = dict.fromkeys(AAMAS_AGENTS, 1.0)

#: Where Q starts: agent, then environment, then everybody else.
INITIAL_Q_OF_AGENT = {"Directed": -10.0, **dict.fromkeys(AAMAS_AGENTS, -10.0)}
INITIAL_Q_OF_ENVIRONMENT = {"RiverSwim": 50.0}
INITIAL_Q = 1.0

#: What model-based agents are told: no reward is smaller than this, and no value of a pair is larger. Environments that
#: are not the paper's tell their smallest reward that can be seen: one that cannot is nobody's to tell.
MINIMUM_REWARD_OF_ENVIRONMENT = {"Hazard": -10.0, "Bottleneck": -10.0, "OneWay": -0.1}
MINIMUM_REWARD = 0.0
Q_MAX_OF_ENVIRONMENT = {"RiverSwim": 30.0}
Q_MAX = 1.0


def kind(name: str) -> str:
    """The class behind a name with options: `Ask` of `Ask(cost=0.5)`."""
    return name.split("(", 1)[0]


def paper_steps(problem: MonMDP) -> int:
    """The paper's budget for one of its problems; others must say how long to train."""
    return _budget(problem, problem.environment.name, problem.monitor.name)


def variant_steps(problem: MonMDP) -> int:
    """The paper's budget for one of its problems or a variant of it, such as `Empty + Ask(cost=0.5)`."""
    return _budget(problem, kind(problem.environment.name), kind(problem.monitor.name))


def _budget(problem: MonMDP, environment: str, monitor: str) -> int:
    if environment not in DEFAULT_STEPS or monitor not in STEP_FACTOR:
        raise MonMDPError(f"{problem.name} is not one of the paper's problems, so say how many steps to train.")
    return DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]


def learning_rate(environment: str, monitor: str) -> Schedule:
    """α as the paper set it for an environment and a monitor, both as class names."""
    first, last = ALPHA.get(environment, (1.0, 1.0))
    if monitor in FALLING_ALPHA:
        last = FALLING_ALPHA[monitor].get(environment, FALLING_ALPHA_END)
    return first if first == last else (first, last)


def agent_defaults(problem: MonMDP, agent: str) -> dict[str, Any]:
    """What an agent class takes where its own options leave it open."""
    found = agent_defaults_for(kind(problem.environment.name), kind(problem.monitor.name), agent)
    return {**found, "minimum_reward": minimum_reward(problem)}


def minimum_reward(problem: MonMDP) -> float:
    """The lower bound of rewards that agents know, and by which rewards that can never be seen are feared."""
    environment = kind(problem.environment.name)
    if environment in MINIMUM_REWARD_OF_ENVIRONMENT:
        return MINIMUM_REWARD_OF_ENVIRONMENT[environment]
    if environment in DEFAULT_STEPS:
        return MINIMUM_REWARD
    return float(min(problem.environment.reward[visible_env_outcomes(problem)], default=MINIMUM_REWARD))


def agent_defaults_for(environment: str, monitor: str, agent: str) -> dict[str, Any]:
    """The same by class names; unknown ones get what everybody else gets."""
    by_environment = INITIAL_Q_OF_ENVIRONMENT.get(environment, INITIAL_Q)
    return {
        "alpha": ALPHA_OF_AGENT.get(agent, learning_rate(environment, monitor)),
        "initial_q": INITIAL_Q_OF_AGENT.get(agent, by_environment),
        "minimum_reward": MINIMUM_REWARD_OF_ENVIRONMENT.get(environment, MINIMUM_REWARD),
        "q_max": Q_MAX_OF_ENVIRONMENT.get(environment, Q_MAX),
    }
