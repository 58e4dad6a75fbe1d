"""Options of agents with neural networks; nothing here needs JAX.

All agents share one loop (`learner`): double Q-learning on R̂ + r_M from replay, with networks in place of tables.

DeepDirected:     explores toward the least visited pair, guided by the reach network Ŝ; otherwise greedy on Q
DeepNaive:        ε-greedy
DeepIntrinsic:    ε-greedy; the target has a bonus for novelty: b / √N(s,a), or an error of prediction (`novelty`)
BootstrappedDQN:  greedy on one head of Q per episode; heads differ by random priors and by what they learn from
DeepCautious:     ε-greedy; a reward is the mean of the k smallest of n estimates
DeepOracle:       ε-greedy; sees every reward, hidden or not
DeepZero:         ε-greedy; takes a hidden reward for zero
DeepIgnore:       ε-greedy; learns Q only from steps whose reward was observed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from monmdp import check
from monmdp.agents.base import Agent
from monmdp.agents.schedules import Schedule
from monmdp.check import Count, Discount, NonNegative, Probability
from monmdp.errors import MonMDPError, shown
from monmdp.exact.structure import Bounds
from monmdp.problem import Integers, MonMDP
from monmdp.training.job import Job
from monmdp.world import World

#: Features of a pair, if novelty is distilled.
FEATURES = 16
#: Measured on one core, Empty and larger problems with Ask and Level: seconds of a product of two numbers in an update,
#: of a step beside these, and of a recording point.
PRODUCT_SECONDS, STEP_SECONDS, POINT_SECONDS = 2e-11, 1e-3, 3e-3
#: Bins by the range of values, for these estimates; pictures have about one input per environment state.
TYPICAL_BINS = 200


def sizes(value: Any, what: str) -> None:
    """Check the sizes of hidden layers."""
    if not isinstance(value, (tuple, list)) or not value:
        raise MonMDPError(f"{what} must be a list of sizes of layers, such as (256, 256), not {shown(value)}.")
    for size in value:
        check.whole(size, 1, f"A size in {what[0].lower()}{what[1:]}", 2**16)


Sizes = Annotated[tuple[int, ...], sizes]
Rate = Annotated[float, partial(check.finite, least=1e-9, most=1.0)]
Bins = Annotated[int, partial(check.whole, least=2, most=1000)]


@dataclass(frozen=True, kw_only=True)
class DeepAgent(Agent):
    """Double Q-learning with networks and a reward model; sees observations of environment states.

    observe: pixels, one-hot, coordinates or noisy pixels, or a function (problem, environment state) → array.
    epsilon: probability of a random action.
    hidden: sizes of the hidden layers of every network.
    learning_rate: that of Adam at the start; it falls along a cosine to last_learning_rate times that value.
    batch: transitions per update. every: steps between two updates.
    balance: replay draws a transition with probability ∝ 1 / N(s,a)^balance: 0 all steps alike, 1 all pairs alike.
    tracking: fraction of the way to the networks that target networks go at every update at the start; it falls along
    the same cosine to last_tracking times that value.
    bins: bins of a value's distribution; None for one per 0.02 of their range in sign(v) log(1 + |v|), at most 256;
    live, None is 9.
    minimum_reward: lower bound of rewards, assumed where none was observed; by default the paper's on its problems,
    else the smallest visible reward.
    codes: codes of observations, for counts; by default one per state, live 100 or the number of discrete observations.
    code_radius: distance from which on an observation has another code, if there is room; by default from the noise,
    live from the observation space.
    """

    observe: Any = "pixels"
    epsilon: Schedule = (1.0, 0.0)
    hidden: Sizes = (128, 128)
    learning_rate: Rate = 1e-3
    last_learning_rate: Probability = 0.2
    batch: Count = 64
    every: Count = 1
    balance: Probability = 0.5
    tracking: Probability = 0.05
    last_tracking: Probability = 0.1
    bins: Bins | None = 51
    minimum_reward: float | None = None
    codes: Count | None = None
    code_radius: NonNegative | None = None

    revision = 5
    #: What Q learns from: the reward model, rewards with zero for hidden ones, or only steps with a known reward.
    hidden_reward: ClassVar[Literal["model", "zero", "ignore"]] = "model"
    #: Whether the agent explores toward goals.
    directed: ClassVar[bool] = False

    @property
    def features(self) -> int:
        """Features of a pair that a network learns to predict, as a measure of novelty."""
        return 0

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"minimum_reward": bounds.minimum_reward}

    def job(
        self, problem: MonMDP, steps: int, points: int | None, evaluation: str, defaults: Mapping[str, Any] | None
    ) -> Job:
        """The job of this agent in a problem."""
        self._check_packages()
        from monmdp.deep.job import DeepJob

        return DeepJob(problem, self, steps, points, evaluation, defaults)

    def live(
        self, env: Any, test_env: Any, seed: int, point_steps: Integers, discount: float,
        rewards: tuple[float, float] | None, values: tuple[float, float] | None, tests: Any,
    ) -> Any:  # fmt: skip
        """One seed of this agent in an environment, or vector environment, that is stepped on the host."""
        self._check_packages()
        from monmdp.deep.host import HostRun

        return HostRun(env, test_env, self, seed, point_steps, discount, rewards, values, tests)

    def _check_packages(self) -> None:
        if find_spec("jax") is None or find_spec("optax") is None:
            kind = type(self).__name__
            raise MonMDPError(f"{kind} needs JAX and Optax; install them with: pip install 'monmdp[deep]'")

    def check_device(self, device: str) -> None:
        """JAX chooses the device; an error if that should be a GPU and is not."""
        self._check_packages()
        import jax

        if device == "cuda" and jax.default_backend() == "cpu":
            raise MonMDPError("JAX finds no GPU here; install jax[cuda13], or choose the device 'cpu'.")

    def memory_bytes(
        self,
        world: World,
        steps: int,
        n_numbers: int = 1024,
        n_codes: int | None = None,
        reach_outputs: int | None = None,
    ) -> int:
        """Approximate size of one run: six or seven copies of its networks, one of Q, 26 numbers per step, and batches.

        n_numbers: those of an observation. n_codes: by default one per environment state. reach_outputs: those of the
        reach network, by default with pooled counts.
        """
        n_codes = world.n_env_states if n_codes is None else n_codes
        hidden, outputs = self._weights(world, n_numbers, n_codes, reach_outputs)
        copies = 7 if self.features or hasattr(self, "prior_scale") else 6
        weights = copies * (len(outputs) * hidden + sum(outputs.values())) + hidden + outputs["q"]
        batch = self.batch * (n_numbers + sum(outputs.values()) // self.hidden[-1])
        pairs = n_codes * world.n_monitor_states * world.n_actions
        return 4 * (weights + 26 * steps + 4 * batch + n_codes * n_numbers + 2 * pairs) + n_codes**2

    def planning_seconds(self, world: World) -> tuple[float, float]:
        """Approximate seconds of a step and of a recording point."""
        hidden, outputs = self._weights(world, world.n_env_states, world.n_env_states)
        passes = dict.fromkeys(outputs, 4) | {"q": (7 if world.n_monitor_actions > 1 else 5) + self.directed}
        products = self.batch * sum(passes[name] * (hidden + last) for name, last in outputs.items())
        return STEP_SECONDS + PRODUCT_SECONDS * products / self.every, POINT_SECONDS

    def _weights(
        self, world: World, n_numbers: int, n_codes: int, reach_outputs: int | None = None
    ) -> tuple[int, dict[str, int]]:
        """The number of weights of a network's hidden layers, and of the last layer of each network that is trained."""
        n_actions, env_actions = world.n_actions, world.n_actions // world.n_monitor_actions
        bins = TYPICAL_BINS if self.bins is None else self.bins
        outputs = {
            "q": bins * max(getattr(self, "heads", 0), 1) * n_actions,
            "reward": bins * max(getattr(self, "n", 0), 1) * env_actions,
            "reach": (reach_outputs or n_codes * env_actions) * self.directed,
            "predictor": self.features * n_actions,
        }
        layers = (n_numbers + world.n_monitor_states, *self.hidden)
        hidden = sum(before * size for before, size in pairwise(layers))
        return hidden, {name: n * self.hidden[-1] for name, n in outputs.items() if n}


