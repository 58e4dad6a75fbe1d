"""The settings of the paper and its follow-up as rows: problems, budgets, learning rates, initial values, bounds.

Exceptions are rows. Everything here is resolved into explicit options and passed down; the library below knows nothing
of it.
"""

from typing import Any

from monmdp.agents.schedules import Schedule
from monmdp.errors import MonMDPError
from monmdp.problem import MonMDP, checked_problem
from monmdp.training.job import Job, job_of

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
#: Monitor → factor on the number of training steps.
STEP_FACTOR = {"Full": 1, "Random": 1, "Ask": 3, "Button": 2, "Experts": 10, "Level": 20, "Battery": 10}
PAPER_MONITORS = ("Full", "Random", "Ask", "Button", "Experts", "Level")
PAPER_AGENTS = ("Directed", "Optimism", "UCB", "QCounts", "Intrinsic", "Naive")
#: The baselines of the paper that introduced Mon-MDPs.
AAMAS_AGENTS = ("Oracle", "ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential")
#: Environments to which the rows below apply: the paper's and the follow-up's.
ENVIRONMENTS = (*DEFAULT_STEPS, "Bottleneck")

#: Environment → first and last learning rate; 1 elsewhere.
ALPHA = {"Hazard": (0.5, 0.5), "TwoRoom3x5": (0.5, 0.5), "RiverSwim": (0.5, 0.05)}
#: Monitor → largest last learning rate.
LAST_ALPHA = {"Experts": 0.1}
#: Environment → initial Q of the agents that start optimistically, and elsewhere.
INITIAL_Q, INITIAL_Q_ELSEWHERE = {"RiverSwim": 50.0}, 1.0
#: Environment → known lower bound of rewards and upper bound of values for model-based agents, and elsewhere.
MINIMUM_REWARD, MINIMUM_REWARD_ELSEWHERE = {"Hazard": -10.0, "Bottleneck": -10.0, "OneWay": -0.1}, 0.0
Q_MAX, Q_MAX_ELSEWHERE = {"RiverSwim": 30.0}, 1.0


def kind(name: str) -> str:
    """The class of a name with options: `Ask` of `Ask(cost=0.5)`."""
    return name.split("(", 1)[0]


def paper_steps(problem: MonMDP, variants: bool = False) -> int:
    """The paper's number of training steps for one of its 48 problems.

    variants: also for problems with other options, such as `Empty + Ask(cost=0.5)`.
    """
    environment, monitor = problem.environment.name, problem.monitor.name
    if variants:
        environment, monitor = kind(environment), kind(monitor)
    if environment not in DEFAULT_STEPS or monitor not in STEP_FACTOR:
        raise MonMDPError(f"{problem.name} is not one of the paper's problems; specify the number of training steps.")
    return DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]


def learning_rate(environment: str, monitor: str) -> Schedule:
    """The paper's α for an environment and a monitor, both as class names."""
    first, last = ALPHA.get(environment, (1.0, 1.0))
    last = min(last, LAST_ALPHA.get(monitor, last))
    return first if first == last else (first, last)


def paper_defaults(problem: MonMDP) -> dict[str, Any]:
    """Values for options that an agent leaves open in the paper's problems and their variants; none elsewhere."""
    environment = kind(problem.environment.name)
    if environment not in ENVIRONMENTS:
        return {}
    return {
        "alpha": learning_rate(environment, kind(problem.monitor.name)),
        "initial_q": INITIAL_Q.get(environment, INITIAL_Q_ELSEWHERE),
        "minimum_reward": MINIMUM_REWARD.get(environment, MINIMUM_REWARD_ELSEWHERE),
        "q_max": Q_MAX.get(environment, Q_MAX_ELSEWHERE),
    }


def paper_job(
    problem: MonMDP,
    agent: Any,
    steps: int | None = None,
    points: int | None = None,
    evaluation: str = "exact",
) -> Job:
    """A job with the paper's settings where the caller and the agent leave them open."""
    length = paper_steps(checked_problem(problem)) if steps is None else steps
    return job_of(problem, agent, length, points, evaluation, paper_defaults(checked_problem(problem)))