@dataclass(frozen=True, kw_only=True)
class DeepNaive(DeepAgent):
    """ε-greedy double Q-learning with a reward model, from pictures."""


@dataclass(frozen=True, kw_only=True)
class DeepDirected(DeepAgent):
    """Directed exploration from pictures: a reach network for all goals in place of successor functions.

    beta_bar: the agent explores while β = log(t + 2) / n(goal) is larger.
    pooled: whether n pools what pairs share, or counts joint pairs, as in the paper.
    epsilon: probability of a random action on the way to a goal.
    goal_discount: discount of the reach network.
    goal_steps: steps after which a goal that was not reached is chosen again.
    """

    epsilon: Schedule = 0.05
    beta_bar: NonNegative = 0.3
    pooled: bool = True
    goal_discount: Discount = 0.95
    goal_steps: Count = 60

    revision = 10
    directed: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class DeepIntrinsic(DeepAgent):
    """ε-greedy double Q-learning with an intrinsic reward for novelty, from pictures.

    bonus: the intrinsic reward of a first visit.
    novelty: "counts" for bonus / √N(s,a), or "distillation" for the error with which a network predicts the output of
    a random one for the pair, as a multiple of its standard deviation so far, at most 1.
    """

    bonus: NonNegative = 0.01
    novelty: Literal["counts", "distillation"] = "counts"

    @property
    def features(self) -> int:
        return FEATURES * (self.novelty == "distillation")


@dataclass(frozen=True, kw_only=True)
class BootstrappedDQN(DeepAgent):
    """Bootstrapped double Q-learning with random prior functions and a reward model, from pictures.

    A head of Q is drawn for every episode and followed greedily. The recorded policy is greedy on the mean of heads.
    epsilon: probability of a random action on top of that; 0 is the original, which needs many episodes.
    heads: number of heads; they share hidden layers.
    prior_scale: standard deviation of the random function that is added to every head, in units of rewards.
    share: probability that a head learns from a step; drawn once for each step and head.
    """

    heads: Count = 10
    prior_scale: NonNegative = 0.03
    share: Probability = 1.0


@dataclass(frozen=True, kw_only=True)
class DeepCautious(DeepAgent):
    """ε-greedy double Q-learning with cautious rewards, from pictures: the mean of the k smallest of n estimates.

    The idea is that of cautious k-of-N policies (arXiv 2505.08988). There, the k of N reward models are averaged whose
    rewards are smallest for the policy on a batch; here, the k smallest estimates of each pair, which is never more.
    Models share hidden layers, differ by random prior functions, and all learn from every observed reward. They judge
    rewards that were never observed too, so minimum_reward only bounds the range of estimates.
    prior_scale: standard deviation of the random function that is added to every model, in units of rewards.
    """

    k: Count = 1
    n: Count = 10
    prior_scale: NonNegative = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.n:
            raise MonMDPError(
                f"DeepCautious takes the k smallest of n estimates, so k = {self.k} must be at most n = {self.n}."
            )


@dataclass(frozen=True, kw_only=True)
class DeepOracle(DeepAgent):
    """ε-greedy double Q-learning from pictures that is given every reward, hidden or not."""

    hidden_reward: ClassVar[Literal["model", "zero", "ignore"]] = "zero"  # there are none
    sees_everything: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class DeepZero(DeepAgent):
    """ε-greedy double Q-learning from pictures that takes a hidden reward for zero."""

    hidden_reward: ClassVar[Literal["model", "zero", "ignore"]] = "zero"


@dataclass(frozen=True, kw_only=True)
class DeepIgnore(DeepAgent):
    """ε-greedy double Q-learning from pictures, only from steps whose reward was observed."""

    hidden_reward: ClassVar[Literal["model", "zero", "ignore"]] = "ignore"
